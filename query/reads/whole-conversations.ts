// Conversations that have few events -> all of their rows by one statement, and from these the same figures, costs and newest events that
// three statements find of others.
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import { Present, sources } from '#proto/rows.ts'
import type { Reader } from '../reader.ts'
import { compareTexts, largest } from '../text-order.ts'
import type { ConversationBounds, ConversationFacts } from './conversation-facts.ts'
import { readConversationRows, type WholeRecord } from './conversation-rows.ts'
import { costsOfEvents } from './costs.ts'
import type { EventRecord } from './events.ts'
import { type Side, UNSAID } from './texts.ts'

/** Conversations that have more events together are not read whole: their newest, their figures and their costs need fewer columns. */
export const WHOLE_MAX_EVENTS = 2_000

/** What a page shows of conversations, by conversation id; what is not there has no events, or none that cost. */
export interface ConversationParts {
  readonly facts: ReadonlyMap<string, ConversationFacts>
  readonly costs: ReadonlyMap<string, CostMetadata[]>
  /** The newest events of each, newest first. */
  readonly newest: readonly EventRecord[]
  /** All of their events, where all were read. */
  readonly all?: readonly EventRecord[]
}

/** Reads it of whole conversations; of each at most `newest` events. */
export async function readWhole(
  reader: Reader,
  bounds: ConversationBounds,
  newest: number,
): Promise<ConversationParts> {
  const rows = await readConversationRows(reader, bounds)
  const conversations = [...Map.groupBy(rows, row => row.conversation_id)]
  return {
    facts: new Map(conversations.map(([id, its]) => [id, factsOfEvents(id, its)])),
    costs: new Map(conversations.map(([id, its]) => [id, costsOfEvents(its)])),
    newest: conversations.flatMap(([, its]) => its.slice(0, newest)),
    all: rows,
  }
}

const CALLS: ReadonlySet<EventRecord['kind']> = new Set(['tool', 'resource', 'prompt'])

/** Figures as FACTS_SQL finds them; events are newest first, and some. */
function factsOfEvents(conversation_id: string, events: readonly WholeRecord[]): ConversationFacts {
  const took = events.map(event => BigInt(event.duration_ns)).filter(ns => ns >= 0n)
  const agents = events.flatMap(event => (event.kind === 'agent' ? [event.name] : []))
  return {
    conversation_id,
    session_id: largest(events.map(event => event.session_id)),
    user_id: largest(events.map(event => event.user_id)),
    source: sources.find(source => events.some(event => event.source === source)) ?? 'sdk',
    provisional: events.some(event => event.provisional === 1) ? 1 : 0,
    first: (events.at(-1) as WholeRecord).ts,
    last: (events[0] as WholeRecord).ts,
    ended_ms: events.reduce((last, event) => Math.max(last, endOf(event)), 0),
    events: events.length,
    tool_calls: events.filter(({ kind }) => CALLS.has(kind)).length,
    errors: events.filter(({ failed }) => failed === 1).length,
    average_ns: took.length === 0 ? null : Number(took.reduce((sum, ns) => sum + ns, 0n)) / took.length,
    agent_names: [...new Set(agents)].sort(compareTexts),
    first_input: firstInput(events),
    last_output: lastOutput(events),
  }
}

/** Unix milliseconds. */
const endOf = ({ ts, duration_ns }: EventRecord): number =>
  Date.parse(ts) + Math.max(Number(BigInt(duration_ns) / 1_000_000n), 0)

/** Where words of a conversation stand first of all: in its turns. */
const speaks = ({ kind, present }: EventRecord, side: Side): number =>
  (present & UNSAID[side]) > 0 ? 0 : kind === 'agent' ? 2 : kind === 'llm' ? 1 : 0

/** Whether an event is later than another: at one instant their ids decide. */
const isLater = (one: EventRecord, other: EventRecord): boolean =>
  one.ts === other.ts ? one.event_id > other.event_id : one.ts > other.ts

function firstInput(events: readonly EventRecord[]): string | null {
  const having = events.filter(({ present }) => (present & Present.input) > 0)
  const isBefore = (one: EventRecord, other: EventRecord): boolean =>
    speaks(one, 'input') === speaks(other, 'input')
      ? isLater(other, one)
      : speaks(one, 'input') > speaks(other, 'input')
  return bestOf(having, isBefore)?.input_preview ?? null
}

function lastOutput(events: readonly EventRecord[]): string | null {
  const having = events.filter(({ present }) => (present & Present.output) > 0)
  const isBefore = (one: EventRecord, other: EventRecord): boolean =>
    speaks(one, 'output') === speaks(other, 'output')
      ? isLater(one, other)
      : speaks(one, 'output') > speaks(other, 'output')
  return bestOf(having, isBefore)?.output_preview ?? null
}

/** The one that comes before all others. */
const bestOf = <T>(all: readonly T[], isBefore: (one: T, other: T) => boolean): T | undefined =>
  all.reduce<T | undefined>((best, one) => (best === undefined || isBefore(one, best) ? one : best), undefined)
