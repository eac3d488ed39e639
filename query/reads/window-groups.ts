// Signed groups of the events of a window: its whole days in the words of an aggregate by day, so that the planner can take one, and
// its ragged first and last day from rows. A reversed row meets the same conditions as the row it takes back, so sums need no fold.
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import { answeredByDay } from './daily.ts'
import { BY_ROWS, OURS, RAGGED_DAYS, WHOLE_DAYS } from './sql.ts'

/**
 * Rows of `keys` and `sums`; the same keys may come in several rows, so sums are to be added up. `keys` are expressions with their
 * aliases by which the groups are told apart.
 */
export function windowGroups(
  keys: Readonly<Record<string, string>>,
  sums: readonly string[],
  conditions: Conditions,
): string {
  const columns = [...Object.entries(keys).map(([alias, sql]) => (alias === sql ? sql : `${sql} AS ${alias}`)), ...sums]
  const by = Object.values(keys)
  const part = (days: string, how: string): string => `
    SELECT ${columns.join(', ')}
    FROM events
    WHERE ${OURS} AND ${days}${andAll(conditions.sql)}
    ${by.length > 0 ? `GROUP BY ${by.join(', ')}` : ''}
    ${how}`
  return `${part(WHOLE_DAYS, answeredByDay(by, sums, conditions.sql))}
    UNION ALL${part(RAGGED_DAYS, BY_ROWS)}`
}
