// OTLP JSON, parsed -> spans. Reads what specification and practice allow: int64 as text or number, enums as numbers or names,
// hex ids of either case, null as absent, snake_case names. What it cannot make sense of inside a span counts as absent.
import { digitsOf, isObject, type JsonObject } from '#proto/json.ts'
import { fromNanosText, type Instant } from '#proto/time.ts'
import { field, scopeIn, scopesOf, spanIds } from './check-json.ts'
import {
  type Attributes,
  NO_ATTRIBUTES,
  NO_SCOPE,
  type Resource,
  type Scope,
  type Span,
  type SpanEvent,
  type SpanLink,
  timeOrNull,
  type Value,
} from './span.ts'
import { idFromText, SPAN_ID_BYTES, TRACE_ID_BYTES } from './span-ids.ts'

/** The spans of a body that `judgeJson` has passed, without the rejected ones. */
export function decodeJson(root: unknown): Span[] {
  const spans: Span[] = []
  for (const resourceSpans of objects(root, 'resourceSpans', 'resource_spans')) {
    const resource: Resource = { attributes: attributesOf(resourceSpans.resource) }
    for (const scopeSpans of objectsIn(scopesOf(resourceSpans).list)) {
      const scope = scopeOf(scopeIn(scopeSpans))
      for (const span of objects(scopeSpans, 'spans', 'spans')) {
        const ids = spanIds(span)
        if (ids !== null) spans.push(spanOf(span, ids, resource, scope))
      }
    }
  }
  return spans
}

function spanOf(
  span: JsonObject,
  ids: NonNullable<ReturnType<typeof spanIds>>,
  resource: Resource,
  scope: Scope,
): Span {
  const status = isObject(span.status) ? span.status : {}
  return {
    ...ids,
    traceState: textOf(field(span, 'traceState', 'trace_state')),
    name: textOf(span.name),
    kind: enumOf(span.kind, spanKinds),
    start: timeOf(field(span, 'startTimeUnixNano', 'start_time_unix_nano')),
    end: timeOf(field(span, 'endTimeUnixNano', 'end_time_unix_nano')),
    attributes: attributesOf(span),
    events: objects(span, 'events', 'events').map(eventOf),
    links: objects(span, 'links', 'links').map(linkOf),
    statusCode: enumOf(status.code, statusCodes),
    statusMessage: textOf(status.message),
    droppedAttributes: countOf(field(span, 'droppedAttributesCount', 'dropped_attributes_count')),
    droppedEvents: countOf(field(span, 'droppedEventsCount', 'dropped_events_count')),
    droppedLinks: countOf(field(span, 'droppedLinksCount', 'dropped_links_count')),
    resource,
    scope,
  }
}

function scopeOf(scope: unknown): Scope {
  if (!isObject(scope)) return NO_SCOPE
  return { name: textOf(scope.name), version: textOf(scope.version), attributes: attributesOf(scope) }
}

function eventOf(event: JsonObject): SpanEvent {
  return {
    at: timeOf(field(event, 'timeUnixNano', 'time_unix_nano')),
    name: textOf(event.name),
    attributes: attributesOf(event),
  }
}

function linkOf(link: JsonObject): SpanLink {
  return {
    traceId: idFromText(field(link, 'traceId', 'trace_id'), TRACE_ID_BYTES) ?? '',
    spanId: idFromText(field(link, 'spanId', 'span_id'), SPAN_ID_BYTES) ?? '',
    traceState: textOf(field(link, 'traceState', 'trace_state')),
    attributes: attributesOf(link),
  }
}

function attributesOf(holder: unknown): Attributes {
  if (!isObject(holder) || !Array.isArray(holder.attributes) || holder.attributes.length === 0) return NO_ATTRIBUTES
  const attributes = new Map<string, Value>()
  for (const entry of holder.attributes) {
    if (isObject(entry) && isKey(entry.key)) attributes.set(entry.key ?? '', valueOf(entry.value))
  }
  return attributes
}

/** An absent key is the empty one, as in protobuf. */
function isKey(key: unknown): key is string | null | undefined {
  return key === undefined || key === null || typeof key === 'string'
}

function valueOf(any: unknown): Value {
  if (!isObject(any)) return null
  const text = field(any, 'stringValue', 'string_value')
  if (text !== undefined) return typeof text === 'string' ? text : null
  const integer = field(any, 'intValue', 'int_value')
  if (integer !== undefined) return integerOf(integer)
  const double = field(any, 'doubleValue', 'double_value')
  if (double !== undefined) return doubleOf(double)
  const bool = field(any, 'boolValue', 'bool_value')
  if (bool !== undefined)
    return typeof bool === 'boolean' ? bool : bool === 'true' ? true : bool === 'false' ? false : null
  const array = field(any, 'arrayValue', 'array_value')
  if (isObject(array)) return Array.isArray(array.values) ? array.values.map(valueOf) : []
  const list = field(any, 'kvlistValue', 'kvlist_value')
  if (isObject(list)) return kvlistOf(list.values)
  const bytes = field(any, 'bytesValue', 'bytes_value')
  return typeof bytes === 'string' ? Buffer.from(bytes, 'base64').toString('base64') : null
}

function kvlistOf(entries: unknown): Value {
  const object: Record<string, Value> = Object.create(null) as Record<string, Value>
  if (!Array.isArray(entries)) return object
  for (const entry of entries) if (isObject(entry) && isKey(entry.key)) object[entry.key ?? ''] = valueOf(entry.value)
  return object
}

function integerOf(sent: unknown): Value {
  const value = digitsOf(sent) ?? sent
  if (typeof value === 'number') return value
  // Longer digits are no int64; as they were sent they are still worth keeping.
  if (typeof value !== 'string' || !/^-?\d{1,20}$/.test(value)) return typeof value === 'string' ? value : null
  const number = Number(value)
  return Number.isSafeInteger(number) ? number + 0 : BigInt(value).toString()
}

function doubleOf(sent: unknown): Value {
  const digits = digitsOf(sent)
  const value = digits === null ? sent : Number(digits)
  if (typeof value === 'number') return value
  if (typeof value !== 'string') return null
  const number = Number(value)
  return value.trim() !== '' && (value === 'NaN' || !Number.isNaN(number)) ? number : value
}

function timeOf(sent: unknown): Instant | null {
  const value = digitsOf(sent) ?? sent
  if (typeof value === 'string') return timeOrNull(fromNanosText(value))
  if (typeof value !== 'number' || !(value > 0) || value > 2 ** 63) return null
  return timeOrNull(fromNanosText(BigInt(Math.floor(value)).toString()))
}

const spanKinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'].map(
  name => `SPAN_KIND_${name}`,
)
const statusCodes = ['UNSET', 'OK', 'ERROR'].map(name => `STATUS_CODE_${name}`)

function enumOf(value: unknown, names: readonly string[]): number {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < names.length) return number
  return typeof value === 'string' ? Math.max(0, names.indexOf(value)) : 0
}

function countOf(value: unknown): number {
  const number = typeof value === 'string' ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number > 0 ? number : 0
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function objects(holder: unknown, camel: string, snake: string): JsonObject[] {
  return objectsIn(isObject(holder) ? field(holder, camel, snake) : undefined)
}

function objectsIn(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : []
}
