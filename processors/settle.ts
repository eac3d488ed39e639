// Brings one intent into the store, exactly once: runs the steps that protocol.ts decides, block by block, and does not give up
// while the store or the stream is away.

import { blockTables } from '#proto/rows.ts'
import type { Log } from '#runtime/log.ts'
import type { Outage } from '#runtime/outage.ts'
import type { Store } from '#store/client.ts'
import type { CursorKeeper } from './cursor.ts'
import { Stopped } from './cursor.ts'
import type { Share } from './gate.ts'
import type { InsertOutcome } from './insert.ts'
import { countRows, insertBody, type RowRange, settle, takeBack } from './insert.ts'
import { scopeOf } from './lanes.ts'
import type { Lease } from './lease.ts'
import type { Healed, ProcessorMetrics } from './metrics.ts'
import { Backoff } from './pause.ts'
import type { BlockEvent, BlockRecipe, BlockState, Intent, IntentName } from './protocol.ts'
import {
  beginBlock,
  isNamed,
  raiseAttempt,
  raiseClearing,
  rangeNameOf,
  rangeTokenOf,
  stepBlock,
  tokenOf,
} from './protocol.ts'

/** What settling needs of its owner. */
export interface SettleContext {
  readonly partition: number
  readonly store: Store
  readonly cursor: CursorKeeper
  readonly lease: Lease
  readonly signal: AbortSignal
  /** One at a time: two that take rows back, each unaware of the other, would take the same row back twice. */
  readonly reversing: Share
  /** Questions to the store, and inserts: one may work while the other doesn't. */
  readonly outage: Outage
  readonly inserts: Outage
  readonly log: Log
  readonly metrics: ProcessorMetrics
}

/** The store will never take block `index`. */
export interface Refused {
  readonly refused: number
  readonly error: unknown
}

/**
 * Stores every block of an open intent. `bodies` stand in the order of its blocks; `found`: the intent
 * was there before this owner recorded it. Returns null when all rows are there, each exactly once.
 * @throws Lost, Stopped.
 */
export async function settleIntent(
  context: SettleContext,
  name: IntentName,
  bodies: readonly Uint8Array[],
  found: boolean,
): Promise<Refused | null> {
  await clearOlder(context, name)
  const { blocks } = openIntent(context.cursor, name)
  // Tables one after the other: what an event refers to is there before the event. Parts of one table at the same time.
  for (const table of blockTables) {
    const indexes = blocks.flatMap((block, index) => (block.table === table ? [index] : []))
    const ended = await Promise.all(
      indexes.map(index => settleBlock(context, name, index, bodies[index] as Uint8Array, found)),
    )
    const refused = ended.find(result => result !== null)
    if (refused) return refused
  }
  return null
}

/** An open intent as it stands in the cursor now. */
export function openIntent(cursor: CursorKeeper, name: IntentName): Intent {
  const intent = cursor.value.intents.find(open => isNamed(open, name))
  if (!intent) throw new Error(`no intent of lane ${name.lane} starts at ${name.from}`)
  return intent
}

/** True when every block of the intent is in the store already. */
export async function isStored(context: SettleContext, name: IntentName): Promise<boolean> {
  const intent = openIntent(context.cursor, name)
  if (intent.clearing > 0) return false
  for (const [index, block] of intent.blocks.entries()) {
    await calm(context, intent)
    const counted = await insist(context, () => countRows(context.store, block.table, rangeOf(context, intent, index)))
    if (counted.total !== block.rows || counted.exact !== block.rows) return false
  }
  return true
}

async function settleBlock(
  context: SettleContext,
  name: IntentName,
  index: number,
  body: Uint8Array,
  found: boolean,
): Promise<Refused | null> {
  const { cursor, metrics, log } = context
  const { table, rows } = openIntent(cursor, name).blocks[index] as BlockRecipe
  let [state, command] = beginBlock(rows, found)
  const backoff = new Backoff()
  let refusals = 0
  let parts: readonly string[] = []
  for (;;) {
    // The cursor may have moved on: attempts are read from it, never remembered.
    const intent = openIntent(cursor, name)
    let event: BlockEvent
    switch (command) {
      case 'done':
        if (state.doubt) metrics.proofs.inc({ table, healed: healing(state, found) })
        return null
      case 'refused':
        return { refused: index, error: undefined }
      case 'insert': {
        const outcome = await insertOnce(context, intent, index, body)
        if (outcome.is !== 'inserted') context.inserts.failed(outcome.error)
        // A refusal has to repeat before it counts.
        if (outcome.is === 'refused' && ++refusals >= 2) return { refused: index, error: outcome.error }
        event = { is: outcome.is === 'inserted' ? 'inserted' : 'unknown' }
        if (event.is === 'unknown') await backoff.pause(context.signal)
        break
      }
      case 'settle':
        await calm(context, intent)
        event = { is: 'settled' }
        break
      case 'count': {
        const seen = await insist(context, () => countRows(context.store, table, rangeOf(context, intent, index)))
        parts = seen.parts
        event = { is: 'counted', counted: seen }
        break
      }
      case 'raise':
        log.warn({ from: name.from, table, attempt: intent.blocks[index]?.attempt }, 'healing a block')
        await cursor.write(value => raiseAttempt(value, name, index))
        event = { is: 'raised' }
        break
      case 'reduce': {
        await context.lease.fresh(context.signal)
        const token = `${tokenOf(context.partition, intent, intent.blocks[index] as BlockRecipe)}.reduce`
        event = await takeBack(context.store, table, rangeOf(context, intent, index), { parts, token }).then(
          () => ({ is: 'reduced' as const }),
          (error: unknown) => {
            context.inserts.failed(error)
            return { is: 'unknown' as const }
          },
        )
        break
      }
      default:
        throw new Error(`command ${String(command satisfies never)}`)
    }
    if (context.signal.aborted) throw new Stopped()
    ;[state, command] = stepBlock(state, event)
  }
}

