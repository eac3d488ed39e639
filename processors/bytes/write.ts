// A finished span -> its rows, straight into the columns. What is written is what eventRows (parsers/rows.ts) would have made.

import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import { ERROR_MESSAGE_MAX_BYTES, latencyBucket, type Origin, PREVIEW_CHARS, Present } from '#proto/rows.ts'
import { monthOf, sqlMillis } from '#proto/time.ts'
import { type TableSets, versionOf } from '../columns/tables.ts'
import type { TextColumn } from '../columns/text.ts'
import { cutAtUnits, HEX_DIGITS } from '../columns/utf8.ts'
import type { BlockEncoder } from '../encoder.ts'
import type { Home } from '../loose.ts'
import type { FrameContext } from '../outcome.ts'
import { METADATA_BOUNDS, readyEntry } from '../parsers/metadata.ts'
import { type Said, unsaidBits } from '../parsers/otlp/content.ts'
import { EVENTS, recordRemarks, saysContent } from '../parsers/otlp/span-metadata.ts'
import { textOfLiteral } from '../parsers/otlp/unwrap.ts'
import { MASK, maskText } from '../parsers/secrets.ts'
import { cutBytes, cutUnits, wellFormed } from '../parsers/text.ts'
import { type Attributes, Excerpt, lookIn, lookOf, valueAt } from './content.ts'
import { structureAt } from './finish.ts'
import { putUuid } from './ids.ts'
import { Written } from './json-bytes.ts'
import type { FixedTexts, Step, Variant } from './metadata.ts'
import type { IdPlan, Plan } from './plan.ts'
import { Quoted } from './quoted.ts'
import type { ByteReading } from './reading.ts'
import { A, ATTRIBUTE_INTS, Kind, S } from './spans.ts'
import { isText, Look } from './suspicion.ts'
import { durationAt, isTimeAt, msAt, placeOfTime } from './times.ts'

type EventsColumns = TableSets['events']
type TextsColumns = TableSets['texts']

/** Where the words of a span's ids stand, and what else was found out about it. */
export const W = {
  ...{ conversation: 0, event: 4, parent: 8, print: 12, flags: 15 },
  /** Rows of the spans before it, by table. */
  ...{ sessions: 16, texts: 17, links: 18 },
} as const
export const SPAN_WORDS = 19
/** Bits of the flags: the session's id is its conversation's own text; there is no session; it has a capture that is no row; it is of no conversation. */
export const Flag = { ownText: 1, provisional: 2, captured: 4, nobodys: 8 } as const

/** What all spans of a body share. */
export interface Shared {
  readonly context: FrameContext
  readonly words: Uint32Array
  /** The organization's id. */
  readonly organization: Uint32Array
  readonly receivedAt: string
}

export function sharedOf(context: FrameContext, words: Uint32Array, organization: Uint32Array): Shared {
  return { context, words, organization, receivedAt: sqlMillis(context.receivedAtMs) }
}

/** Halves and month of the time of an event. */
const time = { low: 0, high: 0, month: 0 }
let monthDay = Number.NaN
const DAY_MS = 86_400_000

/** Finds them. Precondition: the span is finished, so that its time is stored as it was sent. */
function timeOf({ spans, row }: ByteReading): void {
  const place = placeOfTime(spans, row)
  time.low = spans[row + place] as number
  time.high = spans[row + place + 1] as number
  const day = Math.floor(msAt(spans, row, place) / DAY_MS)
  if (day === monthDay) return
  monthDay = day
  time.month = monthOf(day * DAY_MS)
}

/** A span, its position in its body, and where it belongs when that is not what it says. */
interface SpanToWrite {
  readonly reading: ByteReading
  readonly index: number
  readonly home: Home | undefined
}

/** Adds the event of a span, and its texts when it has any. */
export function writeSpan(
  { reading, index, home }: SpanToWrite,
  shared: Shared,
  encoder: BlockEncoder,
  origin: Origin,
): void {
  const at = index * SPAN_WORDS
  const { retention } = shared.context
  timeOf(reading)
  let texts: TextsColumns | null = null
  if (hasTexts(reading)) {
    origin.origin_index = shared.words[at + W.texts] as number
    texts = encoder.row('texts', retention, time.month)
    writeTexts(texts, reading, shared, at, origin)
  }
  origin.origin_index = index
  const c = encoder.row('events', retention, time.month)
  writeConversation(c, reading, shared, at, home)
  writeIdentity(c, reading, shared, at)
  writeContent(c, reading, shared, texts)
  writeMetadata(c, reading)
  addOrigin(c, origin)
  c.move_id.addWords(0, 0, 0, 0)
  c.version.add(versionOf(home === undefined ? OTLP : OTLP_AT_HOME, origin))
  c.sign.add(1)
}

