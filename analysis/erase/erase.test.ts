// What an erasure takes and what it leaves, on real engines: ten thousand events of one user among those of others, staged corrections,
// dead letters; a crash at every write of its record; what comes later; a whole organization.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import t from 'tap'
import { changeReading, forgetReading } from '#control/readings.ts'
import { chartsKey, type Reading, ticketsKey, viewsKey } from '#control/records.ts'
import { FrameEncoding } from '#proto/envelope.ts'
import { userHash } from '#proto/erasure.ts'
import { blocksSubjectOf } from '#proto/streams.ts'
import { shardsOf } from '#store/shards.ts'
import { verify } from '#store/verify/verify.ts'
import { applyStreams } from '#streams/apply.ts'
import { listLetters } from '#streams/dead-letters.ts'
import { getErasure, requestErasure } from '#streams/erasures.ts'
import { connectNats, freshDatabase, silentLog, startNats, testLimits } from '#test/rig.ts'
import { continueErasures, targetOf } from './erasures.ts'
import { publishDeadLetter } from './fixture.ts'
import { mentions } from './letters.ts'
import { remaining } from './pass.ts'
import { sweep } from './sweep.ts'

const ORGANIZATION = '00000000-0000-4000-8000-0000000000a1'
const OTHER = '00000000-0000-4000-8000-0000000000b2'
const ADA = "ada o'hara@example.org"
const EVENTS = 10_000

const [nats, { store }] = await Promise.all([startNats(t), freshDatabase(t)])
const nc = await connectNats(t, nats.url)
const { buckets } = await applyStreams(nc, { ...testLimits, partitions: 1 })
const { cursors } = buckets
const jsm = await jetstreamManager(nc)
const context = {
  nc,
  jsm,
  cursors,
  control: buckets.control,
  rejects: buckets.rejects,
  shards: shardsOf([store]),
  partitions: 1,
  log: silentLog,
  erased: () => {},
}
const never = new AbortController().signal

const PLACE =
  '0 AS origin_partition, 1 AS origin_generation, {sequence:UInt32} AS origin_sequence, toUInt32(number) AS origin_index'
/** `rows` events, texts and captures in conversations of `per` each; conversations are numbered from `base`. */
async function insert(options: {
  user: string
  base: number
  rows: number
  sequence: number
  organization?: string
  /** Whether the events, or only the captures, name the user. */
  named?: boolean
}): Promise<void> {
  const { organization = ORGANIZATION, named = true, ...rest } = options
  const parameters = { organization, named: named ? 1 : 0, ...rest }
  const settings = { async_insert: 0 as const, max_insert_threads: '1' }
  const conversation = 'reinterpretAsUUID(toUInt128({base:UInt32} + intDiv(number, 50)))'
  const event = 'reinterpretAsUUID(toUInt128({sequence:UInt32} * 1000000 + number + 1))'
  const ts = "toDateTime64('2026-05-20 00:00:00', 9, 'UTC') + number * 240"
  await store.command(
    `INSERT INTO sessions (organization, conversation_id, session_id, user_id, user_email, received_at, origin_partition, origin_generation, origin_sequence, origin_index)
     SELECT {organization:UUID}, reinterpretAsUUID(toUInt128({base:UInt32} + number)), concat('s', toString({base:UInt32} + number)), {user:String},
       concat({user:String}, '!'), ${ts}, ${PLACE} FROM numbers(intDiv({rows:UInt32} + 49, 50))`,
    { parameters, settings },
  )
  await store.command(
    `INSERT INTO texts (organization, group_id, event_id, ts, input, output, origin_partition, origin_generation, origin_sequence, origin_index)
     SELECT {organization:UUID}, ${conversation}, ${event}, ${ts}, concat('I am ', {user:String}), 'ok', ${PLACE} FROM numbers({rows:UInt32})`,
    { parameters, settings },
  )
  await store.command(
    `INSERT INTO events (organization, conversation_id, event_id, ts, source, kind, name, user_id, cost_nanos, input_preview,
       origin_partition, origin_generation, origin_sequence, origin_index, version, sign)
     SELECT {organization:UUID}, ${conversation}, ${event}, ${ts}, 'sdk', 'agent', 'support', if({named:UInt8} = 1, {user:String}, ''), 7,
       concat('I am ', {user:String}), ${PLACE}, 1, 1 FROM numbers({rows:UInt32})`,
    { parameters, settings },
  )
}

