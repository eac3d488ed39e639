// An OTLP JSON body: parsed, then judged by its shape. The same judgement runs before decoding, so that check and parser agree.
// Containers of a wrong type refuse the request; a span with bad ids refuses itself; anything odd inside a span refuses nothing.
import { isObject, type JsonObject, readJson } from '#proto/json.ts'
import { MAX_DEPTH } from './fields.ts'
import { idFromText, isZeroText, SPAN_ID_BYTES, TRACE_ID_BYTES } from './span-ids.ts'
import { invalid, notTraces, type Refusal, refusedSpans, type TracesVerdict } from './verdict.ts'

/** Judges a body; see `checkTraces`. */
export function checkJson(body: Uint8Array): TracesVerdict {
  const read = readJson(body)
  return 'reason' in read ? invalid(read.reason) : judgeJson(read.value)
}

/** A field by its OTLP JSON name, or by the snake_case name that some exporters write; null and absent are the same. */
export function field(object: JsonObject, camel: string, snake: string): unknown {
  return object[camel] ?? object[snake] ?? undefined
}

/**
 * The list of scopes in an entry, and its name. Until OTLP 0.15 it was `instrumentationLibrarySpans`; in the releases after it some
 * senders wrote the same spans under both names, so the old one counts, as those releases say, where the new one holds nothing.
 */
export function scopesOf(entry: JsonObject): { readonly name: string; readonly list: unknown } {
  const scopeSpans = field(entry, 'scopeSpans', 'scope_spans')
  const old = field(entry, 'instrumentationLibrarySpans', 'instrumentation_library_spans')
  const isEmpty = scopeSpans === undefined || (Array.isArray(scopeSpans) && scopeSpans.length === 0)
  return isEmpty && old !== undefined
    ? { name: 'instrumentationLibrarySpans', list: old }
    : { name: 'scopeSpans', list: scopeSpans }
}

/** The scope of an entry of that list, under either of its names. */
export function scopeIn(scoped: JsonObject): unknown {
  return scoped.scope ?? field(scoped, 'instrumentationLibrary', 'instrumentation_library')
}

/** The ids of a span in lower-case hex ('' = no parent), or null when the span must be refused. */
export function spanIds(span: JsonObject): { traceId: string; spanId: string; parentSpanId: string } | null {
  const traceId = idFromText(field(span, 'traceId', 'trace_id'), TRACE_ID_BYTES)
  const spanId = idFromText(field(span, 'spanId', 'span_id'), SPAN_ID_BYTES)
  if (traceId === null || spanId === null) return null
  const parent = field(span, 'parentSpanId', 'parent_span_id') ?? ''
  if (typeof parent !== 'string') return null
  if (isZeroText(parent)) return { traceId, spanId, parentSpanId: '' }
  const parentSpanId = idFromText(parent, SPAN_ID_BYTES)
  // The zero id in base64 is "AAAAAAAAAAA=": decoded as an id it is none, and none is a root.
  if (parentSpanId === null) return /^A{11}=?$/.test(parent) ? { traceId, spanId, parentSpanId: '' } : null
  return { traceId, spanId, parentSpanId }
}

/** Judges the parsed body. */
export function judgeJson(root: unknown): TracesVerdict {
  if (!isObject(root)) return mustBe('the body', 'an object')
  const resourceSpans = field(root, 'resourceSpans', 'resource_spans')
  if (resourceSpans === undefined) {
    for (const key of ['resourceLogs', 'resource_logs', 'resourceMetrics', 'resource_metrics', 'resourceProfiles']) {
      if (key in root) return notTraces(`the body has ${key}`)
    }
  }
  const tally = { spans: 0, rejected: 0, firstRejected: -1, firstTraceId: null as string | null }
  const fault = eachOf(resourceSpans, 'resourceSpans', (entry, at) => judgeResource(entry, at, tally))
  if (fault !== null) return fault
  return {
    ok: true,
    spans: tally.spans,
    rejected: tally.rejected,
    firstTraceId: tally.firstTraceId === null ? null : new Uint8Array(Buffer.from(tally.firstTraceId, 'hex')),
    message: refusedSpans(tally.rejected, tally.firstRejected),
  }
}

