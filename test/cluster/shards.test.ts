// A store of two shards, each an engine of its own, by settings alone: every organization's rows are in its shard and nowhere else, what
// crosses requests meets there, and every answer, count and deletion is as if there were one store.
import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startClickHouse } from '#local/clickhouse.ts'
import { conversationIdOf, shardOf, uuidBytes } from '#proto/ids.ts'
import { createStore } from '#store/client.ts'
import { openSessionLookup, sessionKeyText } from '#store/session-lookup.ts'
import { applyStreams, openBuckets } from '#streams/apply.ts'
import { FOR_FEW_ROWS } from '#test/engines.ts'
import { post } from '#test/http.ts'
import { call } from '#test/kill-points/load.ts'
import { connectNats, createTenant, eventually, nodeEnv, startNats, startPart, tempDir, testLimits } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'

const DATABASE = 'sharded'
const SHARDS = 2
const PARTITIONS = 4
const OF_EACH_SHARD = scaled({ sample: 1, full: 2 })
const EVENTS = 12
const run = promisify(execFile)
const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

async function startShard() {
  const engine = await startClickHouse({
    ...{ dir: await tempDir(t), password: randomBytes(16).toString('hex'), databases: [DATABASE] },
    ...{ settings: FOR_FEW_ROWS, startTimeoutMs: 120_000 },
  })
  t.teardown(async () => {
    engine.kill('SIGKILL')
    await engine.exited
  })
  return engine
}

const [nats, ...engines] = await Promise.all([startNats(t), startShard(), startShard()])
const stores = engines.map(({ url }) => createStore({ url, database: DATABASE, application: 'test' }))
t.teardown(() => Promise.all(stores.map(store => store.close())))
const env = {
  NATS_URL: nats.url,
  CLICKHOUSE_URL: engines.map(({ url }) => url).join(','),
  PARLEY_READER_URL: engines.map(({ readerUrl }) => readerUrl).join(','),
  PARLEY_SQL_URL: engines.map(({ sqlUrl }) => sqlUrl).join(','),
  PARLEY_DATABASE: DATABASE,
}
const layout = { PARLEY_PARTITIONS: String(PARTITIONS), PARLEY_STREAM_BYTES: String(testLimits.streamMaxBytes) }
const node = (path: string, more: Record<string, string> = {}, ...args: string[]) =>
  run(process.execPath, [file(path), ...args], { env: { PATH: process.env.PATH, ...nodeEnv, ...env, ...more } })

const uneven = await node('deploy/migrate.ts', { ...layout, PARLEY_PARTITIONS: '3' }).then(
  () => 'was done',
  (error: { stderr: string }) => error.stderr,
)
const { stdout: laidOut } = await node('deploy/migrate.ts', layout)
const nc = await connectNats(t, nats.url)
const buckets = await openBuckets(nc)

const [receiver, query] = await Promise.all([
  startPart(t, 'ingest/main.ts', {
    ...{ ...env, PARLEY_PORT: '0', PARLEY_OTLP_PORT: '0' },
    ...{ PARLEY_HOLD_MS: '60000', PARLEY_SESSION_WAIT_MS: '60000' },
  }),
  startPart(t, 'query/main.ts', { ...env, PARLEY_QUERY_HOST: '127.0.0.1', PARLEY_QUERY_PORT: '0' }),
  startPart(t, 'processors/main.ts', env),
  startPart(t, 'processors/main.ts', env),
  startPart(t, 'analysis/main.ts', { ...env, PARLEY_LEDGER_SECONDS: '2', PARLEY_SWEEP_SECONDS: '2' }),
])
const restUrl = `http://127.0.0.1:${String(receiver.about.port)}`
const otelUrl = `http://127.0.0.1:${String(receiver.about.otlpPort)}`
const api = `http://127.0.0.1:${String(query.about.port)}/dashboard/api`

