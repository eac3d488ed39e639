// Pieces of SQL that several reads share. Every one keeps the rule that the organization is bound first.
import { NIL_UUID } from '#proto/ids.ts'
import { saysOneOfSql } from './metadata-values.ts'

/**
 * Condition of every read, in PREWHERE where the read is FINAL: conditions on the sorting key may be applied before rows of one key
 * are folded, since those rows share it; conditions on anything else may not.
 */
export const OURS = 'organization = {organization:UUID}'

/**
 * Hours of the instants from one to another, which are SQL. Rows lie by organization and hour; `ts` is a later column of that order,
 * so a condition on `ts` alone is held against that column, and every row of the organization's month is read.
 */
export const hoursBetween = (from: string, to: string): string =>
  `toStartOfHour(ts) >= toStartOfHour(${from}) AND toStartOfHour(ts) <= toStartOfHour(${to})`

/** Events of the window; its parameters are those of `Window`. */
export const IN_WINDOW = `ts >= {from:DateTime64(9, 'UTC')} AND ts < {to:DateTime64(9, 'UTC')}
    AND ${hoursBetween("{from:DateTime64(9, 'UTC')}", "{to:DateTime64(9, 'UTC')}")}`

/** Whole days of the window, in the words of the aggregates by day. */
export const WHOLE_DAYS = 'toDate(ts) > {from_day:Date} AND toDate(ts) < {to_day:Date}'

/** What the window holds of its first and its last day. */
export const RAGGED_DAYS = `${IN_WINDOW}
    AND (ts < {first_end:DateTime64(9, 'UTC')} OR ts >= {last_start:DateTime64(9, 'UTC')})
    AND (toStartOfHour(ts) < {first_end:DateTime64(9, 'UTC')} OR toStartOfHour(ts) >= {last_start:DateTime64(9, 'UTC')})`

/** The day that a second window begins on, when one read is of a window and the one before it: it is in neither of them whole. */
const SPLIT_DAY = `ts >= {split_start:DateTime64(9, 'UTC')} AND ts < {split_end:DateTime64(9, 'UTC')}`
const SPLIT_HOURS = `toStartOfHour(ts) >= {split_start:DateTime64(9, 'UTC')} AND toStartOfHour(ts) < {split_end:DateTime64(9, 'UTC')}`

/** What both windows hold of the days that are in neither of them whole. */
export const SPLIT_RAGGED_DAYS = `${IN_WINDOW}
    AND (ts < {first_end:DateTime64(9, 'UTC')} OR ts >= {last_start:DateTime64(9, 'UTC')} OR (${SPLIT_DAY}))
    AND (toStartOfHour(ts) < {first_end:DateTime64(9, 'UTC')} OR toStartOfHour(ts) >= {last_start:DateTime64(9, 'UTC')} OR (${SPLIT_HOURS}))`

/** Rows that are of a conversation: what a protocol says around calls is of none, and stands under no id. */
export const OF_CONVERSATION = `conversation_id != '${NIL_UUID}'`

/** Projections of `events` and `sessions` that answer questions; `any` lets the planner look through them all. */
export type Projection =
  | 'metrics_15m'
  | 'metrics_daily'
  | 'names_daily'
  | 'conversations_daily'
  | 'bounds'
  | 'users'
  | 'priced'
  | 'latency_daily'
  | 'keys_daily'
  | 'day_versions'
  | 'capture_versions'
  | 'by_user'
  | 'ids'
  | 'any'

/**
 * The end of a SELECT that a projection answers. The planner tries every aggregate of a table on every SELECT that groups, a
 * millisecond or more each, unless one of that name is there: then it tries only that one. Where that one doesn't fit, rows are read.
 * A statement in which no SELECT ends like this is planned without projections (see reader.ts).
 */
export const answeredBy = (projection: Projection): string =>
  `SETTINGS preferred_optimize_projection_name = '${projection}'`

/**
 * The end of a SELECT of instants or values that no projection holds, in a statement of which others are answered by projections: it
 * names the one that is told soonest not to fit.
 */
export const BY_ROWS = `SETTINGS preferred_optimize_projection_name = 'users'`

/** Stream order of session captures: what is greater wins. */
export const CAPTURE_ORDER = '(received_at, origin_sequence, origin_frame, origin_index, origin_partition)'

/**
 * Condition on captures: none of a call's report that gave way to a later one. What only the earlier report said is no longer said
 * of the call. `conversations` may narrow what is looked up, like ` AND conversation_id IN (…)`.
 */
export const standing = (conversations = ''): string => `(report = '' OR
    (conversation_id, origin_partition, origin_sequence, origin_frame) NOT IN (
      SELECT conversation_id, origin_partition, origin_sequence, origin_frame FROM replaced_reports
      WHERE ${OURS}${conversations}))`

/** Order of texts of one event: that of a call's later report stands later, and of one position the replayed. */
export const TEXT_ORDER = '(origin_sequence, origin_frame, origin_index, origin_generation)'

/** The latest value that is not empty. */
export const latest = (column: string): string => `argMaxIf(${column}, ${CAPTURE_ORDER}, ${column} != '')`

/** True when the latest capture that has the key of a map says one of the values. */
export const latestEntryIn = (column: string, key: string, values: string): string =>
  `(countIf(mapContains(${column}, ${key})) > 0
          AND ${saysOneOfSql(latestEntry(column, key), values)})`

/** The latest value of a map's key; '' when no capture has it. */
export const latestEntry = (column: string, key: string): string =>
  `argMaxIf(${column}[${key}], ${CAPTURE_ORDER}, mapContains(${column}, ${key}))`

/** Maps of all captures, merged key by key: a later capture that lacks a key leaves it as it was. */
export const latestMap = (column: string): string =>
  `mapApply((k, v) -> (k, v.2), maxMap(mapApply((k, v) -> (k, (${CAPTURE_ORDER}, v)), ${column})))`

/** The beginning of a text: at most `bytes`, cut where a UTF-8 character ends. */
export function utf8Prefix(column: string, bytes: number): string {
  // A continuation byte is 10xxxxxx; where the byte after the cut is one, the cut is inside a character of up to four bytes.
  const continues = (at: number): string => `bitAnd(reinterpretAsUInt8(substring(${column}, ${at}, 1)), 192) = 128`
  return `substring(${column}, 1, ${bytes} - multiIf(NOT ${continues(bytes + 1)}, 0, NOT ${continues(bytes)}, 1, NOT ${continues(bytes - 1)}, 2, 3))`
}

/** `2026-11-20T16:00:00.123456789Z`, as the store answers, to the form that it takes in parameters. */
export const sqlTime = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, -1)}`
