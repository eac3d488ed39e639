// Spans and envelopes for the benches of late knowledge, as receivers would append them.
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'

/** What a span may be told. */
export interface SpanFields {
  /** Left out: the root is 1, and the parent of all. */
  readonly parent?: number
  readonly session?: string
  readonly user?: string
}

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0')
const startMs = Date.now() - 600_000
const writer = new EnvelopeWriter(8 * 1024 * 1024)

/** A span of a trace by numbers; without fields span 1 is the root and names the session, and the others are its children. */
export function spanOf(trace: number, span: number, fields?: SpanFields): object {
  const ms = startMs + (trace % 1_000) + span
  const {
    session,
    user,
    parent = span === 1 ? undefined : 1,
  } = fields ?? (span === 1 ? { session: sessionOf(trace) } : {})
  const values = {
    ...(session === undefined ? {} : { 'session.id': session }),
    ...(user === undefined ? {} : { 'user.id': user }),
    ...(span === 1 ? {} : { input: `question ${span}`, output: 'answer' }),
  }
  return {
    traceId: hex(trace + 1, 32),
    spanId: hex((trace + 1) * 256 + span, 16),
    ...(parent === undefined ? {} : { parentSpanId: hex((trace + 1) * 256 + parent, 16) }),
    name: 'chat model',
    startTimeUnixNano: `${ms}000000`,
    endTimeUnixNano: `${ms + 40}000000`,
    attributes: Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } })),
  }
}

/** The session of a trace. */
export const sessionOf = (trace: number): string => `session ${trace}`

/** One envelope with one export. */
export function exportOf(organization: string, spans: readonly object[]): Uint8Array {
  writer.reset()
  const bytes = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }))
  writer.append(FrameKind.otlp, FrameEncoding.json, uuidBytes(organization), Date.now(), null, bytes)
  return writer.finish().slice()
}

/** An envelope without anything in it: it takes a position. */
export function emptyEnvelope(): Uint8Array {
  writer.reset()
  return writer.finish().slice()
}
