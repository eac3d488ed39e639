// Conversations by id -> the exact figures of each: from its rows, corrections folded, read from the hours that the aggregate by
// conversation knows.
import { Present, type Source } from '#proto/rows.ts'
import type { Reader } from '../reader.ts'
import { answeredBy, OURS } from './sql.ts'
import { type Side, UNSAID } from './texts.ts'

/** Figures of a conversation over its whole life. */
export interface ConversationFacts {
  readonly conversation_id: string
  /** As it was sent, when that differs from the conversation id; else ''. */
  readonly session_id: string
  /** Of its events, for conversations whose captures name no user; else ''. */
  readonly user_id: string
  /** The surface by which its events came; of several the first of `sources`. */
  readonly source: Source
  /** 1 = a trace's stand-in: nothing has said yet whose conversation it is. */
  readonly provisional: 0 | 1
  readonly first: string
  readonly last: string
  /** Unix milliseconds at which the last of its events ended. */
  readonly ended_ms: number
  readonly events: number
  readonly tool_calls: number
  readonly errors: number
  /** Whole nanoseconds; null when no event has a latency. */
  readonly average_ns: number | null
  readonly agent_names: readonly string[]
  /** Beginnings of its first input and its last output, of turns where they have some; null when none was captured. */
  readonly first_input: string | null
  readonly last_output: string | null
}

/** What a bounded read of conversations binds. */
export interface ConversationBounds {
  readonly conversations: readonly string[]
  /** Where their rows stand: seconds at which those hours begin, in order. Of conversations that are far apart they are few of those between. */
  readonly hours: readonly number[]
  /** The second that the first of their rows may stand in, and the one after the last. */
  readonly first_second: number
  readonly end_second: number
}

/**
 * Rows of some conversations; `nth` is added to the names of what it binds. Hours and ids are on the sorting key. The seconds choose parts: of
 * an hour that is still being written each part has granules in which any of the ids might stand, but few parts hold these instants. They
 * are compared as instants: held against a whole second, the engine's index takes what is before it to end with the second before.
 */
export const withinBounds = (nth = ''): string =>
  `ts >= toDateTime64({first_second${nth}:UInt32}, 9, 'UTC') AND ts < toDateTime64({end_second${nth}:UInt32}, 9, 'UTC')
    AND toStartOfHour(ts) IN {hours${nth}:Array(DateTime('UTC'))} AND conversation_id IN {conversations${nth}:Array(UUID)}`

/** The rows of some conversations. */
export const OF_CONVERSATIONS = `${OURS}
    AND ${withinBounds()}`

const HOURS = 'range(intDiv(toUnixTimestamp(first_of), 3600), intDiv(toUnixTimestamp(last_of), 3600) + 1)'

export const BOUNDS_SQL = `
  SELECT arraySort(groupArray(conversation_id)) AS conversations,
    arraySort(groupUniqArrayArray(arrayMap(hour -> toUInt32(hour * 3600), ${HOURS}))) AS hours,
    toUnixTimestamp(min(first_of)) AS first_second, toUInt32(toUnixTimestamp(max(last_of)) + 1) AS end_second
  FROM (
    SELECT conversation_id, min(ts) AS first_of, max(ts) AS last_of
    FROM events
    WHERE ${OURS} AND conversation_id IN {conversations:Array(UUID)}
    GROUP BY conversation_id
    HAVING sum(sign) > 0
    ${answeredBy('bounds')}
  )
  HAVING count() > 0`

/**
 * The same of one conversation. Before it comes to the projection the engine holds the condition against every mark of the organization's
 * events, where to compare one id costs a third of what it costs to look it up in a set.
 */
export const CONVERSATION_BOUNDS = `
  SELECT min(ts) AS first, max(ts) AS last
  FROM events
  WHERE ${OURS} AND conversation_id = {conversation:UUID}
  GROUP BY conversation_id
  HAVING sum(sign) > 0
  ${answeredBy('bounds')}`

/** What a conversation is about stands in its turns: a tool begins after the turn that calls it, and would be its last word else. */
const speaks = (unsaid: number): string =>
  `multiIf(bitAnd(present, ${unsaid}) > 0, 0, kind = 'agent', 2, kind = 'llm', 1, 0)`

/** The first or last of a text that some events have: of turns, else of model calls, else of whatever has one. */
function captured(pick: 'argMinIf' | 'argMaxIf', side: Side): string {
  const has = `bitAnd(present, ${Present[side]}) > 0`
  const rank = pick === 'argMaxIf' ? speaks(UNSAID[side]) : `2 - ${speaks(UNSAID[side])}`
  return `if(countIf(${has}) = 0, NULL, ${pick}(${side}_preview, (${rank}, ts, toString(event_id)), ${has}))`
}

export const FACTS_SQL = `
  SELECT
    conversation_id,
    max(session_id) AS session_id,
    max(user_id) AS user_id,
    toString(min(source)) AS source,
    max(provisional) AS provisional,
    min(ts) AS first,
    max(ts) AS last,
    toFloat64(max(toUnixTimestamp64Milli(ts) + intDiv(greatest(duration_ns, 0), 1000000))) AS ended_ms,
    toUInt32(count()) AS events,
    toUInt32(countIf(kind IN ('tool', 'resource', 'prompt'))) AS tool_calls,
    toUInt32(countIf(failed = 1)) AS errors,
    if(countIf(duration_ns >= 0) = 0, NULL, avgIf(duration_ns, duration_ns >= 0)) AS average_ns,
    arraySort(groupUniqArrayIf(name, kind = 'agent')) AS agent_names,
    ${captured('argMinIf', 'input')} AS first_input,
    ${captured('argMaxIf', 'output')} AS last_output
  FROM events FINAL
  PREWHERE ${OF_CONVERSATIONS}
  GROUP BY conversation_id`

const HOUR_S = 3600

/** Where the rows of some conversations stand; null when none of them has an event. There may be more hours than needed. */
export async function boundsOf(reader: Reader, conversations: readonly string[]): Promise<ConversationBounds | null> {
  const [one, ...others] = conversations
  if (one === undefined) return null
  if (others.length === 0) return boundsOfOne(reader, one)
  const [found] = await reader.read<ConversationBounds>('conversation_bounds', BOUNDS_SQL, { conversations })
  return found ?? null
}

async function boundsOfOne(reader: Reader, conversation: string): Promise<ConversationBounds | null> {
  type Extent = { readonly first: string; readonly last: string }
  const [found] = await reader.read<Extent>('conversation_bounds', CONVERSATION_BOUNDS, { conversation })
  if (found === undefined) return null
  const [first, last] = [found.first, found.last].map(ts => Math.floor(Date.parse(ts) / 1000 / HOUR_S)) as [
    number,
    number,
  ]
  return ofHours([conversation], first, last)
}

/** Bounds of some conversations that have rows in the hours from one to another, by their numbers since 1970. */
export function ofHours(conversations: readonly string[], first: number, last: number): ConversationBounds {
  const hours = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * HOUR_S)
  return { conversations, hours, first_second: first * HOUR_S, end_second: (last + 1) * HOUR_S }
}

/** Figures by conversation id; a conversation without events is absent. */
export async function readFacts(
  reader: Reader,
  bounds: ConversationBounds | null,
): Promise<Map<string, ConversationFacts>> {
  if (bounds === null) return new Map()
  const rows = await reader.read<ConversationFacts>('conversation_facts', FACTS_SQL, { ...bounds })
  return new Map(rows.map(row => [row.conversation_id, row]))
}
