// Places of an event in the bytes of a range -> its rows, value by value into the columns of their blocks.
import { frameFacts, MINTED_AT, ORGANIZATION_AT } from '#proto/envelope.ts'
import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import { ERROR_MESSAGE_MAX_BYTES, type EventKind, latencyBucket, PREVIEW_CHARS, Present } from '#proto/rows.ts'
import { monthOf } from '#proto/time.ts'
import type { TableSets } from '../columns/tables.ts'
import type { TextColumn } from '../columns/text.ts'
import { cutAtBytes, cutAtUnits } from '../columns/utf8.ts'
import type { BlockEncoder } from '../encoder.ts'
import { costBits } from '../parsers/cost.ts'
import { usageBits } from '../parsers/rows.ts'
import { cutBytes } from '../parsers/text.ts'
import type { SdkEvents } from './sdk-events.ts'
import { At, Bit, type Extra, MCP, NUMBERS, nothing } from './sdk-places.ts'

/** Where rows come from; the caller changes it from event to event. */
export interface RowOrigin {
  partition: number
  generation: number
  sequence: number
  frame: number
}

/** Rows of other ways than this one have a trace, a user, and so on. */
const NONE = new Uint8Array(16)
const KINDS: readonly EventKind[] = ['agent', 'tool', 'resource', 'prompt']
const DAY_MS = 86_400_000

let monthDay = Number.NaN
let month = 0

/** YYYYMM of an instant: what arrives together happened in one month. */
function monthAt(ms: number): number {
  const day = Math.floor(ms / DAY_MS)
  if (day !== monthDay) {
    month = monthOf(ms)
    monthDay = day
  }
  return month
}

/** Adds the rows of one event. */
export function writeEvent(events: SdkEvents, event: number, origin: RowOrigin, encoder: BlockEncoder): void {
  const { at, bytes } = events
  const first = event * NUMBERS
  const number = at[first + At.extra] as number
  const extra = number < 0 ? nothing : (events.extras[number] as Extra)
  const retention = at[first + At.retention] as number
  const inMonth = monthAt(events.times[event] as number)
  const bits = at[first + At.bits] as number
  const c = encoder.row('events', retention, inMonth)
  const isSaid =
    extra.input !== null ||
    extra.output !== null ||
    at[first + At.inputEnd] !== at[first + At.input] ||
    at[first + At.outputEnd] !== at[first + At.output]
  if (isSaid) {
    const texts = encoder.row('texts', retention, inMonth)
    texts.organization.addBytes(bytes, (at[first + At.frame] as number) + ORGANIZATION_AT)
    addConversation(texts.group_id, events, first, extra)
    addEventId(texts.event_id, events, first, extra)
    texts.ts.addInstant(events.times[event] as number, at[first + At.ns] as number)
    addText(texts.input, extra.input, bytes, at, first + At.input, (bits & Bit.escapedInput) !== 0)
    addText(texts.output, extra.output, bytes, at, first + At.output, (bits & Bit.escapedOutput) !== 0)
    // Nothing is said in an event beyond its two texts.
    texts.content.endRow()
    texts.retention.add(retention)
    addOrigin(texts, origin)
    addPreview(c.input_preview, c.input_bytes, texts.input)
    addPreview(c.output_preview, c.output_bytes, texts.output)
    addError(c.error_message, (bits & Bit.failed) !== 0, extra, texts.output)
  } else {
    for (const text of [c.input_preview, c.output_preview]) text.addBytes(NONE, 0, 0)
    for (const size of [c.input_bytes, c.output_bytes]) size.add(0)
    addError(c.error_message, (bits & Bit.failed) !== 0, extra, null)
  }
  addIdentity(c, events, event, extra)
  addUsage(c, bits, extra)
  addMetadata(c, events, first, extra)
  c.checkpoints.add(extra.checkpoints)
  c.received_at.addInstant(frameFacts(bytes, at[first + At.frame] as number).receivedAtMs, 0)
  c.retention.add(retention)
  addOrigin(c, origin)
  c.move_id.addBytes(NONE, 0)
  c.version.add(origin.generation * 2 ** 32)
  c.sign.add(1)
}

type Events = TableSets['events']
type Uuids = Events['event_id']

