// A span in bytes -> the numbers that say which spans it is like, and the plan for those. Plans are made when the second span of a
// likeness comes, and forgotten together when there are too many of them.
import { decodeRecords, decodeResource, decodeScope, decodeSpan } from '#proto/otlp/decode-protobuf.ts'
import { NO_RESOURCE, NO_SCOPE, type Resource, type Scope, type Span, type SpanRecords } from '#proto/otlp/span.ts'
import type { FrameContext } from '../outcome.ts'
import { secretsVersion } from '../parsers/secrets.ts'
import { doubleOf } from './doubles.ts'
import { Interned } from './interned.ts'
import { Code, type Plan, planOf } from './plan.ts'
import { A, ATTRIBUTE_INTS, Kind, Odd, S, SPAN_INTS, type SpanNumbers } from './spans.ts'
import { eventNumber, type KeyInfo, keyInfo, WORD_BYTES } from './vocabulary.ts'

/** Why a span is left to the way of objects. */
export type Reason = 'records' | 'form' | 'vocabulary' | 'new' | 'special'

const KEYS_MAX = 8192
const WORDS_MAX = 16_384
const HOLDERS_MAX = 1024
const HOLDER_BYTES = 8192
const PLANS_MAX = 2048
/** Likenesses that were seen once. */
const SEEN_MAX = 16_384
const ATTRIBUTES_MAX = 200
/** Longest value that decides: what frameworks tell about a run in one attribute. All words together stay within some 16 MiB. */
const VALUE_BYTES = 1024

const keys = new Interned<KeyInfo | null>(KEYS_MAX, keyInfo)
const words = new Interned<string>(WORDS_MAX, text => text)
const resources = new Interned<Resource>(HOLDERS_MAX, (_, bytes) => decodeResource(bytes, 0, bytes.length))
const scopes = new Interned<Scope>(HOLDERS_MAX, (_, bytes) => decodeScope(bytes, 0, bytes.length))

interface Known {
  readonly numbers: Int32Array
  readonly plan: Plan | null
}
const plans = new Map<number, Known[]>()
const seen = new Set<number>()
let planned = 0
let edition = 0

/** The likeness at hand. */
let numbers = new Int32Array(4096)
let length = 0
/** What became of its attributes, and what is known about their keys. */
const codes = new Int32Array(ATTRIBUTES_MAX)
const infos: (KeyInfo | null)[] = new Array<KeyInfo | null>(ATTRIBUTES_MAX).fill(null)
let attributes = 0
/**
 * What came last: the key behind a key (0 = the first one, then their numbers and one) in spans of a name and a scope, the value that decides
 * under it there, the name behind a name. Of two that share a place one is guessed wrong.
 */
const GUESS_BITS = 14
const nextKey = new Uint16Array(1 << GUESS_BITS)
const lastWord = new Uint16Array(1 << GUESS_BITS)
const nextName = new Uint16Array(WORDS_MAX)
let lastKey = 0
let lastName = 0
/** Name and scope of the span at hand, mixed. */
let about = 0
/** The number of no message. */
const NO_MESSAGE = WORDS_MAX
/** The span that met a key last, to find keys that come twice. */
let stamps = new Float64Array(KEYS_MAX)
let stamp = 0

/** The resource and the scope that came last. */
let [lastResource, lastScope] = [0, 0]

export const holders = {
  resource: (bytes: Buffer, from: number, to: number): number =>
    to - from > HOLDER_BYTES ? -2 : (lastResource = resources.of(bytes, from, to, Math.max(0, lastResource))),
  scope: (bytes: Buffer, from: number, to: number): number =>
    to - from > HOLDER_BYTES ? -2 : (lastScope = scopes.of(bytes, from, to, Math.max(0, lastScope))),
}

/** Makes room for what is new; between two bodies. What was found out under another edition of secrets is forgotten too. */
export function tidy(): void {
  const now = secretsVersion()
  const full = keys.isFull || words.isFull || resources.isFull || scopes.isFull || planned >= PLANS_MAX
  if (!full && seen.size < SEEN_MAX && now === edition) return
  edition = now
  seen.clear()
  if (!full && planned === 0) return
  for (const table of [keys, words, resources, scopes]) table.clear()
  plans.clear()
  planned = 0
  stamps = new Float64Array(KEYS_MAX)
}

