// Ids of conversations from bytes to words: what proto/ids.ts says in text.
import { uuidBytes } from '#proto/ids.ts'
import { copyBytes, HEX_DIGITS, hashBytes, sameBytes } from '../columns/utf8.ts'
import { digest, message, sha1 } from './sha1.ts'

const DASH = 0x2d

/** Where one uuid stands in `message`, and the name behind it. */
const NAME_AT = 16

/** The namespace of every id that is asked for: the organization. */
export function setNamespace(organization: string): void {
  if (organization === named) return
  named = organization
  slotLengths.fill(0)
  namespace = uuidBytes(organization)
}
let named = ''
let namespace: Buffer = Buffer.alloc(16)

function putHex(at: number, bytes: Uint8Array, from: number, count: number): number {
  let to = at
  for (let i = from; i < from + count; i++) {
    const byte = bytes[i] as number
    message[to++] = HEX_DIGITS[byte >> 4] as number
    message[to++] = HEX_DIGITS[byte & 15] as number
  }
  return to
}

/** Names that came last, by their hash, and their uuids: what arrives together belongs to few conversations. */
const SLOTS = 256
const NAME_BYTES = 256
const slotNames = new Uint8Array(SLOTS * NAME_BYTES)
const slotWords = new Uint32Array(SLOTS * 4)
/** 0 = nothing is there. */
const slotLengths = new Int32Array(SLOTS)

/** Hashes namespace and name, of which `length` bytes stand in `message`; the uuid goes into `into`. */
function uuidV5(length: number, into: Uint32Array, at: number): void {
  const slot = hashBytes(message, NAME_AT, length) & (SLOTS - 1)
  const word = slot * 4
  if (slotLengths[slot] !== length || !sameBytes(message, NAME_AT, length, slotNames, slot * NAME_BYTES)) {
    copyBytes(message, NAME_AT, length, slotNames, slot * NAME_BYTES)
    slotLengths[slot] = length
    message.set(namespace)
    sha1(length)
    slotWords[word] = digest[0] as number
    slotWords[word + 1] = ((digest[1] as number) & 0xffff0fff) | 0x5000
    slotWords[word + 2] = ((digest[2] as number) & 0x3fffffff) | 0x80000000
    slotWords[word + 3] = digest[3] as number
  }
  for (let i = 0; i < 4; i++) into[at + i] = slotWords[word + i] as number
}

/** The conversation of a trace that names none. */
export function traceConversationWords(bytes: Uint8Array, trace: number, into: Uint32Array, at: number): void {
  uuidV5(putHex(NAME_AT, bytes, trace, 16), into, at)
}

/**
 * The conversation of a session id as it was sent; true when the id is a uuid in lower case, and so the conversation's own text.
 * Precondition: at most 256 bytes.
 */
export function sessionConversationWords(
  bytes: Uint8Array,
  from: number,
  to: number,
  into: Uint32Array,
  at: number,
): boolean {
  if (to - from === 36) {
    const form = uuidAt(bytes, from, into, at)
    if (form !== 0) return form === 1
  }
  for (let i = from; i < to; i++) message[NAME_AT + i - from] = bytes[i] as number
  uuidV5(NAME_AT + to - from, into, at)
  return false
}

/** Reads a uuid in its text form: 0 when it is none, 1 in lower case, 2 otherwise. */
function uuidAt(bytes: Uint8Array, from: number, into: Uint32Array, at: number): 0 | 1 | 2 {
  let upper = false
  let digits = 0
  let word = 0
  for (let i = 0; i < 36; i++) {
    const byte = bytes[from + i] as number
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (byte !== DASH) return 0
      continue
    }
    let value = byte - 0x30
    if (value < 0 || value > 9) {
      value = (byte | 32) - 0x57
      if (value < 10 || value > 15) return 0
      if (byte < 0x60) upper = true
    }
    word = (word << 4) | value
    if (++digits % 8 === 0) into[at + digits / 8 - 1] = word
  }
  return upper ? 2 : 1
}

/** The words of a uuid in text. */
export function putUuid(text: string, into: Uint32Array, at: number): void {
  const bytes = uuidBytes(text)
  for (let i = 0; i < 4; i++) into[at + i] = bytes.readUInt32BE(i * 4)
}
