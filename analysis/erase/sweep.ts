// What comes after an erasure: finished ranges -> rows that meet a tombstone -> gone. Late payloads, replays and dead letters that are
// sent again bring rows; each finished range is looked at once.
import { DeliverPolicy, type JetStreamManager, jetstream } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { USER_HASH_SQL } from '#proto/erasure.ts'
import { BLOCKS_STREAM } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'
import type { Store } from '#store/client.ts'
import type { Shards } from '#store/shards.ts'
import type { Target } from './conditions.ts'
import { bury, erasePass } from './pass.ts'

/** Key of the cursors bucket: the last record of BLOCKS that was swept. */
export const SWEPT_KEY = 'erasures-swept'
const FETCH = 500
/** Targets of one round. */
const TARGETS_MAX = 1_000
const ROUNDS = 10

/** What sweeping needs. */
export interface SweepContext {
  readonly nc: NatsConnection
  readonly jsm: JetStreamManager
  readonly cursors: KV
  readonly shards: Shards
  readonly partitions: number
  readonly log: Log
  /** Rows that were deleted, dead letters among them. */
  readonly erased: (rows: Readonly<Record<string, number>>) => void
}

/** Erases what finished ranges brought back; returns the rows. @throws when an engine does not answer, on abort. */
export async function sweep(context: SweepContext, signal: AbortSignal): Promise<number> {
  const { cursors, shards } = context
  const entry = await cursors.get(SWEPT_KEY)
  const swept = entry?.operation === 'PUT' ? Number(entry.string()) : 0
  const { state } = await context.jsm.streams.info(BLOCKS_STREAM)
  if (state.last_seq <= swept) return 0
  const done = (last: number) => cursors.put(SWEPT_KEY, String(last), { previousSeq: entry?.revision ?? 0 })
  // Asked after the end of the records was: a tombstone that is written meanwhile meets what comes behind that end.
  const buried = await Promise.all(shards.all.map(store => store.read('SELECT 1 FROM erased LIMIT 1')))
  if (buried.every(tombs => tombs.length === 0)) {
    await done(state.last_seq)
    return 0
  }
  const { lows, last } = await finishedSince(context, swept, state)
  if (last <= swept) return 0
  let rows = 0
  for (const store of shards.all) rows += await sweepShard(context, store, lows, signal)
  await done(last)
  return rows
}

async function sweepShard(
  context: SweepContext,
  store: Store,
  lows: ReadonlyMap<number, number>,
  signal: AbortSignal,
): Promise<number> {
  let rows = 0
  for (let round = 0; round < ROUNDS; round++) {
    const targets = lows.size === 0 ? [] : await targetsFrom(store, lows)
    for (const target of targets) {
      signal.throwIfAborted()
      await bury(store, target)
      const erased = await erasePass({ store, signal, tell: async () => {} }, target)
      context.erased(erased)
      rows += Object.values(erased).reduce((sum, n) => sum + n, 0)
      const { organization, erasure } = target
      context.log.info({ organization, erasure, rows: erased }, 'what came after an erasure was erased')
    }
    if (targets.length < TARGETS_MAX) break
  }
  return rows
}

/** The least position by partition of the ranges that were finished after `swept`; all positions where records are gone. */
async function finishedSince(
  { nc, partitions }: SweepContext,
  swept: number,
  state: { readonly messages: number; readonly first_seq: number; readonly last_seq: number },
): Promise<{ lows: Map<number, number>; last: number }> {
  const lows = new Map<number, number>()
  let last = swept
  if (state.messages === 0 || state.first_seq > swept + 1) {
    for (let partition = 0; partition < partitions; partition++) lows.set(partition, 0)
  }
  if (state.messages === 0) return { lows, last: state.last_seq }
  const consumer = await jetstream(nc).consumers.get(BLOCKS_STREAM, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: Math.max(swept + 1, state.first_seq),
  })
  while (last < state.last_seq) {
    const before = last
    for await (const message of await consumer.fetch({ max_messages: FETCH, expires: 2_000 })) {
      const { partition, from } = message.json<{ partition: number; from: number }>()
      lows.set(partition, Math.min(from, lows.get(partition) ?? from))
      last = message.seq
      if (last >= state.last_seq) break
    }
    if (last === before) break
  }
  return { lows, last }
}

/** Tombstones that rows of these positions meet, each with the user that they name. */
async function targetsFrom(store: Store, lows: ReadonlyMap<number, number>): Promise<Target[]> {
  const fresh = [...lows]
    .map(([partition, low]) => `(origin_partition = ${partition} AND origin_sequence >= ${low})`)
    .join(' OR ')
  const tombs = (kind: string) => `SELECT organization, subject FROM erased WHERE kind = '${kind}'`
  const met = (table: string): string => `
    SELECT organization, 'user' AS kind, ${USER_HASH_SQL} AS subject, user_id FROM ${table}
    WHERE (${fresh}) AND user_id != '' AND organization IN (SELECT organization FROM erased WHERE kind = 'user')
      AND (organization, ${USER_HASH_SQL}) IN (${tombs('user')})
    UNION ALL SELECT organization, 'conversation', toString(conversation_id), '' FROM ${table}
    WHERE (${fresh}) AND (organization, toString(conversation_id)) IN (${tombs('conversation')})
    UNION ALL SELECT organization, 'organization', toString(organization), '' FROM ${table}
    WHERE (${fresh}) AND organization IN (SELECT organization FROM erased WHERE kind = 'organization')`
  const rows = await store.read<{ organization: string; kind: string; erasure: string; user: string }>(
    `SELECT met.organization AS organization, toString(met.kind) AS kind, toString(any(tomb.erasure)) AS erasure, met.user_id AS user
     FROM (SELECT DISTINCT organization, kind, subject, user_id FROM (${met('events')} UNION ALL ${met('sessions')})) AS met
     INNER JOIN erased AS tomb ON tomb.organization = met.organization AND tomb.subject = met.subject
       AND toString(tomb.kind) = met.kind
     GROUP BY met.organization, met.kind, met.subject, met.user_id
     ORDER BY organization, erasure, user LIMIT ${TARGETS_MAX}`,
    { settings: { max_threads: 2, max_execution_time: 600 } },
  )
  const seen = new Set<string>()
  return rows.flatMap(({ organization, kind, erasure, user }) => {
    // One pass takes all conversations of an erasure, and one those of a user.
    const key = `${erasure} ${user}`
    if (seen.has(key)) return []
    seen.add(key)
    const target: Target = { organization, erasure, kind: kind === 'organization' ? 'organization' : 'user' }
    return user === '' ? target : { ...target, user }
  })
}
