// Latency buckets of several days -> percentiles, as the store finds them over the same events.
import { createHistogram } from './histogram.ts'
import type { Figures } from './rows.ts'

/** Empty between two calls. */
const histogram = createHistogram()

type Buckets = Pick<Figures, 'buckets' | 'counts'>

/** Buckets at some levels, in ascending order, by nearest rank over what was timed; nothing where nothing was. */
export function levelsOf(days: readonly Buckets[], levels: readonly number[]): number[] {
  let timed = 0
  for (const { buckets, counts } of days) {
    for (let i = 0; i < buckets.length; i++) {
      const [bucket, n] = [buckets[i] as number, counts[i] as number]
      // Below 0 is what was not timed.
      if (bucket < 0) continue
      histogram.add(bucket, n)
      timed += n
    }
  }
  const found: number[] = []
  let passed = 0
  const { buckets, counts } = histogram.take()
  for (let i = 0; i < buckets.length; i++) {
    passed += counts[i] as number
    while (found.length < levels.length && passed >= timed * (levels[found.length] as number)) {
      found.push(buckets[i] as number)
    }
  }
  return found
}
