// The part of opentelemetry/proto/{collector/trace,trace,resource,common}/v1 that parley reads, as data: number, name (as in
// OTLP JSON), wire type, and the message inside. What is not listed is unknown and skipped, as protobuf asks for.
import { Wire } from './wire.ts'

/** One field of a message. */
export interface FieldSpec {
  readonly number: number
  readonly name: string
  readonly wire: Wire
  readonly message: MessageSpec | null
  /** True for a list of messages. */
  readonly repeated: boolean
}

/** A message: its fields at the index of their number. */
export interface MessageSpec {
  readonly name: string
  readonly fields: (FieldSpec | undefined)[]
}

/** The message inside stands in brackets when the field is a list of them. */
type Row = readonly [number: number, name: string, wire: Wire, message?: MessageSpec | readonly [MessageSpec]]

function message(name: string, rows: readonly Row[]): MessageSpec {
  const spec: MessageSpec = { name, fields: [] }
  add(spec, rows)
  return spec
}

function add(spec: MessageSpec, rows: readonly Row[]): void {
  // Filled without holes: V8 keeps such an array fast to index.
  const last = Math.max(spec.fields.length - 1, ...rows.map(row => row[0]))
  while (spec.fields.length <= last) spec.fields.push(undefined)
  for (const [number, fieldName, wire, inner] of rows) {
    const repeated = inner !== undefined && !('fields' in inner)
    spec.fields[number] = { number, name: fieldName, wire, message: (repeated ? inner[0] : inner) ?? null, repeated }
  }
}

const { varint, fixed64, bytes, fixed32 } = Wire

// AnyValue, ArrayValue, KeyValueList and KeyValue contain one another, so AnyValue gets its nested fields last.
export const ANY_VALUE = message('AnyValue', [
  [1, 'stringValue', bytes],
  [2, 'boolValue', varint],
  [3, 'intValue', varint],
  [4, 'doubleValue', fixed64],
  [7, 'bytesValue', bytes],
])
export const KEY_VALUE = message('KeyValue', [
  [1, 'key', bytes],
  [2, 'value', bytes, ANY_VALUE],
])
export const ARRAY_VALUE = message('ArrayValue', [[1, 'values', bytes, [ANY_VALUE]]])
export const KEY_VALUE_LIST = message('KeyValueList', [[1, 'values', bytes, [KEY_VALUE]]])
add(ANY_VALUE, [
  [5, 'arrayValue', bytes, ARRAY_VALUE],
  [6, 'kvlistValue', bytes, KEY_VALUE_LIST],
])

export const RESOURCE = message('Resource', [
  [1, 'attributes', bytes, [KEY_VALUE]],
  [2, 'droppedAttributesCount', varint],
])
export const SCOPE = message('InstrumentationScope', [
  [1, 'name', bytes],
  [2, 'version', bytes],
  [3, 'attributes', bytes, [KEY_VALUE]],
  [4, 'droppedAttributesCount', varint],
])
export const EVENT = message('Event', [
  [1, 'timeUnixNano', fixed64],
  [2, 'name', bytes],
  [3, 'attributes', bytes, [KEY_VALUE]],
  [4, 'droppedAttributesCount', varint],
])
export const LINK = message('Link', [
  [1, 'traceId', bytes],
  [2, 'spanId', bytes],
  [3, 'traceState', bytes],
  [4, 'attributes', bytes, [KEY_VALUE]],
  [5, 'droppedAttributesCount', varint],
  [6, 'flags', fixed32],
])
export const STATUS = message('Status', [
  [2, 'message', bytes],
  [3, 'code', varint],
])
export const SPAN = message('Span', [
  [1, 'traceId', bytes],
  [2, 'spanId', bytes],
  [3, 'traceState', bytes],
  [4, 'parentSpanId', bytes],
  [5, 'name', bytes],
  [6, 'kind', varint],
  [7, 'startTimeUnixNano', fixed64],
  [8, 'endTimeUnixNano', fixed64],
  [9, 'attributes', bytes, [KEY_VALUE]],
  [10, 'droppedAttributesCount', varint],
  [11, 'events', bytes, [EVENT]],
  [12, 'droppedEventsCount', varint],
  [13, 'links', bytes, [LINK]],
  [14, 'droppedLinksCount', varint],
  [15, 'status', bytes, STATUS],
  [16, 'flags', fixed32],
])
export const SCOPE_SPANS = message('ScopeSpans', [
  [1, 'scope', bytes, SCOPE],
  [2, 'spans', bytes, [SPAN]],
  [3, 'schemaUrl', bytes],
])
export const RESOURCE_SPANS = message('ResourceSpans', [
  [1, 'resource', bytes, RESOURCE],
  [2, 'scopeSpans', bytes, [SCOPE_SPANS]],
  [3, 'schemaUrl', bytes],
])
/**
 * Where releases 0.15 to 0.18 kept `instrumentationLibrarySpans`, which they told senders of protobuf not to set. Older senders need
 * nothing: theirs stood under the number of `scopeSpans`, in the same form.
 */
export const OLD_SCOPE_SPANS = 1000
export const TRACES_DATA = message('ExportTraceServiceRequest', [[1, 'resourceSpans', bytes, [RESOURCE_SPANS]]])

/** Nesting of messages that is still read; what goes deeper is refused, so that no body can exhaust the stack. */
export const MAX_DEPTH = 64
