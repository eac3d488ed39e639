// One event id sent in two sessions, which lie in two partitions: the one that was received first stands, whoever is killed meanwhile; the other
// is a repeat in receipts and in the ledger, and leaves nothing behind in any figure.
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { LedgerResponse, ReceiptResponse } from '#proto/dashboard/ledger.ts'
import { verify } from '#store/verify/verify.ts'
import { readSettled } from '#streams/settled.ts'
import { eventually, startPart, startSystem, type TestPart } from '#test/rig.ts'

t.setTimeout(300_000)
const PARTITIONS = 2
const system = await startSystem(t, { limits: { partitions: PARTITIONS }, env: { PARLEY_QUERY_CHECK_RESPONSES: 'on' } })
const { organization, store, buckets, apiKey, queryUrl } = system
const startAnalysis = (): Promise<TestPart> =>
  startPart(t, 'analysis/main.ts', {
    NATS_URL: system.nats.url,
    CLICKHOUSE_URL: system.clickhouseUrl,
    PARLEY_DATABASE: system.database,
    PARLEY_LEDGER_SECONDS: '1',
    PARLEY_VERIFY_HOURS: '0',
  })

async function send(path: string, body: object): Promise<string> {
  const headers = { 'x-org-id': organization, 'content-type': 'application/json' }
  const response = await fetch(`${system.baseUrl}/api/v1/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
  return response.headers.get('x-parley-receipt') ?? ''
}

async function ask<T>(path: string, body?: object): Promise<T> {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const options = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  return (await (await fetch(`${queryUrl}/dashboard/api/${path}`, options)).json()) as T
}

/** A session of its own in this partition, by its receipt. */
async function sessionIn(partition: number): Promise<string> {
  for (;;) {
    const session_id = randomUUID()
    const body = { session_id, user_data: { user_id: `user ${session_id}` } }
    // A kept connection may have been closed meanwhile; a capture that is sent twice is the same one.
    const receipt = await eventually('a session', () => send('capture-session', body))
    if (receipt.startsWith(`${partition}-`)) return session_id
  }
}

const eventOf = (event_id: string, session_id: string) => ({
  ...{ event_id, session_id, primitive_name: 'agent', args: `asked in ${session_id}`, result: 'x'.repeat(300) },
})
const stateOf = async (receipt: string): Promise<string> => (await ask<ReceiptResponse>(`receipts/${receipt}`)).state
const sum = async (): Promise<number> =>
  Number((await store.read<{ n: string }>('SELECT sum(sign) AS n FROM events'))[0]?.n)

interface Sent {
  readonly event: string
  readonly first: string
  readonly second: string
  readonly receipts: readonly [string, string]
}

/** Each id twice, the first of two sessions once in the one partition and once in the other. */
async function sendTwice(n: number): Promise<Sent[]> {
  const sessions = [await sessionIn(0), await sessionIn(1)] as const
  const sent: Sent[] = []
  for (let i = 0; i < n; i++) {
    const event = randomUUID()
    const [first, second] = i % 2 === 0 ? sessions : ([sessions[1], sessions[0]] as const)
    const one = await send('capture-event', eventOf(event, first))
    // A clock of milliseconds tells them apart.
    await new Promise(resolve => setTimeout(resolve, 2))
    sent.push({ event, first, second, receipts: [one, await send('capture-event', eventOf(event, second))] })
  }
  return sent
}

async function firstStands(t: Test, sent: readonly Sent[]): Promise<void> {
  for (const { event, first, receipts } of sent) {
    t.match(await ask('raw-logs/count', { event_id: event }), { total_count: 1 })
    t.match(await ask('event-io', { event_id: event }), { session_id: first, input: `asked in ${first}` })
    t.strictSame(await Promise.all(receipts.map(stateOf)), ['stored', 'repeat'])
  }
  const found = await verify(store, { settled: () => readSettled(buckets.cursors, PARTITIONS), lookPauseMs: 20 })
  t.strictSame(found.differences, [])
}

let stored = 0
let repeats = 0

t.test('the first stands', async t => {
  const sent = await sendTwice(6)
  await eventually('all are stored', async () => (await sum()) === 12)
  const found = await verify(store, { settled: () => readSettled(buckets.cursors, PARTITIONS), lookPauseMs: 20 })
  t.equal(found.differences.length, 6, 'verify tells of them')
  t.match(found.differences[0], { check: 'repeat', sum: 2 })
  const analysis = await startAnalysis()
  await eventually('one of each stands', async () => (await sum()) === 6)
  await firstStands(t, sent)
  // As it was: sent again where it was a repeat, and where it stands.
  await send('capture-event', eventOf(sent[0]?.event ?? '', sent[0]?.second ?? ''))
  await send('capture-event', eventOf(sent[0]?.event ?? '', sent[0]?.first ?? ''))
  stored += 6
  repeats += 6 + 2
  await ledgerSays(t)
  await analysis.stop()
})

/** Captures of sessions are payloads as well. */
async function ledgerSays(t: Test): Promise<void> {
  const sessions = Number((await store.read<{ n: string }>('SELECT count() AS n FROM sessions'))[0]?.n)
  const wanted = { stored: stored + sessions, repeats, dead: 0, lag: 0, repeated_items: repeats }
  let seen: unknown
  await eventually('the ledger', async () => {
    const { exact, totals } = await ask<LedgerResponse>('ledger')
    seen = totals
    return exact && Object.entries(wanted).every(([key, n]) => totals[key as keyof typeof wanted] === n)
  }).catch(() => t.match(seen, wanted, 'the ledger'))
}

t.test('whoever is killed, each is taken back once', async t => {
  let processor = system.processors[0] as TestPart
  const all: Sent[] = []
  for (const killed of ['analysis', 'processor', 'both'] as const) {
    const sent = await sendTwice(4)
    all.push(...sent)
    await eventually('all are stored', async () => (await sum()) === stored + 8)
    const analysis = await startAnalysis()
    // Somewhere between the request and its end.
    await eventually('a correction is asked for', async () => {
      const entries = await Promise.all([0, 1].map(partition => buckets.cursors.get(`correct.${partition}`)))
      return (await sum()) === stored + 4 || entries.some(entry => entry?.string().includes(sent[0]?.event ?? '-'))
    })
    if (killed !== 'processor') analysis.kill('SIGKILL')
    if (killed !== 'analysis') {
      processor.kill('SIGKILL')
      processor = await system.startProcessor()
    }
    const next = killed === 'processor' ? analysis : await startAnalysis()
    await eventually('one of each stands', async () => (await sum()) === stored + 4, 60_000)
    stored += 4
    repeats += 4
    await ledgerSays(t)
    await next.stop()
  }
  await store.command('OPTIMIZE TABLE events FINAL')
  t.equal(await sum(), stored)
  await firstStands(t, all)
})

t.test('one id in very many sessions', async t => {
  const event = randomUUID()
  const sessions: string[] = []
  for (let i = 0; i < 200; i++) sessions.push(await sessionIn(i % 2))
  const receipts: string[] = []
  for (const session of sessions) receipts.push(await send('capture-event', eventOf(event, session)))
  const analysis = await startAnalysis()
  await eventually('one stands', async () => (await sum()) === stored + 1, 60_000)
  const shown = await eventually('it is shown', () => ask<{ session_id: string }>('event-io', { event_id: event }))
  t.equal(shown.session_id, sessions[0])
  stored++
  repeats += receipts.length - 1
  await ledgerSays(t)
  await analysis.stop()
})
