// A window and a number of events -> the instant since which the window holds as many: what a page of raw logs has to look at. The sums
// of the 15-minute buckets know; those of the newest days are few and in few parts, and nearly every page ends there.
import { sqlMillis } from '#proto/time.ts'
import type { Slice } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { answeredBy, OURS, sqlTime } from './sql.ts'

/** Whose buckets are asked for first, all at once. */
const NEWEST_MS = 2 * 86_400_000
const BUCKET_MS = 15 * 60_000

const BUCKETS = `
      SELECT toStartOfInterval(ts, INTERVAL 15 MINUTE) AS bucket, sum(sign) AS events
      FROM events
      WHERE ${OURS}
        AND toStartOfInterval(ts, INTERVAL 15 MINUTE) >= toStartOfInterval({from:DateTime64(9, 'UTC')}, INTERVAL 15 MINUTE)
        AND toStartOfInterval(ts, INTERVAL 15 MINUTE) <= toStartOfInterval({until:DateTime64(9, 'UTC')}, INTERVAL 15 MINUTE)
      GROUP BY bucket`

export const NEWEST_BUCKETS = `${BUCKETS}
      ORDER BY bucket DESC
      ${answeredBy('metrics_15m')}`

export const BUCKET_BOUND = `
  SELECT bucket
  FROM (
    SELECT bucket, sum(events) OVER (ORDER BY bucket DESC) AS reached
    FROM (${BUCKETS}
      ${answeredBy('metrics_15m')}
    )
  )
  WHERE reached >= {wanted:UInt64}
  ORDER BY bucket DESC
  LIMIT 1`

/** The beginning of a bucket since which the window holds that many events; undefined when it holds fewer, or that is where it begins. */
export type Reach = (events: number) => Promise<string | undefined>

/** Reach from the end of a window, or from a page's cursor. What was read is read once. */
export function createReach(
  reader: Reader,
  { window, slice, nowMs }: { window: Window; slice: Slice; nowMs: number },
): Reach {
  const { from, to } = window.parameters
  const { after } = slice
  const until = after === undefined ? to : sqlTime(after.at)
  const endMs = Math.min(after === undefined ? nowMs : Date.parse(after.at), nowMs, window.toMs)
  const firstMs = Math.max(Math.floor((endMs - NEWEST_MS) / BUCKET_MS) * BUCKET_MS, 0)
  const whole = firstMs <= window.fromMs
  let read: Promise<readonly Bucket[]> | undefined
  return async events => {
    read ??= reader.read<Bucket>('log_reach', NEWEST_BUCKETS, { from: whole ? from : sqlMillis(firstMs), until })
    let left = events
    for (const { bucket, events: its } of await read) {
      left -= Number(its)
      if (left <= 0) return inside(from, bucket)
    }
    if (whole) return undefined
    const before = sqlMillis(firstMs - 1)
    const [found] = await reader.read<Bucket>('log_reach', BUCKET_BOUND, { from, until: before, wanted: left })
    return found && inside(from, found.bucket)
  }
}

interface Bucket {
  readonly bucket: string
  readonly events: string
}

/** The first bucket may begin before the window. */
function inside(from: string, bucket: string): string | undefined {
  const at = sqlTime(bucket)
  return at <= from ? undefined : at
}
