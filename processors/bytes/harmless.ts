// Bytes of a text that looks suspicious -> is it certain that `maskText` (parsers/secrets.ts) leaves it as it is? Most texts only speak of
// keys and tokens: their names are looked up by their bytes, and nothing is parsed. A yes holds whether the text is JSON or not; a no
// only says that somebody has to look.

import { isJsonSpace, unescapeJson } from '../columns/utf8.ts'
import {
  isHeaderHolder,
  isSecretKey,
  isSecretName,
  secretOpenings,
  secretQueryNames,
  secretsVersion,
} from '../parsers/secrets.ts'
import { Interned } from './interned.ts'

/** What is known about a name. */
const Name = { secret: 1, secretHeader: 2, holder: 4, names: 8 } as const

/** Names that are remembered, and the longest of them. */
const NAMES_MAX = 8192
const NAME_BYTES = 64
/** Deepest level of JSON, and of JSON inside text inside JSON. */
const LEVELS_MAX = 60
const TEXTS_MAX = 4
/** Longest text inside a text that is looked into. */
const INNER_BYTES = 256 * 1024

const names = new Interned<number>(NAMES_MAX, judged)
let edition = 0

function judged(name: string): number {
  return (
    (isSecretName(name) ? Name.secret : 0) |
    (isSecretKey(name, true) ? Name.secretHeader : 0) |
    (isHeaderHolder(name) ? Name.holder : 0) |
    (name === 'name' || name === 'key' ? Name.names : 0)
  )
}

/** True when masking surely leaves the text as it is. Precondition: the bytes are UTF-8, or what is no UTF-8 in them is not stored. */
export function isHarmless(bytes: Buffer, from: number, to: number): boolean {
  if (names.isFull || edition !== secretsVersion()) {
    names.clear()
    edition = secretsVersion()
  }
  return isTextHarmless(bytes, from, to, 0)
}

const [QUOTE, BACKSLASH, COLON, LIST, OBJECT] = [0x22, 0x5c, 0x3a, 0x5b, 0x7b]
const [LIST_END, OBJECT_END] = [0x5d, 0x7d]
const [QUESTION, AND, EQUALS] = [0x3f, 0x26, 0x3d]

/** `inside`: texts around this one. */
function isTextHarmless(bytes: Buffer, from: number, to: number, inside: number): boolean {
  if (mayBeCredential(bytes, from, to)) return false
  const opening = bytes[behindSpace(bytes, from, to)]
  return opening === LIST || opening === OBJECT
    ? isJsonHarmless(bytes, from, to, inside)
    : isProseHarmless(bytes, from, to)
}

function isProseHarmless(bytes: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    if ((byte === QUESTION || byte === AND) && isSecretQuery(bytes, i + 1, to)) return false
  }
  return true
}

/** What begins like JSON. What is no JSON after all has no secret either: addresses are looked for wherever they stand. */
function isJsonHarmless(bytes: Buffer, from: number, to: number, inside: number): boolean {
  let level = 0
  let i = from
  while (i < to) {
    const byte = bytes[i++] as number
    if (byte === QUOTE) {
      const end = stringEnd(bytes, i, to)
      if (end < 0) return false
      const next = behindSpace(bytes, end + 1, to)
      if (next < to && bytes[next] === COLON) {
        if (!isEntryHarmless(bytes, i, end, behindSpace(bytes, next + 1, to), to)) return false
        i = next + 1
      } else {
        if (!isStringHarmless(bytes, i, end, inside)) return false
        i = end + 1
      }
    } else if (byte === LIST || byte === OBJECT) {
      if (++level > LEVELS_MAX) return false
    } else if (byte === LIST_END || byte === OBJECT_END) level--
    else if ((byte === QUESTION || byte === AND) && isSecretQuery(bytes, i, to)) return false
  }
  return true
}

/** The key that was read last, whose value begins at `at`: true when the value may stand under it. */
function isEntryHarmless(bytes: Buffer, from: number, end: number, at: number, to: number): boolean {
  if (escaped) return false
  const name = nameOf(bytes, from, end)
  if (name === 0) return true
  const first = at < to ? (bytes[at] as number) : 0
  if ((name & Name.secret) !== 0 && !isNothing(bytes, at, to)) return false
  // Among headers other rules hold.
  if ((name & Name.holder) !== 0 && (first === LIST || first === OBJECT)) return false
  if ((name & Name.names) === 0 || first !== QUOTE) return true
  // {name: "authorization", value: "…"}
  const valueEnd = stringEnd(bytes, at + 1, to)
  return valueEnd >= 0 && !escaped && (nameOf(bytes, at + 1, valueEnd) & Name.secretHeader) === 0
}

/** The name that came last, and the one that came behind each. */
let lastName = 0
const nextName = new Uint16Array(NAMES_MAX)

function nameOf(bytes: Buffer, from: number, to: number): number {
  const known = to - from <= NAME_BYTES ? names.of(bytes, from, to, nextName[lastName] as number) : -1
  if (known >= 0) {
    nextName[lastName] = known
    lastName = known
  }
  return known >= 0 ? (names.values[known] as number) : judged(bytes.toString('utf8', from, to))
}

const NULL = Buffer.from('null')

/** True for null and "", which hide nothing. */
function isNothing(bytes: Buffer, at: number, to: number): boolean {
  if (at + 1 < to && bytes[at] === QUOTE) return bytes[at + 1] === QUOTE
  return at + 4 <= to && bytes.compare(NULL, 0, 4, at, at + 4) === 0
}

