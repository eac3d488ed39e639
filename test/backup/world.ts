// A small world of everything that parley stores: all surfaces, what was sent twice, what was corrected, what became known late, what
// could not be read, who was erased, and what people have set up. The same seed makes the same world but for ids that the product mints.
import { randomUUID } from 'node:crypto'
import { jetstream } from '@nats-io/jetstream'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { subjectOf } from '#proto/streams.ts'
import { eventually, startPart, type Teardown, type TestSystem } from '#test/rig.ts'
import { planStories } from '../../demo/plan.ts'
import { sendStories } from '../../demo/send.ts'
import { answerOf } from './answers.ts'

/** What questions about a world name. */
export interface World {
  readonly conversations: readonly string[]
  readonly events: readonly string[]
  readonly receipts: readonly string[]
  readonly erasedUser: string
  /** All that the stories hold, and nothing that comes later. */
  readonly window: { readonly from: string; readonly to: string }
}

const DAY_MS = 86_400_000
/** Conversations and events that are asked about one by one. */
const ASKED = 4

/** Fills a system's first organization; resolves when everything has come to rest. */
export async function makeWorld(t: Teardown, system: TestSystem, conversations: number): Promise<World> {
  const { baseUrl, otelUrl, organization, store } = system
  const now = Date.now()
  const send = async (path: string, body: object, base = baseUrl): Promise<string> => {
    const headers = { 'x-org-id': organization, 'x-service-org-id': organization, 'content-type': 'application/json' }
    const answer = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.headers.get('x-parley-receipt') ?? ''
  }
  const stories = planStories({ seed: 'backup', conversations, users: 5, days: 3 }, now)
  const { refused } = await sendStories({ baseUrl, otelUrl, organization }, stories, {
    concurrency: 8,
    onProgress: () => undefined,
  })
  if (refused.size > 0) throw new Error(`refused: ${[...refused.keys()].join(', ')}`)

  const session = randomUUID()
  const event = {
    event_id: randomUUID(),
    session_id: session,
    primitive_name: 'support',
    args: 'where',
    result: 'here',
  }
  const receipts = [
    await send('/api/v1/capture-session', { session_id: session, user_data: { user_id: 'ada', plan: 'pro' } }),
    await send('/api/v1/capture-event', event),
    await send('/api/v1/capture-event', event),
    await send('/api/voice/v1/webhooks/voice-platform', call('Hello.')),
    await send('/v1/traces', trace(1, {}, now), otelUrl),
  ]
  for (const receipt of receipts.slice(-2)) {
    await eventually(`${receipt} to be stored`, async () => {
      return (
        ((await answerOf(system, ['GET', `receipts/${receipt}`], 'bearer')) as { state: string }).state === 'stored'
      )
    })
  }
  // A later report of a call takes the place of the one that is stored, and only now the trace says whose it is.
  receipts.push(
    await send('/api/voice/v1/webhooks/voice-platform', call('Hello, how can I help?')),
    await send('/v1/traces', trace(2, { 'session.id': 'late-1', 'user.id': 'grace' }, now), otelUrl),
    await send('/api/v1/capture-session', { session_id: session, user_data: { user_id: 'ada', plan: 'team' } }),
  )
  const eve = randomUUID()
  await send('/api/v1/capture-session', { session_id: eve, user_data: { user_id: 'eve' } })
  await send('/api/v1/capture-event', { ...event, event_id: randomUUID(), session_id: eve })
  receipts.push(`1-${await sendBroken(system)}-0`)
  await setUp(system)

  const analysis = await startPart(t, 'analysis/main.ts', {
    ...{ NATS_URL: system.nats.url, CLICKHOUSE_URL: system.clickhouseUrl, PARLEY_DATABASE: system.database },
    ...{ PARLEY_LEDGER_SECONDS: '1', PARLEY_SWEEP_SECONDS: '1', PARLEY_VERIFY_HOURS: '0', PARLEY_RETENTION_HOURS: '0' },
  })
  const ask = <T>(method: string, path: string): Promise<T> => answerOf(system, [method, path], 'bearer') as Promise<T>
  await eventually('eve to be stored', async () => (await eventsOf(system, eve)) === 1)
  await ask('DELETE', 'users/eve')
  await eventually('the end of the erasure', async () => {
    const { state } = await ask<{ state: string }>('GET', 'users/eve/erasure')
    return state !== 'requested' && state !== 'erasing' && (await eventsOf(system, eve)) === 0
  })
  await eventually('every span at home', async () => {
    const [row] = await store.read<{ n: string }>(
      `SELECT sum(sign) AS n FROM events WHERE (organization, conversation_id) IN (SELECT organization, provisional_id FROM links)`,
    )
    return row?.n === '0'
  })
  await eventually('an exact ledger', async () => {
    const ledger = await ask<{ exact: boolean; totals: { lag: number; received: number } }>('GET', 'ledger')
    return ledger.exact && ledger.totals.lag === 0 && ledger.totals.received > 0
  })
  await analysis.stop()
  const rows = await store.read<{ conversation: string; event: string }>(
    `SELECT conversation_id AS conversation, any(event_id) AS event, any(source) AS source FROM events WHERE organization = {organization:UUID}
     GROUP BY conversation HAVING sum(sign) > 0 ORDER BY source DESC, conversation`,
    { parameters: { organization } },
  )
  return {
    conversations: rows.map(row => row.conversation).slice(0, ASKED),
    events: rows.map(row => row.event).slice(0, ASKED),
    receipts,
    erasedUser: 'eve',
    // Over already, so that no answer depends on when it is asked for.
    window: { from: new Date(now - 10 * DAY_MS).toISOString(), to: new Date().toISOString() },
  }
}

