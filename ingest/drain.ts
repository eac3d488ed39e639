// The end of a server: waits for the answers that are under way, and for what kept connections still bring.
import { setTimeout as delay } from 'node:timers/promises'
import type { Traffic } from '#ingest/exchange.ts'

/** Forwarded answers get this much of the time: a stream of events would never end by itself. */
const FORWARD_DRAIN_MS = 1_000
/**
 * Looks at the sockets in a row that found nothing new. Not a time: a process that has not run for a while has seen nothing either. A
 * sender that uses its connection meanwhile learns from the answer that it is to open another one, …
 */
const QUIET_LOOKS = 8
/** … as long as all of them together do not take longer. */
const LINGER_MS = 2_000
const DRAIN_POLL_MS = 20

/** How far a stop has come. */
export interface Waited {
  /** Milliseconds since it began. */
  readonly allMs: number
  /** Looks since a request has come. */
  readonly quietLooks: number
  /** The most milliseconds that it may take. */
  readonly timeoutMs: number
}

/**
 * True when connections may be closed: nothing is under way, and no request has come for a while. Whoever closes a kept connection in
 * the instant in which its sender uses it takes that request from a sender that never tries again.
 */
export function mayClose({ own, forwarded }: Pick<Traffic, 'own' | 'forwarded'>, waited: Waited): boolean {
  const { allMs, quietLooks, timeoutMs } = waited
  const answering = own > 0 && allMs < timeoutMs
  const forwarding = forwarded > 0 && allMs < Math.min(FORWARD_DRAIN_MS, timeoutMs)
  const lingering = quietLooks < QUIET_LOOKS && allMs < Math.min(LINGER_MS, timeoutMs)
  return !answering && !forwarding && !lingering
}

/** From now on answers close their connections. Resolves when connections may be closed, or after `timeoutMs`. */
export async function drain(traffic: Traffic, timeoutMs: number): Promise<void> {
  traffic.draining = true
  const startedAt = performance.now()
  let quietLooks = 0
  for (;;) {
    const { begun } = traffic
    if (mayClose(traffic, { allMs: performance.now() - startedAt, quietLooks, timeoutMs })) return
    await delay(DRAIN_POLL_MS)
    quietLooks = traffic.begun === begun ? quietLooks + 1 : 0
  }
}
