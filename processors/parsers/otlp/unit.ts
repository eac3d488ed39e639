// One span -> its unit of rows. A span says the same in whatever encoding it comes; what its neighbours in the batch decide is
// settled in batch.ts, between the two halves here.
import { NIL_UUID, spanEventId } from '#proto/ids.ts'
import type { Span } from '#proto/otlp/span.ts'
import { type EventRow, Present, type TextRow } from '#proto/rows.ts'
import { fromMs, nanosBetween } from '#proto/time.ts'
import type { FrameContext } from '../../outcome.ts'
import type { MetadataBuilder } from '../metadata.ts'
import { eventRows, NO_USAGE } from '../rows.ts'
import { billingOf } from './billing.ts'
import { contentOf, unsaidBits } from './content.ts'
import { belongingOf, type Revealed, revealedBy } from './conversation.ts'
import { type Considered, Facts } from './facts.ts'
import { failureOf, passesOn } from './failure.ts'
import { kindOf } from './kinds.ts'
import { modelOf, providerOf } from './model.ts'
import { NO_LENTS, type SpanReading } from './reading.ts'
import { failureInResult } from './results.ts'
import { type Kept, nanosText, spanMetadata } from './span-metadata.ts'
import { reportedBy, useReported } from './usage.ts'

/** The rows of a span. `revealed` is null when it says nothing about its conversation. */
export interface SpanRows {
  readonly event: EventRow
  readonly texts: readonly TextRow[]
  readonly revealed: Revealed | null
  /** What became of its attributes. */
  readonly kept: Kept
}

/** Reads what a span says alone. `considered` collects every place that was looked at; null = nobody asks. */
export function readSpan(span: Span, context: FrameContext, considered: Considered[] | null = null): SpanReading {
  const facts = new Facts(span, context.rules ?? null, considered)
  const kind = kindOf(facts)
  const belonging = belongingOf(facts, kind, context.organization)
  const model = modelOf(facts)
  const provider = providerOf(facts, model)
  const reported = reportedBy(facts, model)
  const input = contentOf(facts, kind.kind, 'input')
  const output = contentOf(facts, kind.kind, 'output')
  const failure = failureOf(facts) ?? (kind.kind === 'tool' ? failureInResult(output, facts.dialects) : null)
  return {
    ...{ facts, kind, belonging, model, provider, reported, input, output },
    failure,
    carried: failure !== null && passesOn(kind, facts.isRoot),
    counting: 'none',
    lent: NO_LENTS,
    sameAs: '',
  }
}

/** The rows of a span that is settled. */
export function rowsOf(reading: SpanReading, context: FrameContext): SpanRows {
  const { facts, kind, belonging, failure, input, output, reported } = reading
  const { span } = facts
  const { organization } = context
  const counts = reported !== null && (reading.counting === 'counted' || reading.counting === 'own')
  if (counts) useReported(facts, reported)
  const usage = counts ? reported.usage : NO_USAGE
  const kept = spanMetadata(reading)
  const traceUuid = uuidOfHex(span.traceId)
  const { event, texts } = eventRows(
    context,
    {
      source: 'otlp',
      kind: kind.kind,
      conversationId: belonging.conversationId,
      sessionId: belonging.sessionId,
      eventId: idOf(organization, span.traceId, span.spanId),
      parentId: span.parentSpanId === '' ? NIL_UUID : idOf(organization, span.traceId, span.parentSpanId),
      traceId: traceUuid,
      spanId: decimalOfHex(span.spanId),
      parentSpanId: span.parentSpanId === '' ? '0' : decimalOfHex(span.parentSpanId),
      at: span.start ?? span.end ?? fromMs(context.receivedAtMs),
      durationNs: durationOf(span, kept.metadata),
      name: kind.name,
      failed: failure !== null && !reading.carried,
      errorType: failure?.type ?? '',
      errorMessage: failure?.message ?? '',
      userId: belonging.userId,
      provisional: belonging.provisional,
      model: reading.model,
      provider: reading.provider,
      usage,
      billing: billingOf(span.attributes, usage),
      input: input?.text ?? null,
      output: output?.text ?? null,
      marks: unsaidBits(kind, input, output) | (reading.carried ? Present.carried : 0),
      metadata: kept.metadata,
      content: kept.content,
    },
    traceUuid,
  )
  return { event, texts, revealed: revealedBy(facts, belonging, context), kept }
}

/** Event ids of the spans that came last: each is asked for by the span itself and by its children, and costs a hash. */
const ids = new Map<string, string>()
const IDS = 4096

function idOf(organization: string, traceId: string, spanId: string): string {
  const key = organization + traceId + spanId
  const known = ids.get(key)
  if (known !== undefined) return known
  const id = spanEventId(organization, traceId, spanId)
  if (ids.size >= IDS) ids.clear()
  ids.set(key, id)
  return id
}

/** Nanoseconds from start to end; null when one is missing, 0 when the end is before the start (the sent end is noted). */
function durationOf(span: Span, metadata: MetadataBuilder): number | null {
  if (span.start === null || span.end === null) return null
  const nanos = nanosBetween(span.start, span.end)
  if (nanos >= 0) return Math.min(nanos, Number.MAX_SAFE_INTEGER)
  metadata.note('sent_end_unix_nano', nanosText(span.end))
  return 0
}

/** 32 hex digits in uuid form. */
function uuidOfHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** An unsigned 64-bit integer in decimal: span ids do not fit a double. */
function decimalOfHex(hex: string): string {
  return BigInt(`0x${hex}`).toString()
}
