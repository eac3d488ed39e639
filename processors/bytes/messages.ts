// The bytes of a list of messages -> where the words stand in it that displayText (parsers/otlp/messages.ts) would show, without an object
// and without a string. Only of lists in the form that OpenTelemetry has for them and OpenAI's plain one, whose shown messages have words;
// everything else is left to the way of objects.
import { JsonScanner, JsonType } from '#proto/scan/json.ts'
import { KeyTable } from '#proto/scan/keys.ts'
import type { Side } from '../parsers/otlp/messages.ts'

/** Longest list that is read here: its messages are kept as they are up to 65,536 units, of three bytes at most. */
const LIST_BYTES = 3 * 65_536
/** Deeper ones are left to others. */
const MAX_DEPTH = 64

const [LIST_END, OBJECT_END, BACKSLASH, OPEN_LIST, PARENTHESIS] = [0x5d, 0x7d, 0x5c, 0x5b, 0x28]

/** Where a walk ends that finds another form; less than any position, as a fault of the scanner is. */
const LEFT = -1

const Key = { role: 0, content: 1, parts: 2, type: 3, callId: 4, finish: 5, odd: 6 } as const
/** `odd`: keys that make something else of a message. */
const messageKeys = new KeyTable([
  ...['role', 'content', 'parts', 'type', 'tool_call_id', 'finish_reason'],
  ['message', 'data', 'kwargs', 'lc', 'text'],
])
const messageTypes = new KeyTable(['message'])

const Role = { user: 0, assistant: 1, other: 2 } as const
const roleNames = new KeyTable([
  ['user', 'human'],
  ['assistant', 'ai', 'model'],
  ['system', 'developer', 'tool', 'function'],
])

const PartKey = { type: 0, text: 1, content: 2, odd: 3 } as const
const partKeys = new KeyTable(['type', 'text', 'content', ['refusal', 'thought']])

const PartType = { words: 0, silent: 1 } as const
const partTypes = new KeyTable([
  ['text', 'input_text', 'output_text'],
  ['tool_call', 'tool_call_response', 'tool_use', 'tool_result', 'function_call', 'reasoning', 'thinking'],
])

/** Where texts stand between their quotes: pairs of offsets into the bytes. */
export type Runs = readonly number[]

const scanner = new JsonScanner(MAX_DEPTH)

/** Runs of the message at hand, and of what is shown. Offsets are those of the scanner. */
let spoken: number[] = []
let shown: number[] = []

/** The texts that are shown of a list of messages, one a line; null when that is left to others. */
export function shownIn(bytes: Buffer, from: number, to: number, side: Side): Runs | null {
  if (bytes[from] !== OPEN_LIST || to - from > LIST_BYTES || !scanner.begin(bytes.subarray(from, to))) return null
  shown = []
  let at = scanner.open(0)
  while (at >= 0 && scanner.bytes[at] !== LIST_END) {
    at = scanner.typeAt(at) === JsonType.object ? message(at, side) : LEFT
    if (at >= 0) at = scanner.next(at, LIST_END)
  }
  if (at < 0 || !scanner.finish(scanner.close(at)) || shown.length === 0 || mayBePrinted(shown)) return null
  return shown.map(place => place + from)
}

/** Walks a message and keeps what it adds to what is shown; the position behind it, or less than 0. */
function message(from: number, side: Side): number {
  spoken = []
  let role = -1
  let seen = 0
  let at = scanner.open(from)
  while (at >= 0 && scanner.bytes[at] !== OBJECT_END) {
    at = scanner.key(at)
    if (at < 0) return LEFT
    const key = messageKeys.find(scanner, scanner.keyStart, scanner.keyEnd, scanner.escaped)
    if (key === Key.odd) return LEFT
    if (key < 0) at = scanner.skip(at)
    else {
      if ((seen & (1 << key)) !== 0) return LEFT
      seen |= 1 << key
      if (key === Key.role) {
        at = wordAt(at, roleNames)
        role = word
      } else if (key === Key.type) at = wordAt(at, messageTypes)
      else if (key === Key.finish) at = side === 'output' && isEmptyAt(at) ? LEFT : scanner.skip(at)
      else at = key === Key.callId ? scanner.skip(at) : contentAt(at, key)
    }
    if (at >= 0) at = scanner.next(at, OBJECT_END)
  }
  // Of content and parts one counts only where the other is missing, and what answers a call is nobody's words.
  if (at < 0 || role < 0 || (seen & BOTH) === BOTH) return LEFT
  if (role !== Role.other && (seen & (1 << Key.callId)) !== 0) return LEFT
  take(role, side)
  return scanner.close(at)
}

