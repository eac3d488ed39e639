// Everything a span says that went into no column: attributes under their own keys, the application's own ones without the
// prefix of the framework that carried them, resource attributes under `resource.`, scope, status, events and links. What holds
// what was said (histories, instructions, bodies of calls) is kept apart from it, with the texts.
import { isObject, jsonText, readExactJsonText } from '#proto/json.ts'
import { RESOURCE_PREFIX, SCOPE_PREFIX } from '#proto/metadata-keys.ts'
import type { Attributes, Resource, Scope, SpanRecords, Value } from '#proto/otlp/span.ts'
import type { Instant } from '#proto/time.ts'
import { MetadataBuilder, readyEntry } from '../metadata.ts'
import { maskValue } from '../secrets.ts'
import type { Facts } from './facts.ts'
import { Bulk, carriedValue, isContent, isContentEvent, type KeyFacts } from './keys.ts'
import type { SpanReading } from './reading.ts'

/** Units of a value that holds what was said. */
export const CONTENT_UNITS = 65_536
/** Left-out keys that are listed. */
const LISTED = 20
/** Units of the JSON of events or of links. */
const RECORD_UNITS = 16_000

export const spanKindNames = ['', '', 'server', 'client', 'producer', 'consumer']

/** The metadata of a span's event, and what became of the attributes that went into no field. */
export interface Kept {
  readonly metadata: MetadataBuilder
  /** What was said beyond the input and output that are shown. */
  readonly content: MetadataBuilder
  /** Attributes that only repeat in bulk what is stored elsewhere. */
  readonly omitted: readonly string[]
}

/** The metadata of a span's event. */
export function spanMetadata(reading: SpanReading): Kept {
  const { facts, kind, input, output, lent } = reading
  const { span } = facts
  const metadata = new MetadataBuilder()
  const content = new MetadataBuilder()
  const has = { input: input !== null && lent.input === null, output: output !== null && lent.output === null }
  const omitted = putAttributes(metadata, content, facts, has)
  for (const said of [input, output]) {
    if (said?.structure) content.put(said.structure.key, said.structure.json, CONTENT_UNITS)
  }
  for (const [name, text] of entriesOfResource(span.resource)) if (!metadata.has(name)) metadata.putReady(name, text)
  for (const [name, text] of entriesOfScope(span.scope)) if (!metadata.has(name)) metadata.putReady(name, text)
  if (kind.name !== span.name && span.name !== '') metadata.note('span_name', span.name)
  if ((spanKindNames[span.kind] ?? '') !== '') metadata.note('span_kind', spanKindNames[span.kind] as string)
  if (span.statusCode === 1) metadata.note('status', 'ok')
  if (span.traceState !== '') metadata.note('trace_state', span.traceState)
  noteNeighbours(metadata, reading)
  const holder = saysContent(span) ? content : metadata
  for (const [key, text] of recordRemarks(span)) (key === EVENTS ? holder : metadata).note(key, text)
  if (omitted.length > 0) metadata.note('omitted', omittedText(omitted))
  return { metadata, content, omitted }
}

/** The remark about attributes that were left out. */
export function omittedText(omitted: readonly string[]): string {
  const more = omitted.length > LISTED ? ` and ${omitted.length - LISTED} more` : ''
  return `${omitted.slice(0, LISTED).join(', ')}${more}`
}

type Entries = readonly (readonly [name: string, text: string])[]

/** Resource and scope are shared by the spans of a batch: their entries are made once. */
function remembered<T extends object>(make: (shared: T) => Entries): (shared: T) => Entries {
  const known = new WeakMap<T, Entries>()
  return shared => {
    const found = known.get(shared)
    if (found !== undefined) return found
    const made = make(shared)
    known.set(shared, made)
    return made
  }
}

/** What a resource adds to the metadata of each of its spans. */
export const entriesOfResource = remembered(({ attributes }: Resource) =>
  [...attributes].map(([key, value]) => readyEntry(`${RESOURCE_PREFIX}${key}`, value)),
)

const SCOPE = `${SCOPE_PREFIX}scope.`

/** What a scope adds. */
export const entriesOfScope = remembered(({ name, version, attributes }: Scope) => [
  ...(name === '' ? [] : [readyEntry(`${SCOPE}name`, name)]),
  ...(version === '' ? [] : [readyEntry(`${SCOPE}version`, version)]),
  ...[...attributes].map(([key, value]) => readyEntry(`${SCOPE}${key}`, value)),
])