/** What a count was good for: the token lied, rows were torn or doubled, the block was another owner's, or nothing was wrong. */
function healing(state: BlockState, found: boolean): Healed {
  if (state.lied) return 'lied'
  return state.reduced || state.next === 'reduce' ? 'repaired' : found ? 'found' : 'nothing'
}

async function insertOnce(
  context: SettleContext,
  intent: Intent,
  index: number,
  body: Uint8Array,
): Promise<InsertOutcome> {
  const block = intent.blocks[index] as BlockRecipe
  await context.lease.fresh(context.signal)
  if (context.signal.aborted) throw new Stopped()
  const startedAt = performance.now()
  const token = tokenOf(context.partition, intent, block)
  const outcome = await insertBody(context.store, { table: block.table, token, body, signal: context.signal })
  context.metrics.insertSeconds.observe({ table: block.table }, (performance.now() - startedAt) / 1000)
  if (outcome.is === 'inserted') context.inserts.over()
  return outcome
}

/** Waits until the store answers and nothing of the range runs there any more. */
async function calm(context: SettleContext, intent: Intent): Promise<void> {
  await insist(context, () => settle(context.store, rangeTokenOf(context.partition, intent)))
}

function rangeOf(context: SettleContext, intent: Intent, index: number): RowRange {
  const block = intent.blocks[index] as BlockRecipe
  return {
    partition: context.partition,
    from: intent.from,
    to: intent.to,
    generation: intent.generation,
    which: 'same',
    ...scopeOf(intent),
    part: { retention: block.retention, month: block.month },
  }
}

/** Takes back what older recipes of the range stored. Each try has a number in the cursor, and with it a token of its own. */
async function clearOlder(context: SettleContext, name: IntentName): Promise<void> {
  const { cursor, signal, reversing } = context
  if (openIntent(cursor, name).clearing === 0) return
  const release = await reversing.take(1, { urgent: false, entitled: false, signal })
  await clearTables(context, name).finally(release)
}

async function clearTables(context: SettleContext, name: IntentName): Promise<void> {
  const { cursor, partition, store } = context
  const backoff = new Backoff()
  for (const table of [...blockTables].reverse()) {
    let answered = false
    for (;;) {
      const intent = openIntent(cursor, name)
      const { from, to, generation } = intent
      // Older tokens of the range differ in the generation only.
      await insist(context, () => settle(store, rangeNameOf(partition, intent)))
      const range: RowRange = { partition, from, to, generation, which: 'older', ...scopeOf(intent) }
      const { total, exact, parts } = await insist(context, () => countRows(store, table, range))
      if (total === 0 && exact === 0) break
      // A replay is told when it begins, and a recipe that is not reproduced when it is found; this is their work, range by range.
      context.log.debug({ from, table, rows: total }, 'taking back what an older recipe stored')
      if (answered) await cursor.write(value => raiseClearing(value, name))
      await context.lease.fresh(context.signal)
      if (context.signal.aborted) throw new Stopped()
      const token = `${rangeTokenOf(partition, intent)}.${table}.clear${openIntent(cursor, name).clearing}`
      answered = await takeBack(store, table, range, { parts, token }).then(
        () => true,
        (error: unknown) => {
          context.inserts.failed(error)
          return false
        },
      )
      if (answered) context.inserts.over()
      else await backoff.pause(context.signal)
    }
  }
}

async function insist<T>(context: SettleContext, ask: () => Promise<T>): Promise<T> {
  const backoff = new Backoff()
  for (;;) {
    if (context.signal.aborted) throw new Stopped()
    try {
      const answer = await ask()
      context.outage.over()
      return answer
    } catch (error) {
      context.outage.failed(error)
    }
    await backoff.pause(context.signal)
  }
}
