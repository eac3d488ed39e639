// Latency buckets of several days -> percentiles, as the store finds them over the same events.
import type { Figures } from './rows.ts'

type Buckets = Pick<Figures, 'buckets' | 'counts'>

/** Buckets at some levels, in ascending order, by nearest rank over what was timed; nothing where nothing was. */
export function levelsOf(days: readonly Buckets[], levels: readonly number[]): number[] {
  const byBucket = new Map<number, number>()
  let timed = 0
  for (const { buckets, counts } of days) {
    for (let i = 0; i < buckets.length; i++) {
      const [bucket, n] = [buckets[i] as number, counts[i] as number]
      // Below 0 is what was not timed.
      if (bucket < 0) continue
      byBucket.set(bucket, (byBucket.get(bucket) ?? 0) + n)
      timed += n
    }
  }
  const found: number[] = []
  let passed = 0
  for (const [bucket, n] of [...byBucket].sort(([a], [b]) => a - b)) {
    passed += n
    while (found.length < levels.length && passed >= timed * (levels[found.length] as number)) found.push(bucket)
  }
  return found
}
