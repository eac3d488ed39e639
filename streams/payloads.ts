// One stored payload by the position that its rows carry, as long as its message stands in the stream.
import { JetStreamApiError, type JetStreamManager } from '@nats-io/jetstream'
import { type Frame, readEnvelope } from '#proto/envelope.ts'
import { streamOf } from '#proto/streams.ts'

/** Where a payload stands. */
export interface PayloadPosition {
  readonly partition: number
  readonly sequence: number
  readonly frame: number
}

/** No message under that sequence. */
const NO_MESSAGE = 10_037
/** No stream of that name. */
const NO_STREAM = 10_059

/** The frame at a position; null when its message is gone. @throws when the server does not answer. */
export async function readPayload(jsm: JetStreamManager, position: PayloadPosition): Promise<Frame | null> {
  const { partition, sequence, frame } = position
  try {
    const message = await jsm.streams.getMessage(streamOf(partition), { seq: sequence })
    return message === null ? null : (readEnvelope(message.data)[frame] ?? null)
  } catch (error) {
    if (error instanceof JetStreamApiError && [NO_MESSAGE, NO_STREAM].includes(error.code)) return null
    throw error
  }
}