const OTLP_AT_HOME = { source: 'otlp', moves: 1 } as Parameters<typeof versionOf>[0]
const OTLP = { source: 'otlp' } as Parameters<typeof versionOf>[0]

/** True when the span has a row of texts. */
export function hasTexts({ input, output, variant, records }: ByteReading): boolean {
  if (isSaid(input) || isSaid(output) || (variant as Variant).content.entries.length > 0) return true
  return records !== null && saysContent(records)
}

function isSaid(said: Said | null): boolean {
  return said !== null && (said instanceof Excerpt || said instanceof Quoted || said.text !== '')
}

export function addOrigin(c: Pick<EventsColumns, keyof Origin>, origin: Origin): void {
  c.origin_partition.add(origin.origin_partition)
  c.origin_generation.add(origin.origin_generation)
  c.origin_sequence.add(origin.origin_sequence)
  c.origin_frame.add(origin.origin_frame)
  c.origin_index.add(origin.origin_index)
}

function writeTexts(c: TextsColumns, reading: ByteReading, shared: Shared, at: number, origin: Origin): void {
  const { words, organization, context } = shared
  c.organization.addFrom(organization, 0)
  addId(c.group_id, reading, S.trace)
  c.event_id.addFrom(words, at + W.event)
  c.ts.push(time.low, time.high)
  addText(c.input, reading.input)
  addText(c.output, reading.output)
  writeSaid(c, reading)
  c.retention.add(context.retention)
  addOrigin(c, origin)
}

/** The trace id as a uuid. */
function addId(column: EventsColumns['trace_id'], { bytes, spans, row }: ByteReading, field: number): void {
  const at = spans[row + field] as number
  column.addBytes(bytes, at)
}

/** Four bytes as a number of either sign, whose bits are what counts: one above 2^31 would be an object on its way. */
function wordAt(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] as number) << 24) | ((bytes[at + 1] as number) << 16)
  return high | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number)
}

function addText(column: TextColumn, said: Said | null): void {
  if (said === null) column.add('')
  else if (said instanceof Excerpt) column.addSteady(said.bytes, said.start, said.end)
  else if (said instanceof Quoted) said.addTo(column)
  else column.add(said.text)
}

const homeWords = new Uint32Array(4)

function writeConversation(
  c: EventsColumns,
  reading: ByteReading,
  { words }: Shared,
  at: number,
  home: Home | undefined,
): void {
  if (home !== undefined) {
    putUuid(home.conversation_id, homeWords, 0)
    c.conversation_id.addFrom(homeWords, 0)
    c.session_id.add(home.session_id)
    c.provisional.add(0)
    return
  }
  c.conversation_id.addFrom(words, at + W.conversation)
  addSessionText(c.session_id, reading, words, at)
  c.provisional.add((reading.plan as Plan).session === null ? 1 : 0)
}

/** Adds the session's id; '' where it is the conversation's own text, the trace where there is none. */
export function addSessionText(column: TextColumn, reading: ByteReading, words: Uint32Array, at: number): void {
  const { bytes, spans, row } = reading
  const { session } = reading.plan as Plan
  if (((words[at + W.flags] as number) & Flag.ownText) !== 0) column.add('')
  else if (session === null) addHex(column, bytes, spans[row + S.trace] as number)
  else addIdText(column, reading, session)
}

function writeIdentity(c: EventsColumns, reading: ByteReading, shared: Shared, at: number): void {
  const { words, organization } = shared
  const { bytes, spans, row, failure } = reading
  const plan = reading.plan as Plan
  c.organization.addFrom(organization, 0)
  c.event_id.addFrom(words, at + W.event)
  c.parent_id.addFrom(words, at + W.parent)
  addId(c.trace_id, reading, S.trace)
  addSpanId(c.span_id, bytes, spans[row + S.id] as number)
  addSpanId(c.parent_span_id, bytes, spans[row + S.parent] as number)
  c.ts.push(time.low, time.high)
  const timed = isTimeAt(spans, row, S.startLow) && isTimeAt(spans, row, S.endLow)
  const duration = timed ? Math.min(durationAt(spans, row), Number.MAX_SAFE_INTEGER) : -1
  c.duration_ns.add(duration)
  c.latency_bucket.add(latencyBucket(duration))
  c.source.add('otlp')
  c.kind.add(reading.kind.kind)
  c.name.add(reading.kind.name)
  c.failed.add(failure === null || reading.carried ? 0 : 1)
  c.error_type.add(failure === null ? '' : wellFormed(failure.type))
  c.error_message.add(failure === null ? '' : cutBytes(wellFormed(failure.message), ERROR_MESSAGE_MAX_BYTES))
  if (plan.user === null) c.user_id.add('')
  else addIdText(c.user_id, reading, plan.user)
  c.model.add(wellFormed(reading.model))
  c.provider.add(wellFormed(reading.provider))
}

