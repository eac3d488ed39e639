// Figures of a window: events, failures and latencies by day, distinct conversations and users, the latency that few exceed.
import type { Conditions } from '../filters.ts'
import { averageMs, bucketMs, bucketsAt } from '../latency.ts'
import type { Parameters, Reader } from '../reader.ts'
import { daySql } from '../series.ts'
import { parametersOfBoth, type Window } from '../window.ts'
import { EVENTS, FAILED, LATENCIES } from './daily.ts'
import { OF_CONVERSATION } from './sql.ts'
import { usersOfSql, WINDOW_CONVERSATIONS } from './users.ts'
import { windowGroups } from './window-groups.ts'

/** What is counted. */
interface Asked {
  readonly window: Window
  readonly conditions: Conditions
}

/** The same of a window and of the one before it, in one read; null where there is none before. */
interface AskedBoth extends Asked {
  readonly before: Window | null
}

const bound = ({ window, conditions }: Asked): Parameters => ({
  ...conditions.parameters,
  ...window.parameters,
  ...(window.timezone === 'UTC' ? {} : { timezone: window.timezone }),
})

const boundBoth = ({ before, ...asked }: AskedBoth): Parameters => ({
  ...bound(asked),
  ...(before === null ? {} : parametersOfBoth(asked.window, before)),
})

/** Which of two windows a row is of: 1 = the one that was asked for, 0 = the one before. */
interface OfWindow {
  readonly current: 0 | 1
}

/** Sums of one day. */
export interface DaySums extends OfWindow {
  readonly day: string
  readonly events: number
  readonly errors: number
  readonly timed: string
  readonly us: string
}

export const daySumsSql = (conditions: Conditions, timezone: string, split: boolean): string => `
  SELECT ${split ? 'current' : '1 AS current'}, toString(day) AS day,
    toUInt32(sum(n)) AS events, toUInt32(sum(failed_n)) AS errors, sum(timed) AS timed, sum(us) AS us
  FROM (${windowGroups({ day: daySql(timezone) }, [EVENTS, FAILED, LATENCIES], conditions, { split })})
  GROUP BY current, day
  HAVING events > 0
  ORDER BY day`

/** Sums by day of both windows, oldest first; days without events are absent. */
export function readDaySums(reader: Reader, asked: AskedBoth): Promise<DaySums[]> {
  const sql = daySumsSql(asked.conditions, asked.window.timezone, asked.before !== null)
  return reader.read<DaySums>('day_sums', sql, boundBoth(asked))
}

/** Distinct counts of one day, or of a whole window. */
export interface Distinct extends OfWindow {
  readonly day: string
  readonly whole: 0 | 1
  readonly conversations: number
  readonly users: number
}

export const dayConversationsSql = (conditions: Conditions, timezone: string, split = false): string =>
  windowGroups(
    { day: daySql(timezone), conversation_id: 'conversation_id' },
    [EVENTS],
    { ...conditions, sql: [OF_CONVERSATION, ...conditions.sql] },
    { split },
  )

const distinctSql = (conditions: Conditions, timezone: string, split: boolean): string => `
  SELECT
    current, toString(day) AS day, toUInt8(grouping(day)) AS whole,
    toUInt32(uniqExact(conversation_id)) AS conversations, toUInt32(uniqExactIf(user, user != '')) AS users
  FROM (
    SELECT ${split ? 'current' : '1 AS current'}, day, conversation_id
    FROM (${dayConversationsSql(conditions, timezone, split)})
    GROUP BY current, day, conversation_id
    HAVING sum(n) > 0
  ) AS seen
  LEFT JOIN (${usersOfSql(WINDOW_CONVERSATIONS)}
  ) AS known USING (conversation_id)
  GROUP BY GROUPING SETS ((current, day), (current))`

/** Distinct conversations and known users by day, and of the whole windows: no sums of the days. */
export function readDistinct(reader: Reader, asked: AskedBoth): Promise<Distinct[]> {
  const sql = distinctSql(asked.conditions, asked.window.timezone, asked.before !== null)
  return reader.read<Distinct>('distinct', sql, boundBoth(asked))
}

export const bucketCountsSql = (conditions: Conditions): string =>
  windowGroups({ latency_bucket: 'latency_bucket' }, [EVENTS], conditions)

const percentileSql = (conditions: Conditions): string => `
  SELECT ${bucketsAt([0.95])}[1] AS bucket, sumIf(n, latency_bucket >= 0) AS timed
  FROM (
    SELECT latency_bucket, sum(n) AS n FROM (${bucketCountsSql(conditions)}) GROUP BY latency_bucket HAVING n > 0
  )`

/** The latency that 95 % of the timed events do not exceed, in milliseconds; null where nothing was timed. */
export async function readP95(reader: Reader, asked: Asked): Promise<number | null> {
  const [row] = await reader.read<{ bucket: number; timed: string }>(
    'p95',
    percentileSql(asked.conditions),
    bound(asked),
  )
  return row === undefined || Number(row.timed) === 0 ? null : bucketMs(row.bucket)
}

/** The mean latency of days together. */
export function averageOf(days: readonly DaySums[]): number | null {
  const sum = (of: (day: DaySums) => string): string => String(days.reduce((total, day) => total + Number(of(day)), 0))
  return averageMs(
    sum(day => day.us),
    sum(day => day.timed),
  )
}
