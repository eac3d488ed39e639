// A decoded span: the same for both encodings, so that everything after it is written once.
import type { Instant } from '#proto/time.ts'

/**
 * An attribute value. Integers beyond 2^53 are their decimal digits (no double holds them), bytes are base64, an absent or
 * empty value is null, a kvlist is an object without prototype.
 */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value }

/** Attributes by key; of a key given twice the last counts. */
export type Attributes = ReadonlyMap<string, Value>

export interface Resource {
  readonly attributes: Attributes
}

export interface Scope {
  readonly name: string
  readonly version: string
  readonly attributes: Attributes
}

export interface SpanEvent {
  readonly at: Instant | null
  readonly name: string
  readonly attributes: Attributes
}

export interface SpanLink {
  readonly traceId: string
  readonly spanId: string
  readonly traceState: string
  readonly attributes: Attributes
}

export interface Span {
  /** 32 and 16 lower-case hex digits. */
  readonly traceId: string
  readonly spanId: string
  /** '' at a root. */
  readonly parentSpanId: string
  readonly traceState: string
  readonly name: string
  /** SpanKind: 0 unspecified, 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  /** null when absent or zero. */
  readonly start: Instant | null
  readonly end: Instant | null
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  readonly links: readonly SpanLink[]
  /** StatusCode: 0 unset, 1 ok, 2 error. */
  readonly statusCode: number
  readonly statusMessage: string
  readonly droppedAttributes: number
  readonly droppedEvents: number
  readonly droppedLinks: number
  readonly resource: Resource
  readonly scope: Scope
}

/** What a span carries beside its own fields and attributes. */
export type SpanRecords = Pick<
  Span,
  'traceState' | 'events' | 'links' | 'droppedAttributes' | 'droppedEvents' | 'droppedLinks'
>

export const NO_ATTRIBUTES: Attributes = new Map()
export const NO_RESOURCE: Resource = { attributes: NO_ATTRIBUTES }
export const NO_SCOPE: Scope = { name: '', version: '', attributes: NO_ATTRIBUTES }

/** Milliseconds of the largest int64 of nanoseconds: what is beyond is no time but garbage. */
export const MAX_TIME_MS = 9_223_372_036_854

/** The time, or null where OTLP means "not set" by zero, or where it is no time. */
export function timeOrNull(at: Instant | null): Instant | null {
  return at === null || (at.ms === 0 && at.ns === 0) || at.ms > MAX_TIME_MS ? null : at
}
