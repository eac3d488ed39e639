// The sweep of what is kept no longer: organizations with an end to what they keep -> their older rows are deleted, table by table, by
// rewriting the parts that hold some. Aggregates are built again with them, so every number equals a recount of what is left.
import type { KV } from '@nats-io/kv'
import type { Organization } from '#control/records.ts'
import { cutoffsOf } from '#proto/retention.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { deleteRows } from '#store/deletions.ts'
import type { Shards } from '#store/shards.ts'
import { isSettled } from '#store/verify/scope.ts'
import { readQuiet } from '#streams/settled.ts'
import { type ExpiredRows, type Expiring, expiredRows } from './tables.ts'

/** Key of the cursors bucket: when a sweep last ended. */
export const EXPIRED_KEY = 'expired'
/** Organizations of one deletion. */
const TOGETHER = 200
const HOUR_MS = 3_600_000

/** What it needs. */
export interface ExpiryContext {
  readonly cursors: KV
  readonly shards: Shards
  readonly organizations: () => Iterable<Organization>
  readonly partitions: number
  readonly everyHours: number
  readonly metrics: Metrics
  readonly log: Log
  readonly clock?: () => number
}

/**
 * Makes the sweep: false when it is not due, or has to come again soon because rows of a partition were just being moved. A sweep
 * that was cut short is begun again: it looks at what is there. @throws when an engine does not answer, on abort.
 */
export function createExpiry(context: ExpiryContext): (signal: AbortSignal) => Promise<boolean> {
  const { cursors, shards, partitions, everyHours, log } = context
  const clock = context.clock ?? Date.now
  const rows = context.metrics.counter(
    'expired_rows_total',
    'rows that were deleted because they are kept no longer, by table',
    ['table'],
  )
  const at = context.metrics.gauge(
    'expired_last_timestamp_seconds',
    'when the last sweep of what is kept no longer ended, Unix time',
  )
  return async signal => {
    if (everyHours === 0) return false
    const entry = await cursors.get(EXPIRED_KEY)
    const last = entry?.operation === 'PUT' ? entry.json<{ at: number }>().at : 0
    const nowMs = clock()
    if (nowMs - last < everyHours * HOUR_MS) return false
    const expiring = [...context.organizations()].flatMap(({ id, keep }): Expiring[] =>
      keep === undefined ? [] : [{ organization: id, ...cutoffsOf(keep, nowMs) }],
    )
    const quiet = await readQuiet(cursors, partitions)
    const deleted: Record<string, number> = {}
    for (const [store, some] of together(expiring, shards)) {
      for (const expired of expiredRows(store.database, some, isSettled(quiet.settled))) {
        const n = await remove(store, expired, signal)
        if (n > 0) deleted[expired.table] = (deleted[expired.table] ?? 0) + n
        if (n > 0) rows.inc({ table: expired.table }, n)
      }
    }
    const said = { rows: deleted, organizations: expiring.length, partitions_left_out: quiet.leftOut }
    if (Object.keys(deleted).length > 0) log.info(said, 'what is kept no longer was deleted')
    if (quiet.leftOut.length > 0) return false
    at.set(clock() / 1000)
    await cursors.put(EXPIRED_KEY, JSON.stringify({ at: nowMs }))
    return true
  }
}

/** Organizations of one shard each, so many at a time. */
function together(expiring: readonly Expiring[], shards: Shards): [Store, Expiring[]][] {
  return [...Map.groupBy(expiring, ({ organization }) => shards.of(organization))].flatMap(([store, own]) =>
    Array.from({ length: Math.ceil(own.length / TOGETHER) }, (_, i): [Store, Expiring[]] => [
      store,
      own.slice(i * TOGETHER, (i + 1) * TOGETHER),
    ]),
  )
}

/** Deletes partition by partition: parts of others are not touched. */
async function remove(store: Store, { table, where, parameters }: ExpiredRows, signal: AbortSignal): Promise<number> {
  const found = await store.read<{ partition: string; n: string }>(
    `SELECT _partition_id AS partition, count() AS n FROM ${table} WHERE ${where} GROUP BY partition ORDER BY partition`,
    { parameters, settings: { max_threads: 2 } },
  )
  let rows = 0
  for (const { partition, n } of found) {
    await deleteRows(store, { table, partition, where, parameters, signal })
    rows += Number(n)
  }
  return rows
}
