// The body of a trace export -> one unit for each span, in the order of the body. Spans whose ids cannot be used were reported
// to the exporter when the request was answered and are left out here.
import { decodeTraces } from '#proto/otlp/decode.ts'
import type { Span } from '#proto/otlp/span.ts'
import type { FrameContext, FrameParser, Unit } from '../outcome.ts'
import { readBatch } from './otlp/batch.ts'
import { linksOf } from './otlp/links.ts'

/** Parses an ExportTraceServiceRequest; see FrameParser. */
export const parseTraces: FrameParser = (body, content, context) => {
  const decoded = decodeTraces(body, content)
  if (!decoded.ok) return { dead: 'DEAD_PARSE', reason: `${decoded.code} ${decoded.reason}` }
  return { units: unitsOfSpans(decoded.spans, context) }
}

/** One unit for each span of a body. */
export function unitsOfSpans(spans: readonly Span[], context: FrameContext): Unit[] {
  // Spans of one batch say the same about their conversation again and again: the first that does carries the capture.
  const known = new Set<string>()
  const rows = readBatch(spans, context)
  const links = linksOf(rows.map(({ event }) => event))
  return rows.map(({ event, texts, revealed }, i): Unit => {
    const link = links.get(i)
    const news = revealed !== null && !known.has(revealed.key)
    if (revealed !== null) known.add(revealed.key)
    return {
      identity: { kind: 'event', id: event.event_id },
      sessions: news ? [revealed.capture()] : [],
      texts,
      ...(link ? { links: [link] } : {}),
      events: [event],
    }
  })
}
