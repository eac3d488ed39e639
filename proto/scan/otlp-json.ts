// The bytes of an OTLP JSON body -> the verdict of proto/otlp/check-json.ts, without building the body. The scanner judges what real
// exporters send; what is unusual (a field given twice, an old name, escapes in it, 64 levels, a container of another type) it leaves to
// check-json.ts, so that every verdict is the same. Only what is no JSON is refused here, with the byte.
import { checkJson, spanIds } from '#proto/otlp/check-json.ts'
import { MAX_DEPTH } from '#proto/otlp/fields.ts'
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from '#proto/otlp/span-ids.ts'
import { invalid, refusedSpans, type TracesVerdict } from '#proto/otlp/verdict.ts'
import { HEX, JsonFault, JsonScanner, JsonType, jsonFaultText } from './json.ts'
import { KeyTable } from './keys.ts'

/** What a scan came to. `unusual`: not decided here. */
export type OtlpScan = 'traces' | 'no-json' | 'unusual'

/** What a list holds. */
const ENTRY_LEVEL = 0
const SCOPE_LEVEL = 1
const SPAN_LEVEL = 2
type Level = typeof ENTRY_LEVEL | typeof SCOPE_LEVEL | typeof SPAN_LEVEL

const RESOURCE_SPANS = 0
/** In a group: the list that it holds. Key 0 says something about the group, what comes behind is an old name or of other signals. */
const HELD = 1
const TRACE_ID = 0
const SPAN_ID = 1
const PARENT_ID = 2
const ROOT_KEYS = new KeyTable([
  ['resourceSpans', 'resource_spans'],
  ['resourceLogs', 'resource_logs', 'resourceMetrics', 'resource_metrics', 'resourceProfiles'],
])
const ENTRY_KEYS = new KeyTable([
  'resource',
  ['scopeSpans', 'scope_spans'],
  ['scopeLogs', 'scopeMetrics', 'instrumentationLibrarySpans', 'instrumentation_library_spans'],
])
const SCOPED_KEYS = new KeyTable([
  'scope',
  'spans',
  ['logRecords', 'metrics', 'instrumentationLibrary', 'instrumentation_library'],
])
const SPAN_KEYS = new KeyTable([
  ['traceId', 'trace_id'],
  ['spanId', 'span_id'],
  ['parentSpanId', 'parent_span_id'],
])

/** A scanner of OTLP JSON. Reused for any number of bodies; what it found is valid until the next. */
export class OtlpJsonScanner {
  spans = 0
  rejected = 0
  /** Number of the first rejected span in order of the body, -1 = none. */
  firstRejected = -1
  /** Of the first span that is not rejected; valid when `hasTrace`. */
  readonly firstTraceId: Uint8Array = new Uint8Array(TRACE_ID_BYTES)
  hasTrace = false
  // Attributes cannot be nested too deeply for their protobuf form when the whole body is nested less deeply than that.
  readonly #scanner = new JsonScanner(MAX_DEPTH)
  /** Per id of the current span: where its value stands; -1 = none or null. */
  readonly #idAt = new Int32Array(3)
  #unusual = false

