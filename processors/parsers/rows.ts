// What a parser found out about an event or a session -> the rows of proto/rows.ts, complete and within their column types.
import { NIL_UUID } from '#proto/ids.ts'
import {
  ERROR_MESSAGE_MAX_BYTES,
  type EventKind,
  type EventRow,
  latencyBucket,
  PREVIEW_CHARS,
  Present,
  type SessionRow,
  type Source,
  type TextRow,
} from '#proto/rows.ts'
import { clamp, fromMs, type Instant, sqlMillis, sqlNanos } from '#proto/time.ts'
import type { FrameContext } from '../outcome.ts'
import { type Billing, type Costing, costBits, costingOf, costNote, NO_BILLING } from './cost.ts'
import type { MetadataBuilder } from './metadata.ts'
import { cutBytes, cutUnits, wellFormed } from './text.ts'

/** Names and models are kept in dictionaries of the store: a long one is cut there and stands whole in the metadata. */
export const NAME_UNITS = 256

/** Token counts, each with the parts that belong to it, and the cost that was reported; null = not sent. */
export interface Usage {
  readonly inputTokens: number | null
  readonly outputTokens: number | null
  readonly cacheReadTokens: number | null
  readonly cacheWriteTokens: number | null
  readonly reasoningTokens: number | null
  readonly costNanos: number | null
}

export const NO_USAGE: Usage = {
  inputTokens: null,
  outputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  costNanos: null,
}

/** An event as a parser understands it. Texts need not be well-formed. */
export interface EventDraft {
  readonly source: Source
  readonly kind: EventKind
  readonly conversationId: string
  /** The session id as it was sent. */
  readonly sessionId: string
  readonly eventId: string
  readonly parentId?: string
  readonly traceId?: string
  readonly spanId?: string
  readonly parentSpanId?: string
  readonly at: Instant
  /** null = unknown. */
  readonly durationNs: number | null
  readonly name: string
  readonly failed: boolean
  readonly errorType?: string
  readonly errorMessage?: string
  readonly userId?: string
  readonly provisional?: boolean
  readonly model?: string
  readonly provider?: string
  readonly usage?: Usage
  readonly billing?: Billing
  /** null = not sent. */
  readonly input: string | null
  readonly output: string | null
  /** Other bits of `present`: texts that nobody said, a failure that another event is counted for. */
  readonly marks?: number
  readonly checkpoints?: string
  /** Not finished: the row adds remarks about what it had to cut. */
  readonly metadata: MetadataBuilder
  /** What was said beyond input and output, by the keys under which it was sent. */
  readonly content?: MetadataBuilder
}

/** The row of an event, and of its texts when it has any. Texts are grouped under `groupId`. */
export function eventRows(
  context: FrameContext,
  draft: EventDraft,
  groupId: string,
): { event: EventRow; texts: TextRow[] } {
  const at = clampNoted(draft.at, context, draft.metadata)
  const input = wellFormed(draft.input ?? '')
  const output = wellFormed(draft.output ?? '')
  const usage = draft.usage ?? NO_USAGE
  const costing = costingNoted(draft, usage, context)
  const durationNs = draft.durationNs ?? -1
  const tells = draft.failed || ((draft.marks ?? 0) & Present.carried) > 0
  const event: EventRow = {
    organization: context.organization,
    conversation_id: draft.conversationId,
    session_id: draft.sessionId === draft.conversationId ? '' : wellFormed(draft.sessionId),
    event_id: draft.eventId,
    parent_id: draft.parentId ?? NIL_UUID,
    trace_id: draft.traceId ?? NIL_UUID,
    span_id: draft.spanId ?? '0',
    parent_span_id: draft.parentSpanId ?? '0',
    ts: sqlNanos(at),
    duration_ns: durationNs,
    latency_bucket: latencyBucket(durationNs),
    source: draft.source,
    kind: draft.kind,
    name: short(draft.name, 'name', draft.metadata),
    failed: draft.failed ? 1 : 0,
    error_type: tells ? short(draft.errorType ?? '', 'error_type', draft.metadata) : '',
    error_message: tells ? cutBytes(wellFormed(draft.errorMessage ?? ''), ERROR_MESSAGE_MAX_BYTES) : '',
    user_id: wellFormed(draft.userId ?? ''),
    provisional: draft.provisional === true ? 1 : 0,
    model: short(draft.model ?? '', 'model', draft.metadata),
    provider: short(draft.provider ?? '', 'provider', draft.metadata),
    input_tokens: usage.inputTokens ?? 0,
    output_tokens: usage.outputTokens ?? 0,
    cache_read_tokens: usage.cacheReadTokens ?? 0,
    cache_write_tokens: usage.cacheWriteTokens ?? 0,
    reasoning_tokens: usage.reasoningTokens ?? 0,
    cost_nanos: 'costNanos' in costing ? costing.costNanos : 0,
    present: presentOf(draft, usage) | costBits(costing),
    input_preview: cutUnits(input, PREVIEW_CHARS),
    output_preview: cutUnits(output, PREVIEW_CHARS),
    input_bytes: Buffer.byteLength(input),
    output_bytes: Buffer.byteLength(output),
    metadata: draft.metadata.finish(),
    checkpoints: wellFormed(draft.checkpoints ?? ''),
    received_at: sqlMillis(context.receivedAtMs),
    retention: context.retention,
  }
  const content = draft.content?.finish() ?? NO_CONTENT
  const none = input === '' && output === '' && Object.keys(content).length === 0
  return { event, texts: none ? [] : [textRow(event, groupId, { input, output, content })] }
}