function addIdentity(c: Events, events: SdkEvents, event: number, extra: Extra): void {
  const { at, bytes } = events
  const first = event * NUMBERS
  const bits = at[first + At.bits] as number
  const kind = at[first + At.kind] as number
  c.organization.addBytes(bytes, (at[first + At.frame] as number) + ORGANIZATION_AT)
  addConversation(c.conversation_id, events, first, extra)
  if ((bits & Bit.foreignSession) !== 0)
    c.session_id.add(extra.conversationId === extra.sessionId ? '' : extra.sessionId)
  else if ((bits & Bit.upperSession) === 0) c.session_id.addBytes(bytes, 0, 0)
  else c.session_id.addBytes(bytes, at[first + At.session] as number, at[first + At.sessionEnd] as number)
  addEventId(c.event_id, events, first, extra)
  if (extra.parentId !== '') c.parent_id.add(extra.parentId)
  else if ((at[first + At.parent] as number) < 0) c.parent_id.addBytes(NONE, 0)
  else c.parent_id.addCharacters(bytes, at[first + At.parent] as number)
  c.trace_id.addBytes(NONE, 0)
  c.span_id.add('0')
  c.parent_span_id.add('0')
  c.ts.addInstant(events.times[event] as number, at[first + At.ns] as number)
  c.duration_ns.add(events.durations[event] as number)
  c.latency_bucket.add(latencyBucket(events.durations[event] as number))
  c.source.add(kind >= MCP ? 'mcp' : 'sdk')
  c.kind.add(KINDS[kind % MCP] as EventKind)
  if ((bits & Bit.escapedName) === 0)
    c.name.addBytes(bytes, at[first + At.name] as number, at[first + At.nameEnd] as number)
  else c.name.add(extra.name)
  c.failed.add((bits & Bit.failed) === 0 ? 0 : 1)
  c.error_type.add(extra.errorType)
  c.user_id.addBytes(bytes, 0, 0)
  c.provisional.add(0)
  c.model.add(extra.model)
  c.provider.add(extra.provider)
}

function addConversation(column: Uuids, { at, bytes }: SdkEvents, first: number, extra: Extra): void {
  if (((at[first + At.bits] as number) & Bit.foreignSession) !== 0) column.add(extra.conversationId)
  else column.addCharacters(bytes, at[first + At.session] as number)
}

function addEventId(column: Uuids, { at, bytes }: SdkEvents, first: number, extra: Extra): void {
  const sent = at[first + At.event] as number
  if (extra.eventId !== '') column.add(extra.eventId)
  else if (sent >= 0) column.addCharacters(bytes, sent)
  else column.addBytes(bytes, (at[first + At.frame] as number) + MINTED_AT)
}

function addText(
  column: TextColumn,
  made: string | null,
  bytes: Buffer,
  at: readonly number[],
  place: number,
  escaped: boolean,
): void {
  if (made !== null) column.add(made)
  else if (escaped) column.addJson(bytes, at[place] as number, at[place + 1] as number)
  else column.addBytes(bytes, at[place] as number, at[place + 1] as number)
}

/** The beginning of the text that was added last, and its size. */
function addPreview(preview: TextColumn, size: Events['input_bytes'], text: TextColumn): void {
  const { data, lastAt, end } = text
  preview.addBytes(data, lastAt, cutAtUnits(data, lastAt, end, PREVIEW_CHARS))
  size.add(end - lastAt)
}

function addError(column: TextColumn, failed: boolean, extra: Extra, output: TextColumn | null): void {
  if (!failed) column.addBytes(NONE, 0, 0)
  else if (extra.errorMessage !== '') column.add(cutBytes(extra.errorMessage, ERROR_MESSAGE_MAX_BYTES))
  else if (output === null) column.addBytes(NONE, 0, 0)
  else {
    const { data, lastAt, end } = output
    column.addBytes(data, lastAt, cutAtBytes(data, lastAt, end, ERROR_MESSAGE_MAX_BYTES))
  }
}

function addUsage(c: Events, bits: number, { usage, costing }: Extra): void {
  c.input_tokens.add(usage.inputTokens ?? 0)
  c.output_tokens.add(usage.outputTokens ?? 0)
  c.cache_read_tokens.add(usage.cacheReadTokens ?? 0)
  c.cache_write_tokens.add(usage.cacheWriteTokens ?? 0)
  c.reasoning_tokens.add(usage.reasoningTokens ?? 0)
  c.cost_nanos.add('costNanos' in costing ? costing.costNanos : 0)
  const said = ((bits & Bit.input) === 0 ? 0 : Present.input) | ((bits & Bit.output) === 0 ? 0 : Present.output)
  c.present.add(said | usageBits(usage) | costBits(costing))
}

function addMetadata(c: Events, { at, bytes, entries }: SdkEvents, first: number, extra: Extra): void {
  entries.write(c.metadata, bytes, at[first + At.entries] as number, at[first + At.entriesEnd] as number)
  for (const [key, text] of extra.notes) {
    c.metadata.keys.add(OWN_PREFIX + key)
    c.metadata.values.add(text)
  }
  c.metadata.endRow()
}

function addOrigin(c: TableSets['events'] | TableSets['texts'], origin: RowOrigin): void {
  c.origin_partition.add(origin.partition)
  c.origin_generation.add(origin.generation)
  c.origin_sequence.add(origin.sequence)
  c.origin_frame.add(origin.frame)
  c.origin_index.add(0)
}
