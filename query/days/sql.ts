// What the store is asked for whole days that are kept in memory: versions of all days, and what some days hold. What a day holds always
// comes with its version, summed up over the very rows that were read, so that it can never stand under the version of other rows.

import { NIL_UUID } from '#proto/ids.ts'
import type { Parameters } from '../reader.ts'
import { TIERS } from '../reads/costs.ts'
import {
  answeredBy,
  BY_ROWS,
  hoursBetween,
  IN_WINDOW,
  OF_CONVERSATION,
  OURS,
  type Projection,
  RAGGED_DAYS,
} from '../reads/sql.ts'
import { HOW } from '../reads/summary-costs.ts'
import { OF_TOOLS } from '../reads/tools.ts'
import { FAILURES_MAX } from './failures.ts'

const DAY_MS = 86_400_000

/** An id that is nobody's. */
export const NONE = `toUUID('${NIL_UUID}')`

/** Word for word that of 0041_day_versions.sql: which writings of which rows are there. What a row says follows from its writing. */
export const VERSION = `sum(sign * reinterpretAsInt64(cityHash64(
                origin_partition, origin_generation, origin_sequence, origin_frame, origin_index, version)))`
/** Word for word that of 0032_capture_versions.sql. */
export const CAPTURE_VERSION = `sum(reinterpretAsInt64(cityHash64(
                conversation_id, user_id, report, received_at, origin_partition, origin_sequence, origin_frame, origin_index)))`
const REPLACED_VERSION =
  'sum(reinterpretAsInt64(cityHash64(conversation_id, origin_partition, origin_sequence, origin_frame)))'

/** Versions of days with events, of days on which captures arrived, and of what later reports replaced. */
export const VERSIONS_SQL = `
  SELECT 'events' AS of, toString(toDate(ts)) AS day, toString(${VERSION}) AS version
  FROM events WHERE ${OURS}
  GROUP BY toDate(ts)
  ${answeredBy('day_versions')}
  UNION ALL
  SELECT 'captures' AS of, toString(toDate(received_at)) AS day, toString(${CAPTURE_VERSION}) AS version
  FROM sessions WHERE ${OURS}
  GROUP BY toDate(received_at)
  ${answeredBy('capture_versions')}
  UNION ALL
  SELECT 'replaced' AS of, '' AS day, toString(${REPLACED_VERSION}) AS version
  FROM replaced_reports WHERE ${OURS}`

/** A list of ids in base64. */
export const base64 = (list: string): string =>
  `base64Encode(arrayStringConcat(arrayMap(id -> concat(reinterpretAsFixedString(id), ''), ${list})))`

/** Pairs of a conversation and a text as two lists: ids in base64, texts as they are. */
export const PAIRS = `${base64('arrayMap(pair -> pair.1, pairs)')} AS ids, arrayMap(pair -> pair.2, pairs) AS users`

/** A statement over whole days, and the same over what came to an open one since an instant, in two parts: until a cut and later. */
export interface DaySql {
  readonly whole: string
  readonly open: string
}

/** Marks what of an open day arrived after the cut. */
export const LATER = ' later'
const SINCE = "received_at > {arrived:DateTime64(3, 'UTC')}"

/**
 * Both forms of a statement over rows that some conditions choose, with the key that they are grouped by. An open day is one alone, whose
 * bounds say all; `proof`: its version.
 */
export const daySql = (of: (rows: string, key: string) => string, from = EVENTS_OF_DAYS): DaySql => ({
  whole: of(`${from.isOfDays} AND ${from.within}`, from.key),
  open: `
  SELECT *, (${from.proof}) AS proof
  FROM (${of(`${from.within} AND ${SINCE}`, `concat(${from.key}, if(received_at > {cut:DateTime64(3, 'UTC')}, '${LATER}', ''))`)})`,
})

/**
 * The version of some days together. The days are chosen among the few rows that answer for all of them: a condition on days would first
 * be held against the table's own key mark by mark, which costs five times as much as all the rest.
 */
export const versionOfDays = (table: string, day: string, version: string, projection: Projection): string => `
    SELECT toString(sumIf(version, day IN {days:Array(Date)}))
    FROM (SELECT ${day} AS day, ${version} AS version FROM ${table} WHERE ${OURS} GROUP BY ${day} ${answeredBy(projection)})`

const IS_OF_DAYS = 'toDate(ts) IN {days:Array(Date)}'
const WITHIN_DAYS = `ts >= {since:DateTime64(9, 'UTC')} AND ts < {until:DateTime64(9, 'UTC')}
      AND ${hoursBetween("{since:DateTime64(9, 'UTC')}", "{until:DateTime64(9, 'UTC')}")}`