/** As many organizations of each shard; which one an organization gets is chance. */
async function tenants() {
  const found: { organization: string; apiKey: string; bearer: string; shard: number; session: string }[] = []
  const full = (shard: number): boolean => found.filter(one => one.shard === shard).length === OF_EACH_SHARD
  while (found.length < SHARDS * OF_EACH_SHARD) {
    const { organization, apiKey, bearer } = await createTenant(buckets)
    const shard = shardOf(uuidBytes(organization), SHARDS)
    if (!full(shard)) found.push({ organization, apiKey, bearer, shard, session: randomUUID() })
  }
  return found
}

async function accepted(url: string, body: object, headers: Record<string, string>): Promise<void> {
  await eventually(`${url} takes it`, async () => (await post(url, body, headers)).status === 200)
}

/** What an organization gets: a conversation, one event of it twice, a trace whose second export names the session, a call and its later report. */
async function send({ organization, session }: { organization: string; session: string }): Promise<number> {
  const org = { 'x-org-id': organization }
  const { body, at } = { body: { session_id: session, primitive_name: 'x', args: 'a', result: 'b' }, at: Date.now() }
  await accepted(`${restUrl}/api/v1/capture-session`, { session_id: session, user_data: { user_id: 'ada' } }, org)
  const events = Array.from({ length: EVENTS }, () => ({ ...body, event_id: randomUUID() }))
  for (const event of [...events, events[0]]) await accepted(`${restUrl}/api/v1/capture-event`, event as object, org)
  const [traceId, root] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  const child = { traceId, spanId: randomBytes(8).toString('hex'), parentSpanId: root, ...times(at) }
  await accepted(`${otelUrl}/v1/traces`, exported({ ...child, name: 'chat' }), { 'x-service-org-id': organization })
  const named = [{ key: 'session.id', value: { stringValue: 'late' } }]
  const last = { traceId, spanId: root, name: 'agent', attributes: named, ...times(at) }
  await accepted(`${otelUrl}/v1/traces`, exported(last), { 'x-service-org-id': organization })
  const report = call(randomUUID(), at)
  const later = structuredClone(report)
  later.message.call.customer.number = '+15550000000'
  for (const one of [report, later]) await accepted(`${restUrl}/api/voice/v1/webhooks/voice-platform`, one, org)
  return EVENTS + 2 + CALL_ROWS
}

