// Bytes of UTF-8 and of JSON strings, as the builders copy, compare, cut and decode them. Nothing here makes a string.
import { randomInt } from 'node:crypto'

/** Up to here a loop beats the call into the runtime. */
const SHORT = 32
/** The same for copying: a call that makes no view of the bytes, as `set` needs one. */
const SHORT_COPY = 24
const { copy } = Buffer.prototype
/** Digits of base 16 as bytes. */
export const HEX_DIGITS: Uint8Array = Buffer.from('0123456789abcdef')

/** What may stand between the tokens of JSON. */
export const isJsonSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** Copies `start` to `end` to `at`. Precondition: there is room. */
export function copyBytes(from: Uint8Array, start: number, end: number, into: Uint8Array, at: number): void {
  if (end - start > SHORT_COPY) copy.call(from, into, at, start, end)
  else for (let i = start; i < end; i++) into[at + i - start] = from[i] as number
}

// Senders choose what is hashed: nobody may choose texts that all meet in one place of a table.
const SEED = randomInt(2 ** 31)

/** FNV-1a of 32 bits, mixed at its end; another one in every thread. */
export function hashBytes(from: Uint8Array, start: number, end: number): number {
  let hash = SEED ^ (end - start)
  for (let i = start; i < end; i++) {
    hash = Math.imul(hash ^ (from[i] as number), 0x01000193)
    hash ^= hash >>> 15
  }
  hash = Math.imul(hash, 0x85ebca6b)
  return hash ^ (hash >>> 13)
}

/** True when the bytes at `at` of `other` are the same. */
export function sameBytes(from: Uint8Array, start: number, end: number, other: Uint8Array, at: number): boolean {
  for (let i = start; i < end; i++) if (from[i] !== other[at + i - start]) return false
  return true
}

/** Where a text of UTF-8 ends that has at most `units` UTF-16 units and never half a character. */
export function cutAtUnits(from: Uint8Array, start: number, end: number, units: number): number {
  // Nothing has more units than bytes.
  if (end - start <= units) return end
  let at = start
  let left = units
  while (at < end) {
    const byte = from[at] as number
    const size = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    left -= size === 4 ? 2 : 1
    if (left < 0) return at
    at += size
  }
  return end
}

/** Where a text of UTF-8 ends that has at most `bytes` bytes and never half a character. */
export function cutAtBytes(from: Uint8Array, start: number, end: number, bytes: number): number {
  if (end - start <= bytes) return end
  let at = start + bytes
  while (at > start && ((from[at] as number) & 0xc0) === 0x80) at--
  return at
}

const BACKSLASH = 0x5c
/** What the character behind a backslash stands for; 0 for `u`. */
const ESCAPED = new Uint8Array(256)
for (const [code, means] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t'].map(pair => [
  pair.charCodeAt(0),
  pair.charCodeAt(1),
]))
  ESCAPED[code as number] = means as number

/**
 * The text of a JSON string, from the bytes between its quotes. Half of a surrogate pair becomes U+FFFD. Returns where the text ends in
 * `into`. Preconditions: the escapes are whole; room for as many bytes as there are.
 */
export function unescapeJson(from: Buffer, start: number, end: number, into: Uint8Array, at: number): number {
  let position = at
  let i = start
  while (i < end) {
    if (from[i] !== BACKSLASH) {
      const run = runOf(from, i, end)
      copyBytes(from, i, run, into, position)
      position += run - i
      i = run
      continue
    }
    const means = ESCAPED[from[i + 1] as number] as number
    if (means !== 0) {
      into[position++] = means
      i += 2
      continue
    }
    let code = hexOf(from, i + 2)
    i += 6
    if ((code & 0xf800) === 0xd800) {
      const low =
        code < 0xdc00 && i + 6 <= end && from[i] === BACKSLASH && from[i + 1] === 0x75 ? hexOf(from, i + 2) : 0
      if ((low & 0xfc00) === 0xdc00) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff)
        i += 6
      } else code = 0xfffd
    }
    position = writeCode(code, into, position)
  }
  return position
}

/** Where the run of bytes that stand for themselves ends. */
function runOf(from: Buffer, start: number, end: number): number {
  const near = Math.min(start + SHORT, end)
  for (let i = start; i < near; i++) if (from[i] === BACKSLASH) return i
  if (near === end) return end
  const found = from.indexOf(BACKSLASH, near)
  return found < 0 || found > end ? end : found
}

function writeCode(code: number, into: Uint8Array, at: number): number {
  let position = at
  if (code < 0x80) into[position++] = code
  else {
    if (code < 0x800) into[position++] = 0xc0 | (code >> 6)
    else {
      if (code < 0x10000) into[position++] = 0xe0 | (code >> 12)
      else {
        into[position++] = 0xf0 | (code >> 18)
        into[position++] = 0x80 | ((code >> 12) & 63)
      }
      into[position++] = 0x80 | ((code >> 6) & 63)
    }
    into[position++] = 0x80 | (code & 63)
  }
  return position
}

/** Four hex digits, in either case. */
function hexOf(from: Uint8Array, at: number): number {
  return (digit(from[at]) << 12) | (digit(from[at + 1]) << 8) | (digit(from[at + 2]) << 4) | digit(from[at + 3])
}

function digit(byte: number | undefined): number {
  const code = byte as number
  return code <= 0x39 ? code - 0x30 : (code | 0x20) - 0x57
}