export function addIdText(column: TextColumn, reading: Attributes, id: IdPlan): void {
  if (id.at < 0) {
    column.add(wellFormed(id.fixed))
    return
  }
  const row = (reading.first + id.at) * ATTRIBUTE_INTS
  column.addBytes(reading.bytes, reading.data[row + A.x] as number, reading.data[row + A.y] as number)
}

const hex = new Uint8Array(32)

function addHex(column: TextColumn, bytes: Uint8Array, at: number): void {
  for (let i = 0; i < 16; i++) {
    const byte = bytes[at + i] as number
    hex[2 * i] = HEX_DIGITS[byte >> 4] as number
    hex[2 * i + 1] = HEX_DIGITS[byte & 15] as number
  }
  column.addBytes(hex, 0, 32)
}

export function addSpanId(column: EventsColumns['span_id'], bytes: Uint8Array, at: number): void {
  if (at < 0) column.push(0, 0)
  else column.push(wordAt(bytes, at + 4), wordAt(bytes, at))
}

// ---- content -----------------------------------------------------------------------------------------------------------

/** `texts`: where the span's texts were written before, if it has some. */
function writeContent(c: EventsColumns, reading: ByteReading, shared: Shared, texts: TextsColumns | null): void {
  const { usage, costNanos, input, output } = reading
  c.input_tokens.add(usage.inputTokens ?? 0)
  c.output_tokens.add(usage.outputTokens ?? 0)
  c.cache_read_tokens.add(usage.cacheReadTokens ?? 0)
  c.cache_write_tokens.add(usage.cacheWriteTokens ?? 0)
  c.reasoning_tokens.add(usage.reasoningTokens ?? 0)
  c.cost_nanos.add(costNanos)
  c.present.add(
    (input === null ? 0 : Present.input) |
      (output === null ? 0 : Present.output) |
      (usage.inputTokens === null ? 0 : Present.inputTokens) |
      (usage.outputTokens === null ? 0 : Present.outputTokens) |
      (usage.cacheReadTokens === null ? 0 : Present.cacheReadTokens) |
      (usage.cacheWriteTokens === null ? 0 : Present.cacheWriteTokens) |
      (usage.reasoningTokens === null ? 0 : Present.reasoningTokens) |
      unsaidBits(reading.kind, input, output) |
      (reading.carried ? Present.carried : 0) |
      reading.costBits,
  )
  c.input_bytes.add(addPreview(c.input_preview, input, texts?.input))
  c.output_bytes.add(addPreview(c.output_preview, output, texts?.output))
  c.checkpoints.add('')
  c.received_at.add(shared.receivedAt)
  c.retention.add(shared.context.retention)
}

/** Adds the beginning of a text, which was added to `whole` last, and returns the bytes of all of it. */
function addPreview(column: TextColumn, said: Said | null, whole: TextColumn | undefined): number {
  if (said === null) {
    column.add('')
    return 0
  }
  if (said instanceof Quoted && whole !== undefined) {
    const { data, lastAt, end } = whole
    column.addBytes(data, lastAt, cutAtUnits(data, lastAt, end, PREVIEW_CHARS))
    return end - lastAt
  }
  if (!(said instanceof Excerpt)) {
    const text = wellFormed(said.text)
    column.add(cutUnits(text, PREVIEW_CHARS))
    return Buffer.byteLength(text)
  }
  const { bytes, start, end, ascii } = said
  let at = start
  if (end - start <= PREVIEW_CHARS) at = end
  else if (ascii) at = start + PREVIEW_CHARS
  else {
    // UTF-16 units: what takes four bytes takes two of them, and is not cut in half.
    for (let units = 0; at < end; ) {
      const byte = bytes[at] as number
      units += byte >= 0xf0 ? 2 : 1
      if (units > PREVIEW_CHARS) break
      at += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    }
  }
  column.addBytes(bytes, start, at)
  return end - start
}

// ---- metadata ----------------------------------------------------------------------------------------------------------

