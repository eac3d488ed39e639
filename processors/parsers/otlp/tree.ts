// The spans of a batch as the trees they form. A parent that is not in the batch is none here.
import type { SpanReading } from './reading.ts'

/** A span and its parent within the batch. */
export interface Family {
  readonly reading: SpanReading
  /** Its position in the batch. */
  readonly at: number
  parent: Family | null
}

/** Deepest chain of parents that is followed. */
const MAX_DEPTH = 512

/** Finds everybody's parent. A span that is its own ancestor has none. */
export function familiesOf(readings: readonly SpanReading[]): readonly Family[] {
  const families = readings.map((reading, at): Family => ({ reading, at, parent: null }))
  const known = new Map<string, Family>()
  for (const family of families) known.set(family.reading.facts.span.spanId, family)
  for (const family of families) {
    const { traceId, parentSpanId } = family.reading.facts.span
    const parent = parentSpanId === '' ? undefined : known.get(parentSpanId)
    if (parent !== undefined && parent.reading.facts.span.traceId === traceId && parent !== family)
      family.parent = parent
  }
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
