// Recorded exports -> one request that comes out the same however often it is recorded: ids, times, ports, paths and the machine's
// own marks are replaced; everything else stays as it was sent. Spans are ordered as they end, as exporters send them.
import { createHash } from 'node:crypto'
import type { Message } from './transcode.ts'

/** What else changes from run to run with one SDK. */
export interface Volatile {
  /** Parts of texts, replaced by a text made of their rank. */
  readonly texts?: readonly RegExp[]
  /** Keys of attributes whose numbers are measurements, beside the usual ones. */
  readonly measured?: readonly string[]
  /** Paths that become /app. */
  readonly paths: readonly string[]
}

interface Span extends Message {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  events?: { timeUnixNano: string }[]
  links?: { traceId: string; spanId: string }[]
}

interface Group {
  readonly resource: Message
  readonly scope: Message
  readonly around: Message
  readonly within: Message
  readonly spans: Span[]
}

/** 2026-09-21 14:13:10 UTC. */
const BASE_NANOS = 1_789_999_990_000_000_000n
const TICK_NANOS = 1_250_000n

/** Attributes that describe the machine and the process. */
const machine =
  /^(host|process|os)\.|^service\.instance\.id$|^telemetry\.distro\.|^thread\.|^code\.(file|line)|^server\.port$/

/** Attributes that hold measured numbers. */
const measurements =
  /(duration|latency|elapsed|ttft|time_to_first|msToF|msToFinish|PerSecond|per_second|_seconds$|_ms$|Ms$)/

/** One request from many. `label` keeps the ids of different recordings apart. */
export function normalise(label: string, requests: readonly Message[], volatile: Volatile): Message {
  const groups = groupsOf(requests)
  const tree = new Tree(groups.flatMap(group => group.spans))
  const clean = new Cleaner(label, tree.spans, volatile)
  // In the order of the conversation, so that the first id that is met is always the same.
  for (const span of tree.spans) cleanSpan(span, clean)
  for (const group of groups) {
    cleanAttributes(group.resource, clean)
    cleanAttributes(group.scope, clean)
    group.spans.sort((a, b) => tree.endRank(a) - tree.endRank(b))
  }
  groups.sort((a, b) => tree.endRank(a.spans[0] as Span) - tree.endRank(b.spans[0] as Span))
  tree.retime()
  return { resourceSpans: nested(groups) }
}

function groupsOf(requests: readonly Message[]): Group[] {
  const groups = new Map<string, Group>()
  for (const request of requests) {
    for (const { resource, scopeSpans, ...around } of list(request.resourceSpans)) {
      for (const { scope, spans, ...within } of list(scopeSpans)) {
        const key = JSON.stringify([resource, scope, around, within])
        const group = groups.get(key)
        if (group !== undefined) group.spans.push(...(spans as Span[]))
        else {
          groups.set(key, {
            resource: (resource ?? {}) as Message,
            scope: (scope ?? {}) as Message,
            ...{ around, within, spans: [...((spans ?? []) as Span[])] },
          })
        }
      }
    }
  }
  return [...groups.values()].filter(group => group.spans.length > 0)
}

function nested(groups: readonly Group[]): Message[] {
  const byResource = Map.groupBy(groups, ({ resource, around }) => JSON.stringify([resource, around]))
  return [...byResource.values()].map(same => ({
    resource: (same[0] as Group).resource,
    scopeSpans: same.map(({ scope, spans, within }) => ({ scope, spans, ...within })),
    ...(same[0] as Group).around,
  }))
}

function list(value: unknown): Message[] {
  return (value ?? []) as Message[]
}

/** The spans as trees: parents before children, siblings by their start. Times are given anew by a walk over it. */
class Tree {
  /** In the order they begin. */
  readonly spans: Span[] = []
  /** By span, not by id: ids are replaced before times are. */
  readonly #children = new Map<Span, readonly Span[]>()
  readonly #roots: readonly Span[]
  readonly #endRanks = new Map<Span, number>()