const CALL_ROWS = 2
const times = (at: number) => ({ startTimeUnixNano: `${at}000000`, endTimeUnixNano: `${at + 5}000000` })
const exported = (span: object) => ({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })
const all = await tenants()
const sent = await Promise.all(all.map(send))
const asked = async <T>(path: string, body: object, apiKey: string): Promise<T> => {
  const answer = await post<T>(`${api}/${path}`, { time_range: 'all', ...body }, { 'x-api-key': apiKey })
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
const countOf = async (apiKey: string): Promise<number> =>
  (await asked<{ total_count: number }>('raw-logs/count', {}, apiKey)).total_count

t.test('the layout is for ever, and deals partitions out evenly', async t => {
  t.match(uneven, /PARLEY_PARTITIONS=3 is no multiple of the 2 shards/)
  t.match(laidOut, /streams: 4 partitions\nschema of shard 1: applied .*\nschema of shard 2: applied /)
  await t.rejects(applyStreams(nc, { ...testLimits, partitions: PARTITIONS }), { code: 'CFG_INVALID' })
})

t.test('every organization has its numbers, from its shard alone', async t => {
  for (const [i, { organization, apiKey, shard }] of all.entries()) {
    const home = conversationIdOf(organization, 'late')
    await eventually('all is stored, and the late trace is at home', async () => {
      if ((await countOf(apiKey)) !== sent[i]) return false
      const { conversations } = await asked<{ conversations: { conversation_id: string; message_count: number }[] }>(
        'user-stories',
        {},
        apiKey,
      )
      return conversations.length === 3 && conversations.some(one => one.conversation_id === home)
    })
    const rows = await Promise.all(
      stores.map(store =>
        store.read<{ n: string }>(
          'SELECT toString(sum(sign)) AS n FROM events WHERE organization = {organization:UUID}',
          { parameters: { organization } },
        ),
      ),
    )
    t.strictSame(
      rows.map(([row]) => Number(row?.n)),
      stores.map((_, at) => (at === shard ? sent[i] : 0)),
    )
  }
})

t.test('receivers find old sessions in the shard that has them', async t => {
  const lookup = openSessionLookup({ url: env.CLICKHOUSE_URL, database: DATABASE, application: 'test' })
  t.teardown(() => lookup.close())
  const keys = all.map(({ organization, session }) => ({ organization, conversation: session }))
  const found = await eventually('an answer', () => lookup.ask([...keys, { ...keys[0]!, conversation: randomUUID() }]))
  t.strictSame([...found].sort(), keys.map(sessionKeyText).sort())
})

t.test('the ledger of every organization is in its shard', async t => {
  for (const { apiKey } of all) {
    await eventually('hours with stored payloads', async () => {
      const response = await fetch(`${api}/ledger`, { headers: { 'x-api-key': apiKey } })
      const { hours = [] } = (await response.json()) as { hours?: { stored: number }[] }
      return response.status === 200 && hours.some(({ stored }) => stored > 0)
    })
  }
  t.pass('each by its own key')
})

t.test('an erased user is gone from the shard of its organization, and from no other', async t => {
  const [one, other] = [all.find(({ shard }) => shard === 1), all.find(({ shard }) => shard === 0)]
  if (!one || !other) throw new Error('a shard without organizations')
  const headers = { authorization: `Bearer ${one.bearer}`, 'content-type': 'application/json' }
  const response = await fetch(`${api}/users/ada`, { method: 'DELETE', headers, body: '{}' })
  t.ok(response.status < 300, `${response.status} ${await response.text()}`)
  const left = (sent[all.indexOf(one)] as number) - EVENTS
  await eventually('ada is gone', async () => (await countOf(one.apiKey)) === left, 60_000)
  t.equal(await countOf(other.apiKey), sent[all.indexOf(other)])
})

t.test('operators see both shards', async t => {
  // Rows of both shards, as soon as every floor is behind them.
  const rows = sent.reduce((sum, n) => sum + n, 0) - EVENTS
  const verified = await eventually('everything is recounted', async () => {
    const { stdout } = await node('cli/main.ts', {}, 'verify', '--json')
    const report = JSON.parse(stdout) as { differences: unknown[]; rows: number }
    return report.rows >= rows && report
  })
  t.strictSame(verified.differences, [])
  const ledger = await eventually('the ledger is compared', () => node('cli/main.ts', {}, 'verify', '--ledger'))
  t.match(ledger.stdout, /^nothing differs: /m)
  const { stdout: doctor } = await node('cli/main.ts', {}, 'doctor', '--json').catch((e: { stdout: string }) => e)
  const { findings } = JSON.parse(doctor) as { findings: { check: string; state: string }[] }
  t.match(
    findings.filter(({ check }) => check.startsWith('schema')),
    [
      { check: 'schema', state: 'ok' },
      { check: 'schema, shard 2', state: 'ok' },
    ],
  )
})

t.test('who is told of fewer shards does not start', async t => {
  const half = { ...env, CLICKHOUSE_URL: engines[0].url, PARLEY_READER_URL: engines[0].readerUrl }
  for (const main of ['ingest/main.ts', 'processors/main.ts']) {
    await t.rejects(
      startPart(t, main, { ...half, PARLEY_PORT: '0', PARLEY_OTLP_PORT: '0' }),
      { message: /laid out over 2 shards, and CLICKHOUSE_URL names 1/ },
      main,
    )
  }
})
