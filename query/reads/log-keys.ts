// Keys of one page of raw logs, newest first. `events` is ordered by hour and conversation, not by time, so a page would read the
// whole window; the counts of the 15-minute buckets say how far back it has to reach instead.
import { FOLDED_BY_ONE } from '#store/classes.ts'
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import type { Slice } from '../page.ts'
import { afterCursor, sliceParameters, sliceSql } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import type { EventKey } from './events.ts'
import { answeredBy, hoursBetween, OURS, sqlTime } from './sql.ts'

/** Windows up to this long are read as they are. */
const READ_WHOLE_MS = 2 * 3_600_000
/** How much farther the next attempt reaches when filters left too few rows. */
const REACH_FACTOR = 16

export const BUCKET_BOUND = `
  SELECT bucket
  FROM (
    SELECT bucket, sum(events) OVER (ORDER BY bucket DESC) AS reached
    FROM (
      SELECT toStartOfInterval(ts, INTERVAL 15 MINUTE) AS bucket, sum(sign) AS events
      FROM events
      WHERE ${OURS}
        AND toStartOfInterval(ts, INTERVAL 15 MINUTE) >= toStartOfInterval({from:DateTime64(9, 'UTC')}, INTERVAL 15 MINUTE)
        AND toStartOfInterval(ts, INTERVAL 15 MINUTE) <= toStartOfInterval({until:DateTime64(9, 'UTC')}, INTERVAL 15 MINUTE)
      GROUP BY bucket
      ${answeredBy('metrics_15m')}
    )
  )
  WHERE reached >= {wanted:UInt64}
  ORDER BY bucket DESC
  LIMIT 1`

/** A cursor may say any time; hours of the store end where windows do. */
const untilOf = (slice: Slice): string =>
  slice.after ? "least({after_at:DateTime64(9, 'UTC')}, {to:DateTime64(9, 'UTC')})" : "{to:DateTime64(9, 'UTC')}"

/** The page as far back as `lower`; conditions on the key come before the fold of corrections, all others after it. */
export const pageSql = (conditions: Conditions, ofConversation: boolean, slice: Slice): string => `
  SELECT event_id, conversation_id, ts
  FROM events FINAL
  PREWHERE ${OURS}
    AND ts >= {lower:DateTime64(9, 'UTC')} AND ts < {to:DateTime64(9, 'UTC')}
    AND ${hoursBetween("{lower:DateTime64(9, 'UTC')}", untilOf(slice))}${slice.after ? " AND ts <= {after_at:DateTime64(9, 'UTC')}" : ''}${ofConversation ? ' AND conversation_id = {conversation:UUID}' : ''}
  WHERE (${afterCursor(slice, 'ts', 'toString(event_id)')})${andAll(conditions.sql)}${sliceSql('ts', 'toString(event_id)')}`

/** Where a conversation begins, from the aggregate by conversation; null when it has no events. */
export const CONVERSATION_BOUNDS = `
  SELECT min(ts) AS first, max(ts) AS last
  FROM events
  WHERE ${OURS} AND conversation_id = {conversation:UUID}
  GROUP BY conversation_id
  HAVING sum(sign) > 0
  ${answeredBy('bounds')}`

/** Keys of a page in a window, under conditions, of one conversation or of all. */
export async function readLogKeys(
  reader: Reader,
  options: { window: Window; conditions: Conditions; conversation: string | undefined; slice: Slice; nowMs: number },
): Promise<EventKey[]> {
  const { window, conditions, conversation, slice } = options
  const sql = pageSql(conditions, conversation !== undefined, slice)
  const { from, to } = window.parameters
  const page = (lower: string): Promise<EventKey[]> =>
    reader.read<EventKey>(
      'log_keys',
      sql,
      {
        ...conditions.parameters,
        ...sliceParameters(slice),
        lower,
        to,
        ...(conversation === undefined ? {} : { conversation }),
      },
      // Without filters about as many rows are read as are wanted.
      conditions.sql.length === 0 ? FOLDED_BY_ONE : {},
    )
  if (conversation !== undefined) {
    const bounds = await reader.read<{ first: string }>('conversation_bounds', CONVERSATION_BOUNDS, { conversation })
    const first = bounds[0] && sqlTime(bounds[0].first)
    if (first === undefined) return []
    return page(first > from ? first : from)
  }
  if (Math.min(options.nowMs, window.toMs) - window.fromMs <= READ_WHOLE_MS) return page(from)
  const until = slice.after === undefined ? to : sqlTime(slice.after.at)
  for (let wanted = slice.offset + slice.limit; ; wanted *= REACH_FACTOR) {
    const bound = await reader.read<{ bucket: string }>('log_reach', BUCKET_BOUND, { from, until, wanted })
    const bucket = bound[0] && sqlTime(bound[0].bucket)
    // Fewer events in the window than wanted: it is read to its end. The first bucket may begin before the window.
    if (bucket === undefined || bucket <= from) return page(from)
    const keys = await page(bucket)
    if (keys.length === slice.limit) return keys
  }
}
