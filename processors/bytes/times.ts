// The times of a span where they stand as two halves -> what is asked of them, as numbers: an object for each look would be most of what
// finishing and writing a span leaves to the garbage collector.
import { MAX_TIME_MS } from '#proto/otlp/span.ts'
import { type Instant, msOfHalves, nsOfHalves } from '#proto/time.ts'
import { S } from './spans.ts'

/** Whole Unix milliseconds of the time at `field` of the span at `row`. */
export function msAt(spans: Int32Array, row: number, field: number): number {
  return msOfHalves((spans[row + field] as number) >>> 0, (spans[row + field + 1] as number) >>> 0)
}

/** The nanoseconds below them. */
export function nsAt(spans: Int32Array, row: number, field: number): number {
  return nsOfHalves((spans[row + field] as number) >>> 0, (spans[row + field + 1] as number) >>> 0)
}

/** False where nothing was sent, or no time: what `timeOrNull` says. */
export function isTimeAt(spans: Int32Array, row: number, field: number): boolean {
  if (((spans[row + field] as number) | (spans[row + field + 1] as number)) === 0) return false
  return msAt(spans, row, field) <= MAX_TIME_MS
}

/** The time as everybody else sees it. */
export function instantAt(spans: Int32Array, row: number, field: number): Instant | null {
  return isTimeAt(spans, row, field) ? { ms: msAt(spans, row, field), ns: nsAt(spans, row, field) } : null
}

/** The field of the time that says when a span was: its start, or the end of one without it. */
export function placeOfTime(spans: Int32Array, row: number): number {
  return isTimeAt(spans, row, S.startLow) ? S.startLow : S.endLow
}

/** Nanoseconds from start to end, as `nanosBetween` counts them. Precondition: both are times. */
export function durationAt(spans: Int32Array, row: number): number {
  const ms = msAt(spans, row, S.endLow) - msAt(spans, row, S.startLow)
  return ms * 1_000_000 + (nsAt(spans, row, S.endLow) - nsAt(spans, row, S.startLow))
}
