// The cursors of all partitions -> up to which position everything is settled: stored, proven, and touched by nobody who reads.
import type { KV } from '@nats-io/kv'
import { cursorKeyOf, movesKeyOf } from '#proto/streams.ts'
import { readLayout } from '#streams/layout.ts'

/** What is read of a cursor (processors/protocol.ts writes it). */
interface CursorRecord {
  readonly floor: number
  readonly lanes?: readonly { readonly floor: number }[]
  readonly intents: readonly {
    readonly from: number
    readonly done?: boolean
    readonly replaced?: readonly unknown[]
  }[]
}

/** Last settled position by partition. */
export type Settled = ReadonlyMap<number, number>

/** How many partitions there are. @throws when nobody has laid out the streams, or the server doesn't answer. */
export async function readPartitions(control: KV): Promise<number> {
  const layout = await readLayout(control)
  if (layout === undefined) throw new Error('the streams are not laid out: nobody has started parley here')
  return layout.partitions
}

/**
 * Reads all cursors. A position is settled when it lies below the floor of every lane, those of replays included, and below every
 * open intent: no owner will count, repeat or take back a row of it unless a replay is asked for later.
 */
export async function readSettled(cursors: KV, partitions: number): Promise<Settled> {
  const settled = new Map<number, number>()
  for (let partition = 0; partition < partitions; partition++) {
    const entry = await cursors.get(cursorKeyOf(partition))
    settled.set(partition, entry?.operation === 'PUT' ? settledOf(entry.json<CursorRecord>()) : 0)
  }
  return settled
}

/** Settled positions of partitions in which no row is just being moved or taken back; those others are left out. */
export interface Quiet {
  readonly settled: Settled
  readonly leftOut: readonly number[]
}

/** Reads which settled rows no correction is at work on: a move that is staged, or a report that an open intent replaces. */
export async function readQuiet(cursors: KV, partitions: number): Promise<Quiet> {
  const settled = new Map(await readSettled(cursors, partitions))
  const leftOut: number[] = []
  for (let partition = 0; partition < partitions; partition++) {
    const [moves, cursor] = await Promise.all([cursors.get(movesKeyOf(partition)), cursors.get(cursorKeyOf(partition))])
    const moving = moves?.operation === 'PUT' && moves.json<{ move: unknown }>().move !== null
    const intents = cursor?.operation === 'PUT' ? cursor.json<CursorRecord>().intents : []
    if (!moving && !intents.some(({ done, replaced = [] }) => !done && replaced.length > 0)) continue
    settled.delete(partition)
    leftOut.push(partition)
  }
  return { settled, leftOut }
}

function settledOf({ floor, lanes = [], intents }: CursorRecord): number {
  return Math.min(floor, ...lanes.map(lane => lane.floor), ...intents.map(intent => intent.from - 1))
}
