// OTLP trace exports as protobufjs decodes them: what the fuzz runs and the bench hold the walk against. Never used by a part that runs.
import protobuf, { type Reader } from 'protobufjs'
import { MAX_DEPTH } from '#proto/otlp/fields.ts'

// opentelemetry/proto/{collector/trace,trace,resource,common}/v1, without comments and what is deprecated. Two words differ: `optional`
// makes protobufjs tell a time of zero from none, and enums are int32, which is the same on the wire.
const TRACES_PROTO = `
syntax = "proto3";
message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  string trace_state = 3;
  bytes parent_span_id = 4;
  string name = 5;
  int32 kind = 6;
  optional fixed64 start_time_unix_nano = 7;
  optional fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9;
  uint32 dropped_attributes_count = 10;
  repeated Event events = 11;
  uint32 dropped_events_count = 12;
  repeated Link links = 13;
  uint32 dropped_links_count = 14;
  Status status = 15;
  fixed32 flags = 16;
}
message Event {
  fixed64 time_unix_nano = 1;
  string name = 2;
  repeated KeyValue attributes = 3;
  uint32 dropped_attributes_count = 4;
}
message Link {
  bytes trace_id = 1;
  bytes span_id = 2;
  string trace_state = 3;
  repeated KeyValue attributes = 4;
  uint32 dropped_attributes_count = 5;
  fixed32 flags = 6;
}
message Status { string message = 2; int32 code = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message InstrumentationScope {
  string name = 1;
  string version = 2;
  repeated KeyValue attributes = 3;
  uint32 dropped_attributes_count = 4;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1;
    bool bool_value = 2;
    int64 int_value = 3;
    double double_value = 4;
    ArrayValue array_value = 5;
    KeyValueList kvlist_value = 6;
    bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
`

/** The decoder of a whole body. */
export const TracesType = protobuf.parse(TRACES_PROTO).root.lookupType('ExportTraceServiceRequest')

/** A decoded span, as far as it is looked at here. */
interface DecodedSpan {
  readonly traceId?: Uint8Array
  readonly spanId?: Uint8Array
  readonly parentSpanId?: Uint8Array
  readonly startTimeUnixNano?: unknown
  readonly endTimeUnixNano?: unknown
}
/** A decoded body. */
export interface DecodedTraces {
  readonly resourceSpans?: readonly { readonly scopeSpans?: readonly { readonly spans?: readonly DecodedSpan[] }[] }[]
}
/** Any decoded message: its fields, and the bytes of those that have no place in its type. */
interface Decoded {
  readonly $type: protobuf.Type
  readonly $unknowns?: readonly Uint8Array[]
  readonly [field: string]: unknown
}

/** What protobufjs makes of a body: what the receiver must find, in the same words. */
export interface DecodedTally {
  spans: number
  rejected: number
  firstRejected: number
  /** Spans that carry a start or an end. */
  timed: number
  /** Lower-case hex of trace, span and parent id of each span that is not rejected; '' = no parent. */
  readonly ids: string[]
}

/** The spans of a decoded body, judged by their ids alone. */
export function tallyOf(decoded: unknown): DecodedTally {
  const tally: DecodedTally = { spans: 0, rejected: 0, firstRejected: -1, timed: 0, ids: [] }
  for (const { scopeSpans = [] } of (decoded as DecodedTraces).resourceSpans ?? [])
    for (const { spans = [] } of scopeSpans) for (const span of spans) addSpan(tally, span)
  return tally
}

function addSpan(tally: DecodedTally, span: DecodedSpan): void {
  const [traceId, spanId, parent] = [hexOf(span.traceId), hexOf(span.spanId), hexOf(span.parentSpanId)]
  const isGood = /^(?!0*$)[^]{32}$/.test(traceId) && /^(?!0*$)[^]{16}$/.test(spanId) && /^(0*|[^]{16})$/.test(parent)
  if (isGood) tally.ids.push(`${traceId} ${spanId} ${/^0*$/.test(parent) ? '' : parent}`)
  else if (tally.rejected++ === 0) tally.firstRejected = tally.spans
  if (Object.hasOwn(span, 'startTimeUnixNano') || Object.hasOwn(span, 'endTimeUnixNano')) tally.timed++
  tally.spans++
}

