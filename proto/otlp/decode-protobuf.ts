// OTLP protobuf -> spans. Precondition of everything here: `checkProtobuf` or the scanner has passed the bytes, so bounds, wire types
// and depth are known to be good and no read can fail.
import { fromNanosHalves, type Instant } from '#proto/time.ts'
import {
  type Attributes,
  NO_ATTRIBUTES,
  NO_RESOURCE,
  NO_SCOPE,
  type Resource,
  type Scope,
  type Span,
  type SpanEvent,
  type SpanLink,
  type SpanRecords,
  timeOrNull,
  type Value,
} from './span.ts'
import { isIdAt, isZeroAt, SPAN_ID_BYTES, TRACE_ID_BYTES } from './span-ids.ts'
import { Wire, WireCursor } from './wire.ts'

/** The spans of a body that `checkProtobuf` has passed, without the rejected ones. */
export function decodeProtobuf(body: Uint8Array): Span[] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const spans: Span[] = []
  new Reader(bytes, 0, bytes.length).each(traces => {
    if (traces.number === 1) readResourceSpans(traces.inner(), spans)
  })
  return spans
}

/** One span; null for a rejected one. Precondition: the range is that of a span in a body that was passed. */
export function decodeSpan(bytes: Buffer, from: number, to: number, resource: Resource, scope: Scope): Span | null {
  return readSpan(new Reader(bytes, from, to), resource, scope)
}

/** What a span carries beside its fields and attributes. Precondition: as for `decodeSpan`. */
export function decodeRecords(bytes: Buffer, from: number, to: number): SpanRecords {
  const records = noRecords()
  new Reader(bytes, from, to).each(field => readRecord(field, records))
  return records
}

/** One resource. */
export function decodeResource(bytes: Buffer, from: number, to: number): Resource {
  return { attributes: readAttributes(new Reader(bytes, from, to), 1, NO_RESOURCE.attributes) }
}

/** One scope. */
export function decodeScope(bytes: Buffer, from: number, to: number): Scope {
  return readScope(new Reader(bytes, from, to), NO_SCOPE)
}

/** An AnyValue. */
export function decodeValue(bytes: Buffer, from: number, to: number): Value {
  return readValue(new Reader(bytes, from, to))
}

/** Steps through the fields of one message. */
class Reader {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  /** Number of the field at hand. */
  number = 0
  /** Where the value of a length-delimited or fixed-size field lies. */
  from = 0
  to = 0
  /** The value of a varint field. */
  readonly cursor: WireCursor

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes
    this.start = start
    this.end = end
    this.cursor = new WireCursor(bytes, start)
  }

  /** Calls `take` for each field in order. */
  each(take: (field: this) => void): void {
    const { cursor, end } = this
    cursor.at = this.start
    while (cursor.at < end) {
      const tag = cursor.tag(end)
      const wire = tag & 7
      this.number = tag >>> 3
      if (wire === Wire.varint) cursor.varint(end)
      else {
        const size = wire === Wire.bytes ? cursor.length(end) : wire === Wire.fixed64 ? 8 : 4
        this.from = cursor.at
        this.to = cursor.at + size
        cursor.at = this.to
      }
      take(this)
    }
  }

  /** A reader of the message at hand. */
  inner(): Reader {
    return new Reader(this.bytes, this.from, this.to)
  }

  text(): string {
    return this.bytes.toString('utf8', this.from, this.to)
  }

  hex(): string {
    return this.bytes.toString('hex', this.from, this.to)
  }

  /** An id, '' when the bytes at hand are none. */
  id(size: number): string {
    return isIdAt(this.bytes, this.from, this.to - this.from, size) ? this.hex() : ''
  }

  time(): Instant | null {
    return timeOrNull(fromNanosHalves(this.bytes.readUInt32LE(this.from), this.bytes.readUInt32LE(this.from + 4)))
  }

  /** An unsigned count or an enum. */
  count(): number {
    return this.cursor.high === 0 ? this.cursor.low : 0
  }
}

function readResourceSpans(message: Reader, spans: Span[]): void {
  // The resource may stand after the spans it belongs to.
  let resource = NO_RESOURCE
  message.each(field => {
    if (field.number === 1) resource = { attributes: readAttributes(field.inner(), 1, resource.attributes) }
  })
  message.each(field => {
    if (field.number === 2) readScopeSpans(field.inner(), resource, spans)
  })
}

function readScopeSpans(message: Reader, resource: Resource, spans: Span[]): void {
  let scope = NO_SCOPE
  message.each(field => {
    if (field.number === 1) scope = readScope(field.inner(), scope)
  })
  message.each(field => {
    if (field.number !== 2) return
    const span = readSpan(field.inner(), resource, scope)
    if (span !== null) spans.push(span)
  })
}

function readScope(message: Reader, before: Scope): Scope {
  let { name, version } = before
  message.each(field => {
    if (field.number === 1) name = field.text()
    else if (field.number === 2) version = field.text()
  })
  return { name, version, attributes: readAttributes(message, 3, before.attributes) }
}

type Draft = { -readonly [K in keyof Span]: Span[K] }

