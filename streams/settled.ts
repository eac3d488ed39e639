// The cursors of all partitions -> up to which position everything is settled: stored, proven, and touched by nobody who reads.
import type { KV } from '@nats-io/kv'
import { cursorKeyOf, LAYOUT_KEY } from '#proto/streams.ts'

/** What is read of a cursor (processors/protocol.ts writes it). */
interface CursorRecord {
  readonly floor: number
  readonly lanes?: readonly { readonly floor: number }[]
  readonly intents: readonly { readonly from: number }[]
}

/** Last settled position by partition. */
export type Settled = ReadonlyMap<number, number>

/** How many partitions there are. @throws when nobody has laid out the streams, or the server doesn't answer. */
export async function readPartitions(control: KV): Promise<number> {
  const layout = await control.get(LAYOUT_KEY)
  if (layout?.operation !== 'PUT') throw new Error('the streams are not laid out: nobody has started parley here')
  return layout.json<{ partitions: number }>().partitions
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

function settledOf({ floor, lanes = [], intents }: CursorRecord): number {
  return Math.min(floor, ...lanes.map(lane => lane.floor), ...intents.map(intent => intent.from - 1))
}
