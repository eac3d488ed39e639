// When the data of an organization begin: series over all time start there.
import type { Reader } from '../reader.ts'
import { answeredBy, OURS } from './sql.ts'

export const FIRST_DAY_SQL = `
  SELECT toDate(ts) AS day
  FROM events
  WHERE ${OURS}
  GROUP BY toDate(ts)
  HAVING sum(sign) > 0
  ORDER BY day
  LIMIT 1
  ${answeredBy('metrics_daily')}`

/** The beginning (Unix ms) of the first day with events; null without any. */
export async function readFirstDay(reader: Reader): Promise<number | null> {
  const [row] = await reader.read<{ day: string }>('first_day', FIRST_DAY_SQL)
  return row === undefined ? null : Date.parse(row.day)
}
