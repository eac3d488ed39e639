// The dead-letter stream: payloads that became no rows, with the reason and their position. The message id is the position, so
// that a retry doesn't make a second letter.
import type { JetStreamClient } from '@nats-io/jetstream'
import { headers } from '@nats-io/transport-node'
import { DeadHeader } from '#proto/dead.ts'
import { deadSubjectOf } from '#proto/streams.ts'
import type { DeadLetter } from './letters.ts'

/** Room for headers beside the payload. */
const HEADERS_BYTES = 4096

/** Publishes one letter and waits for the stream's answer. @throws when there is none. */
export async function publishDead(
  js: JetStreamClient,
  partition: number,
  letter: DeadLetter,
  maxPayload: number,
): Promise<void> {
  const h = headers()
  const put = (name: string, value: string | number): void => h.set(name, String(value))
  put(DeadHeader.code, letter.code)
  // A header is one line of visible characters.
  put(DeadHeader.reason, letter.reason.replaceAll(/[^\x20-\x7e]+/g, ' ').trim())
  put(DeadHeader.partition, partition)
  put(DeadHeader.sequence, letter.sequence)
  put(DeadHeader.frame, letter.frame)
  put(DeadHeader.organization, letter.organization)
  put(DeadHeader.kind, letter.kind)
  put(DeadHeader.encoding, letter.encoding)
  put(DeadHeader.receivedAt, letter.receivedAtMs)
  put(DeadHeader.mintedId, letter.mintedId)
  const room = maxPayload - HEADERS_BYTES
  if (letter.bytes.length > room) put(DeadHeader.cut, letter.bytes.length)
  await js.publish(deadSubjectOf(partition), letter.bytes.subarray(0, room), {
    headers: h,
    msgID: `dead.${partition}.${letter.sequence}.${letter.frame}`,
  })
}
