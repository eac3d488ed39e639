// Asking for replays and following them; and finding the positions of a time in a partition's stream.
import { randomUUID } from 'node:crypto'
import type { JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { type ReplayRecord, replayKeyOf } from '#proto/replay.ts'

/** The record of a partition's last replay and its revision; null when there never was one. */
export async function getReplay(
  cursors: KV,
  partition: number,
): Promise<{ readonly record: ReplayRecord; readonly revision: number } | null> {
  const entry = await cursors.get(replayKeyOf(partition))
  return entry?.operation === 'PUT' ? { record: entry.json<ReplayRecord>(), revision: entry.revision } : null
}

/** Asks for a replay. Returns the one that is under way instead when there is one. @throws when the server doesn't answer. */
export async function requestReplay(
  cursors: KV,
  partition: number,
  range: { readonly from: number; readonly to: number },
): Promise<{ readonly asked: boolean; readonly record: ReplayRecord }> {
  const last = await getReplay(cursors, partition)
  if (last && isUnderWay(last.record)) return { asked: false, record: last.record }
  const record: ReplayRecord = {
    id: randomUUID(),
    state: 'requested',
    ...range,
    floor: range.from - 1,
    requestedAt: new Date().toISOString(),
  }
  // Fails when somebody else asks at the same time: one of the two then finds the other's.
  await cursors.put(replayKeyOf(partition), JSON.stringify(record), { previousSeq: last?.revision ?? 0 })
  return { asked: true, record }
}

/** True until a replay is done or refused. */
export const isUnderWay = ({ state }: ReplayRecord): boolean => state === 'requested' || state === 'running'

/** What a stream holds. */
export interface StreamSpan {
  readonly first: number
  readonly last: number
}

/** First and last position of a stream; `last` < `first` when it is empty. */
export async function spanOf(jsm: JetStreamManager, stream: string): Promise<StreamSpan> {
  const { state } = await jsm.streams.info(stream)
  return { first: state.first_seq, last: state.messages === 0 ? state.first_seq - 1 : state.last_seq }
}

/** The first position that was stored at or after `timeMs`; `last` + 1 when there is none. Asks about log2(span) messages. */
export async function positionAt(
  jsm: JetStreamManager,
  stream: string,
  { first, last }: StreamSpan,
  timeMs: number,
): Promise<number> {
  let [low, high] = [first, last + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const message = await jsm.streams.getMessage(stream, { seq: middle })
    if (message && message.time.getTime() < timeMs) low = middle + 1
    else high = middle
  }
  return low
}
