// The events of conversations: the newest few of each, or the oldest many of one; and how many children events have.
import type { Reader } from '../reader.ts'
import type { ConversationBounds } from './conversation-facts.ts'
import { OF_CONVERSATIONS } from './conversation-facts.ts'
import type { EventRecord } from './events.ts'
import { EVENT_COLUMNS } from './events.ts'

// A clock of milliseconds gives turns of a conversation one time, as does a sender whose events take that of their arrival: those stand
// as they arrived, for which a conversation's rows have positions of one partition. Ids of their own would shuffle them.
const ARRIVAL = ['origin_sequence', 'origin_frame', 'origin_index', 'toString(event_id)']
const OLDEST_FIRST = ['ts', ...ARRIVAL].join(', ')
/** The order of lists of a conversation's events. */
export const NEWEST_FIRST = ['ts', ...ARRIVAL].map(column => `${column} DESC`).join(', ')

// One read with all columns: the rows of some conversations are few, and to find them again by their keys is a statement more.
const NEWEST_SQL = `
  SELECT ${EVENT_COLUMNS}
  FROM events FINAL
  PREWHERE ${OF_CONVERSATIONS}
  ORDER BY ${NEWEST_FIRST}
  LIMIT {each:UInt32} BY conversation_id`

/** The newest events of each conversation, newest first. */
export function newestEvents(reader: Reader, bounds: ConversationBounds, each: number): Promise<EventRecord[]> {
  return reader.read<EventRecord>('conversation_newest', NEWEST_SQL, { ...bounds, each })
}

const OLDEST_SQL = `
  SELECT ${EVENT_COLUMNS}
  FROM events FINAL
  PREWHERE ${OF_CONVERSATIONS}
  ORDER BY ${OLDEST_FIRST}
  LIMIT {limit:UInt32}`

/** The oldest events of a conversation, oldest first. */
export interface OldestEvents {
  readonly records: readonly EventRecord[]
  /** There are no others: figures of the conversation are those of the records. */
  readonly whole: boolean
}

/** At most `limit` of them; none when the conversation has no events. */
export async function readOldest(
  reader: Reader,
  bounds: ConversationBounds | null,
  limit: number,
): Promise<OldestEvents> {
  if (bounds === null) return { records: [], whole: true }
  const parameters = { ...bounds, limit: limit + 1 }
  const found = await reader.read<EventRecord>('conversation_oldest', OLDEST_SQL, parameters)
  return { records: found.slice(0, limit), whole: found.length <= limit }
}

/** What a span tree needs of an event. */
export type SpanRecord = Pick<
  EventRecord,
  'event_id' | 'parent_id' | 'span_id' | 'ts' | 'duration_ns' | 'kind' | 'name' | 'failed' | 'present'
>

// One row of arrays: a million small objects would cost several times the memory of their text.
const SPANS_SQL = `
  SELECT
    groupArray(event_id) AS event_id, groupArray(parent_id) AS parent_id, groupArray(span_id) AS span_id, groupArray(ts) AS ts,
    groupArray(duration_ns) AS duration_ns, groupArray(toString(kind)) AS kind, groupArray(toString(name)) AS name,
    groupArray(failed) AS failed, groupArray(present) AS present
  FROM (
    SELECT event_id, parent_id, span_id, ts, duration_ns, kind, name, failed, present
    FROM events FINAL
    PREWHERE ${OF_CONVERSATIONS}
    ORDER BY ${OLDEST_FIRST}
    LIMIT {limit:UInt32}
  )`

/** The oldest events as spans, oldest first. */
export async function oldestSpans(reader: Reader, bounds: ConversationBounds, limit: number): Promise<SpanRecord[]> {
  type Columns = { readonly [Field in keyof SpanRecord]: readonly SpanRecord[Field][] }
  const [found] = await reader.read<Columns>('conversation_spans', SPANS_SQL, { ...bounds, limit })
  if (found === undefined) return []
  const { parent_id, span_id, ts, duration_ns, kind, name, failed, present } = found
  const at = <T>(column: readonly T[], i: number): T => column[i] as T
  return found.event_id.map((event_id, i) => ({
    event_id,
    parent_id: at(parent_id, i),
    span_id: at(span_id, i),
    ts: at(ts, i),
    duration_ns: at(duration_ns, i),
    kind: at(kind, i),
    name: at(name, i),
    failed: at(failed, i),
    present: at(present, i),
  }))
}

const CHILDREN_SQL = `
  SELECT parent_id, toUInt32(count()) AS children
  FROM events FINAL
  PREWHERE ${OF_CONVERSATIONS}
  WHERE parent_id IN {parents:Array(UUID)}
  GROUP BY parent_id`

/** Number of children by event id, for events of a conversation with more than the given ones; events without children are absent. */
export async function countChildren(
  reader: Reader,
  bounds: ConversationBounds,
  parents: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await reader.read<{ parent_id: string; children: number }>('conversation_children', CHILDREN_SQL, {
    ...bounds,
    parents,
  })
  return new Map(rows.map(row => [row.parent_id, row.children]))
}