interface Tally {
  spans: number
  rejected: number
  firstRejected: number
  firstTraceId: string | null
}

function judgeResource(entry: JsonObject, path: string, tally: Tally): Refusal | null {
  if ('scopeLogs' in entry || 'scopeMetrics' in entry) return notTraces(`${path} has logs or metrics`)
  const resource = entry.resource ?? undefined
  if (resource !== undefined) {
    if (!isObject(resource)) return mustBe(`${path}.resource`, 'an object')
    const fault = judgeAttributes(resource.attributes, `${path}.resource.attributes`, 3)
    if (fault !== null) return fault
  }
  const { name, list } = scopesOf(entry)
  return eachOf(list, `${path}.${name}`, (scoped, at) => {
    if ('logRecords' in scoped || 'metrics' in scoped) return notTraces(`${at} has logs or metrics`)
    const scope = scopeIn(scoped)
    if (scope !== undefined) {
      if (!isObject(scope)) return mustBe(`${at}.scope`, 'an object')
      const fault = judgeAttributes(scope.attributes, `${at}.scope.attributes`, 4)
      if (fault !== null) return fault
    }
    return eachOf(scoped.spans, `${at}.spans`, (span, spanAt) => judgeSpan(span, spanAt, tally))
  })
}

function judgeSpan(span: JsonObject, path: string, tally: Tally): Refusal | null {
  const ids = spanIds(span)
  if (ids === null) {
    if (tally.rejected++ === 0) tally.firstRejected = tally.spans
  } else tally.firstTraceId ??= ids.traceId
  tally.spans++
  const fault = judgeAttributes(span.attributes, `${path}.attributes`, 4)
  if (fault !== null) return fault
  for (const list of ['events', 'links'] as const) {
    const entries = span[list]
    if (!Array.isArray(entries)) continue
    for (const [i, entry] of entries.entries()) {
      if (!isObject(entry)) continue
      const inner = judgeAttributes(entry.attributes, `${path}.${list}[${i}].attributes`, 5)
      if (inner !== null) return inner
    }
  }
  return null
}

/**
 * Only depth can refuse attributes: everything else in them is read as far as it makes sense. `depth` is that of the KeyValue
 * message in the protobuf form, so that both encodings allow the same nesting.
 */
function judgeAttributes(attributes: unknown, path: string, depth: number): Refusal | null {
  return entriesTooDeep(attributes, depth) ? invalid(`${path}: nested deeper than ${MAX_DEPTH}`) : null
}

function entriesTooDeep(entries: unknown, depth: number): boolean {
  if (!Array.isArray(entries) || entries.length === 0) return false
  if (depth >= MAX_DEPTH) return true
  return entries.some(entry => isObject(entry) && valueTooDeep(entry.value, depth + 1))
}

function valueTooDeep(value: unknown, depth: number): boolean {
  if (!isObject(value)) return false
  if (depth >= MAX_DEPTH) return true
  const array = field(value, 'arrayValue', 'array_value')
  const list = field(value, 'kvlistValue', 'kvlist_value')
  if (isObject(array)) {
    if (depth + 1 >= MAX_DEPTH) return true
    if (Array.isArray(array.values) && array.values.some(inner => valueTooDeep(inner, depth + 2))) return true
  }
  if (!isObject(list)) return false
  return depth + 1 >= MAX_DEPTH || entriesTooDeep(list.values, depth + 2)
}

function eachOf(
  list: unknown,
  path: string,
  judge: (entry: JsonObject, path: string) => Refusal | null,
): Refusal | null {
  if (list === undefined || list === null) return null
  if (!Array.isArray(list)) return mustBe(path, 'a list')
  for (let i = 0; i < list.length; i++) {
    const entry: unknown = list[i]
    const at = `${path}[${i}]`
    if (!isObject(entry)) return mustBe(at, 'an object')
    const fault = judge(entry, at)
    if (fault !== null) return fault
  }
  return null
}

function mustBe(path: string, expected: string): Refusal {
  return invalid(`${path} must be ${expected}`)
}
