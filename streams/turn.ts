// Who may do a piece of scheduled work: a key of the leases bucket, which expires when its holder is gone. It spares doing the work
// twice; the work itself has to be harmless when it is done twice.
import type { KV } from '@nats-io/kv'
import { LEASE_TTL_MS } from '#proto/streams.ts'

/** A turn that is held. */
export interface Turn {
  /** Aborted when the turn may have gone to somebody else. */
  readonly lost: AbortSignal
  release(): Promise<void>
}

/** Takes a turn; null when somebody has it. @throws when the server does not answer. */
export async function takeTurn(leases: KV, name: string, holder: string): Promise<Turn | null> {
  const key = `turn.${name}`
  const entry = await leases.get(key)
  if (entry?.operation === 'PUT') return null
  let revision: number
  try {
    revision = await leases.create(key, holder)
  } catch {
    return null
  }
  const ended = new AbortController()
  let renewing: Promise<void> = Promise.resolve()
  let renewedAt = performance.now()
  const renew = async (): Promise<void> => {
    try {
      revision = await leases.update(key, holder, revision)
      renewedAt = performance.now()
    } catch {
      if (performance.now() - renewedAt >= LEASE_TTL_MS) ended.abort()
    }
  }
  const timer = setInterval(() => {
    renewing = renewing.then(renew)
  }, LEASE_TTL_MS / 4)
  timer.unref()
  return {
    lost: ended.signal,
    release: async () => {
      clearInterval(timer)
      await renewing
      // Unanswered or taken: it runs out by itself.
      await leases.delete(key, { previousSeq: revision }).catch(() => {})
    },
  }
}
