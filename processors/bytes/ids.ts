// Ids of spans from bytes to words: what proto/ids.ts says in text.
import { uuidBytes } from '#proto/ids.ts'
import { digest, message, sha1 } from './sha1.ts'

const HEX = Uint8Array.from('0123456789abcdef', digit => digit.charCodeAt(0))
const DASH = 0x2d

/** Where one uuid stands in `message`, and the name behind it. */
const NAME_AT = 16

/** The namespace of every id that is asked for: the organization. */
export function setNamespace(organization: string): void {
  if (organization === named) return
  named = organization
  namespace = uuidBytes(organization)
  prefix = Buffer.from(`event:${organization}:`)
}
let named = ''
let namespace: Buffer = Buffer.alloc(16)
let prefix: Buffer = Buffer.alloc(0)

function putHex(at: number, bytes: Uint8Array, from: number, count: number): number {
  let to = at
  for (let i = from; i < from + count; i++) {
    const byte = bytes[i] as number
    message[to++] = HEX[byte >> 4] as number
    message[to++] = HEX[byte & 15] as number
  }
  return to
}

/** Hashes namespace and name, of which `length` bytes stand in `message`; the uuid goes into `into`. */
function uuidV5(length: number, into: Uint32Array, at: number): void {
  message.set(namespace)
  sha1(length)
  into[at] = digest[0] as number
  into[at + 1] = ((digest[1] as number) & 0xffff0fff) | 0x5000
  into[at + 2] = ((digest[2] as number) & 0x3fffffff) | 0x80000000
  into[at + 3] = digest[3] as number
}

/** The event id of a span. */
export function spanEventWords(bytes: Uint8Array, trace: number, span: number, into: Uint32Array, at: number): void {
  const slash = putHex(NAME_AT, bytes, trace, 16)
  message[slash] = 0x2f
  uuidV5(putHex(slash + 1, bytes, span, 8), into, at)
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

/** The first 96 bits of what the repeat window remembers of an event. */
export function putFingerprint(words: Uint32Array, at: number, into: Uint8Array, to: number): void {
  message.set(prefix)
  let end = prefix.length
  for (let i = 0; i < 4; i++) {
    const word = words[at + i] as number
    for (let shift = 28; shift >= 0; shift -= 4) {
      message[end++] = HEX[(word >>> shift) & 15] as number
      // 8-4-4-4-12
      const dash = shift === 0 ? i < 2 : shift === 16 && (i === 1 || i === 2)
      if (dash) message[end++] = DASH
    }
  }
  sha1(end)
  for (let i = 0; i < 12; i++) into[to + i] = (digest[i >> 2] as number) >>> (24 - 8 * (i & 3))
}

/** The text of a uuid. */
export function uuidOfWords(words: Uint32Array, at: number): string {
  const hex = (i: number): string => (words[at + i] as number).toString(16).padStart(8, '0')
  const [b, c] = [hex(1), hex(2)]
  return `${hex(0)}-${b.slice(0, 4)}-${b.slice(4)}-${c.slice(0, 4)}-${c.slice(4)}${hex(3)}`
}

/** The words of a uuid in text. */
export function putUuid(text: string, into: Uint32Array, at: number): void {
  const bytes = uuidBytes(text)
  for (let i = 0; i < 4; i++) into[at + i] = bytes.readUInt32BE(i * 4)
}