  constructor(spans: readonly Span[]) {
    const ids = new Set(spans.map(span => span.spanId))
    const isRoot = ({ parentSpanId }: Span): boolean => parentSpanId === undefined || !ids.has(parentSpanId)
    const sorted = spans.toSorted(
      (a, b) =>
        Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)) ||
        Number(BigInt(a.endTimeUnixNano) - BigInt(b.endTimeUnixNano)) ||
        a.name.localeCompare(b.name),
    )
    this.#roots = sorted.filter(isRoot)
    const byParent = Map.groupBy(
      sorted.filter(span => !isRoot(span)),
      span => span.parentSpanId as string,
    )
    const walk = (span: Span): void => {
      this.spans.push(span)
      const children = byParent.get(span.spanId) ?? []
      this.#children.set(span, children)
      for (const child of children) walk(child)
      this.#endRanks.set(span, this.#endRanks.size)
    }
    for (const root of this.#roots) walk(root)
  }

  endRank(span: Span): number {
    return this.#endRanks.get(span) as number
  }

  /** Every start, event and end gets a moment of its own, in the order of a walk. */
  retime(): void {
    let tick = 0n
    const next = (): string => String(BASE_NANOS + TICK_NANOS * tick++)
    const walk = (span: Span): void => {
      const inside = [
        ...(span.events ?? []).map(event => ({ at: BigInt(event.timeUnixNano), event, child: null })),
        ...(this.#children.get(span) ?? []).map(child => ({ at: BigInt(child.startTimeUnixNano), event: null, child })),
      ].sort((a, b) => Number(a.at - b.at))
      span.startTimeUnixNano = next()
      for (const { event, child } of inside) {
        if (event === null) walk(child)
        else event.timeUnixNano = next()
      }
      span.endTimeUnixNano = next()
    }
    for (const root of this.#roots) walk(root)
  }
}

/** Replaces what changes from run to run. */
class Cleaner {
  readonly #label: string
  readonly #volatile: Volatile
  readonly #ids = new Map<string, string>()
  readonly #texts = new Map<string, string>()

  constructor(label: string, spans: readonly Span[], volatile: Volatile) {
    this.#label = label
    this.#volatile = volatile
    for (const span of spans) {
      for (const id of [span.traceId, span.spanId]) this.#id(id)
    }
    // Parents that were never sent.
    for (const span of spans) if (span.parentSpanId !== undefined) this.#id(span.parentSpanId)
  }

  isMeasured(key: string): boolean {
    return measurements.test(key) || (this.#volatile.measured ?? []).includes(key)
  }

  /** A hex id of any length. */
  #id(id: string): string {
    const known = this.#ids.get(id)
    if (known !== undefined || /^0*$/.test(id)) return known ?? id
    const made = createHash('sha256').update(`${this.#label} ${this.#ids.size}`).digest('hex').slice(0, id.length)
    this.#ids.set(id, made)
    return made
  }

  /** An id of a span or trace. */
  id(id: string): string {
    return this.#id(id)
  }

  text(sent: string): string {
    let text = sent
    for (const path of this.#volatile.paths) text = text.replaceAll(path, '/app')
    for (const pattern of this.#volatile.texts ?? []) {
      text = text.replace(new RegExp(pattern, 'g'), found => {
        // A measured number; an id may be all digits too, but is longer and has no point.
        if (/^(?:\d{1,7}|\d+(?:\.\d+)?(?:e-\d+)?)$/.test(found) && (found.length < 8 || /[.e]/.test(found)))
          return '250'
        const made = this.#texts.get(found) ?? found.replace(/[A-Za-z0-9_]+$/, `${this.#texts.size + 1}`)
        this.#texts.set(found, made)
        return made
      })
    }
    return text
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, uuid => this.#uuid(uuid))
      .replace(/(?<![0-9a-z]|[0-9a-f]{4}-)(?:[0-9a-f]{32}|[0-9a-f]{16})(?![0-9a-z-])/g, hex =>
        hex.length === 32 || this.#ids.has(hex) ? this.#id(hex) : hex,
      )
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?/g, iso => `2026-09-21${iso[10]}14:13:10.000`)
      .replace(/(?<![\d.-])1[78]\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?![\d.])/g, digits => epochLike(digits))
      .replace(/(127\.0\.0\.1|localhost):\d{4,5}/g, '$1:8080')
      .replace(/0x[0-9a-f]{8,16}\b/g, '0x7f0000000000')
      .replace(/^unknown_service:\/.*\/(\w+)$/, 'unknown_service:$1')
  }

  /** Version 7 stays version 7: readers tell by it that an id was made up for a run. */
  #uuid(uuid: string): string {
    const hex = uuid.replaceAll('-', '').toLowerCase()
    // LangSmith shows span ids in the form of a uuid.
    if (hex.startsWith('0000000000000000')) return this.#dashed(hex.slice(0, 16) + this.#id(hex.slice(16)))
    const made = this.#id(hex)
    const version = /^.{12}7...[89ab]/.test(hex) ? 7 : 4
    return this.#dashed(`${made.slice(0, 12)}${version}${made.slice(13, 16)}8${made.slice(17)}`)
  }

  #dashed(hex: string): string {
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }
}