/** Rows by table, of one organization. */
async function rowsOf(organization: string): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for (const table of ['events', 'texts', 'sessions', 'corrections', 'replaced_reports']) {
    const [row] = await store.read<{ n: string }>(
      `SELECT count() AS n FROM ${table} WHERE organization = {organization:UUID}`,
      { parameters: { organization } },
    )
    rows[table] = Number(row?.n)
  }
  return rows
}

/** Everything of the store that still says a word, wherever it stands. */
async function mentionsOf(word: string): Promise<string[]> {
  const columns = await store.read<{ table: string; name: string }>(
    `SELECT table, name FROM system.columns WHERE database = {database:String}
       AND table IN (SELECT name FROM system.tables WHERE database = {database:String})`,
    { parameters: { database: store.database } },
  )
  const found: string[] = []
  for (const [table, its] of Map.groupBy(columns, column => column.table)) {
    const text = its.map(({ name }) => `toString(${name})`).join(", ' ', ")
    const [row] = await store.read<{ n: string }>(
      `SELECT count() AS n FROM ${table} WHERE position(concat(${text}, ''), {word:String}) > 0`,
      { parameters: { word } },
    )
    if (row?.n !== '0') found.push(`${table}: ${row?.n}`)
  }
  return found
}

// Replaced parts stay on disk until the end: a slow run comes to what is asked of them when the engine would have removed them.
await store.command('ALTER TABLE events MODIFY SETTING old_parts_lifetime = 86400')
await insert({ user: ADA, base: 1000, rows: EVENTS - 500, sequence: 1 })
await insert({ user: ADA, base: 2000, rows: 500, sequence: 2, named: false })
await insert({ user: 'grace', base: 3000, rows: 700, sequence: 3 })
await insert({ user: ADA, base: 1000, rows: 100, sequence: 4, organization: OTHER })
// A conversation that was ada's and is grace's now: of it only ada's words go.
await insert({ user: ADA, base: 4000, rows: 20, sequence: 5 })
await insert({ user: 'grace', base: 4000, rows: 30, sequence: 6 })
// The same where events name nobody: they are of whoever was captured before them.
await insert({ user: ADA, base: 8000, rows: 20, sequence: 7, named: false })
await insert({ user: 'grace', base: 8000, rows: 30, sequence: 8, named: false })
// Moved from another conversation: row and reversal are not merged yet, the staged copies are still there.
await store.command(
  `INSERT INTO corrections SELECT * REPLACE (toInt8(-1) AS sign, generateUUIDv4(1) AS move_id) FROM events WHERE origin_sequence = 1 AND origin_index < 10`,
)
await store.command(
  `INSERT INTO replaced_reports SELECT organization, conversation_id, 0, 1, 0 FROM sessions
   WHERE organization = {organization:UUID} AND user_id = {user:String} AND origin_sequence = 1 LIMIT 3`,
  { parameters: { organization: ORGANIZATION, user: ADA } },
)
const graceBefore = { events: 760, texts: 760, sessions: 16 }