/** A string whose bytes were read last. */
function isStringHarmless(bytes: Buffer, from: number, to: number, inside: number): boolean {
  if (spelled) return isInnerHarmless(bytes, from, to, inside)
  if (mayBeCredential(bytes, from, to)) return false
  // Without escapes there is no name in it.
  return !escaped || !beginsLikeJson(bytes, from, to) || isInnerHarmless(bytes, from, to, inside)
}

const unescaped: Buffer[] = []

/** The text that the string stands for. */
function isInnerHarmless(bytes: Buffer, from: number, to: number, inside: number): boolean {
  if (to - from > INNER_BYTES || inside >= TEXTS_MAX) return false
  let room = unescaped[inside] ?? Buffer.alloc(0)
  if (room.length < to - from) {
    room = Buffer.allocUnsafeSlow(Math.max(4096, 2 * (to - from)))
    unescaped[inside] = room
  }
  return isTextHarmless(room, 0, unescapeJson(bytes, from, to, room, 0), inside + 1)
}

// ---- strings -----------------------------------------------------------------------------------------------------------

/** The string that `stringEnd` passed has escapes; some of them spell characters that could stand for themselves. */
let escaped = false
let spelled = false

const Stop = { none: 0, quote: 1, backslash: 2, query: 3 } as const
const stops = new Uint8Array(256)
stops[QUOTE] = Stop.quote
stops[BACKSLASH] = Stop.backslash
stops[QUESTION] = Stop.query
stops[AND] = Stop.query

const isEscape = new Uint8Array(256)
for (const letter of '"\\/bfnrt') isEscape[letter.charCodeAt(0)] = 1
const isHex = new Uint8Array(256)
for (const digit of '0123456789abcdefABCDEF') isHex[digit.charCodeAt(0)] = 1
const [U, ZERO, EIGHT] = [0x75, 0x30, 0x38]

/** Where the closing quote of a string stands; -1 when it has none, an escape is no escape, or the secret of an address is in it. */
function stringEnd(bytes: Buffer, from: number, to: number): number {
  escaped = false
  spelled = false
  for (let i = from; i < to; i++) {
    const stop = stops[bytes[i] as number] as number
    if (stop === Stop.none) continue
    if (stop === Stop.quote) return i
    if (stop === Stop.query) {
      if (isSecretQuery(bytes, i + 1, to)) return -1
      continue
    }
    escaped = true
    i++
    if (isEscape[bytes[i] as number] === 1) continue
    if (bytes[i] !== U || i + 4 >= to) return -1
    for (let k = 1; k <= 4; k++) if (isHex[bytes[i + k] as number] === 0) return -1
    if (bytes[i + 1] === ZERO && bytes[i + 2] === ZERO && (bytes[i + 3] as number) < EIGHT) spelled = true
    i += 4
  }
  return -1
}

function behindSpace(bytes: Buffer, from: number, to: number): number {
  let i = from
  while (i < to && isJsonSpace(bytes[i])) i++
  return i
}

/** True for a string that begins like JSON, behind white space however it is written. */
function beginsLikeJson(bytes: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    if (byte === LIST || byte === OBJECT) return true
    if (byte === BACKSLASH && isWhiteEscape(bytes[i + 1] as number)) i++
    else if (!isJsonSpace(byte)) return false
  }
  return false
}

const isWhiteEscape = (letter: number): boolean => letter === 0x6e || letter === 0x72 || letter === 0x74

// ---- words -------------------------------------------------------------------------------------------------------------

/** Words by their first letter, in lower case and with `-` for `_`. */
function byFirstLetter(words: readonly string[]): (Uint8Array[] | undefined)[] {
  const table: (Uint8Array[] | undefined)[] = new Array<Uint8Array[] | undefined>(256).fill(undefined)
  for (const word of words) {
    const letter = word.charCodeAt(0)
    table[letter] = [...(table[letter] ?? []), Buffer.from(word)]
  }
  return table
}

const openings = byFirstLetter(secretOpenings)
const queries = byFirstLetter(secretQueryNames)

/** True when the text begins like a credential. */
function mayBeCredential(bytes: Buffer, from: number, to: number): boolean {
  const words = openings[(bytes[from] as number) | 32]
  if (words === undefined) return false
  for (const word of words) if (isWord(word, bytes, from, to)) return true
  return false
}

/** True behind `?` or `&` when the name of a secret follows, and `=`. */
function isSecretQuery(bytes: Buffer, from: number, to: number): boolean {
  const words = queries[(bytes[from] as number) | 32]
  if (words === undefined) return false
  for (const word of words) {
    if (isWord(word, bytes, from, to - 1) && bytes[from + word.length] === EQUALS) return true
  }
  return false
}

const [DASH, UNDERSCORE] = [0x2d, 0x5f]

function isWord(word: Uint8Array, bytes: Buffer, from: number, to: number): boolean {
  if (to - from < word.length) return false
  for (let i = 0; i < word.length; i++) {
    const byte = bytes[from + i] as number
    const letter = byte === DASH || byte === UNDERSCORE ? DASH : byte | 32
    const wanted = word[i] === UNDERSCORE ? DASH : word[i]
    if (letter !== wanted) return false
  }
  return true
}
