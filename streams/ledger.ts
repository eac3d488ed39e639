// The BLOCKS stream, read whole or from a position on: what was recorded of every finished range, by partition. Where ranges were read
// again the record of the highest generation counts.
import { DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { RecordedRange } from '#proto/recorded-range.ts'
import { BLOCKS_STREAM } from '#proto/streams.ts'

/** All records. */
export interface Ledger {
  readonly records: readonly RecordedRange[]
  /** True when the stream has given up its first records: then gaps say nothing. */
  readonly trimmed: boolean
}

/** Records of one pull. */
const PULL = 500

/** Records behind a position, and where they end. */
export interface RecordsAfter {
  readonly records: readonly RecordedRange[]
  /** Position of the last one; the position that was asked about when there is none. */
  readonly position: number
  /** Records that the stream has given up before they were read. */
  readonly missed: number
  /** True when there are no more. */
  readonly ended: boolean
}

/** Reads at most `most` records behind a position. @throws when the server does not answer. */
export async function readRecordsAfter(nc: NatsConnection, after: number, most: number): Promise<RecordsAfter> {
  const { state } = await (await jetstreamManager(nc)).streams.info(BLOCKS_STREAM)
  // A stream that was made anew counts from one again.
  const start = after > state.last_seq ? 0 : after
  const missed = Math.max(0, state.first_seq - 1 - start)
  const records: RecordedRange[] = []
  let position = start + missed
  if (position >= state.last_seq) return { records, position, missed, ended: true }
  const consumer = await jetstream(nc).consumers.get(BLOCKS_STREAM, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: position + 1,
  })
  try {
    while (position < state.last_seq && records.length < most) {
      const messages = await consumer.fetch({ max_messages: Math.min(PULL, most - records.length), expires: 5_000 })
      for await (const message of messages) {
        position = message.seq
        records.push(message.json<RecordedRange>())
        if (position >= state.last_seq) break
      }
    }
  } finally {
    // It would go by itself after minutes; whoever asks every few seconds must not leave so many.
    await consumer.delete().catch(() => {})
  }
  return { records, position, missed, ended: position >= state.last_seq }
}

/** Reads every record that stood in the stream when it was asked. @throws when the server does not answer. */
export async function readLedger(nc: NatsConnection): Promise<Ledger> {
  const { state } = await (await jetstreamManager(nc)).streams.info(BLOCKS_STREAM)
  const records: RecordedRange[] = []
  const trimmed = state.first_seq > 1
  if (state.messages === 0) return { records, trimmed }
  const consumer = await jetstream(nc).consumers.get(BLOCKS_STREAM, { deliver_policy: DeliverPolicy.All })
  for (let at = 0; at < state.last_seq; ) {
    const messages = await consumer.fetch({ max_messages: PULL, expires: 5_000 })
    for await (const message of messages) {
      at = message.seq
      records.push(message.json<RecordedRange>())
      if (at >= state.last_seq) break
    }
  }
  return { records, trimmed }
}
