// Pairs that stand in `corrections` under a move id, on their way to `events`: counted there, and copied where the row still counts,
// so that every step may be repeated. What is copied no longer counts.
import type { Store } from '#store/client.ts'
import { BY_CONDITION, ROWS } from './engine-settings.ts'
import { POSITION, WRITING } from './moves.ts'

/** Pairs that a move has staged; null when they are not whole. @throws when the store is away. */
export async function stagedPairs(store: Store, move: string): Promise<number | null> {
  const [row] = await store.read<{ n: string; left: string; positions: string }>(
    `SELECT count() AS n, sum(sign) AS left, uniqExact(${POSITION}) AS positions FROM corrections WHERE move_id = '${move}'`,
  )
  const pairs = Number(row?.positions ?? 0)
  return Number(row?.n) === 2 * pairs && Number(row?.left) === 0 ? pairs : null
}

/** Writings that a move takes from where they stand and that still count there. Rows lie by hour: see lostSql of moves.ts. */
const countingSql = (partition: number, move: string): string => {
  const staged = `FROM corrections WHERE move_id = '${move}'`
  return `
      SELECT ${WRITING} FROM events
      WHERE origin_partition = ${partition}
        AND origin_sequence >= (SELECT min(origin_sequence) ${staged})
        AND organization IN (SELECT DISTINCT organization ${staged})
        AND conversation_id IN (SELECT DISTINCT conversation_id ${staged} AND sign = -1)
        AND ts >= (SELECT min(ts) ${staged}) AND ts <= (SELECT max(ts) ${staged})
        AND toStartOfHour(ts) >= (SELECT toStartOfHour(min(ts)) ${staged})
        AND toStartOfHour(ts) <= (SELECT toStartOfHour(max(ts)) ${staged})
        AND (${WRITING}) IN (SELECT ${WRITING} ${staged} AND sign = -1)
      GROUP BY ${WRITING} HAVING sum(sign) > 0`
}

/** Pairs of a move that are not in `events` yet. @throws when the store is away. */
export async function leftOf(store: Store, partition: number, move: string): Promise<number> {
  const sql = `SELECT count() AS n FROM (${countingSql(partition, move)})`
  const [row] = await store.read<{ n: string }>(sql, { settings: ROWS })
  return Number(row?.n)
}

/** A move, on its way to `events`. */
export interface Copying {
  readonly partition: number
  readonly move: string
  /** Condition that holds until an owner raises its fence. */
  readonly standing: string
  readonly queryId: string
}

/** Copies what is left of a move, while `standing` holds. @throws when the outcome is unknown. */
export async function copy(store: Store, { partition, move, standing, queryId }: Copying): Promise<void> {
  const taken = `SELECT ${POSITION} FROM corrections
      WHERE move_id = '${move}' AND sign = -1 AND (${WRITING}) IN (${countingSql(partition, move)})`
  const sql = `INSERT INTO events SELECT * FROM corrections
      WHERE move_id = '${move}' AND (${POSITION}) IN (${taken}) AND ${standing}`
  await store.command(sql, { settings: BY_CONDITION, queryId })
}