/** What people and receivers keep of what was sent: entries that name ada in every way, and others. */
const LISTS: readonly (readonly [
  list: string,
  kv: KV,
  key: string,
  named: readonly object[],
  others: readonly object[],
])[] = [
  [
    'views',
    buckets.control,
    viewsKey(ORGANIZATION),
    [
      { id: '1', name: `All of ${ADA}`, page: 'raw-logs', filters: {}, time_range: '1w' },
      { id: '2', name: 'hers', page: 'raw-logs', filters: { metadata_filters: [{ key: 'customer', value: ADA }] } },
      {
        id: '3',
        name: 'hers',
        page: 'user-stories',
        filters: { search_field: 'conversation_id', search_value: 's1003' },
      },
    ],
    [
      { id: '4', name: 'grace', page: 'user-stories', filters: { search_value: 'grace' } },
      { id: '5', name: 's1003x', page: 'user-stories', filters: { search_value: 's10031' } },
    ],
  ],
  [
    'charts',
    buckets.control,
    chartsKey(ORGANIZATION),
    [{ id: '1', title: 'cost', filters: { metadata_filters: [{ key: 'user', value: ADA }] } }],
    [{ id: '2', title: 'cost', filters: {} }],
  ],
  [
    'waiting_exports',
    buckets.control,
    ticketsKey(ORGANIZATION),
    [{ hash: 'a', by: { key: 'k' }, request: { kind: 'raw-logs', filters: { search_query: `"${ADA}"` } } }],
    [],
  ],
  [
    'rejected_requests',
    buckets.rejects,
    ORGANIZATION,
    [{ at: '2026', endpoint: 'voice', status: 400, code: 'X', error: `a field is unknown: user_data.${ADA}` }],
    [{ at: '2026', endpoint: 'voice', status: 400, code: 'X', error: 'a field is unknown' }],
  ],
]
for (const [, kv, key, named, others] of LISTS) {
  // More revisions than the bucket keeps, with and without her.
  for (let i = 0; i < 8; i++) await kv.put(key, JSON.stringify(i % 3 === 2 ? others : [...named, ...others]))
}

/** Files of buckets that hold a word. */
async function filesWith(word: string): Promise<string[]> {
  const files = await readdir(nats.dir, { recursive: true, withFileTypes: true })
  const found: string[] = []
  for (const file of files) {
    const path = join(file.parentPath, file.name)
    if (file.isFile() && path.includes('KV_') && (await readFile(path)).includes(word)) found.push(path)
  }
  return found
}

t.test('dead letters that name a user are told from others', async t => {
  const f = (payload: string | Buffer, names: string[], expected: boolean) =>
    t.equal(mentions(Buffer.from(payload), names), expected, String(payload))
  f('{"user_data":{"user_id":"ada"}}', ['ada'], true)
  f('{"user_data":{"user_id":"adam"}}', ['ada'], false)
  f('{"user_id":"ada', ['ada'], false)
  f('{"user_id":"ada"', ['ada'], true)
  f('{"user_id":"\\u0061da"}', ['ada'], true)
  f('{"user_id":42}', ['42'], true)
  f('{"latency":42}', ['42'], false)
  f(Buffer.from([10, 3, 97, 100, 97]), ['ada'], true)
  f(Buffer.from([10, 4, 97, 100, 97, 109]), ['ada'], false)
})

