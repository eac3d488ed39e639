// The BLOCKS stream, read whole: what was recorded of every finished range, by partition. Where ranges were read again the record of the
// highest generation counts.
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