function hexOf(id: Uint8Array | undefined): string {
  return id === undefined ? '' : Buffer.from(id).toString('hex')
}

/** A body as plain protobufjs decodes it; null when it throws. */
export function decodePlainly(body: Uint8Array): unknown {
  try {
    return TracesType.decode(body)
  } catch {
    return null
  }
}

/** What came of a body: the message, or where the reader stood when it threw, -1 when it read on behind what is refused. */
export type DecodedAlike = { readonly decoded: unknown } | { readonly decoded: null; readonly stoppedAt: number }

/**
 * A body as protobufjs decodes it when it agrees with parley on what is meant to differ. The differences, each one method or line here: a
 * known field of another wire type is refused, as that is how another signal looks; groups are refused; a text need not be UTF-8 (it is
 * mended when it is stored); a varint has at most ten bytes and 64 bits, whether it is known or not; a length may be written with more
 * bytes than it needs; messages nest 64 deep and not 100.
 */
export function decodeAlike(body: Uint8Array): DecodedAlike {
  const { recursionLimit } = protobuf.Reader
  protobuf.Reader.recursionLimit = MAX_DEPTH - 1
  const reader = new AlikeReader(Buffer.from(body.buffer, body.byteOffset, body.length))
  reader.discardUnknown = false
  try {
    const decoded = TracesType.decode(reader) as unknown as Decoded
    if (!reader.skippedLow || !hasOtherWireType(decoded)) return { decoded }
  } catch {
    if (!reader.skippedLow) return { decoded: null, stoppedAt: reader.pos }
  } finally {
    protobuf.Reader.recursionLimit = recursionLimit
  }
  return { decoded: null, stoppedAt: -1 }
}

const VARINT_BYTES = 10

class AlikeReader extends protobuf.BufferReader {
  /** True once a field was skipped whose number may be known. */
  skippedLow = false

  override skipType(wireType: number, depth?: number, fieldNumber?: number): Reader {
    if (wireType === 3) throw new Error('a group')
    if (fieldNumber !== undefined && fieldNumber < 17) this.skippedLow = true
    return super.skipType(wireType, depth, fieldNumber)
  }
  override stringVerify(): string {
    return this.string()
  }
  override skip(length?: number): Reader {
    if (length === undefined) this.#wholeVarint()
    return super.skip(length)
  }
  override bool(): boolean {
    this.#wholeVarint()
    return super.bool()
  }
  override uint32(): number {
    this.#wholeVarint()
    return super.uint32()
  }
  override int64(): ReturnType<Reader['int64']> {
    this.#wholeVarint()
    return super.int64()
  }
  override size(): number {
    const { value, end } = this.#wholeVarint()
    if (value > 0xffff_ffffn) throw new Error('a length beyond 32 bits')
    this.pos = end
    return Number(value)
  }

  /** The varint at hand, without stepping over it. */
  #wholeVarint(): { value: bigint; end: number } {
    let value = 0n
    for (let i = 0; i < VARINT_BYTES && this.pos + i < this.len; i++) {
      const byte = this.buf[this.pos + i] as number
      value |= BigInt(byte & 0x7f) << BigInt(7 * i)
      if (byte >= 0x80) continue
      if (value >= 1n << 64n) throw new Error('a number beyond 64 bits')
      return { value, end: this.pos + i + 1 }
    }
    throw new Error('a number that is cut or longer than ten bytes')
  }
}

/** True when a message holds a field of a known number that it did not read: its wire type is another. */
function hasOtherWireType(message: Decoded): boolean {
  const { $type: type, $unknowns: unknowns = [] } = message
  if (unknowns.some(bytes => type.fieldsById[protobuf.Reader.create(bytes).tag() >>> 3] !== undefined)) return true
  return type.fieldsArray.some(field => {
    const value = message[field.name]
    if (!(field.resolvedType instanceof protobuf.Type) || value === undefined || value === null) return false
    return (Array.isArray(value) ? value : [value]).some(inner => hasOtherWireType(inner as Decoded))
  })
}
