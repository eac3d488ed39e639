// The end of a server: waits for the answers that are under way.
import { setTimeout as delay } from 'node:timers/promises'
import type { Traffic } from '#ingest/exchange.ts'

/** Forwarded answers get this much of the time: a stream of events would never end by itself. */
const FORWARD_DRAIN_MS = 1_000
const DRAIN_POLL_MS = 20

/** From now on answers close their connections. Resolves when all are given, or after `timeoutMs`. */
export async function drain(traffic: Traffic, timeoutMs: number): Promise<void> {
  traffic.draining = true
  const started = performance.now()
  for (;;) {
    const waitedMs = performance.now() - started
    const answering = traffic.own > 0 && waitedMs < timeoutMs
    const forwarding = traffic.forwarded > 0 && waitedMs < Math.min(FORWARD_DRAIN_MS, timeoutMs)
    if (!answering && !forwarding) return
    await delay(DRAIN_POLL_MS)
  }
}