/** What the rest of the batch decided about the span. */
function noteNeighbours(metadata: MetadataBuilder, { counting, lent, sameAs }: SpanReading): void {
  if (counting !== 'none' && counting !== 'counted') metadata.note('usage', counting)
  if (lent.input !== null) metadata.note('input_of', lent.input.spanId)
  if (lent.output !== null) metadata.note('output_of', lent.output.spanId)
  if (sameAs !== '') metadata.note('same_call_as', sameAs)
}

/** Adds the attributes that are not used up; returns the keys of bulky ones that were left out. */
function putAttributes(
  metadata: MetadataBuilder,
  content: MetadataBuilder,
  facts: Facts,
  has: Readonly<Record<'input' | 'output', boolean>>,
): string[] {
  const omitted: string[] = []
  const dull = Bulk.always | (has.input ? Bulk.input : 0) | (has.output ? Bulk.output : 0)
  let carried = false
  let i = 0
  for (const [key, value] of facts.attributes) {
    const known = facts.keys[i++] as KeyFacts
    if (facts.used.has(key)) continue
    if ((known.bulk & dull) !== 0) omitted.push(key)
    else if (isContent(known, facts.dialects)) content.put(key, value, CONTENT_UNITS)
    else if (key === 'metadata') putObject(metadata, value)
    else if (known.carried === null) metadata.put(key, value)
    else carried = true
  }
  if (carried) putCarried(metadata, facts)
  return omitted
}

/** After the others, so that a key the span has itself is not overwritten. */
function putCarried(metadata: MetadataBuilder, facts: Facts): void {
  let i = 0
  for (const [key, value] of facts.attributes) {
    const known = facts.keys[i++] as KeyFacts
    const name = known.carried
    if (name === null || facts.used.has(key) || isContent(known, facts.dialects)) continue
    metadata.put(metadata.has(name) ? key : name, carriedValue(known, value))
  }
}

/** `metadata` that holds an object is merged key by key. */
function putObject(metadata: MetadataBuilder, value: Value): void {
  const object = typeof value === 'string' ? readExactJsonText(value) : value
  if (!isObject(object)) return metadata.put('metadata', value)
  for (const key of Object.keys(object)) putNew(metadata, key, object[key])
}

function putNew(metadata: MetadataBuilder, key: string, value: unknown): void {
  if (!metadata.has(key)) metadata.put(key, value)
}

type Remark = readonly [key: string, text: string]

/** Key of the remark that holds the events of a span. */
export const EVENTS = 'events'

/** True when one of the events tells what was said: then all of them are kept with the texts. */
export function saysContent({ events }: Pick<SpanRecords, 'events'>): boolean {
  return events.some(({ name }) => isContentEvent(name))
}

/** Remarks about events, links, and how many of each the sender itself left out. */
export function recordRemarks(span: Omit<SpanRecords, 'traceState'>): Remark[] {
  const events = span.events.map(({ at, name, attributes }) => ({
    name,
    ...(at === null ? {} : { time_unix_nano: nanosText(at) }),
    ...withAttributes(attributes),
  }))
  const links = span.links.map(({ traceId, spanId, traceState, attributes }) => ({
    trace_id: traceId,
    span_id: spanId,
    ...(traceState === '' ? {} : { trace_state: traceState }),
    ...withAttributes(attributes),
  }))
  const dropped = [
    ['dropped_attributes', span.droppedAttributes],
    ['dropped_events', span.droppedEvents],
    ['dropped_links', span.droppedLinks],
  ] as const
  return [
    ...remarksOfList(EVENTS, events),
    ...remarksOfList('links', links),
    ...dropped.flatMap(([key, count]): Remark[] => (count > 0 ? [[key, String(count)]] : [])),
  ]
}

function withAttributes(attributes: Attributes): { attributes?: unknown } {
  return attributes.size === 0 ? {} : { attributes: maskValue(Object.fromEntries(attributes), false, 0) }
}

/** JSON of a list, without its last entries when it would be too long: cut JSON could not be read. */
function remarksOfList(key: string, list: readonly unknown[]): Remark[] {
  if (list.length === 0) return []
  const texts: string[] = []
  let units = 2
  for (const entry of list) {
    const text = jsonText(entry)
    units += text.length + 1
    if (units > RECORD_UNITS) break
    texts.push(text)
  }
  const whole: Remark = [key, `[${texts.join(',')}]`]
  return texts.length < list.length ? [whole, [`${key}_omitted`, String(list.length - texts.length)]] : [whole]
}

/** Unix nanoseconds as digits. */
export function nanosText(at: Instant): string {
  return at.ms === 0 ? String(at.ns) : `${at.ms}${String(at.ns).padStart(6, '0')}`
}
