// Signed groups of the events of a window: its whole days in the words of an aggregate by day, so that the planner can take one, and
// its ragged first and last day from rows. A reversed row meets the same conditions as the row it takes back, so sums need no fold.
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import { answeredByDay } from './daily.ts'
import { BY_ROWS, OURS, RAGGED_DAYS, SPLIT_RAGGED_DAYS, WHOLE_DAYS } from './sql.ts'

/**
 * Rows of `keys` and `sums`; the same keys may come in several rows, so sums are to be added up. `keys` are expressions with their
 * aliases by which the groups are told apart. With `split`, the rows are those of a window and of the one before it, and `current` says
 * which: 1 or 0.
 */
export function windowGroups(
  keys: Readonly<Record<string, string>>,
  sums: readonly string[],
  conditions: Conditions,
  { split = false } = {},
): string {
  const columns = [...Object.entries(keys).map(([alias, sql]) => (alias === sql ? sql : `${sql} AS ${alias}`)), ...sums]
  const part = (days: string, current: string, how: (by: readonly string[]) => string): string => {
    const by = [...Object.values(keys), ...(split ? [current] : [])]
    return `
    SELECT ${[...columns, ...(split ? [`${current} AS current`] : [])].join(', ')}
    FROM events
    WHERE ${OURS} AND ${days}${andAll(conditions.sql)}
    ${by.length > 0 ? `GROUP BY ${by.join(', ')}` : ''}
    ${how(by)}`
  }
  const whole = split ? `${WHOLE_DAYS} AND toDate(ts) != {split_day:Date}` : WHOLE_DAYS
  const answered = (by: readonly string[]): string => answeredByDay(by, sums, conditions.sql)
  return `${part(whole, 'toDate(ts) > {split_day:Date}', answered)}
    UNION ALL${part(split ? SPLIT_RAGGED_DAYS : RAGGED_DAYS, "ts >= {split:DateTime64(9, 'UTC')}", () => BY_ROWS)}`
}