/** What a statement over some days binds; they are in order and not empty. */
export function boundDays(days: readonly string[]): Parameters {
  const until = new Date(Date.parse(days.at(-1) as string) + DAY_MS).toISOString()
  return { days, since: `${days[0]} 00:00:00.000`, until: `${until.slice(0, 10)} 00:00:00.000` }
}

/** The last instant of a group that was not taken back: what was is looked for only where anything was. */
export const STANDING_LAST = `if(min(sign) = 1, max(ts), arrayMax(arrayMap(t ->
            if(arraySum(arrayMap((x, s) -> if(x = t, toInt32(s), 0), groupArray(ts), groupArray(sign))) > 0, t, toDateTime64(0, 9, 'UTC')),
            groupArray(ts))))`

/** Nanoseconds of an instant since its day began. */
export const ofDay = (at: string): string => `toFloat64(toUnixTimestamp64Nano(${at}) % 86400000000000)`

const conversationsOf = (rows: string, key: string): string => `
  SELECT key, version, ${PAIRS}, arrayMap(pair -> toUInt32(pair.3), pairs) AS counts,
    arrayMap(pair -> pair.4, pairs) AS firsts, arrayMap(pair -> pair.5, pairs) AS lasts,
    arrayMap(pair -> pair.6, pairs) AS standing
  FROM (
    SELECT key, toString(sum(version)) AS version, groupArrayIf((conversation_id, seen, n, first, last, stands), n > 0 AND ${OF_CONVERSATION}) AS pairs
    FROM (
      SELECT key, conversation_id, maxIf(user_id, of_user > 0) AS seen, sum(of_user) AS n, sum(version) AS version,
        toUnixTimestamp(min(first_of)) AS first, toUnixTimestamp(max(last_of)) AS last,
        ${ofDay('maxIf(standing_of, of_user > 0)')} AS stands
      FROM (
        SELECT ${key} AS key, conversation_id, user_id, sum(sign) AS of_user, ${VERSION} AS version,
          min(ts) AS first_of, max(ts) AS last_of, ${STANDING_LAST} AS standing_of
        FROM events
        WHERE ${OURS} AND ${rows}
        GROUP BY key, conversation_id, user_id
        ${BY_ROWS}
      )
      GROUP BY key, conversation_id
    )
    GROUP BY key
  )`

const sumsOf = (rows: string, key: string): string => `
  SELECT key, toString(sum(version)) AS version, toFloat64(sum(n)) AS events, toFloat64(sum(errors)) AS errors,
    toFloat64(sum(timed)) AS timed, toFloat64(sum(us)) AS us,
    groupArrayIf((latency_bucket, toFloat64(n)), n > 0) AS of_buckets,
    arrayMap(pair -> pair.1, of_buckets) AS buckets, arrayMap(pair -> pair.2, of_buckets) AS counts
  FROM (
    SELECT ${key} AS key, latency_bucket, ${VERSION} AS version, sum(sign) AS n, sum(sign * failed) AS errors,
      sum(sign * (duration_ns >= 0)) AS timed, sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)) AS us
    FROM events
    WHERE ${OURS} AND ${rows}
    GROUP BY key, latency_bucket
    ${BY_ROWS}
  )
  GROUP BY key`

/** The same of days, with what failed on them, newest first: of very many the newest. */
const dayFiguresOf = (rows: string, key: string): string => `
  SELECT * EXCEPT (of_buckets, failures, newest) FROM (
  SELECT key, toString(sum(version)) AS version, toFloat64(sum(n)) AS events, toFloat64(sum(of_failed)) AS errors,
    toFloat64(sum(timed)) AS timed, toFloat64(sum(us)) AS us,
    sumMapIf([latency_bucket], [toFloat64(n)], n > 0) AS of_buckets, of_buckets.1 AS buckets, of_buckets.2 AS counts,
    groupArrayIf((at, event, conversation), of_failed > 0) AS failures, toUInt32(length(failures)) AS failed_in_all,
    arraySlice(arraySort(one -> (-toUnixTimestamp64Nano(one.1), toString(one.2)), failures), 1, ${FAILURES_MAX}) AS newest,
    ${base64('arrayMap(one -> one.2, newest)')} AS failed_events, ${base64('arrayMap(one -> one.3, newest)')} AS failed_ids,
    arrayMap(one -> ${ofDay('one.1')}, newest) AS failed_at
  FROM (
    SELECT ${key} AS key, latency_bucket, if(failed = 1, ts, toDateTime64(0, 9, 'UTC')) AS at,
      if(failed = 1, event_id, ${NONE}) AS event, if(failed = 1, conversation_id, ${NONE}) AS conversation,
      ${VERSION} AS version, sum(sign) AS n, sum(sign * failed) AS of_failed,
      sum(sign * (duration_ns >= 0)) AS timed, sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)) AS us
    FROM events
    WHERE ${OURS} AND ${rows}
    GROUP BY key, latency_bucket, at, event, conversation
    ${BY_ROWS}
  )
  GROUP BY key)`