const BOTH = (1 << Key.content) | (1 << Key.parts)

/** Of an input the last words of the user are shown, of an output all that the assistant said after the user. */
function take(role: number, side: Side): void {
  if (side === 'input') {
    if (role === Role.user && spoken.length > 0) shown = spoken
  } else if (role === Role.user) shown = []
  else if (role === Role.assistant) for (const place of spoken) shown.push(place)
}

const QUOTE = 0x22

/** True for an empty string: a message that no reason ended is a piece of an answer. */
const isEmptyAt = (at: number): boolean => scanner.bytes[at] === QUOTE && scanner.bytes[at + 1] === QUOTE

/** The number of the word that `wordAt` read; -1 = it is not known. */
let word = -1

function wordAt(at: number, words: KeyTable): number {
  word = -1
  if (scanner.typeAt(at) !== JsonType.string) return LEFT
  const end = scanner.string(at + 1)
  if (end < 0) return LEFT
  word = words.find(scanner, at + 1, end - 1, scanner.escaped)
  return word < 0 ? LEFT : end
}

function contentAt(at: number, key: number): number {
  const type = scanner.typeAt(at)
  if (type === JsonType.array) return partsAt(at)
  // As if it were not there.
  if (type === JsonType.null) return scanner.skip(at)
  if (type !== JsonType.string || key !== Key.content || mayBeParts(at + 1)) return LEFT
  const end = scanner.string(at + 1)
  if (end > at + 2) spoken.push(at + 1, end - 1)
  return end
}

function partsAt(from: number): number {
  let at = scanner.open(from)
  while (at >= 0 && scanner.bytes[at] !== LIST_END) {
    at = scanner.typeAt(at) === JsonType.object ? partAt(at) : LEFT
    if (at >= 0) at = scanner.next(at, LIST_END)
  }
  return at < 0 ? LEFT : scanner.close(at)
}

function partAt(from: number): number {
  let type: number = PartType.words
  let seen = 0
  let [start, end] = [-1, -1]
  let plain = true
  let at = scanner.open(from)
  while (at >= 0 && scanner.bytes[at] !== OBJECT_END) {
    at = scanner.key(at)
    if (at < 0) return LEFT
    const key = partKeys.find(scanner, scanner.keyStart, scanner.keyEnd, scanner.escaped)
    if (key < 0) at = scanner.skip(at)
    else {
      if (key === PartKey.odd || (seen & (1 << key)) !== 0) return LEFT
      seen |= 1 << key
      if (key === PartKey.type) {
        at = wordAt(at, partTypes)
        type = word
      } else {
        // One text, and nothing that would count in its place.
        if (start >= 0 || scanner.typeAt(at) !== JsonType.string) plain = false
        start = at + 1
        at = scanner.skip(at)
        end = at - 1
      }
    }
    if (at >= 0) at = scanner.next(at, OBJECT_END)
  }
  if (at < 0) return LEFT
  if (type === PartType.words) {
    if (!plain) return LEFT
    if (start < end) spoken.push(start, end)
  }
  return scanner.close(at)
}

/** True for a text that may be JSON of a list of parts: behind white space, which may be written in many ways, a bracket. */
function mayBeParts(at: number): boolean {
  const first = scanner.bytes[at] as number
  if (first === OPEN_LIST || first === BACKSLASH || first <= 0x20) return true
  // C2 A0, E1 9A, E2 80, E2 81, E3 80 and EF BB begin what counts as white space beyond ASCII, and much else.
  return first === 0xc2 || first === 0xe1 || first === 0xe2 || first === 0xef || (first === 0xe3 && isWide(at))
}

const isWide = (at: number): boolean => scanner.bytes[at + 1] === 0x80

/** True for what may begin like a printed object, `Name(`: nobody said that. */
function mayBePrinted([start = 0, end = 0]: Runs): boolean {
  for (let i = start; i < end; i++) {
    const byte = scanner.bytes[i] as number
    if (byte === BACKSLASH) return scanner.bytes[i + 1] === 0x75
    if (i === start && (byte < 0x41 || byte > 0x5a)) return false
    const letter = byte | 32
    if (letter < 97 || letter > 122) return byte === PARENTHESIS
  }
  return false
}