/** A fixed moment with as many digits. */
function epochLike(digits: string): string {
  const whole = digits.split('.')[0] as string
  return `1789999990${'0'.repeat(whole.length - 10)}${digits.includes('.') ? '.25' : ''}`
}

function cleanSpan(span: Span, clean: Cleaner): void {
  span.traceId = clean.id(span.traceId)
  span.spanId = clean.id(span.spanId)
  if (span.parentSpanId !== undefined) span.parentSpanId = clean.id(span.parentSpanId)
  for (const link of span.links ?? []) {
    link.traceId = clean.id(link.traceId)
    link.spanId = clean.id(link.spanId)
  }
  span.name = clean.text(span.name)
  cleanAttributes(span, clean)
  for (const each of [...(span.events ?? []), ...(span.links ?? [])]) cleanAttributes(each as unknown as Message, clean)
  const status = span.status as { message?: string } | undefined
  if (status?.message !== undefined) status.message = clean.text(status.message)
}

function cleanAttributes(holder: Message, clean: Cleaner): void {
  for (const attribute of list(holder.attributes)) {
    const key = clean.text(attribute.key as string)
    attribute.key = key
    attribute.value = cleanValue(attribute.value as Message, key, clean)
  }
}

function cleanValue(value: Message, key: string, clean: Cleaner): Message {
  const [kind, inner] = Object.entries(value)[0] ?? []
  switch (kind) {
    case 'stringValue': {
      if (machine.test(key)) return { stringValue: key.endsWith('path') ? '/app/main' : 'recorded' }
      return { stringValue: clean.text(inner as string) }
    }
    case 'intValue': {
      if (machine.test(key) || clean.isMeasured(key)) return { intValue: like(inner, 250) }
      return { intValue: like(inner, clean.text(String(inner))) }
    }
    case 'doubleValue':
      return { doubleValue: clean.isMeasured(key) ? 0.25 : Number(clean.text(String(inner))) }
    case 'arrayValue': {
      const values = list((inner as Message).values).map(each => cleanValue(each, key, clean))
      return { arrayValue: { ...(inner as Message), ...(values.length > 0 ? { values } : {}) } }
    }
    case 'kvlistValue': {
      for (const entry of list((inner as Message).values)) {
        entry.value = cleanValue(entry.value as Message, entry.key as string, clean)
      }
      return value
    }
    default:
      return value
  }
}

/** The number in the form it came: digits from most senders, a number from some. */
function like(sent: unknown, value: number | string): number | string {
  return typeof sent === 'number' ? Number(value) : String(value)
}
