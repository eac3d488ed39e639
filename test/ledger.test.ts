// The ledger and receipts against a small world counted by hand: what was sent once, twice, broken, refused, and what waits. And, since
// every process runs here, what operators ask of each.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import type { LedgerResponse, ReceiptResponse } from '#proto/dashboard/ledger.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { LEDGER_KEY } from '#proto/ledger.ts'
import { streamOf, subjectOf } from '#proto/streams.ts'
import { getReplay, isUnderWay, requestReplay, spanOf } from '#streams/replay.ts'
import { createTenant, eventually, startPart, startSystem } from '#test/rig.ts'

const PARTITIONS = 2
const system = await startSystem(t, { limits: { partitions: PARTITIONS }, env: { PARLEY_QUERY_CHECK_RESPONSES: 'on' } })
const { organization, store, buckets } = system
const other = await createTenant(buckets, { name: 'other' })
const analysis = await startPart(t, 'analysis/main.ts', {
  NATS_URL: system.nats.url,
  CLICKHOUSE_URL: system.clickhouseUrl,
  PARLEY_DATABASE: system.database,
  PARLEY_LEDGER_SECONDS: '1',
  PARLEY_VERIFY_HOURS: '0',
})

/** Sends and returns the receipt; '' for a request that was refused. */
async function send(path: string, body: object, base = system.baseUrl, who = organization): Promise<string> {
  const headers = { 'x-org-id': who, 'x-service-org-id': who, 'content-type': 'application/json' }
  const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
  await response.arrayBuffer()
  return response.ok ? (response.headers.get('x-parley-receipt') ?? '') : ''
}

async function ask<T>(path: string, apiKey = system.apiKey): Promise<{ status: number; body: T }> {
  const response = await fetch(`${system.queryUrl}/dashboard/api/${path}`, { headers: { 'x-api-key': apiKey } })
  return { status: response.status, body: (await response.json()) as T }
}
const receiptOf = async (receipt: string): Promise<ReceiptResponse> =>
  (await ask<ReceiptResponse>(`receipts/${receipt}`)).body

const FIELDS = ['received', 'stored', 'repeats', 'dead', 'lag', 'items', 'repeated_items', 'read_again'] as const

/** Rows and totals that don't add up, of every answer. */
const wrong: object[] = []

/** Sums over hours, since a test may run over the end of one; undefined until the ledger is exact. */
async function bySurface(apiKey?: string): Promise<Record<string, number[]> | undefined> {
  const { body } = await ask<LedgerResponse>('ledger', apiKey)
  if (!body.exact) return undefined
  const sums: Record<string, number[]> = {}
  for (const row of body.hours) {
    if (row.received !== row.stored + row.repeats + row.dead + row.lag) wrong.push(row)
    const before = sums[row.surface] ?? FIELDS.map(() => 0)
    sums[row.surface] = FIELDS.map((field, i) => (before[i] as number) + row[field])
  }
  const total = FIELDS.map((_, i) => Object.values(sums).reduce((sum, each) => sum + (each[i] as number), 0))
  if (FIELDS.some((field, i) => body.totals[field] !== total[i])) wrong.push(body.totals)
  return sums
}

async function eventuallyBySurface(what: string, expected: Record<string, number[]>): Promise<void> {
  const wanted = JSON.stringify(expected)
  let seen = ''
  await eventually(what, async () => {
    seen = JSON.stringify(await bySurface())
    return seen === wanted
  }).catch(() => t.equal(seen, wanted, what))
}

const session = randomUUID()
const eventOf = (id = randomUUID()) => ({
  event_id: id,
  session_id: session,
  primitive_name: 'a',
  args: 'b',
  result: 'c',
})
const spanOf_ = (n: number) => ({
  ...{ traceId: 'a'.repeat(32), spanId: n.toString(16).padStart(16, '0'), name: 'step' },
  ...{ startTimeUnixNano: `${Date.now()}000000`, endTimeUnixNano: `${Date.now()}000000`, attributes: [] },
})
const traces = (...numbers: number[]) => ({ resourceSpans: [{ scopeSpans: [{ spans: numbers.map(spanOf_) }] }] })
const call = {
  message: {
    type: 'end-of-call-report',
    call: { id: 'call-1', customer: { number: '+15550100' } },
    transcript: 'AI: Hello.\nUser: Hi.',
  },
}

