// Store queries that one organization may run at once: the others of it wait in order, so that nobody's dashboard or export takes the
// store from everybody else.
import { ParleyError } from '#proto/errors.ts'

/** Runs work in an organization's share. */
export interface Shares {
  /**
   * Runs `work` when fewer than `atOnce` of the organization run.
   * @throws ParleyError QRY_CANCELLED when the signal aborts before; whatever `work` throws.
   */
  run<T>(organization: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>
  /** How many wait, over all organizations. */
  waiting(): number
}

interface Share {
  running: number
  readonly queue: (() => void)[]
}

/** Shares of equal size. */
export function createShares(atOnce: number): Shares {
  const shares = new Map<string, Share>()

  const enter = (organization: string, signal: AbortSignal): Promise<void> => {
    const share = shares.get(organization) ?? { running: 0, queue: [] }
    shares.set(organization, share)
    if (share.running < atOnce) {
      share.running++
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        share.queue.splice(share.queue.indexOf(start), 1)
        reject(new ParleyError('QRY_CANCELLED'))
      }
      // Whoever leaves hands its place over: `running` stays.
      const start = (): void => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      share.queue.push(start)
      signal.addEventListener('abort', leave, { once: true })
      if (signal.aborted) leave()
    })
  }

  const leave = (organization: string): void => {
    const share = shares.get(organization)
    if (share === undefined) return
    const next = share.queue.shift()
    if (next !== undefined) next()
    else if (--share.running === 0) shares.delete(organization)
  }

  return {
    run: async (organization, signal, work) => {
      await enter(organization, signal)
      try {
        return await work()
      } finally {
        leave(organization)
      }
    },
    waiting: () => [...shares.values()].reduce((sum, share) => sum + share.queue.length, 0),
  }
}
