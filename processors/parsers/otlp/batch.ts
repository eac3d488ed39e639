// The spans of one request -> their rows. Each span is read alone, then its neighbours decide what a span cannot know: which usage is
// a sum of others, which spans tell the same call, whose failure is that of a span below. What a span says is its own: a turn that says nothing is given words when it is read
// (query/reads/lenders.ts), so that it does not matter what came with it. The same request gives the same rows for ever.
import type { Span } from '#proto/otlp/span.ts'
import type { FrameContext } from '../../outcome.ts'
import { joinCalls } from './calls.ts'
import { carryFailures } from './carried.ts'
import type { SpanReading } from './reading.ts'
import { countUsage } from './sums.ts'
import { type Family, familiesOf } from './tree.ts'
import { readSpan, rowsOf, type SpanRows } from './unit.ts'

/** The rows of a batch, in its order. */
export function readBatch(spans: readonly Span[], context: FrameContext): readonly SpanRows[] {
  const readings = spans.map(span => readSpan(span, context))
  settle(readings)
  return readings.map(reading => rowsOf(reading, context))
}

/** Lets the spans of a batch decide about each other. */
export function settle(readings: readonly SpanReading[]): void {
  settleFamilies(familiesOf(readings))
}

/** The same for spans whose places in the trees are known. */
export function settleFamilies(families: readonly Family[]): void {
  joinCalls(families)
  countUsage(families)
  carryFailures(families)
}
