// Percentiles over latency buckets: exact over the buckets, so a recount finds the same number.
import { latencyOfBucket } from '#proto/rows.ts'

/** Milliseconds of a bucket as the store answers it; null where nothing was timed. */
export function bucketMs(bucket: number | null): number | null {
  return bucket === null || bucket < 0 ? null : latencyOfBucket(bucket)
}

/** The mean in milliseconds of whole microseconds in text; null where nothing was timed. */
export function averageMs(micros: string, timed: string): number | null {
  return Number(timed) === 0 ? null : Number(micros) / Number(timed) / 1000
}

/**
 * SQL: the buckets at some levels, nearest rank, of rows that hold `latency_bucket` and a positive count `n`. An empty set answers
 * what the caller must not look at: it knows how many were timed.
 */
export const bucketsAt = (levels: readonly number[]): string =>
  `quantilesExactWeightedIf(${levels.join(', ')})(latency_bucket, toUInt64(n), latency_bucket >= 0)`