function writeMetadata(c: EventsColumns, reading: ByteReading): void {
  const { metadata } = c
  const { values } = metadata
  const { lent, sameAs, counting, records, note } = reading
  const { keys, pieces, after } = reading.variant as Variant
  metadata.keys.addRun(keys)
  for (let i = 0; i < pieces.length; i++) {
    const piece = pieces[i] as Step | FixedTexts
    if ('encoded' in piece) values.addEncoded(piece.encoded, piece.count)
    else addEntry(values, reading, piece)
  }
  if (records !== null && records.traceState !== '') addRemark(metadata, 'trace_state', records.traceState)
  if (counting !== 'none' && counting !== 'counted') addRemark(metadata, 'usage', counting)
  if (lent.input !== null) addRemark(metadata, 'input_of', lent.input.spanId)
  if (lent.output !== null) addRemark(metadata, 'output_of', lent.output.spanId)
  if (sameAs !== '') addRemark(metadata, 'same_call_as', sameAs)
  if (records !== null) {
    const said = saysContent(records)
    for (const [key, text] of recordRemarks(records)) if (!said || key !== EVENTS) addRemark(metadata, key, text)
  }
  if (after !== null) {
    metadata.keys.addRun(after.keys)
    values.addEncoded(after.texts.encoded, after.texts.count)
  }
  if (note !== null) addRemark(metadata, note[0], note[1])
  metadata.endRow()
}

/** What was said beyond input and output. */
function writeSaid({ content }: TextsColumns, reading: ByteReading): void {
  const { keys, entries } = (reading.variant as Variant).content
  const { records } = reading
  content.keys.addRun(keys)
  for (let i = 0; i < entries.length; i++) addEntry(content.values, reading, entries[i] as Step)
  if (records !== null && saysContent(records)) {
    for (const [key, text] of recordRemarks(records)) if (key === EVENTS) addRemark(content, key, text)
  }
  content.endRow()
}

/** The keys of remarks: made anew each would have to be hashed. They are few. */
const remarkNames = new Map<string, string>()

function addRemark({ keys, values }: EventsColumns['metadata'], key: string, text: string): void {
  let name = remarkNames.get(key)
  if (name === undefined) {
    name = OWN_PREFIX + key
    remarkNames.set(key, name)
  }
  keys.add(name)
  values.add(cutUnits(wellFormed(text), METADATA_BOUNDS.valueUnits))
}

/** Adds the text of an entry as it is stored: masked where it is a secret. */
function addEntry(values: TextColumn, reading: ByteReading, { name, at, side, literal, secret }: Step): void {
  if (side !== null) addStructure(values, reading, side, secret)
  else {
    const row = (reading.first + at) * ATTRIBUTE_INTS
    const x = reading.data[row + A.x] as number
    const y = reading.data[row + A.y] as number
    const kind = reading.data[row + A.kind] as number
    if (kind === Kind.none || (kind === Kind.text && x === y)) values.add('')
    else if (secret) values.add(MASK)
    else if (literal && kind === Kind.text) values.add(readyEntry(name, textOfLiteral(valueAt(reading, at)))[1])
    else if (kind === Kind.text) addMasked(values, reading, at)
    else values.add(readyEntry(name, valueAt(reading, at))[1])
  }
}

function addMasked(values: TextColumn, reading: ByteReading, at: number): void {
  const { bytes, data } = reading
  const row = (reading.first + at) * ATTRIBUTE_INTS
  const [from, to] = [data[row + A.x] as number, data[row + A.y] as number]
  const look = lookOf(reading, at)
  if ((look & Look.suspicious) === 0 && ((look & Look.ascii) !== 0 || isText(bytes, from, to))) {
    values.addSteady(bytes, from, to)
  } else values.add(wellFormed(maskText(bytes.toString('utf8', from, to))))
}

function addStructure(values: TextColumn, reading: ByteReading, side: 'input' | 'output', secret: boolean): void {
  const structure = reading[side]?.structure ?? null
  if (structure instanceof Written && !secret) {
    const { bytes, start, end } = structure
    if ((lookIn(bytes, start, end) & Look.suspicious) === 0) values.addBytes(bytes, start, end)
    else values.add(wellFormed(maskText(structure.json)))
    return
  }
  const at = structureAt(reading, reading.plan as Plan, side)
  if (at >= 0 && !secret) {
    addMasked(values, reading, at)
    return
  }
  const json = structure?.json ?? ''
  values.add(secret ? (json === '' ? '' : MASK) : wellFormed(maskText(json)))
}
