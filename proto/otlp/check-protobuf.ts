// A structural walk over an OTLP protobuf body: the definition of what is taken, and what finds the field and the byte at fault. What is
// as it should be is passed by proto/scan/otlp-protobuf.ts and never comes here.
// Promise: what passes can be decoded by decode-protobuf.ts without any further check of bounds, wire types or depth.
import { MAX_DEPTH, type MessageSpec, OLD_SCOPE_SPANS, RESOURCE_SPANS, SPAN, TRACES_DATA } from './fields.ts'
import { isIdAt, isZeroAt, SPAN_ID_BYTES, TRACE_ID_BYTES } from './span-ids.ts'
import { invalid, notTraces, refusedSpans, type TracesVerdict } from './verdict.ts'
import { Wire, WireCursor } from './wire.ts'

/** Number of `scopeSpans`. */
const SCOPES = 2

/** Judges a body; see `checkTraces`. */
export function checkProtobuf(body: Uint8Array): TracesVerdict {
  const walk = new Walk(body)
  if (walk.message(TRACES_DATA, body.length, 0) < 0) return walk.verdict()
  if (walk.spans > 0 && walk.timed === 0 && walk.spans === walk.rejected) {
    return notTraces('none of the spans has an id or a time')
  }
  return {
    ok: true,
    spans: walk.spans,
    rejected: walk.rejected,
    firstTraceId: walk.firstTraceAt < 0 ? null : body.slice(walk.firstTraceAt, walk.firstTraceAt + TRACE_ID_BYTES),
    message: refusedSpans(walk.rejected, walk.firstRejected),
  }
}

class Walk {
  spans = 0
  rejected = 0
  /** Spans that carry a start or an end. */
  timed = 0
  /** Number of the first rejected span, in order of the body. */
  firstRejected = -1
  firstTraceAt = -1
  readonly #cursor: WireCursor
  #path = ''
  #otherSignal = ''

  constructor(body: Uint8Array) {
    this.#cursor = new WireCursor(body)
  }

  /** Walks the message that ends at `end`; 0, or -1 with the reason kept. */
  message(spec: MessageSpec, end: number, depth: number): 0 | -1 {
    const cursor = this.#cursor
    const start = cursor.at
    let oldAt = -1
    let hasScopes = false
    while (cursor.at < end) {
      const tagAt = cursor.at
      const tag = cursor.tag(end)
      if (tag < 0) return -1
      const number = tag >>> 3
      const wire = tag & 7
      const field = number < spec.fields.length ? spec.fields[number] : undefined
      if (field === undefined) {
        if (cursor.skip(wire, end) < 0) return this.#inside(spec, start, tagAt, `field ${number}`, number)
        if (spec === RESOURCE_SPANS && number === OLD_SCOPE_SPANS) oldAt = tagAt
        continue
      }
      if (field.wire !== wire) {
        if (spec === SPAN) this.#otherSignal = otherSignal(number, wire)
        cursor.failAt(tagAt, `wire type ${wire} where ${field.wire} belongs`)
        return this.#inside(spec, start, tagAt, field.name, number)
      }
      if (this.#value(field.message, wire, end, depth) < 0) {
        return this.#inside(spec, start, tagAt, field.name, number)
      }
      if (spec === RESOURCE_SPANS && number === SCOPES) hasScopes = true
    }
    if (oldAt < 0 || hasScopes) return 0
    // Spans that stand there alone would be lost without a word.
    cursor.failAt(oldAt, 'instrumentationLibrarySpans are read in JSON only; send scopeSpans')
    return this.#inside(spec, start, oldAt, `field ${OLD_SCOPE_SPANS}`, OLD_SCOPE_SPANS)
  }

  #value(inner: MessageSpec | null, wire: number, end: number, depth: number): 0 | -1 {
    const cursor = this.#cursor
    if (inner === null) return cursor.skip(wire, end)
    const length = cursor.length(end)
    if (length < 0) return -1
    if (depth + 1 >= MAX_DEPTH) return cursor.fail(`nested deeper than ${MAX_DEPTH}`)
    const from = cursor.at
    if (this.message(inner, from + length, depth + 1) < 0) return -1
    if (inner === SPAN) this.#judge(from, from + length)
    return 0
  }

  /** Looks at the ids of a span that is known to be well-formed. Of a repeated field the last one counts. */
  #judge(start: number, end: number): void {
    const cursor = this.#cursor
    const bytes = cursor.bytes
    let traceAt = -1
    let good = 0
    let parentGood = true
    let timed = false
    cursor.at = start
    while (cursor.at < end) {
      const tag = cursor.tag(end)
      const number = tag >>> 3
      if (number === 1 || number === 2 || number === 4) {
        const length = cursor.length(end)
        const at = cursor.at
        if (number === 1) {
          traceAt = at
          good = isIdAt(bytes, at, length, TRACE_ID_BYTES) ? good | 1 : good & 2
        } else if (number === 2) good = isIdAt(bytes, at, length, SPAN_ID_BYTES) ? good | 2 : good & 1
        else parentGood = length === SPAN_ID_BYTES || isZeroAt(bytes, at, length)
        cursor.at = at + length
      } else {
        if (number === 7 || number === 8) timed = true
        cursor.skip(tag & 7, end)
      }
    }
    if (timed) this.timed++
    if (good !== 3 || !parentGood) {
      if (this.rejected++ === 0) this.firstRejected = this.spans
    } else if (this.firstTraceAt < 0) this.firstTraceAt = traceAt
    this.spans++
  }

  /** Puts a step in front of the path while the walk unwinds. */
  #inside(spec: MessageSpec, start: number, at: number, name: string, number: number): -1 {
    const step = spec.fields[number]?.repeated ? `${name}[${this.#countBefore(start, at, number)}]` : name
    this.#path = this.#path === '' ? step : `${step}.${this.#path}`
    return -1
  }

  /** How often a field came before `at` in the message that begins at `start`: only asked once a walk has failed. */
  #countBefore(start: number, at: number, number: number): number {
    const cursor = new WireCursor(this.#cursor.bytes, start)
    let count = 0
    while (cursor.at < at) {
      const tag = cursor.tag(at)
      if (tag < 0 || cursor.skip(tag & 7, at) < 0) break
      if (tag >>> 3 === number) count++
    }
    return count
  }

  /** The verdict on a walk that failed. */
  verdict(): TracesVerdict {
    const { fault, at } = this.#cursor
    const where = this.#path === '' ? '' : `${this.#path}: `
    const reason = `${where}${fault}, at byte ${at}`
    if (this.#otherSignal !== '' && this.spans === this.rejected) {
      return notTraces(`${reason}; the bytes fit ${this.#otherSignal}`)
    }
    return invalid(reason)
  }
}

/** The signal whose record has this field where a span has another; '' when neither logs nor metrics would. */
function otherSignal(number: number, wire: number): string {
  // LogRecord: 1 time and 11 observed time fixed64, 2 severity varint, 6 attributes bytes, 8 flags fixed32, 7 dropped varint.
  if ((number === 1 || number === 11) && wire === Wire.fixed64) return 'logs'
  if (number === 2 && wire === Wire.varint) return 'logs'
  if (number === 6 && wire === Wire.bytes) return 'logs'
  if (number === 8 && wire === Wire.fixed32) return 'logs'
  // Metric: 7 sum, 10 exponential histogram and 12 metadata are messages.
  if ((number === 7 || number === 10 || number === 12) && wire === Wire.bytes) return 'metrics'
  return ''
}
