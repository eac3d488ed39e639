// The small data set whose totals the tests know by heart: two organizations, every wire, captures that repeat, corrections.
import { randomUUID } from 'node:crypto'
import { NIL_UUID } from '#proto/ids.ts'
import type { EventRow } from '#proto/rows.ts'
import { Present } from '#proto/rows.ts'
import type { Store } from '#store/client.ts'
import { aggregateInserts, foldEvents } from '#test/folding.ts'
import { createTenant } from '#test/rig.ts'
import type { DataNode, NodeOptions, StoredEvent } from './fixture.ts'
import { id, insertEvents, insertMove, insertSessions, startNode, storedEvent, storedSession } from './fixture.ts'

/** `twice`: the second organization has the whole data set as well. */
interface DataNodeOptions extends NodeOptions {
  readonly twice?: boolean
}

/** Starts a node and writes the data set for its two organizations. */
export async function startDataNode(
  t: Parameters<typeof startNode>[0],
  options: DataNodeOptions = {},
): Promise<DataNode> {
  const node = await startNode(t, { ...options, aggregated: true })
  // Rows and their reversals lie side by side, as they do until a merge comes by; `fold` is that merge.
  await node.db.store.command('SYSTEM STOP MERGES events')
  const [a, b] = [await createTenant(node.buckets, { name: 'a' }), await createTenant(node.buckets, { name: 'b' })]
  const others = options.twice ? [{ a: b.organization, b: randomUUID() }] : []
  await writeData(node.db.store, [{ a: a.organization, b: b.organization }, ...others])
  return {
    ...node,
    a,
    b,
    fold: async () => {
      await foldEvents(node.db.store)
    },
    post: (path, body, apiKey = a.apiKey) =>
      node.ask('POST', `/dashboard/api/${path}`, { body, headers: { 'x-api-key': apiKey } }),
  }
}

/** Conversations. */
export const CHAT = id(101)
export const MCP = id(102)
export const TRACE = id(103)
export const CALL = id(104)
export const SHRUNK = id(105)
export const GREW = id(106)
/** A trace's stand-in whose rows all moved to TRACE. */
export const STAND_IN = id(107)

/** One character of three bytes across the 64 KiB cut, then the words that only the end holds. */
export const LONG_INPUT = `${'x'.repeat(65_535)}€${'y'.repeat(100)} the needle`
const TRACE_ID = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'

const of = (organization: string, conversation_id: string, fields: Partial<EventRow>) => ({
  organization,
  conversation_id,
  ...fields,
})

/**
 * Writes the data set for organization `a`, and for `b` a conversation and an event under the same ids: what has been merged once, and
 * then, to an `events` whose inserts are as ever from there on, what has not.
 */
async function writeData(store: Store, organizations: readonly { a: string; b: string }[]): Promise<void> {
  for (const { a, b } of organizations) {
    await insertSessions(store, sessionsOf(a, b))
    await insertEvents(store, [...chat(a), ...mcp(a), ...call(a)])
    await shrink(store, a)
  }
  await aggregateInserts(store, false)
  for (const { a, b } of organizations) {
    await insertEvents(store, trace(a, STAND_IN))
    await insertMove(store, trace(a, STAND_IN), { conversation_id: TRACE, session_id: 'my-session', user_id: 'grace' })
    const foreign = of(b, CHAT, { event_id: id(1) })
    await insertEvents(store, [
      storedEvent({ ...foreign, at: '2026-06-15T11:30:00.000Z', input: 'secret', name: 'spy' }),
    ])
  }
}

const sessionsOf = (a: string, b: string) => [
  ...chatSessions(a),
  storedSession({
    at: '2026-06-12T09:00:00.000Z',
    ...{ organization: a, conversation_id: MCP, session_id: 'conv_mcp', source: 'mcp', connection_type: 'mcp' },
    metadata: { region: 'eu' },
  }),
  storedSession({
    at: '2026-05-26T10:05:00.000Z',
    ...{ organization: a, conversation_id: CALL, source: 'voice', user_id: '+15550001', connection_type: 'voice' },
    recording_url: 'https://recordings.example/1.wav',
  }),
  storedSession({ at: '2026-06-15T11:00:00.000Z', organization: b, conversation_id: CHAT, user_id: 'mallory' }),
]

/** Three captures: later fields win, and what a later one lacks stays. The last one spells the id in capitals, as does the last event. */
const chatSessions = (organization: string) => {
  const session = { organization, conversation_id: CHAT }
  return [
    storedSession({
      at: '2026-06-15T11:57:00.000Z',
      ...{ ...session, user_id: 'guest', user_email: 'guest@example.org', connection_type: 'kiosk' },
      user_data: { plan: 'free', country: 'uk' },
    }),
    storedSession({
      at: '2026-06-15T11:57:01.000Z',
      ...{ ...session, user_id: 'ada', user_email: 'ada@example.org', connection_type: 'web' },
      user_data: { plan: 'pro' },
    }),
    storedSession({
      at: '2026-06-15T11:57:02.000Z',
      ...{ ...session, session_id: CHAT.toUpperCase(), metadata: { channel: 'beta' } },
    }),
  ]
}

