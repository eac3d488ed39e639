// Brings one recorded range to its end: its rows in the store, its dead letters and its record in their streams.
import { publishRecord, recordOf } from './blocks.ts'
import type { PartitionContext } from './context.ts'
import { insist } from './context.ts'
import { Stopped } from './cursor.ts'
import { publishDead } from './dead.ts'
import { scopeOf } from './lanes.ts'
import { letGo } from './let-go.ts'
import { Backoff } from './pause.ts'
import { knownRepeats, type Prepared, prepareRange, type Recipe } from './prepare.ts'
import { laneOf, supersede } from './protocol.ts'
import { findRefused } from './refusal.ts'
import { takeReplaced } from './replace.ts'
import { settleIntent } from './settle.ts'

/**
 * Stores a recorded range; its messages and bodies are empty afterwards. Payloads that the store refuses become dead letters, and the
 * rest goes in under another recipe.
 * `found`: the intent was there before this owner recorded it. @throws Lost, Stopped.
 */
export async function storeRange(context: PartitionContext, prepared: Prepared, found: boolean): Promise<void> {
  const { shared, partition, signal, log } = context
  const startedAt = performance.now()
  let current = prepared
  let doubt = found
  const backoff = new Backoff(1_000, 30_000)
  for (;;) {
    const refusal = await settleIntent(context.settling, current.intent, current.bodies, doubt)
    if (!refusal) break
    const reading = shared.readings.as(current.intent.readings)
    const dead = await findRefused(
      { pool: shared.pool, store: shared.store, partition, signal, reading },
      current,
      refusal.refused,
    )
    if (dead.length === 0) {
      log.error({ err: refusal.error, from: current.intent.from }, 'the store refuses what this build writes')
      await backoff.pause(signal)
      if (signal.aborted) throw new Stopped()
      doubt = true
      continue
    }
    const { lane, from, classes, repeats, replaced = [] } = current.intent
    const scope = scopeOf(current.intent)
    // The identities are remembered already: the verdicts of before stand.
    current = await prepareRange({ pool: shared.pool, partition, signal }, knownRepeats, current.messages, {
      lane,
      from,
      ...scope,
      classes,
      reading,
      repeats,
      replaced,
      dead: [...current.intent.dead, ...dead],
      generation: context.cursor.value.generation + 1,
      place: unplaced(context),
    })
    await supersedeWith(context, current)
    doubt = false
  }
  await takeReplaced(context, current.intent)
  if (current !== prepared) context.calls.forget(current.intent)
  await publishRange(context, current)
  letGo([...current.bodies, ...current.messages.map(({ data }) => data)])
  count(context, current, (performance.now() - startedAt) / 1000)
}

/** Leaves spans without a session under their stand-ins: they are moved. */
export const unplaced =
  ({ placing }: PartitionContext): Recipe['place'] =>
  async loose => {
    placing.note(loose)
    return null
  }

/** Puts a range's new recipe into the cursor. */
export async function supersedeWith(context: PartitionContext, { intent }: Prepared): Promise<void> {
  await context.cursor.write(cursor => supersede(cursor, intent))
  context.shared.metrics.superseded.inc()
}

/** Dead letters and the block's record stand in their streams before the floor may pass. */
export async function publishRange(context: PartitionContext, { intent, letters, tally }: Prepared): Promise<void> {
  const { shared, partition, log, signal, streamOutage } = context
  const maxPayload = shared.nc.info?.max_payload ?? 1024 * 1024
  for (const letter of letters) {
    await insist(streamOutage, signal, () => publishDead(shared.js, partition, letter, maxPayload))
    shared.metrics.dead.inc({ code: letter.code })
    const { sequence, frame, code, reason, organization } = letter
    log.warn({ sequence, frame, code, reason, organization }, 'a payload became a dead letter')
  }
  const again = laneOf(context.cursor.value, intent.lane)?.kind === 'replay'
  const record = recordOf(partition, intent, Date.now(), { tally, again })
  await insist(streamOutage, signal, () => publishRecord(shared.js, record, intent))
}

function count(context: PartitionContext, { intent }: Prepared, seconds: number): void {
  const { metrics } = context.shared
  metrics.blockSeconds.observe(seconds)
  metrics.units.inc(intent.units)
  for (const block of intent.blocks) metrics.rows.inc({ table: block.table }, block.rows)
  const repeats = recordOf(context.partition, intent, 0).repeats
  if (repeats > 0) metrics.repeats.inc({ partition: String(context.partition) }, repeats)
}
