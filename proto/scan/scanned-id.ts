// An id as a scanner saw it, and how the characters of a uuid become its bytes.
import { HEX } from './json.ts'

/** An id of a body: 16 bytes when it is a uuid, always the place of its text. */
export class ScannedId {
  readonly bytes: Uint8Array<ArrayBuffer> = new Uint8Array(16)
  /** The same, four bytes at a time. */
  readonly words: Int32Array = new Int32Array(this.bytes.buffer)
  /** True when `bytes` hold it. */
  isUuid = false
  /** Where its text stands in the body, without quotes; with escapes as they were sent. */
  start = 0
  end = 0
}

/** Where the bytes of a uuid stand in its 36 characters. */
const UUID_DIGITS = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34)

/** Reads the 36 characters of a uuid at `at` into 16 bytes; false when they are none. */
export function uuidAt(bytes: Uint8Array, at: number, into: Uint8Array): boolean {
  if (bytes[at + 8] !== 0x2d || bytes[at + 13] !== 0x2d || bytes[at + 18] !== 0x2d || bytes[at + 23] !== 0x2d)
    return false
  // What is no digit is -1: one look at all bits at the end.
  let bits = 0
  for (let i = 0; i < 16; i++) {
    const digits = at + (UUID_DIGITS[i] as number)
    const byte = ((HEX[bytes[digits] as number] as number) << 4) | (HEX[bytes[digits + 1] as number] as number)
    bits |= byte
    into[i] = byte
  }
  return bits >= 0
}

/** True for the uuid that means "none" wherever ids are stored. */
export function isNil(uuid: Uint8Array): boolean {
  for (let i = 0; i < 16; i++) if (uuid[i] !== 0) return false
  return true
}