/** What the event cost; how that was found is noted. */
function costingNoted(draft: EventDraft, usage: Usage, { pricing }: FrameContext): Costing {
  const { model = '', provider = '', billing = NO_BILLING } = draft
  const costing = costingOf({ model, provider, usage, billing }, pricing)
  const note = costNote(costing)
  if (note !== null) draft.metadata.note(...note)
  return costing
}

type SaidTexts = Pick<TextRow, 'input' | 'output' | 'content'>
const NO_CONTENT: SaidTexts['content'] = Object.freeze({})
/** Of an event without any. */
export const NO_TEXTS: SaidTexts = { input: '', output: '', content: NO_CONTENT }

/** The row of an event's texts, which are well-formed. */
export function textRow(event: EventRow, groupId: string, said: SaidTexts): TextRow {
  const { organization, event_id, ts, retention } = event
  return { organization, group_id: groupId, event_id, ts, ...said, retention }
}

/** A capture as a parser understands it. */
export interface SessionDraft {
  readonly source: Source
  readonly conversationId: string
  readonly sessionId: string
  readonly userId: string
  readonly userEmail: string
  readonly userData: MetadataBuilder
  readonly metadata: MetadataBuilder
  readonly clientConfig?: string
  readonly connectionType?: string
  readonly ip?: string
  readonly tools?: readonly string[]
  readonly startedAt: Instant
  readonly recordingUrl?: string
  readonly report?: string
}

/** The row of a capture. */
export function sessionRow(context: FrameContext, draft: SessionDraft): SessionRow {
  const startedAt = clampNoted(draft.startedAt, context, draft.metadata)
  return {
    organization: context.organization,
    conversation_id: draft.conversationId,
    session_id: draft.sessionId === draft.conversationId ? '' : wellFormed(draft.sessionId),
    source: draft.source,
    user_id: wellFormed(draft.userId),
    user_email: wellFormed(draft.userEmail),
    user_data: draft.userData.finish(),
    metadata: draft.metadata.finish(),
    client_config: wellFormed(draft.clientConfig ?? ''),
    connection_type: wellFormed(draft.connectionType ?? ''),
    ip: wellFormed(draft.ip ?? ''),
    tools: (draft.tools ?? []).map(wellFormed),
    started_at: sqlMillis(startedAt.ms),
    recording_url: wellFormed(draft.recordingUrl ?? ''),
    received_at: sqlMillis(context.receivedAtMs),
    retention: context.retention,
    report: draft.report ?? '',
  }
}

/** An instant from Unix milliseconds, which may have a fraction. */
export function instantOfMs(ms: number): Instant {
  const whole = Math.floor(ms)
  return Number.isSafeInteger(whole)
    ? { ms: whole, ns: Math.min(999_999, Math.round((ms - whole) * 1e6)) }
    : fromMs(whole)
}

/** The instant within the allowed range; the sent one is noted when it was outside. */
function clampNoted(at: Instant, context: FrameContext, metadata: MetadataBuilder): Instant {
  const kept = clamp(at, context.receivedAtMs)
  if (kept !== at) metadata.note('sent_timestamp', isoOf(at))
  return kept
}

/** ISO 8601 where a date can say it, else the milliseconds. */
function isoOf(at: Instant): string {
  return Math.abs(at.ms) <= 8.64e15 ? new Date(at.ms).toISOString() : String(at.ms)
}

function short(text: string, field: string, metadata: MetadataBuilder): string {
  const whole = wellFormed(text)
  const cut = cutUnits(whole, NAME_UNITS)
  if (cut !== whole) metadata.note(`sent_${field}`, whole)
  return cut
}

const counted = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

function presentOf(draft: EventDraft, usage: Usage): number {
  let bits = draft.marks ?? 0
  if (draft.input !== null) bits |= Present.input
  if (draft.output !== null) bits |= Present.output
  return bits | usageBits(usage)
}

/** Bits of `present` for the counts that were sent. */
export function usageBits(usage: Usage): number {
  let bits = 0
  if (usage !== NO_USAGE) for (const count of counted) if (usage[count] !== null) bits |= Present[count]
  return bits
}
