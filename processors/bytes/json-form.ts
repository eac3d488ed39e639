// The body of a trace export in JSON -> the same body in protobuf, so that the plans of this folder read both. No value becomes an object,
// and of texts only digits become strings. What a sender seldom writes (a name in snake case, an enum by name, bytes, a field twice, a lone
// surrogate) is not written anew: such a body is left to the way of objects, which knows all of it.
import { MAX_DEPTH } from '#proto/otlp/fields.ts'
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from '#proto/otlp/span-ids.ts'
import { HEX, JsonScanner, JsonType } from '#proto/scan/json.ts'
import { KeyTable } from '#proto/scan/keys.ts'
import { WireWriter } from './wire-writer.ts'

const [OBJECT_END, LIST_END] = [0x7d, 0x5d]
/** Digits of a number that a double surely holds, and of one that an int64 surely holds. */
const SAFE_DIGITS = 15
const COUNT_DIGITS = 9
const LONG_DIGITS = 18
const TIME_DIGITS = 19
/** Lengths of larger messages might not fit their four bytes. */
const BODY_MAX_BYTES = 64 * 1024 * 1024

/** The field of a span that may be zeros. */
const PARENT = 4

/** Names that mean something to the way of objects and nothing here. */
const LEFT = -2

interface Message {
  readonly keys: KeyTable
  /** Takes the value at a position for the key of a number; -1 = the body is left. */
  readonly take: (form: JsonForm, key: number, at: number) => number
}

/** Keys by number; those behind the named ones leave the body to others. */
function message(names: readonly string[], left: readonly string[], take: Message['take']): Message {
  const number = names.length
  return {
    keys: new KeyTable([...names, left]),
    take: (form, key, at) => (key === number ? LEFT : take(form, key, at)),
  }
}

const ROOT = message(['resourceSpans'], ['resource_spans'], (form, _, at) => form.list(at, 1, RESOURCE_SPANS))
const RESOURCE_SPANS: Message = message(
  ['resource', 'scopeSpans'],
  ['scope_spans', 'instrumentationLibrarySpans', 'instrumentation_library_spans'],
  (form, key, at) => (key === 0 ? form.inner(at, 1, RESOURCE) : form.list(at, 2, SCOPE_SPANS)),
)
const SCOPE_SPANS: Message = message(
  ['scope', 'spans'],
  ['instrumentationLibrary', 'instrumentation_library'],
  (form, key, at) => (key === 0 ? form.inner(at, 1, SCOPE) : form.list(at, 2, SPAN)),
)
const RESOURCE: Message = message(['attributes'], [], (form, _, at) => form.list(at, 1, KEY_VALUE))
const SCOPE: Message = message(['name', 'version', 'attributes'], [], (form, key, at) =>
  key === 2 ? form.list(at, 3, KEY_VALUE) : form.text(at, key + 1),
)
const STATUS: Message = message(['message', 'code'], [], (form, key, at) =>
  key === 0 ? form.text(at, 2) : form.small(at, 3, 2),
)
const KEY_VALUE: Message = message(['key', 'value'], [], (form, key, at) =>
  key === 0 ? form.text(at, 1) : form.inner(at, 2, VALUE),
)
const VALUES: Message = message(['values'], [], (form, _, at) => form.list(at, 1, VALUE))
const LIST: Message = message(['values'], [], (form, _, at) => form.list(at, 1, KEY_VALUE))
const VALUE: Message = message(
  ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'arrayValue', 'kvlistValue'],
  [
    ...['string_value', 'bool_value', 'int_value', 'double_value', 'array_value', 'kvlist_value'],
    ...['bytesValue', 'bytes_value'],
  ],
  (form, key, at) => {
    // Of several the way of objects has an order of its own.
    if (!form.isFirst()) return LEFT
    switch (key) {
      case 0:
        return form.text(at, 1)
      case 1:
        return form.bool(at, 2)
      case 2:
        return form.long(at, 3)
      case 3:
        return form.double(at, 4)
      case 4:
        return form.inner(at, 5, VALUES)
      default:
        return form.inner(at, 6, LIST)
    }
  },
)
const EVENT: Message = message(['timeUnixNano', 'name', 'attributes'], ['time_unix_nano'], (form, key, at) =>
  key === 0 ? form.time(at, 1) : key === 1 ? form.text(at, 2) : form.list(at, 3, KEY_VALUE),
)
const LINK: Message = message(
  ['traceId', 'spanId', 'traceState', 'attributes'],
  ['trace_id', 'span_id', 'trace_state'],
  (form, key, at) => {
    if (key === 0) return form.id(at, 1, TRACE_ID_BYTES)
    if (key === 1) return form.id(at, 2, SPAN_ID_BYTES)
    return key === 2 ? form.text(at, 3) : form.list(at, 4, KEY_VALUE)
  },
)
const SPAN: Message = message(
  [
    ...['traceId', 'spanId', 'parentSpanId', 'name', 'kind', 'startTimeUnixNano', 'endTimeUnixNano', 'attributes'],
    ...['status', 'traceState', 'events', 'links'],
    ...['droppedAttributesCount', 'droppedEventsCount', 'droppedLinksCount'],
  ],
  [
    ...['trace_id', 'span_id', 'parent_span_id', 'start_time_unix_nano', 'end_time_unix_nano', 'trace_state'],
    ...['dropped_attributes_count', 'dropped_events_count', 'dropped_links_count'],
  ],
  spanField,
)

