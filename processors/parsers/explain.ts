// Why are the fields of this event what they are? One payload and an event of it -> every field with the place it came from, in the
// same words whatever the surface. The one file of the parsers that others than processors import.
import { gunzipSync } from 'node:zlib'
import { createPricing, indexPrices } from '#pricing/quote.ts'
import { FrameKind } from '#proto/envelope.ts'
import { spanEventId } from '#proto/ids.ts'
import { decodeTraces } from '#proto/otlp/decode.ts'
import type { Span } from '#proto/otlp/span.ts'
import type { PriceList, PriceOverride } from '#proto/prices.ts'
import type { RuleDraft } from '#proto/rules.ts'
import type { FrameContext } from '../outcome.ts'
import { costWords } from './cost.ts'
import { explainEvent } from './explain-event.ts'
import { type ExplainableRow, fieldsOfRow } from './explained-row.ts'
import { type ExplainedField, type ExplainedSpan, explainSpans } from './otlp/explain.ts'
import { compileRules } from './otlp/rules.ts'
import { parseVoice } from './voice.ts'

export { fieldsOfRow } from './explained-row.ts'
export { isSecretName, maskAlso } from './secrets.ts'
export type { ExplainableRow, ExplainedField, ExplainedSpan }

/** An event, explained. */
export interface ExplainedEvent {
  readonly eventId: string
  /** Null for events that were not sent as spans. */
  readonly span: Pick<ExplainedSpan, 'traceId' | 'spanId' | 'spanName'> | null
  readonly dialects: readonly string[]
  readonly fields: readonly ExplainedField[]
  readonly attributes: ExplainedSpan['attributes']
}

/** A payload as it was sent. */
export interface RawPayload {
  /** FrameKind. */
  readonly kind: number
  /** FrameEncoding. */
  readonly encoding: number
  readonly bytes: Uint8Array
}

/** How an organization's payloads are read. */
export interface ReadBy {
  readonly list: PriceList
  readonly prices: readonly PriceOverride[]
  readonly rules: readonly RuleDraft[]
}

/** Receivers refuse more than a fraction of this. */
const INFLATED_MAX_BYTES = 256 * 1024 * 1024

/** What parsers know besides the payload; see FrameContext. */
export function contextOf(
  frame: Pick<FrameContext, 'organization' | 'receivedAtMs' | 'mintedId'>,
  { list, prices, rules }: ReadBy,
): FrameContext {
  return {
    ...frame,
    retention: 0,
    pricing: createPricing(indexPrices(list.entries), prices),
    rules: compileRules(rules),
  }
}

/** Explains one event of a payload; null when the payload does not hold it, or nobody can read it. */
export function explainPayload(payload: RawPayload, context: FrameContext, eventId: string): ExplainedEvent | null {
  const body = inflated(payload)
  switch (payload.kind) {
    case FrameKind.otlp: {
      const decoded = decodeTraces(body, contentOf(payload))
      return decoded.ok ? explainSpanOf(decoded.spans, context, eventId) : null
    }
    case FrameKind.event:
      return explainEvent(body, context, eventId)
    case FrameKind.voice: {
      const outcome = parseVoice(body, contentOf(payload), context)
      const rows = 'dead' in outcome ? [] : outcome.units.flatMap(unit => unit.events)
      const row = rows.find(each => each.event_id === eventId)
      return row === undefined ? null : explainRow(row, "read from the call's report")
    }
    default:
      return null
  }
}

/** Explains every span of a trace export. @throws Error when it is none; the message says why. */
export function explainExport(body: Uint8Array, content: 'json' | 'protobuf', context: FrameContext): ExplainedEvent[] {
  const decoded = decodeTraces(body, content)
  if (!decoded.ok) throw new Error(`${decoded.code} ${decoded.reason}`)
  return explainSpans(decoded.spans, context).map(ofSpan)
}

/** The fields of a row alone, with one reason for all. */
export function explainRow(row: ExplainableRow, because: string): ExplainedEvent {
  const fields = Object.entries(fieldsOfRow(row)).map(([field, value]) => ({
    ...{ field, value, from: null, ignored: [], looked: [] },
    because: value === '' ? '' : (field === 'cost' && costWords(row)) || because,
  }))
  const attributes = Object.keys(row.metadata).map(attribute => ({ attribute, became: 'metadata' }))
  return { eventId: row.event_id, span: null, dialects: [], fields, attributes }
}

function explainSpanOf(spans: readonly Span[], context: FrameContext, eventId: string): ExplainedEvent | null {
  const { organization } = context
  const wanted = spans.find(({ traceId, spanId }) => spanEventId(organization, traceId, spanId) === eventId)
  if (wanted === undefined) return null
  // Only spans of one trace decide about each other, and a batch may hold thousands.
  const trace = spans.filter(span => span.traceId === wanted.traceId)
  const found = explainSpans(trace, context).find(span => span.eventId === eventId)
  return found === undefined ? null : ofSpan(found)
}

function ofSpan({ eventId, dialects, fields, attributes, ...span }: ExplainedSpan): ExplainedEvent {
  return { eventId, span, dialects, fields, attributes }
}

const contentOf = ({ encoding }: RawPayload): 'json' | 'protobuf' => ((encoding & 15) === 0 ? 'json' : 'protobuf')

function inflated({ encoding, bytes }: RawPayload): Uint8Array {
  return encoding >> 4 === 1 ? gunzipSync(bytes, { maxOutputLength: INFLATED_MAX_BYTES }) : bytes
}
