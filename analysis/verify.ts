// The scheduled verify: over the whole store, as often as a setting says, whichever process is first. It looks only: repairing is for
// somebody who has read what differs.
import type { KV } from '@nats-io/kv'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Shards } from '#store/shards.ts'
import { verifyShards } from '#store/verify/verify.ts'
import { readSettled } from '#streams/settled.ts'

/** Key of the cursors bucket: when it ran last, and what it found. */
export const VERIFIED_KEY = 'verified'
/** Differences that the log names. */
const NAMED = 10
const HOUR_MS = 3_600_000

/** What it needs. */
export interface VerifyContext {
  readonly cursors: KV
  readonly shards: Shards
  readonly partitions: number
  readonly everyHours: number
  readonly metrics: Metrics
  readonly log: Log
  readonly clock?: () => number
  /** True while the disk has no room for work that can wait: a recount sorts and groups on it. */
  readonly isShort?: () => boolean
}

/** Makes the run: true when it was due and has run. @throws when an engine does not answer. */
export function createVerifier(context: VerifyContext): () => Promise<boolean> {
  const { cursors, shards, partitions, everyHours, log } = context
  const clock = context.clock ?? Date.now
  const differences = context.metrics.gauge('verify_differences', 'what the last verify found wrong, by check', [
    'check',
  ])
  const seconds = context.metrics.gauge('verify_seconds', 'how long the last verify took')
  const at = context.metrics.gauge('verify_last_timestamp_seconds', 'when the last verify ended, Unix time')
  return async () => {
    if (everyHours === 0 || context.isShort?.()) return false
    const entry = await cursors.get(VERIFIED_KEY)
    const last = entry?.operation === 'PUT' ? entry.json<{ at: number }>().at : undefined
    // A fresh installation has nothing to verify: its first run comes after a whole interval.
    if (last === undefined) await cursors.put(VERIFIED_KEY, JSON.stringify({ at: clock() }))
    if (last === undefined || clock() - last < everyHours * HOUR_MS) return false
    const report = await verifyShards(shards, { settled: () => readSettled(cursors, partitions) })
    for (const check of ['projection', 'position', 'repeat', 'capture'] as const) {
      differences.set({ check }, report.differences.filter(one => one.check === check).length)
    }
    seconds.set(report.seconds)
    at.set(clock() / 1000)
    const { rows, compared, missed, seconds: took } = report
    const said = { rows, compared, missed, seconds: took, differences: report.differences.length }
    if (report.differences.length === 0) log.info(said, 'verified: nothing differs')
    else
      log.error({ ...said, first: report.differences.slice(0, NAMED) }, 'verified: numbers differ, see docs/verify.md')
    await cursors.put(VERIFIED_KEY, JSON.stringify({ at: clock(), ...said }))
    return true
  }
}