  /** Judges a body; see `checkTraces`. */
  verdict(body: Uint8Array): TracesVerdict {
    const scan = this.scan(body)
    if (scan === 'unusual') return checkJson(body)
    if (scan === 'no-json') return invalid(jsonFaultText(this.#scanner.fault, this.#scanner.faultAt, MAX_DEPTH))
    return {
      ok: true,
      spans: this.spans,
      rejected: this.rejected,
      firstTraceId: this.hasTrace ? this.firstTraceId.slice() : null,
      message: refusedSpans(this.rejected, this.firstRejected),
    }
  }

  /** Scans a body. After `traces` the fields hold what was found; nothing was allocated. */
  scan(body: Uint8Array): OtlpScan {
    const scanner = this.#scanner
    this.spans = 0
    this.rejected = 0
    this.firstRejected = -1
    this.hasTrace = false
    this.#unusual = false
    if (!scanner.begin(body)) return 'no-json'
    const at = scanner.space(0)
    const end = scanner.typeAt(at) === JsonType.object ? this.#root(at) : scanner.skip(at)
    if (this.#unusual || scanner.fault === JsonFault.depth) return 'unusual'
    if (end < 0 || !scanner.finish(end)) return 'no-json'
    return scanner.typeAt(at) === JsonType.object ? 'traces' : 'unusual'
  }

  #root(from: number): number {
    const scanner = this.#scanner
    let hasSpans = false
    let isSeen = false
    let isOther = false
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return -1
      const key = this.#known(ROOT_KEYS)
      if (key === RESOURCE_SPANS) {
        if (isSeen) return this.#leave()
        isSeen = true
        hasSpans = scanner.typeAt(at) !== JsonType.null
        at = this.#each(at, ENTRY_LEVEL)
      } else {
        if (key > RESOURCE_SPANS) isOther = true
        at = scanner.skip(at)
      }
      if (at < 0) return -1
      at = scanner.next(at, 0x7d)
    }
    if (at < 0) return -1
    return isOther && !hasSpans ? this.#leave() : scanner.close(at)
  }

  /** Steps over a list of entries, scopes or spans; null counts as an empty one. */
  #each(from: number, level: Level): number {
    const scanner = this.#scanner
    const type = scanner.typeAt(from)
    if (type === JsonType.null) return scanner.skip(from)
    if (type !== JsonType.array) return this.#leaveAt(from)
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== 0x5d) {
      if (scanner.typeAt(at) !== JsonType.object) return this.#leaveAt(at)
      at = level === SPAN_LEVEL ? this.#span(at) : this.#group(at, level)
      if (at < 0) return -1
      at = scanner.next(at, 0x5d)
    }
    return at < 0 ? -1 : scanner.close(at)
  }

  /** Steps over one of `resourceSpans` or `scopeSpans`: something about the group, and the list that it holds. */
  #group(from: number, level: Level): number {
    const scanner = this.#scanner
    const keys = level === ENTRY_LEVEL ? ENTRY_KEYS : SCOPED_KEYS
    let seen = 0
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return -1
      const key = this.#known(keys)
      if (key < 0) at = scanner.skip(at)
      else {
        if (key > HELD || (seen & (1 << key)) !== 0) return this.#leave()
        seen |= 1 << key
        at = key === HELD ? this.#each(at, level === ENTRY_LEVEL ? SCOPE_LEVEL : SPAN_LEVEL) : this.#about(at)
      }
      if (at < 0) return -1
      at = scanner.next(at, 0x7d)
    }
    return at < 0 ? -1 : scanner.close(at)
  }

  #span(from: number): number {
    const scanner = this.#scanner
    const ids = this.#idAt
    ids[TRACE_ID] = -1
    ids[SPAN_ID] = -1
    ids[PARENT_ID] = -1
    let seen = 0
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return -1
      const key = this.#known(SPAN_KEYS)
      if (key >= 0) {
        if ((seen & (1 << key)) !== 0) return this.#leave()
        seen |= 1 << key
        if (scanner.typeAt(at) !== JsonType.null) ids[key] = at
      }
      at = scanner.skip(at)
      if (at < 0) return -1
      at = scanner.next(at, 0x7d)
    }
    if (at < 0) return -1
    if (!this.#judgeIds()) {
      if (this.rejected++ === 0) this.firstRejected = this.spans
    }
    this.spans++
    return scanner.close(at)
  }

  /** True when the ids of the current span can be used. */
  #judgeIds(): boolean {
    const { bytes } = this.#scanner
    const [traceAt, spanAt, parentAt] = [
      this.#idAt[TRACE_ID] as number,
      this.#idAt[SPAN_ID] as number,
      this.#idAt[PARENT_ID] as number,
    ]
    const isPlain =
      hexIdAt(bytes, traceAt, TRACE_ID_BYTES * 2) &&
      hexIdAt(bytes, spanAt, SPAN_ID_BYTES * 2) &&
      (parentAt < 0 || isEmptyAt(bytes, parentAt) || hexIdAt(bytes, parentAt, SPAN_ID_BYTES * 2))
    if (!isPlain) return this.#judgeUnusualIds()
    if (!this.hasTrace) {
      this.hasTrace = true
      for (let i = 0; i < TRACE_ID_BYTES; i++) {
        const high = HEX[bytes[traceAt + 1 + 2 * i] as number] as number
        this.firstTraceId[i] = (high << 4) | (HEX[bytes[traceAt + 2 + 2 * i] as number] as number)
      }
    }
    return true
  }

  /** Ids in base64, of zeros, of another length or type: asked where all of them are defined. */
  #judgeUnusualIds(): boolean {
    const valueOf = (at: number): unknown => {
      if (at < 0) return undefined
      const scanner = this.#scanner
      return scanner.typeAt(at) === JsonType.string ? scanner.textOf(at + 1, scanner.string(at + 1) - 1) : false
    }
    const [traceId, spanId, parentSpanId] = [...this.#idAt].map(valueOf)
    const ids = spanIds({ traceId, spanId, parentSpanId })
    if (ids !== null && !this.hasTrace) {
      this.hasTrace = true
      this.firstTraceId.set(Buffer.from(ids.traceId, 'hex'))
    }
    return ids !== null
  }

  /** The number of the key that was stepped over last. */
  #known(keys: KeyTable): number {
    const { keyStart, keyEnd, escaped } = this.#scanner
    return keys.find(this.#scanner, keyStart, keyEnd, escaped)
  }

  /** Steps over a resource or a scope. */
  #about(at: number): number {
    const type = this.#scanner.typeAt(at)
    return type === JsonType.object || type === JsonType.null ? this.#scanner.skip(at) : this.#leaveAt(at)
  }

  /** Gives the body up for a value of an unusual type, or refuses what is no value. */
  #leaveAt(at: number): -1 {
    return this.#scanner.typeAt(at) === JsonType.none ? this.#scanner.unexpected(at) : this.#leave()
  }

  /** Gives the body up as unusual. */
  #leave(): -1 {
    this.#unusual = true
    return -1
  }
}

/** True for a text of so many hex digits, not all of them zero, whose opening quote is at `at`. */
function hexIdAt(bytes: Uint8Array, at: number, digits: number): boolean {
  if (at < 0 || bytes[at] !== 0x22 || bytes[at + digits + 1] !== 0x22) return false
  // Digits are 0 to 15, everything else is -1: one look at all bits tells both.
  let bits = 0
  for (let i = at + 1; i <= at + digits; i++) bits |= HEX[bytes[i] as number] as number
  return bits > 0
}

/** True for "". */
function isEmptyAt(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === 0x22 && bytes[at + 1] === 0x22
}