/**
 * Calls by tool. The instant and the time taken are keys of the groups, so that the last and the longest call are never reversed ones. What is of no tool is one group,
 * which nothing but the version is taken of.
 */
const toolsOf = (rows: string, key: string): string => `
  SELECT key, of_kind AS kind, tool AS name, toString(sum(version)) AS version,
    toFloat64(sum(n)) AS calls, toFloat64(sumIf(n, failure = 1)) AS errors, toFloat64(sum(timed)) AS timed, toFloat64(sum(us)) AS us,
    toFloat64(maxIf(took, n > 0)) AS slowest, maxIf(at, n > 0) AS last_at, ${base64('groupUniqArrayIf(conversation, n > 0)')} AS ids,
    sumMapIf([bucket], [toFloat64(n)], n > 0) AS of_buckets, of_buckets.1 AS buckets, of_buckets.2 AS counts
  FROM (
    SELECT ${key} AS key, ${OF_TOOLS} AS called, if(called, toString(kind), '') AS of_kind, if(called, toString(name), '') AS tool,
      if(called, conversation_id, ${NONE}) AS conversation,
      if(called, ts, toDateTime64(0, 9, 'UTC')) AS at, if(called, failed, 0) AS failure, if(called, latency_bucket, 0) AS bucket,
      if(called AND duration_ns >= 0, intDiv(duration_ns, 1000), 0) AS took,
      sum(sign) AS n, sum(sign * (duration_ns >= 0)) AS timed, n * took AS us, ${VERSION} AS version
    FROM events
    WHERE ${OURS} AND ${rows}
    GROUP BY key, called, of_kind, tool, conversation, at, failure, bucket, took
    ${BY_ROWS}
  )
  GROUP BY key, of_kind, tool`

const DAY = 'toString(toDate(ts))'

const EVENTS_OF_DAYS = {
  ...{ isOfDays: IS_OF_DAYS, within: WITHIN_DAYS, key: DAY },
  proof: versionOfDays('events', 'toDate(ts)', VERSION, 'day_versions'),
}

/** What an event that was priced says, or the same for all others. */
const ofPriced = (says: string, otherwise: string): string => `if(how > 0, ${says}, ${otherwise})`

/** What is told apart among what was priced. */
export const OF_PRICED = {
  how: `bitAnd(present, ${HOW})`,
  of_model: ofPriced('toString(model)', "''"),
  of_provider: ofPriced('toString(provider)', "''"),
  repeating: ofPriced("kind = 'agent' AND source = 'otlp'", '0'),
  of_size: ofPriced(`roundDown(greatest(input_tokens, 1) - 1, ${TIERS})`, '0'),
}

const total = (column: string): string => `sum(sign * toInt64(${column}))`

/** What is summed up of it besides events. */
export const PRICED_SUMS = {
  ...{ input: total('input_tokens'), output: total('output_tokens') },
  ...{ cache_read: total('cache_read_tokens'), cache_write: total('cache_write_tokens') },
  ...{ reasoning: total('reasoning_tokens'), nanos: total('cost_nanos') },
}

/** Expressions with their names. */
export const named = (columns: Readonly<Record<string, string>>): string =>
  Object.entries(columns)
    .map(([name, of]) => `${of} AS ${name}`)
    .join(', ')

const SUMS = Object.keys(PRICED_SUMS)

/**
 * What was priced on days, by what is priced alike: sums of its conversations as lists. What was not priced is one group, which nothing
 * but the version is taken of.
 */
