// Waiting that ends early: until a next try, for a while, and for work that is only tidier.

/** Waits, twice as long each time up to `maxMs`, or less when `signal` aborts. */
export class Backoff {
  readonly #maxMs: number
  #nextMs: number
  readonly #firstMs: number

  constructor(firstMs = 50, maxMs = 2_000) {
    this.#firstMs = firstMs
    this.#nextMs = firstMs
    this.#maxMs = maxMs
  }

  /** Resolves after the next pause, or at once when aborted. */
  async pause(signal: AbortSignal): Promise<void> {
    const ms = this.#nextMs
    this.#nextMs = Math.min(this.#maxMs, ms * 2)
    await sleep(ms, signal)
  }

  reset(): void {
    this.#nextMs = this.#firstMs
  }
}

/** Resolves with `work`, or after `ms` without waiting for it any longer. For what is only tidier. Never rejects. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>(resolve => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work.catch(() => {}), over])
  clearTimeout(timer)
}

/** Resolves after `ms`, or as soon as `signal` aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise(resolve => {
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