function spanField(form: JsonForm, key: number, at: number): number {
  switch (key) {
    case 0:
      return form.id(at, 1, TRACE_ID_BYTES)
    case 1:
      return form.id(at, 2, SPAN_ID_BYTES)
    case 2:
      return form.isEmpty(at) ? at + 2 : form.id(at, PARENT, SPAN_ID_BYTES)
    case 3:
      return form.text(at, 5)
    case 4:
      return form.small(at, 6, 5)
    case 5:
    case 6:
      return form.time(at, key + 2)
    case 7:
      return form.list(at, 9, KEY_VALUE)
    case 8:
      return form.inner(at, 15, STATUS)
    case 9:
      return form.isEmpty(at) ? at + 2 : form.text(at, 3)
    case 10:
      return form.list(at, 11, EVENT)
    case 11:
      return form.list(at, 13, LINK)
    default:
      return form.count(at, 10 + (key - 12) * 2)
  }
}

/** Writes bodies anew, one at a time. */
export class JsonForm {
  // Deeper bodies are judged by the way of objects; see OtlpJsonScanner.
  readonly #scanner = new JsonScanner(MAX_DEPTH)
  readonly #out = new WireWriter()
  /** Keys of the object at hand that were met. */
  #seen = 0
  #sawSpans = false

  /** The body in protobuf, in bytes of its own; null when it is left to others. */
  of(body: Uint8Array): Buffer | null {
    const scanner = this.#scanner
    this.#out.clear()
    this.#sawSpans = false
    if (body.length > BODY_MAX_BYTES || !scanner.begin(body)) return null
    const at = scanner.space(0)
    if (scanner.typeAt(at) !== JsonType.object) return null
    const end = this.#object(at, ROOT)
    if (end < 0 || !scanner.finish(end) || !this.#sawSpans) return null
    return this.#out.copy()
  }

  #object(from: number, { keys, take }: Message): number {
    const scanner = this.#scanner
    const before = this.#seen
    let seen = 0
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== OBJECT_END) {
      at = scanner.key(at)
      if (at < 0) return -1
      const key = keys.find(scanner, scanner.keyStart, scanner.keyEnd, scanner.escaped)
      // What is not known is skipped, as everywhere.
      if (key < 0) at = scanner.skip(at)
      else {
        this.#seen = seen
        seen |= 1 << key
        if (this.#seen === seen) return LEFT
        // null is the same as nothing, wherever a name is known.
        at = scanner.typeAt(at) === JsonType.null ? scanner.skip(at) : take(this, key, at)
      }
      if (at < 0) return -1
      at = scanner.next(at, OBJECT_END)
    }
    this.#seen = before
    return at < 0 ? -1 : scanner.close(at)
  }

  /** True when no known key came before the one at hand. */
  isFirst(): boolean {
    return this.#seen === 0
  }

  // ---- values: each returns the position behind it, or less than 0 -----------------------------------------------------------

