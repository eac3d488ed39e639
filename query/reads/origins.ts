// Where in the streams the payload of an event stands.
import type { Reader } from '../reader.ts'
import type { EventKey } from './events.ts'
import { OURS, sqlTime } from './sql.ts'

/** A position, as rows carry it; 64-bit integers are text. */
interface OriginRecord {
  readonly origin_partition: number
  readonly origin_sequence: string
  readonly origin_frame: number
}

const ORIGIN_SQL = `
  SELECT origin_partition, origin_sequence, origin_frame
  FROM events FINAL
  PREWHERE ${OURS}
    AND toStartOfHour(ts) = {hour:DateTime('UTC')}
    AND conversation_id = {conversation:UUID}
    AND event_id = {event:UUID}
  LIMIT 1`

/** The position of an event's payload; undefined when the event has gone since it was found. */
export async function readOrigin(
  reader: Reader,
  key: EventKey,
): Promise<{ partition: number; sequence: number; frame: number } | undefined> {
  const [row] = await reader.read<OriginRecord>('origin', ORIGIN_SQL, {
    hour: `${sqlTime(key.ts).slice(0, 13)}:00:00`,
    conversation: key.conversation_id,
    event: key.event_id,
  })
  return row && { partition: row.origin_partition, sequence: Number(row.origin_sequence), frame: row.origin_frame }
}