const call = (text: string) => ({
  message: {
    type: 'end-of-call-report',
    call: { id: 'call-1', customer: { number: '+15550100' } },
    transcript: `AI: ${text}\nUser: Hi.`,
    recordingUrl: 'https://example.org/call-1.wav',
  },
})

const trace = (span: number, values: Readonly<Record<string, string>>, now: number) => {
  const at = `${now}000000`
  const attributes = Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }))
  const one = { traceId: 'c'.repeat(32), spanId: String(span).padStart(16, '0'), name: 'invoke_agent planner' }
  const spans = [{ ...one, startTimeUnixNano: at, endTimeUnixNano: at, attributes }]
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] }
}

/** What no receiver would let through; returns its position in partition 1. */
async function sendBroken({ nc, organization }: TestSystem): Promise<number> {
  const writer = new EnvelopeWriter(10_000)
  writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(organization), Date.now(), null, Buffer.from('{"cut'))
  return (await jetstream(nc).publish(subjectOf(1), writer.finish())).seq
}

async function eventsOf({ store }: TestSystem, session: string): Promise<number> {
  const [row] = await store.read<{ n: string }>(
    'SELECT sum(sign) AS n FROM events WHERE conversation_id = {session:UUID}',
    { parameters: { session } },
  )
  return Number(row?.n)
}

/** Everything that people may keep. */
async function setUp(system: TestSystem): Promise<void> {
  const { organization } = system
  const put = (method: string, path: string, body: object): Promise<unknown> =>
    answerOf(system, [method, path, body], 'bearer')
  await put('POST', 'dashboard/charts', { title: 'Cost', chart_type: 'line', metric: 'cost' })
  await put('POST', 'views', { name: 'Mine', page: 'raw-logs', filters: { time_range: '1w' }, shared: true })
  await put('POST', 'attribute-rules', { attribute: 'shop.visitor', field: 'user_id' })
  await put('PUT', 'prices', { overrides: [{ model: 'own-model', prices: { input: 2, output: 4 } }] })
  await put('PUT', 'organization/retention', { events_days: 400, texts_days: 300 })
  await put('PUT', 'organization/event-keys', { keys: ['plan'] })
  await put('POST', `organizations/${organization}/members`, { email: 'bob@example.org', role: 'member' })
  await put('POST', 'organization/api-keys', { name: 'second', scopes: ['read'] })
}
