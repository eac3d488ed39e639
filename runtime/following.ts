// How followers of a stream consume with ordered consumers of the client: so that no pull of theirs comes to its end while they wait.
import type { Consumer, ConsumerMessages } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'

/**
 * Of `consume`. Of a pull that got lost the client hears when two heartbeats are missed, which are half as long as the pull apart unless
 * one says otherwise.
 */
export const FOLLOWING = { expires: 60_000, idle_heartbeat: 1_000 } as const
/**
 * A server (2.9, consumer.go nextWaiting) that has a message for a pull whose time is over, but whose end it has not told yet, forgets
 * the pull without a word: nothing comes until its heartbeats are missed (`npm run bench -- pulls`). So no pull gets that old.
 */
export const RENEW_MS = 45_000
/** Whoever asks the server about a consumer that was given up still gets an answer. */
const KEPT_MS = 5_000

/** What is consumed until it is to be begun anew. */
export interface Consumed {
  /** Ends it for good. */
  end(): void
  /** True when it ended only to begin anew, which is done at once. */
  readonly stale: boolean
}

/**
 * Ends what is consumed before its first pull does, and when a lost connection is back: a restarted server has forgotten the
 * consumer, and the client asks for it with long pauses. Whoever follows begins again behind the last message that he has read, unless
 * his signal has aborted.
 */
export function endInTime(
  nc: NatsConnection,
  consumer: Pick<Consumer, 'delete'>,
  messages: Pick<ConsumerMessages, 'stop' | 'closed'>,
  { signal, renewMs = RENEW_MS }: { readonly signal?: AbortSignal; readonly renewMs?: number } = {},
): Consumed {
  let stale = false
  const renew = (): void => {
    stale = true
    messages.stop()
  }
  const end = (): void => {
    stale = false
    messages.stop()
  }
  signal?.addEventListener('abort', end, { once: true })
  if (signal?.aborted) end()
  const timer = setTimeout(renew, renewMs)
  const statuses = nc.status() as ReturnType<NatsConnection['status']> & { stop?: () => void }
  void (async () => {
    for await (const { type } of statuses) if (type === 'reconnect') renew()
  })()
  void messages.closed().then(() => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', end)
    statuses.stop?.()
    // The server forgets it by itself after a while; this is only tidier.
    setTimeout(() => void (nc.isClosed() ? undefined : consumer.delete().catch(() => false)), KEPT_MS).unref()
  })
  return {
    end,
    get stale() {
      return stale
    },
  }
}
