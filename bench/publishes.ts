// A sender that speaks to JetStream itself: one message at a time, each awaited. The least that a durable request can take.
import { jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { percentile } from './stats.ts'

/** What `seconds` of it gave. */
export interface PublishResult {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

/** Publishes `bytes` again and again, awaiting each acknowledgement. */
export async function awaitedPublishes(options: {
  nc: NatsConnection
  subject: string
  bytes: Uint8Array
  seconds: number
}): Promise<PublishResult> {
  const { subject, bytes, seconds } = options
  const js = jetstream(options.nc)
  const times: number[] = []
  const startedAt = performance.now()
  let at = startedAt
  while (at - startedAt < seconds * 1000) {
    await js.publish(subject, bytes)
    const now = performance.now()
    times.push(now - at)
    at = now
  }
  const corrected = withOmitted(times, (at - startedAt) / times.length)
  return {
    requestsPerSecond: (times.length / (at - startedAt)) * 1000,
    p50Ms: percentile(corrected, 50),
    p99Ms: percentile(corrected, 99),
    p999Ms: percentile(corrected, 99.9),
  }
}

/** What wrk does to its latencies, so that both can be compared: a stall also counts for those who could not be sent in it. */
function withOmitted(times: readonly number[], intervalMs: number): number[] {
  const omitted: number[] = []
  for (const time of times) {
    if (time < 2 * intervalMs) continue
    for (let left = time - intervalMs; left > intervalMs; left -= intervalMs) omitted.push(left)
  }
  return [...times, ...omitted]
}
