// The spans of a batch as the trees they form. A parent that is not in the batch is none here.
import type { Neighbour, SpanReading } from './reading.ts'

/** A span and its parent within the batch. */
export interface Family {
  readonly reading: Neighbour
  /** Its position in the batch. */
  readonly at: number
  parent: Family | null
}

/** Deepest chain of parents that is followed. */
const MAX_DEPTH = 512

/** Finds everybody's parent. A span that is its own ancestor has none. */
export function familiesOf(readings: readonly SpanReading[]): readonly Family[] {
  const known = new Map<string, number>()
  for (const [at, { facts }] of readings.entries()) known.set(facts.span.spanId, at)
  const parents = readings.map(({ facts }, at) => {
    const { traceId, parentSpanId } = facts.span
    const parent = parentSpanId === '' ? undefined : known.get(parentSpanId)
    if (parent === undefined || parent === at) return -1
    return readings[parent]?.facts.span.traceId === traceId ? parent : -1
  })
  return familiesByParents(readings, parents)
}

/** The same where the position of everybody's parent is known already; -1 = none. */
export function familiesByParents(readings: readonly Neighbour[], parents: ArrayLike<number>): readonly Family[] {
  const families = readings.map((reading, at): Family => ({ reading, at, parent: null }))
  for (const family of families) family.parent = families[parents[family.at] as number] ?? null
  for (const family of families) cutLoop(family)
  return families
}

/** Takes the parent away from where a chain meets its beginning again, or is deeper than anybody needs. */
function cutLoop(family: Family): void {
  let here: Family = family
  for (let depth = 0; here.parent !== null; depth++) {
    if (here.parent === family || depth > MAX_DEPTH) {
      here.parent = null
      return
    }
    here = here.parent
  }
}
