// JSON that is put together from a body's bytes, as `JSON.stringify` would write it, in buffers of its own. What was written stays as it
// is for as long as somebody holds it.
import { HEX_DIGITS } from '../columns/utf8.ts'
import type { Said } from '../parsers/otlp/content.ts'

/** Buffers of which pieces are given away. */
const ROOM_BYTES = 64 * 1024
/** Bytes that one byte of a text becomes at most. */
export const GROWTH = 6

let room = Buffer.allocUnsafeSlow(ROOM_BYTES)
let used = 0

/** Where the text begins that is being written, and where its next byte stands. Precondition of all that writes: see `begin`. */
let at = 0

/** Begins a text of at most `most` bytes. */
export function begin(most: number): void {
  if (most > room.length - used) {
    room = Buffer.allocUnsafeSlow(Math.max(ROOM_BYTES, most))
    used = 0
  }
  at = used
}

/** What was written since `begin`, to be kept under a key. */
export function end(key: string): Written {
  const start = used
  used = at
  return new Written(key, room, start, at)
}

/** Messages beside a text, as JSON in bytes. */
export class Written implements NonNullable<Said['structure']> {
  readonly key: string
  readonly bytes: Buffer
  readonly start: number
  readonly end: number

  constructor(key: string, bytes: Buffer, start: number, end: number) {
    this.key = key
    this.bytes = bytes
    this.start = start
    this.end = end
  }

  get json(): string {
    return this.bytes.toString('utf8', this.start, this.end)
  }
}

/** Adds bytes as they are. */
export function put(bytes: Uint8Array): void {
  room.set(bytes, at)
  at += bytes.length
}

/** Adds a text of few characters. */
export function putText(text: string): void {
  at += room.write(text, at, 'utf8')
}

const [QUOTE, BACKSLASH, U] = [0x22, 0x5c, 0x75]
/** The letter behind the backslash for bytes that cannot stand for themselves; `u` for those without a letter of their own. */
const escapes = new Uint8Array(256).fill(U, 0, 0x20)
for (const pair of ['\bb', '\tt', '\nn', '\ff', '\rr', '""', '\\\\']) escapes[pair.charCodeAt(0)] = pair.charCodeAt(1)

/** Bytes that a string takes. */
export function sizeOfString(bytes: Buffer, from: number, to: number): number {
  let size = 2 + to - from
  for (let i = from; i < to; i++) {
    const escape = escapes[bytes[i] as number] as number
    if (escape !== 0) size += escape === U ? GROWTH - 1 : 1
  }
  return size
}

/** Adds a string from UTF-8. Returns all bits that are set in any of its bytes. */
export function putString(bytes: Buffer, from: number, to: number): number {
  const into = room
  let position = at
  let bits = 0
  into[position++] = QUOTE
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    bits |= byte
    const escape = escapes[byte] as number
    if (escape === 0) into[position++] = byte
    else {
      into[position++] = BACKSLASH
      into[position++] = escape
      if (escape !== U) continue
      into[position++] = 0x30
      into[position++] = 0x30
      into[position++] = HEX_DIGITS[byte >> 4] as number
      into[position++] = HEX_DIGITS[byte & 15] as number
    }
  }
  into[position++] = QUOTE
  at = position
  return bits
}