/** Two turns and a failed tool call below the first, within two minutes before noon. */
const chat = (organization: string): StoredEvent[] => [
  storedEvent({
    ...of(organization, CHAT, { event_id: id(1), duration_ns: 800_000_000 }),
    at: '2026-06-15T11:58:00.000Z',
    input: 'Where is my Order?',
    output: 'On its way.',
    metadata: { topic: 'delivery', event_type: 'turn' },
  }),
  storedEvent({
    ...of(organization, CHAT, { event_id: id(2), parent_id: id(1), kind: 'tool', name: 'find_order' }),
    ...{ failed: 1, error_type: 'Timeout', error_message: 'too slow', duration_ns: 200_500_000 },
    at: '2026-06-15T11:58:00.500Z',
    input: LONG_INPUT,
    metadata: { event_type: 'tool_call' },
    checkpoints: '[{"name":"db","timestamp":12.5,"metadata":{"rows":"3"}}]',
  }),
  storedEvent({
    ...of(organization, CHAT, { event_id: id(3), name: 'billing', session_id: CHAT.toUpperCase() }),
    at: '2026-06-15T11:59:30.000Z',
    output: '',
  }),
]

/** A tool, a resource and a prompt three days ago, in one and the same millisecond. */
const mcp = (organization: string): StoredEvent[] =>
  (['tool', 'resource', 'prompt'] as const).map((kind, i) =>
    storedEvent({
      ...of(organization, MCP, {
        event_id: id(10 + i),
        session_id: 'conv_mcp',
        kind,
        name: `${kind}_x`,
        source: 'mcp',
      }),
      at: '2026-06-12T09:00:01.000Z',
      input: '{"q":1}',
      output: 'ok',
      duration_ns: 1_000_000,
      metadata: { plan: 'pro', event_type: 'tool_call' },
    }),
  )

/** A call twenty days ago; its price stands on one event. */
const call = (organization: string): StoredEvent[] =>
  [0, 1].map(i =>
    storedEvent({
      ...of(organization, CALL, { event_id: id(20 + i), source: 'voice', name: 'receptionist' }),
      at: `2026-05-26T10:0${i}:00.000Z`,
      input: 'hello',
      output: 'good day',
      ...(i === 0 ? { cost_nanos: 1_234_500_000, present: Present.cost } : {}),
    }),
  )

/** A root, a model call below it, an orphan, and two spans that are each other's parents; nanoseconds matter. */
const trace = (organization: string, conversation_id: string): StoredEvent[] => {
  const span = (n: number, parent: number, at: string, fields: Partial<EventRow>): StoredEvent =>
    storedEvent({
      ...of(organization, conversation_id, { event_id: id(n), parent_id: parent === 0 ? NIL_UUID : id(parent) }),
      ...{ trace_id: TRACE_ID, span_id: String(n), parent_span_id: String(parent), source: 'otlp' },
      at,
      provisional: 1,
      duration_ns: 1_500_001,
      ...fields,
    })
  return [
    span(30, 0, '2026-06-14T20:00:00.000000000Z', { kind: 'agent', name: 'planner', ...tokens(70, 7) }),
    span(31, 30, '2026-06-14T20:00:00.000000001Z', { kind: 'llm', name: 'chat', model: 'm-1', ...tokens(50, 5) }),
    span(32, 999, '2026-06-14T20:00:01.123456789Z', { kind: 'other', name: 'orphan' }),
    span(33, 34, '2026-06-14T20:00:02.000000000Z', { kind: 'tool', name: 'ping' }),
    span(34, 33, '2026-06-14T20:00:03.000000000Z', { kind: 'tool', name: 'pong', failed: 1 }),
  ]
}
const tokens = (input_tokens: number, output_tokens: number) => ({
  ...{ input_tokens, output_tokens, provider: 'acme' },
  present: Present.inputTokens | Present.outputTokens,
})

/** Three events, of which the last of each day turn out to belong to another conversation. */
async function shrink(store: Store, organization: string): Promise<void> {
  const event = (n: number, at: string): StoredEvent =>
    storedEvent({ ...of(organization, SHRUNK, { event_id: id(n), user_id: 'lin', source: 'otlp', name: 'scout' }), at })
  const moved = [event(42, '2026-06-10T20:00:00.000Z'), event(41, '2026-06-14T08:00:00.000Z')]
  await insertEvents(store, [event(40, '2026-06-10T08:00:00.000Z'), ...moved])
  await insertMove(store, moved, { conversation_id: GREW })
}