function readSpan(message: Reader, resource: Resource, scope: Scope): Span | null {
  const span: Draft = {
    ...{ traceId: '', spanId: '', parentSpanId: '', name: '', kind: 0, start: null, end: null },
    ...{ attributes: NO_ATTRIBUTES, statusCode: 0, statusMessage: '', resource, scope },
    ...noRecords(),
  }
  const attributes = new Map<string, Value>()
  const records = noRecords()
  let parentGood = true
  message.each(field => {
    switch (field.number) {
      case 1:
        span.traceId = field.id(TRACE_ID_BYTES)
        break
      case 2:
        span.spanId = field.id(SPAN_ID_BYTES)
        break
      case 4: {
        const length = field.to - field.from
        const none = isZeroAt(field.bytes, field.from, length)
        parentGood = none || length === SPAN_ID_BYTES
        span.parentSpanId = none ? '' : field.hex()
        break
      }
      case 5:
        span.name = field.text()
        break
      case 6:
        span.kind = field.count() <= 5 ? field.count() : 0
        break
      case 7:
        span.start = field.time()
        break
      case 8:
        span.end = field.time()
        break
      case 9:
        readKeyValue(field.inner(), attributes)
        break
      case 15:
        readStatus(field.inner(), span)
        break
      default:
        readRecord(field, records)
    }
  })
  if (span.traceId === '' || span.spanId === '' || !parentGood) return null
  return Object.assign(span, { attributes }, records)
}

type Records = { -readonly [K in keyof SpanRecords]: SpanRecords[K] } & { events: SpanEvent[]; links: SpanLink[] }

const noRecords = (): Records => ({
  traceState: '',
  events: [],
  links: [],
  droppedAttributes: 0,
  droppedEvents: 0,
  droppedLinks: 0,
})

/** Takes a field of a span when it is one of its records. */
function readRecord(field: Reader, into: Records): void {
  switch (field.number) {
    case 3:
      into.traceState = field.text()
      break
    case 10:
      into.droppedAttributes = field.count()
      break
    case 11:
      into.events.push(readEvent(field.inner()))
      break
    case 12:
      into.droppedEvents = field.count()
      break
    case 13:
      into.links.push(readLink(field.inner()))
      break
    case 14:
      into.droppedLinks = field.count()
      break
  }
}

function readStatus(message: Reader, span: Draft): void {
  message.each(field => {
    if (field.number === 2) span.statusMessage = field.text()
    else if (field.number === 3) span.statusCode = field.count() <= 2 ? field.count() : 0
  })
}

function readEvent(message: Reader): SpanEvent {
  let at: Instant | null = null
  let name = ''
  message.each(field => {
    if (field.number === 1) at = field.time()
    else if (field.number === 2) name = field.text()
  })
  return { at, name, attributes: readAttributes(message, 3, NO_ATTRIBUTES) }
}

function readLink(message: Reader): SpanLink {
  let traceId = ''
  let spanId = ''
  let traceState = ''
  message.each(field => {
    if (field.number === 1) traceId = field.id(TRACE_ID_BYTES)
    else if (field.number === 2) spanId = field.id(SPAN_ID_BYTES)
    else if (field.number === 3) traceState = field.text()
  })
  return { traceId, spanId, traceState, attributes: readAttributes(message, 4, NO_ATTRIBUTES) }
}

/** The attributes that stand under a field number, after those found before. */
function readAttributes(message: Reader, number: number, before: Attributes): Attributes {
  const attributes = new Map(before)
  message.each(field => {
    if (field.number === number) readKeyValue(field.inner(), attributes)
  })
  return attributes
}

function readKeyValue(message: Reader, into: Map<string, Value>): void {
  let key = ''
  let value: Value = null
  message.each(field => {
    if (field.number === 1) key = field.text()
    else if (field.number === 2) value = readValue(field.inner())
  })
  into.set(key, value)
}

function readValue(message: Reader): Value {
  let value: Value = null
  message.each(field => {
    switch (field.number) {
      case 1:
        value = field.text()
        break
      case 2:
        value = field.cursor.low !== 0 || field.cursor.high !== 0
        break
      case 3:
        value = int64(field.cursor.low, field.cursor.high)
        break
      case 4:
        value = field.bytes.readDoubleLE(field.from)
        break
      case 5:
        value = readArray(field.inner())
        break
      case 6:
        value = readList(field.inner())
        break
      case 7:
        value = field.bytes.toString('base64', field.from, field.to)
        break
    }
  })
  return value
}

function readArray(message: Reader): Value {
  const values: Value[] = []
  message.each(field => {
    if (field.number === 1) values.push(readValue(field.inner()))
  })
  return values
}

function readList(message: Reader): Value {
  const entries = new Map<string, Value>()
  message.each(field => {
    if (field.number === 1) readKeyValue(field.inner(), entries)
  })
  const object: Record<string, Value> = Object.create(null) as Record<string, Value>
  for (const [key, value] of entries) object[key] = value
  return object
}

/** A signed 64-bit integer: a number where that is exact, else its digits. */
function int64(low: number, high: number): Value {
  const number = (high | 0) * 0x1_0000_0000 + low
  if (Number.isSafeInteger(number)) return number
  return BigInt.asIntN(64, (BigInt(high) << 32n) | BigInt(low)).toString()
}