/** The resource of a span, and its scope. */
export const resourceOf = (number: number): Resource =>
  number < 0 ? NO_RESOURCE : (resources.values[number] as Resource)
export const scopeOf = (number: number): Scope => (number < 0 ? NO_SCOPE : (scopes.values[number] as Scope))

/** A span as an object. */
export function spanAt(table: SpanNumbers, bytes: Buffer, row: number): Span {
  const s = table.spans
  const [resource, scope] = [resourceOf(s[row + S.resource] as number), scopeOf(s[row + S.scope] as number)]
  return decodeSpan(bytes, s[row + S.from] as number, s[row + S.to] as number, resource, scope) as Span
}

/** What the span carries beside its attributes; null when that is nothing. */
export function recordsAt(table: SpanNumbers, bytes: Buffer, row: number): SpanRecords | null {
  const s = table.spans
  if (((s[row + S.odd] as number) & Odd.records) === 0) return null
  return decodeRecords(bytes, s[row + S.from] as number, s[row + S.to] as number)
}

/** The plan for a span, or why there is none. `records`: those of the span. */
export function planFor(
  table: SpanNumbers,
  bytes: Buffer,
  span: number,
  context: FrameContext,
  records: SpanRecords | null,
): Plan | Reason {
  const row = span * SPAN_INTS
  const s = table.spans
  if (((s[row + S.odd] as number) & Odd.form) !== 0) return 'form'
  if (context.rules !== undefined && context.rules.size > 0) return 'special'
  const data = table.attributes
  const [first, end] = [s[row + S.firstAttribute] as number, s[row + S.endAttribute] as number]
  if (end - first > ATTRIBUTES_MAX || !head(s, row, bytes)) return 'vocabulary'
  if (!eventsAlike(records)) return 'records'
  stamp++
  attributes = 0
  lastKey = 0
  for (let i = first; i < end; i++) if (!attribute(data, i * ATTRIBUTE_INTS, bytes)) return 'vocabulary'
  const hash = hashNumbers()
  const alike = plans.get(hash)
  if (alike !== undefined) {
    for (const known of alike) if (isSame(known.numbers)) return known.plan ?? 'special'
  }
  if (!seen.has(hash)) {
    seen.add(hash)
    return 'new'
  }
  const plan = planned < PLANS_MAX ? planOf(spanAt(table, bytes, row), ...met(), context) : null
  planned++
  plans.set(hash, [...(alike ?? []), { numbers: numbers.slice(0, length), plan }])
  return plan ?? 'special'
}

/** The keys of the likeness, and what became of their attributes. */
function met(): [keys: KeyInfo[], codes: number[]] {
  return [infos.slice(0, attributes) as KeyInfo[], [...codes.subarray(0, attributes)]]
}

/** What does not stand in attributes; false when it is left to others. */
function head(s: Int32Array, row: number, bytes: Buffer): boolean {
  const guess = nextName[lastName] as number
  const name = word(bytes, s[row + S.nameFrom] as number, s[row + S.nameTo] as number, WORD_BYTES, guess)
  const [from, to] = [s[row + S.messageFrom] as number, s[row + S.messageTo] as number]
  const message = from === to ? NO_MESSAGE : word(bytes, from, to, WORD_BYTES, 0)
  if (name < 0 || message < 0) return false
  nextName[lastName] = name
  lastName = name
  about = Math.imul(name, 0x85ebca6b) ^ Math.imul(s[row + S.scope] as number, 0xc2b2ae35)
  numbers[0] = s[row + S.resource] as number
  numbers[1] = s[row + S.scope] as number
  numbers[2] = name
  numbers[3] = message
  numbers[4] =
    (s[row + S.kind] as number) | ((s[row + S.status] as number) << 3) | ((s[row + S.parent] as number) >= 0 ? 32 : 0)
  length = 5
  return true
}

/** Adds which events may say something, each name once; what they say is read anew for every span. False when no plan holds that. */
function eventsAlike(records: SpanRecords | null): boolean {
  const countAt = length++
  let count = 0
  for (const { name } of records?.events ?? []) {
    const number = eventNumber(name)
    if (number === -2) return false
    if (number < 0 || isAmong(number, countAt + 1, length)) continue
    numbers[length++] = number
    count++
  }
  numbers[countAt] = count
  return true
}

