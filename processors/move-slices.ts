// Traces that are to be brought home -> slices of which one statement can name everything, and which read no further back than they have to.
import type { Hours, LinkedTrace } from './moves.ts'
import type { Begin } from './placing.ts'

/** Positions that one slice of traces spans, at least. */
const NEAR = 1_000
/** Traces and conversations that one statement names, and of sessions so many characters as one of them. */
const SLICE_NAMES = 50_000
const NAME_CHARS = 32

/** A trace, and what this owner has read of it. */
export interface Begun {
  readonly trace: LinkedTrace
  readonly begin: Begin
}

/** Traces of one statement: rows of theirs stand from a position on, in these hours; undefined: wherever the store says. */
export interface Part {
  readonly traces: readonly LinkedTrace[]
  readonly from: number
  readonly hours?: Hours
  /** At least as many as there are. */
  readonly spans: number
}

/** Traces in slices that began within a few times the same distance from the latest: what is old costs the young ones nothing. */
export function slicesBySequence(begun: readonly Begun[]): Part[] {
  const sorted = begun.toSorted((a, b) => b.begin.from - a.begin.from)
  const latest = sorted[0]?.begin.from ?? 0
  const slices: { traces: LinkedTrace[]; from: number; hours: Hours; spans: number }[] = []
  let reach = 0
  for (const { trace, begin } of sorted) {
    const { from, first, last, spans } = begin
    const distance = latest - from
    const slice = slices.at(-1)
    if (slice && distance <= reach) {
      slice.traces.push(trace)
      slice.from = from
      slice.spans += spans
      slice.hours = { first: Math.min(slice.hours.first, first), last: Math.max(slice.hours.last, last) }
    } else {
      slices.push({ traces: [trace], from, hours: { first, last }, spans })
      reach = Math.max(NEAR, distance * 4)
    }
  }
  return slices
}

/** Traces in slices of which one statement can name everything. */
export function slicesOf(traces: readonly LinkedTrace[]): LinkedTrace[][] {
  const slices: LinkedTrace[][] = []
  let names = SLICE_NAMES
  for (const trace of traces) {
    const named = 3 + trace.linked.length + Math.ceil(trace.session.length / NAME_CHARS)
    if (names + named > SLICE_NAMES) {
      slices.push([])
      names = 0
    }
    names += named
    slices.at(-1)?.push(trace)
  }
  return slices
}