const pricesOf = (rows: string, key: string): string => `
  SELECT key, of_model AS model, of_provider AS provider, how, repeating, toUInt32(of_size) AS size, toString(sum(version)) AS version,
    groupArrayIf((conversation, toFloat64(events), ${SUMS.map(sum => `toFloat64(${sum})`).join(', ')}), events > 0 AND how > 0) AS priced,
    ${base64('arrayMap(one -> one.1, priced)')} AS ids,
    [${['events', ...SUMS].map((_, i) => `arrayMap(one -> one.${i + 2}, priced)`).join(', ')}] AS sums
  FROM (
    SELECT
      ${key} AS key, ${ofPriced('conversation_id', NONE)} AS conversation,
      ${named(OF_PRICED)}, sum(sign) AS events, ${named(PRICED_SUMS)}, ${VERSION} AS version
    FROM events
    WHERE ${OURS} AND ${rows}
    GROUP BY key, conversation, ${Object.keys(OF_PRICED).join(', ')}
    ${BY_ROWS}
  )
  GROUP BY key, of_model, of_provider, how, repeating, of_size`

/** What was priced on days. */
export const DAY_PRICES_SQL = daySql(pricesOf)

/** Conversations of days, and whom their events of a day name. */
export const DAY_CONVERSATIONS_SQL = daySql(conversationsOf)

/** Figures of days: events, failures, latencies; and which events failed. */
export const DAY_FIGURES_SQL = daySql(dayFiguresOf)

/** Tools of days. */
export const DAY_TOOLS_SQL = daySql(toolsOf)

/**
 * Rows of days by tool, as lists: what is of no tool is one list, too. Alike in all that is kept of them they are one with a count, which
 * is 0 where they were taken back. `said`: what they say of some keys is told, too.
 */
export const dayRowsSql = (said?: string): string => `
  SELECT * EXCEPT (found) FROM (
  SELECT key, of_kind AS kind, tool AS name, toString(sum(version)) AS version,
    groupArrayIf((conversation_id, at, n, us, latency_bucket, failure${said === undefined ? '' : ', value'}), n > 0) AS found,
    ${base64('arrayMap(one -> one.1, found)')} AS ids, arrayMap(one -> one.2, found) AS instants,
    arrayMap(one -> toUInt32(one.3), found) AS counts, arrayMap(one -> one.4, found) AS micros,
    arrayMap(one -> one.5, found) AS buckets, arrayMap(one -> one.6, found) AS failed
    ${said === undefined ? '' : ', arrayDistinct(found.7) AS texts, arrayEnumerateDense(found.7) AS said'}
  FROM (
    SELECT ${DAY} AS key, ${OF_TOOLS} AS called, if(called, toString(kind), '') AS of_kind, if(called, toString(name), '') AS tool,
      conversation_id, ${ofDay('ts')} AS at, if(duration_ns >= 0, toFloat64(intDiv(duration_ns, 1000)), -1) AS us, latency_bucket,
      failed AS failure, ${said === undefined ? '' : `${said} AS value,`} sum(sign) AS n, ${VERSION} AS version
    FROM events
    WHERE ${OURS} AND ${IS_OF_DAYS} AND ${WITHIN_DAYS}
    GROUP BY key, called, of_kind, tool, conversation_id, at, us, latency_bucket, failure${said === undefined ? '' : ', value'}
    ${BY_ROWS}
  )
  GROUP BY key, of_kind, tool)`

/** The same of what a window holds of its first and its last day. */
export const RAGGED_TOOLS_SQL = toolsOf(`${RAGGED_DAYS} AND ${OF_TOOLS}`, DAY)

/** Conversations and figures of what windows hold of days that they don't hold whole; keys are days, with a mark where they are of the window before. */
export const raggedSql = (rows: string, current: string): Record<'conversations' | 'figures', string> => {
  const key = dayOrBefore(current)
  return { conversations: conversationsOf(rows, key), figures: sumsOf(rows, key) }
}

/** The day of an event, with a mark where it is of the window before. */
export const dayOrBefore = (current: string): string => `concat(toString(toDate(ts)), if(${current}, '', '${BEFORE}'))`

/** Marks what is of the window before. */
export const BEFORE = ' before'

/** Who was active on the day that a window ends on, before it does. */
export const LAST_DAY_SQL = `
  SELECT ${base64('arrayMap(pair -> pair.1, pairs)')} AS ids, arrayMap(pair -> pair.2, pairs) AS standing
  FROM (
    SELECT groupArray((conversation_id, ${ofDay('last')})) AS pairs
    FROM (
      SELECT conversation_id, max(ts) AS last
      FROM events FINAL
      PREWHERE ${OURS} AND ${IN_WINDOW} AND ts >= {last_start:DateTime64(9, 'UTC')} AND toStartOfHour(ts) >= {last_start:DateTime64(9, 'UTC')}
      WHERE ${OF_CONVERSATION}
      GROUP BY conversation_id
    )
  )`
