// Events by key: the rows of a page once its keys are known, each read from the hours and conversations where it stands.
import type { EventKind, Source } from '#proto/rows.ts'
import type { Position } from '../cursor.ts'
import type { Reader } from '../reader.ts'
import { answeredBy, OURS, sqlTime } from './sql.ts'

/** Where an event stands. */
export interface EventKey {
  readonly event_id: string
  readonly conversation_id: string
  /** ISO 8601 with nine digits. */
  readonly ts: string
}

/** Its place in a page. */
export const positionOf = ({ ts, event_id }: EventKey): Position => ({ at: ts, id: event_id })

/** A row of `events` as the store answers; 64-bit integers are text. */
export interface EventRecord extends EventKey {
  readonly session_id: string
  readonly parent_id: string
  readonly trace_id: string
  readonly span_id: string
  readonly parent_span_id: string
  readonly duration_ns: string
  readonly source: Source
  readonly kind: EventKind
  readonly name: string
  readonly failed: 0 | 1
  readonly error_type: string
  readonly error_message: string
  readonly user_id: string
  readonly model: string
  readonly provider: string
  readonly input_tokens: string
  readonly output_tokens: string
  readonly cache_read_tokens: string
  readonly cache_write_tokens: string
  readonly reasoning_tokens: string
  readonly cost_nanos: string
  readonly present: number
  readonly input_preview: string
  readonly output_preview: string
  readonly input_bytes: number
  readonly output_bytes: number
  readonly metadata: Readonly<Record<string, string>>
  readonly checkpoints: string
}

/** Columns of an EventRecord. */
export const EVENT_COLUMNS = `
  event_id, conversation_id, ts, session_id, parent_id, trace_id, span_id, parent_span_id, duration_ns, source, kind, name, failed,
  error_type, error_message, user_id, model, provider, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
  reasoning_tokens, cost_nanos, present, input_preview, output_preview, input_bytes, output_bytes, metadata, checkpoints`

/**
 * Where a row stands below its organization: the rest of the table's key. The instant comes first: of what is said of one column, only the
 * first is held against the bounds of parts, and an hour would open all that were written in it.
 */
export const PLACE = 'ts, toStartOfHour(ts), conversation_id, event_id'

/** The rows at the places that a SELECT finds: one statement in the place of two of which the second waits for the first. */
export const rowsAt = (places: string): string => `
  SELECT ${EVENT_COLUMNS}
  FROM events FINAL
  PREWHERE ${OURS} AND (${PLACE}) IN (${places})`

/** The key of the table begins with organization, hour, conversation: with all three given, only their granules are read, of parts with their instants. */
export const EVENTS_BY_KEY = `
  SELECT ${EVENT_COLUMNS}
  FROM events FINAL
  PREWHERE ${OURS}
    AND ts IN {instants:Array(DateTime64(9, 'UTC'))} AND toStartOfHour(ts) IN {hours:Array(DateTime('UTC'))}
    AND conversation_id IN {conversations:Array(UUID)}
    AND event_id IN {events:Array(UUID)}`

/** When some events were, as what finds them by their key binds it. */
export const instantsOf = (keys: readonly Pick<EventKey, 'ts'>[]): { instants: string[]; hours: string[] } => ({
  instants: [...new Set(keys.map(key => sqlTime(key.ts)))],
  hours: [...new Set(keys.map(key => `${sqlTime(key.ts).slice(0, 13)}:00:00`))],
})

/** The rows of some keys, in the order of the keys; a key that has gone since it was found is left out. */
export async function readEvents(reader: Reader, keys: readonly EventKey[]): Promise<EventRecord[]> {
  if (keys.length === 0) return []
  const rows = await reader.read<EventRecord>('events', EVENTS_BY_KEY, {
    ...instantsOf(keys),
    conversations: [...new Set(keys.map(key => key.conversation_id))],
    events: keys.map(key => key.event_id),
  })
  return eventsAmong(rows, keys)
}

/** An event where it stands, as one text. */
export const identityOf = ({ event_id, conversation_id, ts }: EventKey): string =>
  `${event_id} ${conversation_id} ${ts}`

/** Those of some keys among rows that were read, in the order of the keys. */
export function eventsAmong(rows: readonly EventRecord[], keys: readonly EventKey[]): EventRecord[] {
  const found = new Map(rows.map(row => [identityOf(row), row]))
  return keys.flatMap(key => found.get(identityOf(key)) ?? [])
}

/** Where an event stands, or stood. */
export const PLACES_OF_EVENT = `
    SELECT ${PLACE}
    FROM events
    WHERE ${OURS} AND event_id = {event:UUID}
    ${answeredBy('ids')}`

const EVENT_BY_ID = `${rowsAt(PLACES_OF_EVENT)}
  ORDER BY ts DESC, toString(conversation_id) DESC
  LIMIT 1`

/** An event, whatever its time; undefined when there is none. */
export async function findEvent(reader: Reader, event: string): Promise<EventRecord | undefined> {
  const [found] = await reader.read<EventRecord>('event_by_id', EVENT_BY_ID, { event })
  return found
}
