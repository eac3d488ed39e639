// Input and output of a span in bytes. A text that is shown as it was sent stays where it is; what has to be taken apart becomes a
// string and is read as everywhere (parsers/otlp/content.ts).
import { decodeValue } from '#proto/otlp/decode-protobuf.ts'
import type { SpanRecords, Value } from '#proto/otlp/span.ts'
import { isTrusted } from '../parsers/otlp/accept.ts'
import { type Said, structureKey } from '../parsers/otlp/content.ts'
import { asWritten } from '../parsers/otlp/facts.ts'
import { readFamily } from '../parsers/otlp/families.ts'
import { inEvents } from '../parsers/otlp/message-events.ts'
import type { Side } from '../parsers/otlp/messages.ts'
import type { Rule } from '../parsers/otlp/rules.ts'
import { doubleOf } from './doubles.ts'
import { isHarmless } from './harmless.ts'
import { shownIn } from './messages.ts'
import type { ContentPlace, Plan } from './plan.ts'
import { Quoted, SentMessages } from './quoted.ts'
import { A, ATTRIBUTE_INTS, Kind } from './spans.ts'
import { Letters, Look, lettersOf, lookAt } from './suspicion.ts'

/** A text that stands in a body. Precondition: the bytes are UTF-8. */
export class Excerpt implements Said {
  bytes: Buffer
  start: number
  end: number
  readonly structure: Said['structure']
  readonly from: string
  readonly words: boolean
  /** Every byte is a character. */
  ascii: boolean

  constructor(
    bytes: Buffer,
    start: number,
    end: number,
    ascii: boolean,
    from: string,
    structure: Said['structure'],
    words = true,
  ) {
    this.bytes = bytes
    this.start = start
    this.end = end
    this.structure = structure
    this.from = from
    this.ascii = ascii
    this.words = words
  }

  get text(): string {
    return this.bytes.toString('utf8', this.start, this.end)
  }

  /** Makes it another text. */
  move(bytes: Buffer, start: number, end: number, ascii: boolean): this {
    this.bytes = bytes
    this.start = start
    this.end = end
    this.ascii = ascii
    return this
  }

  lent(structure: Said['structure'], from: string): Said {
    return new Excerpt(this.bytes, this.start, this.end, this.ascii, from, structure, this.words)
  }
}

/** The attributes of one span. `first`: where the first of them stands in `data`. */
export interface Attributes {
  readonly data: Int32Array
  readonly first: number
  readonly bytes: Buffer
  readonly records: SpanRecords | null
}

/** The value of an attribute, as everybody else sees it. */
export function valueAt({ data, first, bytes }: Attributes, position: number): Value {
  const at = (first + position) * ATTRIBUTE_INTS
  const x = data[at + A.x] as number
  const y = data[at + A.y] as number
  switch (data[at + A.kind]) {
    case Kind.text:
      return bytes.toString('utf8', x, y)
    case Kind.bool:
      return x !== 0
    case Kind.int:
      return intOf(x, y)
    case Kind.double:
      return doubleOf(x, y)
    case Kind.structure:
      return decodeValue(bytes, x, y)
    default:
      return null
  }
}

/**
 * What of `Look` is seen of the text of an attribute, suspicious only if something in it may have to be masked: looked at once, however often
 * it is asked. Precondition: it is a text.
 */
export function lookOf({ data, first, bytes }: Attributes, position: number): number {
  const at = (first + position) * ATTRIBUTE_INTS
  const known = data[at + A.look] as number
  if (known !== 0) return known
  const look = lookIn(bytes, data[at + A.x] as number, data[at + A.y] as number)
  data[at + A.look] = look | Look.looked
  return look
}

/** The same of any text. */
export function lookIn(bytes: Buffer, from: number, to: number): number {
  const seen = lookAt(bytes, from, to)
  return (seen & Look.suspicious) !== 0 && isHarmless(bytes, from, to) ? 0 : seen
}

/** A signed 64-bit integer: a number where that is exact, else its digits. */
export function intOf(low: number, high: number): Value {
  const number = high * 0x1_0000_0000 + (low >>> 0)
  if (Number.isSafeInteger(number)) return number
  return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low >>> 0)).toString()
}

/** The place that `take` found; -1 = none. */
export let taken = -1

/** What the first place says that says anything; see `taken`. */
export function take(plan: Plan, side: Side, attributes: Attributes): Said | null {
  const content = plan[side]
  for (let i = 0; i < content.places.length; i++) {
    const said = saidAt(plan, side, content.places[i] as ContentPlace, attributes)
    if (said === null) continue
    taken = i
    return said
  }
  taken = -1
  return null
}

