// A refused request is told to the organization that it named: by the receiver that refused it, through the query node.
import t from 'tap'
import { createApiKey, createOrganization } from '#control/admin.ts'
import { createRejects } from '#ingest/rejects.ts'
import { REJECTS_MAX } from '#proto/dashboard/rejects.ts'
import type { Log } from '#runtime/log.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { openBuckets } from '#streams/apply.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { eventually, silentLog, startPart } from '#test/rig.ts'

const system = await startReceiverSystem(t)
const { organization, nats, database } = system
const buckets = await openBuckets(system.nc)
const query = await startPart(t, 'query/main.ts', {
  NATS_URL: nats.url,
  CLICKHOUSE_URL: database.url,
  PARLEY_DATABASE: database.database,
  PARLEY_QUERY_CHECK_RESPONSES: 'on',
})
const keyOf = async (id: string): Promise<string> =>
  (await createApiKey(buckets.control, { organization: id, name: 'test', createdBy: 'test', scopes: ['read'] })).key
const key = await keyOf(organization)

interface Rejected {
  readonly at: string
  readonly endpoint: string
  readonly status: number
  readonly code: string
  readonly error: string
  readonly body_bytes: number
}

async function told(apiKey = key): Promise<Rejected[]> {
  const url = `http://127.0.0.1:${String(query.about.port)}/dashboard/api/organization/rejected-requests`
  const answer = await fetch(url, { headers: { 'x-api-key': apiKey } })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { requests: Rejected[] }).requests
}

t.test('what was refused is told with its reason, and what names no organization is not', async t => {
  const receiver = await system.startReceiver()
  await eventually('the key', async () => (await told()).length === 0)
  const send = async (path: string, body: string, headers: Record<string, string>, base = receiver.baseUrl) =>
    (await fetch(base + path, { method: 'POST', body, headers })).status
  const own = { 'x-org-id': organization }
  t.equal(await send('/api/v1/capture-session', '{}', own), 400)
  t.equal(await send('/api/v1/capture-event', '{"event_id":"x"}', own), 400)
  t.equal(await send('/v1/traces', 'nonsense', { 'x-service-org-id': organization }, receiver.otelUrl), 400)
  t.equal(await send('/api/v1/capture-session', '{}', { 'x-org-id': system.inactive }), 401)
  t.equal(await send('/api/v1/capture-session', '{}', {}), 401)
  const session = { session_id: '00000000-0000-4000-8000-000000000001', user_data: { user_id: 'ada' } }
  t.equal(await send('/api/v1/capture-session', JSON.stringify(session), own), 200)
  const requests = await eventually('all three', async () => {
    const found = await told()
    return found.length === 3 && found
  })
  t.match(
    requests.toSorted((x, y) => (x.endpoint < y.endpoint ? -1 : 1)),
    [
      { endpoint: 'capture-event', status: 400, code: 'REQ_BODY_INVALID', error: /session_id/, body_bytes: 16 },
      { endpoint: 'capture-session', status: 400, code: 'REQ_BODY_INVALID', error: /session_id/, body_bytes: 2 },
      { endpoint: 'traces', status: 400, code: 'REQ_TYPE_UNSUPPORTED', body_bytes: 0 },
    ],
  )
  const stranger = await createOrganization(buckets.control, { name: 'other' })
  const strange = await keyOf(stranger.id)
  t.strictSame(await eventually('the other key', async () => await told(strange)), [])
})

t.test('several receivers keep the newest of all of them, and a stop writes what was noted', async t => {
  const id = (await createOrganization(buckets.control, { name: 'busy' })).id
  const apiKey = await keyOf(id)
  let now = Date.UTC(2026, 0, 1)
  const receivers = Array.from({ length: 3 }, () =>
    createRejects({
      bucket: buckets.rejects,
      metrics: createMetrics('receiver'),
      log: silentLog,
      // Later than the test: the stop is what writes.
      flushMs: 3_600_000,
      clock: () => now++,
    }),
  )
  for (let n = 0; n < 90; n++) {
    receivers[n % 3]?.note(id, { endpoint: 'traces', code: 'ING_RATE', detail: 'x'.repeat(n * 10), bodyBytes: n })
  }
  await Promise.all(receivers.map(receiver => receiver.close()))
  const newest = Array.from({ length: REJECTS_MAX }, (_, i) => 89 - i)
  const shown = await eventually('all receivers', async () => {
    const requests = await told(apiKey)
    return requests.length === REJECTS_MAX && requests[2]?.body_bytes === 87 && requests
  })
  t.strictSame(
    shown.map(request => request.body_bytes),
    newest,
  )
  t.ok(shown.every(request => request.error.length <= 300 && request.status === 429))
})

t.test('a bucket that is away is two lines, however many refusals it costs, and these are counted', async t => {
  const id = (await createOrganization(buckets.control, { name: 'unheard' })).id
  let away = true
  const bucket = new Proxy(buckets.rejects, {
    get: (kv, name) => {
      if (away && name === 'get') return () => Promise.reject(new Error('away'))
      const value: unknown = Reflect.get(kv, name)
      return typeof value === 'function' ? (value.bind(kv) as unknown) : value
    },
  })
  const lines: unknown[][] = []
  const note =
    (level: string) =>
    ({ unkept }: { unkept?: number }, sentence: string) =>
      void lines.push([level, unkept, sentence])
  const log = { warn: note('warn'), info: note('info') } as unknown as Log
  const metrics = createMetrics('receiver')
  const rejects = createRejects({ bucket, metrics, log, flushMs: 1 })
  const refuse = (): void => rejects.note(id, { endpoint: 'traces', code: 'ING_FULL', detail: '', bodyBytes: 1 })
  for (let lost = 1; lost <= 3; lost++) {
    refuse()
    await eventually('the loss', async () =>
      new RegExp(`rejects_lost_total\\{[^\\n]* ${lost}\\n`).test(await metrics.registry.metrics()),
    )
  }
  away = false
  refuse()
  await rejects.close()
  t.strictSame(lines, [
    ['warn', undefined, 'refusals cannot be kept for the dashboard'],
    ['info', 3, 'refusals are kept for the dashboard again'],
  ])
})
