// Latency buckets, of one event or of some -> how many events each bucket has.
import type { Figures } from './rows.ts'

/** Counts by bucket. */
export interface Histogram {
  add(bucket: number, events?: number): void
  /** The buckets that any event has, lowest first, and how many; empties it. */
  take(): { buckets: number[]; counts: number[] } & Pick<Figures, 'buckets' | 'counts'>
}

/** An empty one; it grows with its largest bucket, the least of which is -1. */
export function createHistogram(): Histogram {
  let counts = new Float64Array(256)
  return {
    add(bucket, events = 1) {
      if (bucket + 1 >= counts.length) {
        const larger = new Float64Array((bucket + 2) * 2)
        larger.set(counts)
        counts = larger
      }
      counts[bucket + 1] = (counts[bucket + 1] as number) + events
    },
    take() {
      const taken = { buckets: [] as number[], counts: [] as number[] }
      for (let i = 0; i < counts.length; i++) {
        const count = counts[i] as number
        if (count === 0) continue
        taken.buckets.push(i - 1)
        taken.counts.push(count)
      }
      counts.fill(0)
      return taken
    },
  }
}
