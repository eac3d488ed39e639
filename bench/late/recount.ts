// The sums that projections say against a recount of the rows, of one and the same state of the table.
import type { Store } from '#store/client.ts'

/** A sum that is not what the rows say. */
export interface Wrong {
  readonly what: string
  readonly is: number
  readonly counted: number
}

const TRIES = 10
const of = (projection: string): string => `mergeTreeProjection(currentDatabase(), 'events', '${projection}')`
const PARTS = `SELECT toString(groupBitXor(cityHash64(name))) AS state FROM system.parts
  WHERE database = currentDatabase() AND table = 'events' AND active`

/** What stands in the table; undefined when it changed during every look. @throws when the store is away. */
export async function recount(
  store: Store,
): Promise<{ readonly rows: number; readonly wrong: readonly Wrong[] } | undefined> {
  for (let i = 0; i < TRIES; i++) {
    const [before] = await store.read<{ state: string }>(PARTS)
    const [rows] = await store.read<Record<string, string>>(
      `SELECT sum(s) AS rows, sum(s) AS of_conversations, sum(s) AS of_users, countIf(s NOT IN (0, 1)) AS odd,
         uniqExactIf(conversation, s != 0) AS conversations, uniqExactIf(event_id, s != 0) AS different
       FROM (SELECT event_id, conversation_id AS conversation, sum(sign) AS s
         FROM events GROUP BY event_id, conversation_id) SETTINGS optimize_use_projections = 0`,
    )
    const [sums] = await store.read<Record<string, string>>(
      `SELECT (SELECT sumMerge(\`sum(sign)\`) FROM ${of('metrics_15m')}) AS rows,
         (SELECT sumMerge(\`sum(sign)\`) FROM ${of('conversations')}) AS of_conversations,
         (SELECT sumMerge(\`sum(sign)\`) FROM ${of('users_daily')}) AS of_users,
         (SELECT count() FROM (SELECT conversation_id FROM ${of('conversations')} GROUP BY conversation_id
            HAVING sumMerge(\`sum(sign)\`) != 0)) AS conversations`,
    )
    const [after] = await store.read<{ state: string }>(PARTS)
    if (before?.state !== after?.state || !rows || !sums) continue
    const pairs = ['rows', 'of_conversations', 'of_users', 'conversations'].map(
      what => [what, sums[what], rows[what]] as const,
    )
    const all = [
      ...pairs,
      ['different events', rows.different, rows.rows] as const,
      ['odd rows', rows.odd, '0'] as const,
    ]
    const wrong = all.map(([what, is, counted]) => ({ what, is: Number(is), counted: Number(counted) }))
    return { rows: Number(rows.rows), wrong: wrong.filter(({ is, counted }) => is !== counted) }
  }
  return undefined
}