t.test('an erasure that is killed at every write of its record erases everything, and only that', async t => {
  const dead = (body: object, organization = ORGANIZATION, encoding: number = FrameEncoding.json) =>
    publishDeadLetter(nc, { organization, body: Buffer.from(JSON.stringify(body)), encoding })
  await dead({ user_data: { user_id: ADA } })
  await dead({ session_id: 's1003', args: 'broken' })
  await dead({ user_data: { user_id: 'grace' } })
  await dead({ user_data: { user_id: ADA } }, OTHER)
  const asked = await requestErasure(cursors, {
    organization: ORGANIZATION,
    kind: 'user',
    user: ADA,
    by: 'me',
    nowMs: 0,
  })
  const twice = await requestErasure(cursors, {
    organization: ORGANIZATION,
    kind: 'user',
    user: ADA,
    by: 'you',
    nowMs: 1,
  })
  t.equal(twice.id, asked.id, 'asked twice it is one erasure')

  let crashes = 0
  for (let after = 0; after < 60; after++) {
    let writes = 0
    // Dies before its n-th write, or after it without having heard of it.
    const put: KV['put'] = async (...args) => {
      const dies = writes++ === Math.floor(after / 2)
      if (dies && after % 2 === 0) throw new Error('killed')
      const revision = await cursors.put(...args)
      if (dies) throw new Error('killed')
      return revision
    }
    const mortal = new Proxy(cursors, { get: (kv, key) => (key === 'put' ? put : Reflect.get(kv, key).bind?.(kv)) })
    const ended = await continueErasures({ ...context, cursors: mortal }, never).then(
      () => true,
      () => false,
    )
    if (ended) break
    crashes++
  }
  t.ok(crashes > 2, `${crashes} crashes`)
  const { record } = (await getErasure(cursors, ORGANIZATION, userHash(ORGANIZATION, ADA))) ?? {}
  if (!record) throw new Error('no record')
  t.not(record.state, 'erasing')
  t.strictSame(await remaining(store, { ...targetOf(record), user: ADA }), {})
  const left = await rowsOf(ORGANIZATION)
  t.strictSame(left, { ...graceBefore, corrections: 0, replaced_reports: 0 })
  const [sums] = await store.read<{ n: string; cost: string; users: string[] }>(
    `SELECT sum(sign) AS n, sum(sign * toInt64(cost_nanos)) AS cost, groupUniqArray(user_id) AS users FROM events
     WHERE organization = {organization:UUID}`,
    { parameters: { organization: ORGANIZATION } },
  )
  t.match(sums, { n: '760', cost: String(760 * 7) })
  t.strictSame(new Set(sums?.users), new Set(['grace', '']))
  t.strictSame(await rowsOf(OTHER), { events: 100, texts: 100, sessions: 2, corrections: 0, replaced_reports: 0 })
  const letters = await listLetters(nc, {}, 10)
  t.strictSame(letters.map(letter => letter.organization).sort(), [ORGANIZATION, OTHER].sort())
  t.match(
    letters.find(letter => letter.organization === ORGANIZATION)?.bytes,
    Buffer.from('{"user_data":{"user_id":"grace"}}'),
  )
  const report = await verify(store, { settled: async () => new Map([[0, 1_000]]), lookPauseMs: 10 })
  t.strictSame(report.differences, [], 'every projection holds what is left')
})

t.test('nothing that is stored says the name any more', async t => {
  await store.command(
    'ALTER TABLE events DELETE WHERE organization = {organization:UUID} SETTINGS mutations_sync = 2',
    {
      parameters: { organization: OTHER },
    },
  )
  for (const table of ['texts', 'sessions']) {
    await store.command(
      `ALTER TABLE ${table} DELETE WHERE organization = {organization:UUID} SETTINGS mutations_sync = 2`,
      {
        parameters: { organization: OTHER },
      },
    )
  }
  t.strictSame(await mentionsOf("o'hara"), [])
})

t.test('it is certified once nothing holds its payloads, and forgets whom it was about', async t => {
  const record = async () => (await getErasure(cursors, ORGANIZATION, userHash(ORGANIZATION, ADA)))?.record
  const old = await store.read(
    "SELECT 1 FROM system.parts WHERE database = currentDatabase() AND table = 'events' AND NOT active",
  )
  t.ok(old.length > 0, 'the engine keeps replaced parts')
  t.equal(await continueErasures(context, never), 1)
  t.match(await record(), { state: 'sweeping', step: / replaced parts / })
  t.ok((await filesWith("o'hara")).length > 0, 'what was replaced is still in the files')
  t.equal(await continueErasures({ ...context, replacedParts: async () => 0 }, never), 0)
  const done = await record()
  t.match(done, { state: 'done', step: '', certified_at: /^20/, erased_at: /^20/ })
  for (const [list, kv, key, , others] of LISTS) t.strictSame((await kv.get(key))?.json(), others, list)
  const places = [
    'events',
    'texts',
    'sessions',
    'corrections',
    'dead_letters',
    'payloads',
    ...LISTS.map(([list]) => list),
  ]
  t.strictSame(
    places.filter(place => !done?.looked_at?.includes(place)),
    [],
    'it says where was looked',
  )
  const names = await filesWith("o'hara")
  t.equal(names.length, 0, `no file of a bucket says her name: ${names.join()}`)
  t.ok((await filesWith('grace')).length > 0, 'others are still named')
  t.match(done?.erased, { events: EVENTS + 40, texts: EVENTS + 40, corrections: 10 })
  t.notOk(JSON.stringify(done).includes("o'hara"))
  t.equal(await continueErasures(context, never), 0, 'and is left alone')
})