function saidAt(plan: Plan, side: Side, place: ContentPlace, attributes: Attributes): Said | null {
  const { accept } = plan[side]
  const { rule, at, fixed, family, events } = place
  if (fixed !== null) return fixed
  if (events !== null) {
    const held = asWritten(rule, inEvents(events, attributes.records?.events ?? [])) ?? null
    return held === null ? null : accept(held, rule)
  }
  if (family !== null) {
    const said = place.simply?.(attributes) ?? null
    if (said !== null) return said
    const source = rule.source as { readonly family: string }
    const members = new Map(
      family.map(member => [(plan.keys[member] as { key: string }).key, valueAt(attributes, member)] as const),
    )
    const messages = readFamily(members, source.family)?.messages as Value | undefined
    return messages === undefined ? null : accept(messages, rule)
  }
  const row = (attributes.first + at) * ATTRIBUTE_INTS
  if (attributes.data[row + A.kind] === Kind.text) {
    const x = attributes.data[row + A.x] as number
    const y = attributes.data[row + A.y] as number
    const letters = asSent(plan, place, attributes.bytes, x, y)
    if (letters !== Letters.none) {
      return new Excerpt(attributes.bytes, x, y, letters === Letters.ascii, rule.label, null)
    }
    const quoted = quotedAt(plan, side, rule, attributes.bytes, x, y)
    if (quoted !== null) return quoted
  }
  const held = asWritten(rule, valueAt(attributes, at)) ?? null
  const said = held === null ? null : accept(held, rule)
  return said === null || typeof held !== 'string' ? said : asItStands(said, held, row, rule, attributes)
}

/** The same without the strings that stand in the body as they are: of a span that waits to be written they would all be kept. */
function asItStands(said: Said, held: string, row: number, { dialect }: Rule, { data, bytes }: Attributes): Said {
  if (data[row + A.kind] !== Kind.text || dialect?.jsonValues === true) return said
  const whole = said.structure === null && said.text === held
  if (!whole && said.structure?.json !== held) return said
  const [from, to] = [data[row + A.x] as number, data[row + A.y] as number]
  const letters = lettersOf(bytes, from, to)
  if (letters === Letters.none) return said
  if (whole) return new Excerpt(bytes, from, to, letters === Letters.ascii, said.from, null, said.words)
  return { ...said, structure: new SentMessages(said.structure?.key ?? '', bytes, from, to) }
}

/** What is shown of messages, where the place says that they are some. */
function quotedAt(plan: Plan, side: Side, rule: Rule, bytes: Buffer, from: number, to: number): Quoted | null {
  const { source } = rule
  if (plan.kind.kind === 'tool' || rule.dialect?.jsonValues === true) return null
  if (typeof source !== 'string' && !('words' in source)) return null
  const runs = shownIn(bytes, from, to, side)
  return runs === null
    ? null
    : new Quoted(bytes, runs, rule.label, new SentMessages(structureKey(rule), bytes, from, to))
}

const [QUOTE, LIST, OBJECT] = [0x22, 0x5b, 0x7b]
/** First characters of texts that mean "no value": `_`, `<`, `N`, `n`, `u`; lists and objects are told apart before. */
const VAGUE: ReadonlySet<number> = new Set([0x5f, 0x3c, 0x4e, 0x6e, 0x75])
/** No text that means "no value" is longer. */
const VAGUE_BYTES = 96

/**
 * The letters of a text that is shown as it was sent without any doubt; none = it has to be looked at. That a place shows its texts
 * as they are, its rule says; elsewhere they are unless they may be JSON.
 */
function asSent(plan: Plan, { rule }: ContentPlace, bytes: Buffer, from: number, to: number): number {
  const first = bytes[from] as number
  if (first < 0x21 || first > 0x7e || rule.dialect?.jsonValues === true) return Letters.none
  const { source } = rule
  if (typeof source === 'object' && 'values' in source) return Letters.none
  const verbatim = typeof source === 'object' && 'sent' in source
  const ofTool = plan.kind.kind === 'tool'
  const json = first === QUOTE || first === LIST || first === OBJECT
  const whole = verbatim || (ofTool && (isTrusted(rule) || !plan.wrapsTools))
  if (json && !whole) return Letters.none
  if (!isTrusted(rule)) {
    if (first === LIST || ((first === OBJECT || VAGUE.has(first)) && to - from <= VAGUE_BYTES)) return Letters.none
  }
  if (!whole && !ofTool && mayBePrinted(bytes, from, to)) return Letters.none
  return lettersOf(bytes, from, to)
}

/** True for what begins like a printed object: `Name(`. */
export function mayBePrinted(bytes: Buffer, from: number, to: number): boolean {
  const first = bytes[from] as number
  if (first < 0x41 || first > 0x5a) return false
  for (let i = from + 1; i < to; i++) {
    const letter = (bytes[i] as number) | 32
    if (letter < 97 || letter > 122) return bytes[i] === 0x28
  }
  return false
}