function isAmong(number: number, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (numbers[i] === number) return true
  return false
}

function word(bytes: Buffer, from: number, to: number, most: number, guess: number): number {
  return to - from > most ? -1 : words.of(bytes, from, to, guess)
}

/** Where the guess stands about a key in spans such as the one at hand. */
const guessPlace = (key: number): number => Math.imul(key ^ about, 0x9e3779b1) >>> (32 - GUESS_BITS)

/** Adds what an attribute says to the likeness; false when its span is left to others. */
function attribute(a: Int32Array, at: number, bytes: Buffer): boolean {
  const keyFrom = a[at + A.keyFrom] as number
  const keyTo = a[at + A.keyTo] as number
  if (keyTo - keyFrom > WORD_BYTES) return false
  const place = guessPlace(lastKey)
  const key = keys.of(bytes, keyFrom, keyTo, nextKey[place] as number)
  const info = key < 0 ? null : (keys.values[key] as KeyInfo | null)
  if (info === null || stamps[key] === stamp) return false
  stamps[key] = stamp
  nextKey[place] = key
  lastKey = key + 1
  a[at + A.key] = key
  const code = codeOf(info, a, at, bytes)
  codes[attributes] = code
  infos[attributes++] = info
  if (length + 4 > numbers.length) return false
  numbers[length++] = key * 8 + code
  return code !== Code.exact || exact(a, at, bytes, key)
}

function codeOf(info: KeyInfo, a: Int32Array, at: number, bytes: Buffer): number {
  const kind = a[at + A.kind] as number
  const x = a[at + A.x] as number
  const y = a[at + A.y] as number
  if (kind === Kind.none) return Code.none
  const text = kind === Kind.text
  if (text && x === y) return Code.empty
  if (text && info.amountKey) return Code.exact
  switch (info.role) {
    case 'metadata':
      return Code.there
    case 'amount':
      return isAmount(kind, x, y) ? Code.amount : Code.exact
    case 'id':
      return text && isPlainId(bytes, x, y) ? Code.id : Code.exact
    case 'content':
      return text ? Code.text : Code.other
    case 'exact':
      return Code.exact
    default:
      return info.role satisfies never
  }
}

/** A number that is an amount, whichever it is. */
function isAmount(kind: number, x: number, y: number): boolean {
  if (kind === Kind.int) return y >= 0 && y < 0x20_0000
  if (kind !== Kind.double) return false
  const number = doubleOf(x, y)
  return Number.isFinite(number) && number >= 0
}

/** Ids by which frameworks say that there is none are shorter than 48 bytes, and most of other lengths than those of real ones. */
const NOBODY_BYTES = 48
const AT_SIGN = 0x40

/** An id that is taken as it is by every rule: nothing to trim, and no word for nobody. */
function isPlainId(bytes: Buffer, from: number, to: number): boolean {
  if (to - from > WORD_BYTES) return false
  let dull = true
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    if (byte < 0x21 || byte > 0x7e) return false
    // Digits stand in no word for nobody, nor does what every address has.
    if ((byte >= 0x30 && byte <= 0x39) || byte === AT_SIGN) dull = false
  }
  return !dull || to - from > NOBODY_BYTES
}

function exact(a: Int32Array, at: number, bytes: Buffer, key: number): boolean {
  const kind = a[at + A.kind] as number
  numbers[length++] = kind
  if (kind === Kind.text || kind === Kind.structure) {
    const place = guessPlace(key)
    const number = word(bytes, a[at + A.x] as number, a[at + A.y] as number, VALUE_BYTES, lastWord[place] as number)
    if (number >= 0) lastWord[place] = number
    numbers[length++] = number
    return number >= 0
  }
  numbers[length++] = a[at + A.x] as number
  numbers[length++] = a[at + A.y] as number
  return true
}

function hashNumbers(): number {
  let h = length
  for (let i = 0; i < length; i++) h = Math.imul(h ^ (numbers[i] as number), 0x01000193) ^ (h >>> 15)
  return h
}

function isSame(known: Int32Array): boolean {
  if (known.length !== length) return false
  for (let i = 0; i < length; i++) if (known[i] !== numbers[i]) return false
  return true
}
