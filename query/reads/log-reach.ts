// A window and a number of events -> the instant since which the window holds as many: what a page of raw logs has to look at. The sums
// of the 15-minute buckets know; those of the newest days are few and in few parts, and nearly every page ends there.
import { sqlMillis } from '#proto/time.ts'
import type { Slice } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import type { Bucket, Newest, Seen, Sums } from './newest.ts'
import { answeredBy, OURS, sqlTime } from './sql.ts'

/** Whose buckets are asked for first, all at once. */
const NEWEST_MS = 2 * 86_400_000
const BUCKET_MS = 15 * 60_000
/** Where more events than this should be, only a piece is looked at first: as long as the wanted ones should take, and a half longer. */
const PIECES = { least: 4_096, spare: 1.5, wider: 8 } as const
/** How long after it happened an event is stored, where nobody knows. */
const STORED_MS = 5_000
/** Where the newest event that was seen was older, none came any more. */
const PAUSED_MS = 60_000

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

/**
 * An instant since which the window should hold so many events; the window's own beginning when it holds fewer. A page that is full
 * proves that it looked far enough, whatever this was told by. `looks`: how many have found too little.
 */
export interface Reach {
  /** By the sums that memory has, without asking; undefined when they do not say. */
  guess(events: number): string | undefined
  ask(events: number, looks: number): Promise<string>
}

/** The page that reaches. */
interface Reaching {
  readonly window: Window
  readonly slice: Slice
  readonly nowMs: number
  readonly newest?: Newest | undefined
}

/** Reach from the end of a window, or from a page's cursor. What was read is read once, and is remembered where it ends now. */
export function createReach(reader: Reader, { window, slice, nowMs, newest }: Reaching): Reach {
  const { from, to } = window.parameters
  const { after } = slice
  const until = after === undefined ? to : sqlTime(after.at)
  const untilMs = after === undefined ? window.toMs : Date.parse(after.at)
  const sinceMs = Math.max(Math.floor((Math.min(untilMs, nowMs) - NEWEST_MS) / BUCKET_MS) * BUCKET_MS, 0)
  const inside = (atMs: number): string => (atMs <= window.fromMs ? from : sqlMillis(atMs))
  const within = ({ buckets, readAtMs, ...sums }: Sums, events: number, looks: number): Found => {
    let left = events
    let later: Bucket | undefined
    for (const bucket of buckets) {
      if (bucket.atMs > untilMs) continue
      if (left <= bucket.events) {
        const lowerMs = beginOf(bucket, { left, looks, later, untilMs, nowMs, readAtMs })
        return { lowerMs, holds: events - left + bucket.events }
      }
      left -= bucket.events
      later = bucket
    }
    return sums.sinceMs <= window.fromMs ? { lowerMs: window.fromMs, holds: events - left } : { left }
  }
  let read: Promise<Sums> | undefined
  const readSums = async (): Promise<Sums> => {
    const rows = await reader.read<BucketRow>('log_reach', NEWEST_BUCKETS, { from: sqlMillis(sinceMs), until })
    const buckets = rows.map(({ bucket, events }) => ({ atMs: Date.parse(bucket), events: Number(events) }))
    const sums = { readAtMs: nowMs, sinceMs, buckets }
    if (untilMs >= nowMs) newest?.keep(sums)
    return sums
  }
  return {
    guess(events) {
      const sums = newest?.sums(nowMs)
      if (sums === undefined) return undefined
      const found = within(sums, events, 0)
      if ('left' in found) return undefined
      const seen = untilMs < nowMs ? undefined : newest?.seen(nowMs)
      if (seen === undefined) return inside(found.lowerMs)
      const denseMs = denseSince(seen, { ...found, events, nowMs, readAtMs: sums.readAtMs })
      // Where none came any more the events of an open bucket are not those that came evenly until now: the page tells where they end.
      return inside(denseMs > 0 && hasPaused(seen) ? denseMs : Math.max(found.lowerMs, denseMs))
    },
    async ask(events, looks) {
      read ??= readSums()
      const found = within(await read, events, looks)
      if ('lowerMs' in found) return inside(found.lowerMs)
      const before = sqlMillis(sinceMs - 1)
      const [bound] = await reader.read<BucketRow>('log_reach', BUCKET_BOUND, {
        from,
        until: before,
        wanted: found.left,
      })
      return bound === undefined ? from : inside(Date.parse(bound.bucket))
    },
  }
}

/** An instant, and how many events the sums have since its bucket began; or how many are missing behind the sums. */
type Found = { readonly lowerMs: number; readonly holds: number } | { readonly left: number }

interface BucketRow {
  readonly bucket: string
  readonly events: string
}

/** Which events of a bucket are wanted, and what tells where they should be. */
interface Wanted {
  /** So many of its last ones. */
  readonly left: number
  readonly looks: number
  /** The next bucket with events. */
  readonly later: Bucket | undefined
  readonly untilMs: number
  readonly nowMs: number
  readonly readAtMs: number
}

/** Where the last events of a bucket begin; of a large one as if they had come evenly, for as long as that is not known to be wrong. */
function beginOf({ atMs, events }: Bucket, wanted: Wanted): number {
  const { left, looks, later, untilMs, nowMs, readAtMs } = wanted
  if (events <= PIECES.least || looks > 1) return atMs
  const closesMs = atMs + BUCKET_MS
  const isOpen = closesMs > readAtMs && later === undefined
  // Nobody knows where in a closed bucket the last events of a day's only job are.
  if (!isOpen && untilMs >= closesMs && later?.atMs !== closesMs) return atMs
  const filledMs = isOpen ? Math.max(readAtMs - atMs, 1) : BUCKET_MS
  const endMs = Math.min(isOpen ? nowMs : closesMs, untilMs)
  const pieceMs = (PIECES.spare * left * filledMs) / events + (isOpen ? STORED_MS : 0)
  return Math.max(Math.floor(endMs - pieceMs * PIECES.wider ** looks), atMs)
}

/** Whether events had stopped coming when a page of the newest ones was read. */
const hasPaused = ({ atMs, newestMs, before }: Seen): boolean => before === 0 && atMs - newestMs >= PAUSED_MS

/**
 * Where the newest events begin if they go on as dense as they were seen; 0 unless there should be many more, by sums that were read some
 * time ago and by what came since.
 */
function denseSince(
  seen: Seen,
  { holds, events, nowMs, readAtMs }: { holds: number; events: number; nowMs: number; readAtMs: number },
): number {
  const ageMs = seen.atMs - seen.newestMs
  const goesOn = seen.before === 0 && ageMs >= 0 && ageMs < PAUSED_MS
  const endMs = goesOn ? Math.max(nowMs - PIECES.spare * seen.behindMs, seen.newestMs) : seen.newestMs
  const eachMs = Math.max((seen.newestMs - seen.oldestMs) / seen.events, 0.001)
  if (holds + Math.max(endMs - readAtMs, 0) / eachMs <= PIECES.least) return 0
  // As many as make a look no dearer are looked at in any case.
  if (goesOn) return Math.floor(Math.min(endMs - PIECES.spare * events * eachMs, nowMs - PIECES.least * eachMs))
  const missing = Math.max(events - seen.before - seen.events, 0)
  return Math.floor(seen.oldestMs - PIECES.spare * missing * eachMs)
}