  /** A list of messages. */
  list(from: number, field: number, of: Message): number {
    const scanner = this.#scanner
    if (of === RESOURCE_SPANS) this.#sawSpans = true
    if (scanner.typeAt(from) !== JsonType.array) return LEFT
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== LIST_END) {
      at = this.inner(at, field, of)
      if (at < 0) return -1
      at = scanner.next(at, LIST_END)
    }
    return at < 0 ? -1 : scanner.close(at)
  }

  inner(at: number, field: number, of: Message): number {
    if (this.#scanner.typeAt(at) !== JsonType.object) return LEFT
    const message = this.#out.open(field)
    const end = this.#object(at, of)
    this.#out.close(message)
    return end
  }

  text(at: number, field: number): number {
    const scanner = this.#scanner
    if (scanner.typeAt(at) !== JsonType.string) return LEFT
    const end = scanner.string(at + 1)
    if (end < 0) return -1
    if (!scanner.escaped) this.#out.bytes(field, scanner.bytes, at + 1, end - 1)
    else if (!this.#out.unescaped(field, scanner.bytes, at + 1, end - 1)) return LEFT
    return end
  }

  /** True for "". */
  isEmpty(at: number): boolean {
    return this.#scanner.bytes[at] === 0x22 && this.#scanner.bytes[at + 1] === 0x22
  }

  /** An id in hex. */
  id(at: number, field: number, size: number): number {
    const { bytes } = this.#scanner
    if (bytes[at] !== 0x22 || bytes[at + size * 2 + 1] !== 0x22) return LEFT
    let bits = 0
    for (let i = at + 1; i <= at + size * 2; i++) bits |= HEX[bytes[i] as number] as number
    if (bits < 0 || (bits === 0 && field !== PARENT)) return LEFT
    // A parent of zeros is none.
    if (bits !== 0) this.#out.hex(field, bytes, at + 1, size)
    return at + size * 2 + 2
  }

  bool(at: number, field: number): number {
    const type = this.#scanner.typeAt(at)
    if (type !== JsonType.true && type !== JsonType.false) return LEFT
    this.#out.long(field, type === JsonType.true ? 1 : 0, 0)
    return this.#scanner.skip(at)
  }

  /** An enum by its number. */
  small(at: number, field: number, most: number): number {
    const { bytes } = this.#scanner
    const value = (bytes[at] as number) - 0x30
    if (value < 0 || value > most || !isEnd(bytes[at + 1] as number)) return LEFT
    this.#out.long(field, value, 0)
    return at + 1
  }

  count(at: number, field: number): number {
    const end = this.#digits(at, COUNT_DIGITS)
    if (end < 0) return LEFT
    this.#out.long(field, low, high)
    return end
  }

  /** An int64, as a number or as its digits. */
  long(at: number, field: number): number {
    const { bytes } = this.#scanner
    const quoted = bytes[at] === 0x22
    let from = quoted ? at + 1 : at
    const negative = bytes[from] === 0x2d
    if (negative) from++
    if (negative && bytes[from] === 0x30) return LEFT
    const end = this.#digits(from, quoted ? LONG_DIGITS : SAFE_DIGITS, quoted)
    if (end < 0) return LEFT
    if (negative) {
      low = -low >>> 0
      high = (~high + (low === 0 ? 1 : 0)) >>> 0
    }
    this.#out.long(field, low, high)
    return quoted ? end + 1 : end
  }

  double(at: number, field: number): number {
    const scanner = this.#scanner
    if (scanner.typeAt(at) !== JsonType.number) return LEFT
    const end = scanner.number(at)
    if (end < 0) return -1
    this.#out.double(field, Number(scanner.textOf(at, end)))
    return end
  }

  /** A time in nanoseconds, as its digits. */
  time(at: number, field: number): number {
    if (this.#scanner.bytes[at] !== 0x22) return LEFT
    const end = this.#digits(at + 1, TIME_DIGITS, true)
    if (end < 0) return LEFT
    this.#out.fixed64(field, low, high)
    return end + 1
  }

  /** Digits from `at` on, into `low` and `high`; where they end, or -1 when there are none, too many, or something follows. */
  #digits(at: number, most: number, quoted = false): number {
    const { bytes } = this.#scanner
    low = 0
    high = 0
    if (bytes[at] === 0x30 && isDigit(bytes[at + 1] as number)) return -1
    let end = at
    for (; isDigit(bytes[end] as number); end++) {
      if (end - at === most) return -1
      const next = low * 10 + ((bytes[end] as number) - 0x30)
      low = next >>> 0
      high = high * 10 + Math.floor(next / 0x1_0000_0000)
    }
    if (end === at) return -1
    return (quoted ? bytes[end] === 0x22 : isEnd(bytes[end] as number)) ? end : -1
  }
}

/** Halves of the number that was read last. */
let low = 0
let high = 0

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39

/** What may follow a number: white space, a comma, a closing bracket. */
const isEnd = (byte: number): boolean =>
  byte === 0x2c || byte === OBJECT_END || byte === LIST_END || (byte <= 0x20 && byte !== 0)
