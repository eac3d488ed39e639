// What has no rows -> letters that keep everything of it.
import { type Frame } from '#proto/envelope.ts'
import { NIL_UUID, uuidText } from '#proto/ids.ts'
import type { DeadCode, DeadFrame } from './protocol.ts'

/** A frame that has no rows, with everything the dead-letter stream keeps of it. */
export interface DeadLetter extends DeadFrame {
  readonly organization: string
  readonly kind: number
  readonly encoding: number
  readonly receivedAtMs: number
  /** The event id that the receiver minted; the nil uuid when it minted none. */
  readonly mintedId: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Why something is dead. */
export interface Verdict {
  readonly code: DeadCode
  readonly reason: string
}

/** Of a reason so much is kept. */
export const REASON_CHARS = 160

/** The event id that a frame's receiver minted; NIL_UUID when it minted none. */
export function mintedIdOf({ mintedId }: Frame): string {
  return mintedId.every(byte => byte === 0) ? NIL_UUID : uuidText(mintedId)
}

/** The letter of one frame of a message. */
export function letterOf(sequence: number, frame: number, body: Frame, { code, reason }: Verdict): DeadLetter {
  const { kind, encoding, organization, receivedAtMs, bytes } = body
  return {
    sequence,
    frame,
    code,
    reason: reason.slice(0, REASON_CHARS),
    organization: uuidText(organization),
    kind,
    encoding,
    receivedAtMs,
    mintedId: mintedIdOf(body),
    bytes: new Uint8Array(bytes),
  }
}

/** The letter of a message of which no frame can be read. */
export function wholeLetter(sequence: number, { code, reason }: Verdict, message: Uint8Array): DeadLetter {
  return {
    sequence,
    frame: -1,
    code,
    reason,
    organization: NIL_UUID,
    kind: 0,
    encoding: 0,
    receivedAtMs: 0,
    mintedId: NIL_UUID,
    bytes: new Uint8Array(message),
  }
}