const pageOf = (path: string): Promise<string> => readFile(new URL(`../${path}`, import.meta.url), 'utf8')

t.test('every process says whether it is ready, and has the metrics of the alerts', async t => {
  const { receivers, processors, query } = system
  const parts = { receivers: receivers[0], processors: processors[0], 'query node': query, analysis }
  const rows: string[] = []
  const served = new Set<string>()
  let series = ''
  for (const [who, part] of Object.entries(parts)) {
    const base = `http://127.0.0.1:${part?.opsPort}`
    const ready = await (await fetch(`${base}/readyz`)).json()
    t.match(ready, { ready: Boolean, reasons: Array })
    const text = await (await fetch(`${base}/metrics`)).text()
    series += text
    for (const [, name = '', help, type] of text.matchAll(/^# HELP (\w+) (.+)\n# TYPE \1 (\w+)$/gm)) {
      served.add(name)
      if (!/^parley_(process|nodejs)_/.test(name)) rows.push(`| \`${name}\` | ${type} | ${who} | ${help} |`)
    }
  }
  const listed = /<!-- metrics -->\n([\s\S]*?)\n<!-- \/metrics -->/.exec(await pageOf('docs/metrics.md'))?.[1]
  t.strictSame(listed?.split('\n').slice(2), rows, 'docs/metrics.md lists what is served, in that order')

  const rules = await pageOf('deploy/alerts.yml')
  const named = [...rules.matchAll(/\bparley_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''))
  t.ok(named.length > 10)
  t.strictSame(
    named.filter(name => !served.has(name)),
    [],
  )
  // A series that begins at 1 shows no increase: what is alarmed by has to be there at 0.
  const counted = [...rules.matchAll(/(?:increase|rate)\((\w+_total)(?:\{(\w+)=~?"([^"]+)"\})?/g)]
  t.ok(counted.length > 6)
  for (const [, name = '', label = '', values = ''] of counted) {
    for (const value of values.split('|')) {
      const one = new RegExp(`^${name}(\\{| )${label === '' ? '' : `.*\\b${label}="${value}"`}`, 'm')
      t.match(series, one, `${name} ${value}`)
    }
  }
  const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
  const page = await pageOf('docs/operating.md')
  t.strictSame(
    [...page.matchAll(/^\| (Parley\w+) \|/gm)].map(([, name]) => name),
    alerts,
  )
})

t.test('every payload is somewhere, exactly once', async t => {
  const first = await send('/api/v1/capture-session', { session_id: session, user_data: { user_id: 'ada' } })
  await send('/api/v1/capture-session', { session_id: session, user_data: { user_id: 'ada' } })
  const twice = eventOf()
  const stored = await send('/api/v1/capture-event', twice)
  const repeated = await send('/api/v1/capture-event', twice)
  await send('/api/v1/capture-event', eventOf())
  await send('/api/v1/capture-event', eventOf())
  t.equal(await send('/api/v1/capture-event', { event_id: 'x' }), '')
  t.equal(await send('/api/v1/capture-event', { event_id: 'x' }), '')
  const called = await send('/api/voice/v1/webhooks/voice-platform', call)
  const calledAgain = await send('/api/voice/v1/webhooks/voice-platform', call)
  const sent = traces(1, 2, 3)
  await send('/v1/traces', sent, system.otelUrl)
  await send('/v1/traces', sent, system.otelUrl)
  const partly = await send('/v1/traces', traces(2, 3, 4), system.otelUrl)
  const foreign = await send(
    '/api/v1/capture-session',
    { session_id: randomUUID(), user_data: { user_id: 'eve' } },
    system.baseUrl,
    other.organization,
  )

  // What no receiver would let through.
  const writer = new EnvelopeWriter(10_000)
  writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(organization), Date.now(), null, Buffer.from('{"cut'))
  const { seq } = await jetstream(system.nc).publish(subjectOf(1), writer.finish())

  await eventuallyBySurface('the ledger', {
    otlp: [3, 2, 1, 0, 0, 9, 5, 0],
    sdk: [7, 5, 1, 1, 0, 6, 1, 0],
    voice: [2, 1, 1, 0, 0, 2, 1, 0],
  })
  t.strictSame(await bySurface(other.apiKey), { sdk: [1, 1, 0, 0, 0, 1, 0, 0] })
  const rejected = await eventually('the refusals', async () => {
    const { body } = await ask<LedgerResponse>('ledger')
    return Object.keys(body.totals.rejected).length > 0 && body.totals.rejected
  })
  t.strictSame(rejected, { REQ_BODY_INVALID: 2 })

  t.match(await receiptOf(first), { state: 'stored', rows: { events: 0, sessions: 1 } })
  t.match(await receiptOf(stored), {
    receipt: stored,
    state: 'stored',
    rows: { events: 1, texts: 1, sessions: 0 },
    stored_at: /Z$/,
  })
  t.match(await receiptOf(repeated), { state: 'repeat', rows: { events: 0 }, stored_at: /Z$/, received_at: /Z$/ })
  t.match(await receiptOf(called), { state: 'stored', rows: { sessions: 1 } })
  t.match(await receiptOf(calledAgain), { state: 'repeat' })
  t.match(await receiptOf(partly), { state: 'stored', rows: { events: 1 } })
  t.match(await receiptOf(`1-${seq}-0`), { state: 'dead', code: 'DEAD_PARSE', reason: /./, stored_at: /Z$/ })
  t.match(await ask(`receipts/${foreign}`), { status: 404, body: { error: /no such receipt/ } }, 'of another tenant')
  t.equal((await ask(`receipts/${foreign}`, other.apiKey)).status, 200)
  t.equal((await ask(`receipts/${stored}`, other.apiKey)).status, 404)
  t.equal((await ask('receipts/1-99999-0')).status, 404)
  t.equal((await ask('receipts/none')).status, 400)
  t.equal((await ask('ledger?from=2026-01-01&to=2026-03-01')).status, 400, 'longer than a month')
  t.match(await ask('ledger?from=2026-01-01&to=2026-01-02'), { status: 200, body: { hours: [] } })
})

t.test('whoever has waited for a receipt is shown what was sent, whatever it was', async t => {
  const headers = { 'x-api-key': other.apiKey }
  const f = async (path: string, body: (mark: string) => object, base = system.baseUrl): Promise<void> => {
    const mark = randomUUID().replaceAll('-', '')
    const receipt = await send(path, body(mark), base, other.organization)
    t.match(receipt, /^\d+-\d+-\d+$/, path)
    const { body: known } = await ask<ReceiptResponse>(`receipts/${receipt}?wait=30s`, other.apiKey)
    t.match(known, { receipt, state: 'stored' }, path)
    const page = await fetch(`${system.queryUrl}/dashboard/api/user-stories`, { method: 'POST', headers })
    t.match(await page.text(), mark, `${path}, at once`)
  }
  const mine = randomUUID()
  await send(
    '/api/v1/capture-session',
    { session_id: mine, user_data: { user_id: 'mallory' } },
    system.baseUrl,
    other.organization,
  )
  await f('/api/v1/capture-event', args => ({ ...eventOf(), session_id: mine, args }))
  await f('/api/voice/v1/webhooks/voice-platform', id => ({
    message: { ...call.message, call: { ...call.message.call, id }, transcript: `AI: Hello.\nUser: It is ${id}.` },
  }))
  const span = (mark: string) => ({
    ...spanOf_(9),
    traceId: mark,
    attributes: [{ key: 'input', value: { stringValue: mark } }],
  })
  await f('/v1/traces', mark => ({ resourceSpans: [{ scopeSpans: [{ spans: [span(mark)] }] }] }), system.otelUrl)
})

t.test('what waits is on its way, and then it is not', async t => {
  await system.processors[0]?.stop()
  const waiting = await send('/api/v1/capture-event', eventOf())
  const longAgo = await send('/api/v1/capture-event', { ...eventOf(), timestamp: Date.UTC(2017, 6, 14) })
  await eventuallyBySurface('two on their way', {
    otlp: [3, 2, 1, 0, 0, 9, 5, 0],
    sdk: [9, 5, 1, 1, 2, 6, 1, 0],
    voice: [2, 1, 1, 0, 0, 2, 1, 0],
  })
  t.match(await receiptOf(waiting), { state: 'waiting', stored_at: null, rows: { events: 0 } })
  const impatient = performance.now()
  t.match(await receiptOf(`${waiting}?wait=1s`), { state: 'waiting' })
  t.ok(performance.now() - impatient >= 1_000, 'waited, and no longer than it was told')
  t.match(await ask(`receipts/${waiting}?wait=5`), { status: 400, body: { field: 'wait' } })
  t.match(await ask(`receipts/${waiting}?wait=31s`), { status: 400, body: { field: 'wait' } })
  const waitedFor = receiptOf(`${waiting}?wait=30s`)
  await system.startProcessor()
  t.match(await waitedFor, { state: 'stored', rows: { events: 1 } }, 'the answer comes when it is stored')
  await eventuallyBySurface('nothing on its way', {
    otlp: [3, 2, 1, 0, 0, 9, 5, 0],
    sdk: [9, 7, 1, 1, 0, 8, 1, 0],
    voice: [2, 1, 1, 0, 0, 2, 1, 0],
  })
  t.match(await receiptOf(waiting), { state: 'stored', rows: { events: 1 }, moved_times: 0 })
  t.match(await receiptOf(longAgo), { state: 'stored', rows: { events: 1 }, moved_times: 1 })
})

t.test('replays count apart, folding again changes nothing, and the store agrees', async t => {
  const jsm = await jetstreamManager(system.nc)
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { first, last } = await spanOf(jsm, streamOf(partition))
    if (last < first) continue
    await requestReplay(buckets.cursors, partition, { from: first, to: last })
    await eventually('the replay', async () => {
      const found = await getReplay(buckets.cursors, partition)
      return found !== null && !isUnderWay(found.record)
    })
  }
  const expected = {
    otlp: [3, 2, 1, 0, 0, 9, 5, 3],
    sdk: [9, 7, 1, 1, 0, 8, 1, 9],
    voice: [2, 1, 1, 0, 0, 2, 1, 2],
  }
  // Nine spans of which five were repeats; eight events and captures, of which one was a repeat.
  const [spans, taken] = [9 - 5, 8 - 1]
  await eventuallyBySurface('what was read again', expected)
  await buckets.cursors.purge(LEDGER_KEY)
  await eventually(
    'the ledger to be folded anew',
    async () => (await buckets.cursors.get(LEDGER_KEY))?.operation === 'PUT',
  )
  await eventuallyBySurface('the same', expected)

  // Recounted from rows: items that are no repeats stand in the store.
  const rows = await store.read<{ source: string; n: string }>(
    `SELECT toString(source) AS source, toString(sum(sign)) AS n FROM events WHERE organization = {organization:UUID}
     AND source IN ('sdk', 'otlp') GROUP BY source ORDER BY source`,
    { parameters: { organization } },
  )
  const [captures] = await store.read<{ n: string }>(
    `SELECT toString(uniqExact(origin_partition, origin_sequence, origin_frame)) AS n FROM sessions
     WHERE organization = {organization:UUID} AND source = 'sdk'`,
    { parameters: { organization } },
  )
  t.strictSame(Object.fromEntries(rows.map(({ source, n }) => [source, Number(n)])), {
    otlp: spans,
    sdk: taken - Number(captures?.n),
  })
  t.strictSame(wrong, [], 'every answer has added up')
})
