// The wall beneath the dashboard: every question is asked with its organization condition taken out of the SQL on its way to the store,
// and answers as if it stood there. The same questions without the wall show that the mistake would matter.
import t from 'tap'
import { createMetrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { raiseWall, requireWall } from '#store/wall/raise.ts'
import { ORGANIZATION_HEADER, WALLED_TABLES } from '#store/wall/tables.ts'
import { applyStreams } from '#streams/apply.ts'
import { eventually, silentLog, testLimits, walledDatabase } from '#test/rig.ts'
import { accessOf } from './access.ts'
import { id } from './fixture.ts'
import { CALL, CHAT, startDataNode } from './fixture-data.ts'
import { OURS } from './reads/sql.ts'
import { routes } from './routes.ts'
import { createWallCheck, isOpen } from './walled.ts'

/** What is taken out, and what stands in its place: true for every row, and known to every projection. */
const careless = (sql: string): string => sql.replaceAll(OURS, 'organization = organization')

let mode: 'as written' | 'careless' | 'careless without a wall' = 'as written'
const asked = { careless: 0 }
// The second tenant has the same conversations, ids included, and its own entry in the audit log.
const node = await startDataNode(t, {
  twice: true,
  store: db => {
    const read: Store['read'] = (sql, options) => {
      if (mode === 'as written') return db.reader.read(sql, options)
      const text = careless(sql)
      if (text !== sql) asked.careless++
      return (mode === 'careless' ? db.reader : db.store).read(text, options)
    }
    return { ...db.reader, read }
  },
})
await node.db.store.command(
  `INSERT INTO audit (organization, at, id, actor_kind, actor, action) VALUES
   ({b:UUID}, '2026-06-15 11:00:00.000', generateUUIDv4(), 'user', 'mallory', 'secret')`,
  { parameters: { b: node.b.organization } },
)

// Finished ranges of both, and streams to look for what waits.
await applyStreams(node.nc, testLimits)
await node.db.store.command(
  `INSERT INTO ledger (organization, hour, surface, partition, from_sequence, to_sequence, generation, payloads)
   SELECT arrayJoin([{a:UUID}, {b:UUID}]), '2026-06-15 11:00:00', 'sdk', 0, 1, 9, 1, 7`,
  { parameters: { a: node.a.organization, b: node.b.organization } },
)

const all = { time_range: 'all' }
const BASE = '/dashboard/api'
/** Every endpoint that asks the store, in ways that reach its different queries. */
const QUESTIONS: readonly (readonly ['GET' | 'POST', string, object?])[] = [
  ['GET', '/organization/summary'],
  ['GET', '/login-summary'],
  ['GET', '/organization/event-keys'],
  ['GET', '/organization/conversation-keys'],
  ['POST', '/user-stories', all],
  ['POST', '/user-stories', { ...all, agent_name: 'support' }],
  ['POST', '/user-stories', { ...all, search_field: 'user_id', search_value: 'ada' }],
  ['POST', '/user-stories', { ...all, metadata_filters: [{ key: 'region', value: 'eu' }] }],
  ['POST', '/user-stories', { ...all, group_by: { source: 'user_metadata', key: 'plan' }, group_level: 'groups' }],
  [
    'POST',
    '/user-stories',
    { ...all, group_by: { source: 'user_metadata', key: 'plan' }, group_level: 'users', group_value: 'pro' },
  ],
  ['POST', '/user-stories/search-options', { ...all, search_field: 'user_id', search_value: 'a' }],
  ['POST', '/dashboard', all],
  ['POST', '/dashboard', { time_range: '1w', agent_name: 'support' }],
  ['POST', '/command-center-summary', all],
  ['POST', '/metadata-distribution', all],
  ['POST', '/charts/query', { metric: 'events', filters: all }],
  ['POST', '/charts/query', { metric: 'cost', filters: all }],
  ['POST', '/tool-stats', all],
  ['POST', '/tool-stats', { ...all, agent_name: 'support' }],
  ['POST', '/tool-time-series', { ...all, tool_name: 'find_order' }],
  ['POST', '/tool-error-distribution', all],
  ['POST', '/tool-checkpoint-stats', { ...all, tool_name: 'find_order' }],
  ['POST', '/tools-dashboard', all],
  ['POST', '/errors', all],
  ['POST', '/errors/groups', all],
  ['POST', '/errors/export', all],
  ['POST', '/raw-logs', all],
  ['POST', '/raw-logs', { ...all, search_query: 'needle' }],
  ['POST', '/raw-logs/count', all],
  ['POST', '/raw-logs/count', { ...all, agent_name: 'support' }],
  ['POST', '/raw-logs/export', all],
  ['POST', '/event-io', { event_id: id(2) }],
  ['POST', '/conversation-messages', { conversation_id: CHAT }],
  ['POST', '/conversation-spans', { conversation_id: CHAT }],
  ['POST', '/conversation-detail', { conversation_id: CHAT }],
  ['GET', `/conversation-audio?conversation_id=${CALL}`],
  ['POST', '/intent-keywords', all],
  ['GET', '/ledger'],
  ['GET', '/receipts/0-1-0'],
]
/** Endpoints of an organization that are not asked here, each with its reason. */
const NOT_ASKED: readonly (readonly [path: RegExp, why: string])[] = [
  [/^.organization.(displayId|rejected-requests|api-keys|retention)/, 'control records'],
  [/^.organizations.\{id\}/, 'control records'],
  [/^.(dashboard.charts|views|attribute-rules|prices)/, 'control records and payloads'],
  [/^.(users|erasures)/, 'records of erasures'],
  [/^.exports/, 'the same reads as raw-logs/export and errors/export'],
  [/^.organization.audit/, 'asked below, because it changes'],
  [/^.receipts/, 'asked by a position'],
  [/^.live$/, 'a stream without an end; its read is asked below'],
  [/^.conversation-audio.\{token\}$/, 'the look-up of the recording, as in conversation-audio'],
  [/^.explain-event$/, 'the look-up of an event by its id, as in event-io'],
]

const ask = async (method: string, path: string, body?: object) => {
  const { status, body: answer } = await node.ask(method, BASE + path, {
    ...(body === undefined ? {} : { body }),
    headers: { authorization: `Bearer ${node.a.bearer}` },
  })
  // A summary has a new id each time, and an address a new signature.
  if (path === '/login-summary') return { status, answer: { ...answer, id: '' } }
  return { status, answer: path.startsWith('/conversation-audio') ? { ...answer, url: '' } : answer }
}

t.before(() => eventually('the tenant', async () => (await ask('POST', '/raw-logs/count', {})).status === 200, 30_000))

t.test('every endpoint of an organization is asked, or is known to ask the store nothing else', async t => {
  const known = new Set(QUESTIONS.map(([method, path]) => `${method} ${BASE}${path.split('?')[0]}`))
  const missing = routes.filter(
    route =>
      accessOf(route).organization !== 'none' &&
      !known.has(`${route.method} ${route.path}`) &&
      !NOT_ASKED.some(([path]) => path.test(route.path.slice(BASE.length))),
  )
  t.strictSame(
    missing.filter(route => !route.method.startsWith('PUT')).map(route => `${route.method} ${route.path}`),
    [],
  )
})

t.test('a forgotten organization condition shows nothing of another tenant, in any answer', async t => {
  const open = { asked: 0, wrong: 0 }
  for (const [i, [method, path, body]] of QUESTIONS.entries()) {
    const said = `${method} ${path} ${JSON.stringify(body)}`
    mode = 'as written'
    const right = await ask(method, path, body)
    t.equal(right.status, 200, said)
    mode = 'careless'
    t.strictSame(await ask(method, path, body), right, `${said} behind the wall`)
    // A third of them is enough to know that the test would see a leak.
    if (i % 3 > 0) continue
    mode = 'careless without a wall'
    open.asked++
    if (JSON.stringify(await ask(method, path, body)) !== JSON.stringify(right)) open.wrong++
  }
  mode = 'as written'
  t.ok(asked.careless > QUESTIONS.length, 'conditions were taken out')
  t.ok(open.wrong > open.asked / 2, `without the wall ${open.wrong} of ${open.asked} answers are wrong`)
})

t.test('the audit log of another tenant is behind it, too', async t => {
  const path = '/organization/audit'
  for (const wall of ['as written', 'careless'] as const) {
    mode = wall
    t.notMatch(JSON.stringify(await ask('GET', path)), /mallory/, wall)
  }
  mode = 'careless without a wall'
  t.match(JSON.stringify(await ask('GET', path)), /mallory/)
  mode = 'as written'
})

t.test('without a header, or with a broken one, no table shows a row, and nothing else is granted', async t => {
  const { reader, sql, store } = node.db
  const a = { [ORGANIZATION_HEADER]: node.a.organization }
  for (const table of WALLED_TABLES) {
    const count = async (headers?: Record<string, string>): Promise<string | undefined> =>
      (
        await reader.read<{ n: string }>(`SELECT toString(count()) AS n FROM ${table}`, {
          ...(headers ? { headers } : {}),
        })
      )[0]?.n
    t.equal(await count(), '0', table)
    t.equal(await count({ [ORGANIZATION_HEADER]: "' OR 1 --" }), '0', table)
    t.equal(await count({ [ORGANIZATION_HEADER]: '00000000-0000-0000-0000-000000000000' }), '0', table)
    const [own] = await store.read<{ n: string }>(
      `SELECT toString(count()) AS n FROM ${table} WHERE organization = {a:UUID}`,
      { parameters: { a: node.a.organization } },
    )
    t.equal(await count(a), own?.n, `${table} of its own`)
  }
  const f = (statement: string, pattern: RegExp, who: Store = reader): Promise<void> =>
    t.rejects(who.read(statement, { headers: a }), pattern, statement).then(() => undefined)
  await f('SELECT * FROM corrections', /grant SELECT/)
  await f('SELECT * FROM erased', /grant SELECT/)
  await f('SELECT * FROM events SETTINGS allow_get_client_http_header = 0', /should not be changed|readonly/i)
  await f("INSERT INTO audit (actor) VALUES ('x')", /readonly|privileges/i)
  await f('ALTER TABLE events DELETE WHERE 1', /readonly|privileges/i)
  await f(`SELECT * FROM ${node.db.database}.events`, /grant SELECT/, sql)
  await f(`SELECT * FROM mergeTreeIndex('${node.db.database}', 'events')`, /grant SELECT/, sql)
  t.strictSame(await sql.read('SELECT conversation_id FROM events'), [])
  const [seen] = await sql.read<{ n: string }>('SELECT count() AS n FROM events', { headers: a })
  t.ok(Number(seen?.n) > 0)
})

t.test('a reader that is not narrowed is found out', async t => {
  await requireWall(node.db.reader)
  await t.rejects(requireWall(node.db.store), { code: 'RUN_WALL_OPEN' })
  const metrics = createMetrics('query')
  const log = silentLog
  await createWallCheck({ readers: [node.db.reader], walled: true, metrics, log }).look()
  const open = createWallCheck({ readers: [node.db.store], walled: true, metrics: createMetrics('query'), log })
  const found = await open.look().then(
    () => undefined,
    (error: unknown) => error,
  )
  t.ok(isOpen(found))
})

t.test('where users cannot be made the reason is handed back', async t => {
  const { url, database } = await walledDatabase(t)
  const store = { url, database, application: 'test' }
  const login = (name: string) => ({ name, password: 'x' })
  const users = { reader: login('x_reader'), sql: login('x_sql'), definer: 'x_definer' }
  t.match(await raiseWall({ store, users }), /Not enough privileges|no writeable access storage/)
})

// Linux shows both to the process itself.
t.test(
  'the engine was started with nothing in its environment, and its configuration is gone',
  { skip: process.platform !== 'linux' },
  async t => {
    const read = async (file: string): Promise<string> =>
      (await node.db.store.read<{ text: string }>('SELECT file({file:String}) AS text', { parameters: { file } }))[0]
        ?.text ?? ''
    // The two that Node's channel to its starter needs.
    t.strictSame(
      (await read('/proc/self/environ'))
        .split('\0')
        .filter(word => word.trim() !== '' && !word.startsWith('NODE_CHANNEL_')),
      [],
    )
    const config = (await read('/proc/self/cmdline')).split('\0').find(word => word.endsWith('config.xml'))
    t.ok(config, 'it has a configuration')
    for (const file of [config as string, (config as string).replace('config.xml', 'users.xml')]) {
      await t.rejects(read(file), /exist|open/i, file)
    }
  },
)
