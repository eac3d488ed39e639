// Reading and settling dead letters: list, get, send again, drop. A letter's id is its sequence in the DEAD stream.

import type { StoredMsg } from '@nats-io/jetstream'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { headers } from '@nats-io/transport-node'
import { DeadHeader } from '#proto/dead.ts'
import type { FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { ENVELOPE_HEADER_BYTES, EnvelopeWriter, FRAME_HEADER_BYTES } from '#proto/envelope.ts'
import { isUuid, NIL_UUID, uuidBytes } from '#proto/ids.ts'
import { DEAD_STREAM, subjectOf } from '#proto/streams.ts'

/** One dead letter. */
export interface StoredLetter {
  readonly id: number
  readonly diedAt: string
  readonly code: string
  readonly reason: string
  readonly organization: string
  readonly kind: number
  readonly encoding: number
  readonly partition: number
  readonly sequence: number
  /** -1 when the whole message is the letter. */
  readonly frame: number
  readonly receivedAtMs: number
  readonly mintedId: string
  /** The payload's whole length when `bytes` had to be cut, else null. */
  readonly cut: number | null
  readonly bytes: Uint8Array
}

/** What `listLetters` leaves out. */
export interface LetterFilter {
  readonly code?: string
  readonly organization?: string
}

/** Why a letter cannot be sent again; null when it can. */
export type ReplayRefusal = 'cut' | 'whole-message'

/** Newest letters first, at most `limit`. */
export async function listLetters(nc: NatsConnection, filter: LetterFilter, limit: number): Promise<StoredLetter[]> {
  const jsm = await jetstreamManager(nc)
  const { state } = await jsm.streams.info(DEAD_STREAM)
  const letters: StoredLetter[] = []
  for (let id = state.last_seq; id >= state.first_seq && id > 0 && letters.length < limit; id--) {
    const letter = await getLetter(nc, id)
    if (!letter) continue
    if (filter.code !== undefined && letter.code !== filter.code) continue
    if (filter.organization !== undefined && letter.organization !== filter.organization) continue
    letters.push(letter)
  }
  return letters
}

/** One letter; null when there is none under that id (any more). */
export async function getLetter(nc: NatsConnection, id: number): Promise<StoredLetter | null> {
  const jsm = await jetstreamManager(nc)
  const message = await jsm.streams.getMessage(DEAD_STREAM, { seq: id }).catch((error: unknown) => {
    if (isNotFound(error)) return null
    throw error
  })
  return message ? readLetter(message) : null
}

/** Removes a letter for good. Returns false when it was gone already. */
export async function dropLetter(nc: NatsConnection, id: number): Promise<boolean> {
  const jsm = await jetstreamManager(nc)
  return jsm.streams.deleteMessage(DEAD_STREAM, id).catch((error: unknown) => {
    if (isNotFound(error)) return false
    throw error
  })
}

/**
 * Sends a letter's payload to its partition again, as it arrived, and drops the letter once the stream has it. Safe to repeat: the
 * message id is the letter's, and what has an identity of its own is stored once anyway.
 */
export async function replayLetter(nc: NatsConnection, letter: StoredLetter): Promise<ReplayRefusal | null> {
  if (letter.cut !== null) return 'cut'
  if (letter.frame < 0 || !isUuid(letter.organization)) return 'whole-message'
  const writer = new EnvelopeWriter(ENVELOPE_HEADER_BYTES + FRAME_HEADER_BYTES + letter.bytes.length)
  writer.append(
    letter.kind as FrameKind,
    letter.encoding as FrameEncoding,
    uuidBytes(letter.organization),
    letter.receivedAtMs,
    letter.mintedId === NIL_UUID ? null : uuidBytes(letter.mintedId),
    letter.bytes,
  )
  const msgID = `replay.${letter.partition}.${letter.sequence}.${letter.frame}.${letter.id}`
  await jetstream(nc).publish(subjectOf(letter.partition), writer.finish(), { msgID, headers: headers() })
  await dropLetter(nc, letter.id)
  return null
}

function readLetter(message: StoredMsg): StoredLetter {
  const text = (name: string): string => message.header.get(name)
  const cut = text(DeadHeader.cut)
  return {
    id: message.seq,
    diedAt: message.timestamp,
    code: text(DeadHeader.code),
    reason: text(DeadHeader.reason),
    organization: text(DeadHeader.organization),
    kind: Number(text(DeadHeader.kind)),
    encoding: Number(text(DeadHeader.encoding)),
    partition: Number(text(DeadHeader.partition)),
    sequence: Number(text(DeadHeader.sequence)),
    frame: Number(text(DeadHeader.frame)),
    receivedAtMs: Number(text(DeadHeader.receivedAt)),
    mintedId: text(DeadHeader.mintedId) || NIL_UUID,
    cut: cut === '' ? null : Number(cut),
    bytes: message.data,
  }
}

/** JetStream's "no message found" (10037) and "no such sequence" answers. */
export function isNotFound(error: unknown): boolean {
  return error instanceof Error && /no message found|not found|message not found|10037|10043/i.test(error.message)
}