t.test('what comes later of an erased user is erased, and nothing else', async t => {
  const finished = (from: number) =>
    jetstream(nc).publish(blocksSubjectOf(0), JSON.stringify({ partition: 0, generation: 1, from, to: from, rows: {} }))
  await finished(1)
  t.equal(await sweep(context, never), 0, 'what was erased stays erased')
  await insert({ user: ADA, base: 5000, rows: 60, sequence: 50 })
  await insert({ user: '', base: 1003, rows: 50, sequence: 51 })
  await insert({ user: 'grace', base: 6000, rows: 10, sequence: 52 })
  await insert({ user: ADA, base: 7000, rows: 10, sequence: 53, organization: OTHER })
  await finished(50)
  await finished(52)
  const graceLater = { events: 770, texts: 770, sessions: 17 }
  t.equal(await sweep(context, never), 60 + 60 + 2 + 50 + 50 + 1)
  t.match(await rowsOf(ORGANIZATION), graceLater)
  t.match(await rowsOf(OTHER), { events: 10, texts: 10, sessions: 1 })
  t.equal(await sweep(context, never), 0)
  // A replay brings back what stood at old positions.
  await insert({ user: ADA, base: 1000, rows: 50, sequence: 1 })
  t.equal(await sweep(context, never), 0, 'no range was finished')
  await finished(1)
  t.equal(await sweep(context, never), 50 + 50 + 1)
  t.match(await rowsOf(ORGANIZATION), graceLater)
})

t.test('an organization goes as a whole', async t => {
  await requestErasure(cursors, { organization: ORGANIZATION, kind: 'organization', by: 'me', nowMs: 2 })
  t.equal(await continueErasures(context, never), 1)
  const gone = { events: 0, texts: 0, sessions: 0, corrections: 0, replaced_reports: 0 }
  t.match(await rowsOf(ORGANIZATION), gone)
  t.match(await rowsOf(OTHER), { events: 10, texts: 10, sessions: 1 })
  t.strictSame(
    (await listLetters(nc, {}, 10)).map(letter => letter.organization),
    [OTHER],
  )
  await insert({ user: 'grace', base: 6000, rows: 10, sequence: 60 })
  await jetstream(nc).publish(
    blocksSubjectOf(0),
    JSON.stringify({ partition: 0, generation: 1, from: 60, to: 60, rows: {} }),
  )
  t.equal(await sweep(context, never), 21)
  t.match(await rowsOf(ORGANIZATION), gone)
})

t.test('what is kept to read the payloads of an organization by goes with the certificate', async t => {
  const { control } = buckets
  const priceOf = (input: number): Reading => {
    return { prices: [{ model: 'a', prices: { input, output: 1 } }], rules: [] }
  }
  for (const organization of [ORGANIZATION, OTHER]) {
    for (const input of [1, 2]) await changeReading(control, organization, 'me', () => priceOf(input))
  }
  const forget = (organization: string): Promise<void> => forgetReading(control, organization)
  const left = async (): Promise<string[]> => {
    const keys: string[] = []
    for await (const key of await control.keys('>')) if (key.startsWith('reading')) keys.push(key)
    return keys
  }
  t.equal((await left()).length, 6, 'a record and two contents each')
  t.equal(await continueErasures({ ...context, forget, replacedParts: async () => 1 }, never), 1)
  t.equal((await left()).length, 6, 'payloads may still come')
  t.equal(await continueErasures({ ...context, forget, replacedParts: async () => 0 }, never), 0)
  const keys = await left()
  t.equal(keys.length, 3)
  t.ok(keys.every(key => key.includes(OTHER)))
})
