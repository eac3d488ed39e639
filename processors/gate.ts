// How the lanes of a process share its threads and its memory: what arrives now goes first, what is caught up on takes the rest.
import { Stopped } from './cursor.ts'
import { sleep } from './pause.ts'

interface Waiting {
  readonly amount: number
  readonly urgent: boolean
  readonly enter: () => void
}

/** A number of units that are taken and given back; the urgent are served first, otherwise first come, first served. */
export class Share {
  readonly #max: number
  #used = 0
  #waiting: Waiting[] = []

  constructor(max: number) {
    this.#max = max
  }

  /** Units taken now. */
  get used(): number {
    return this.#used
  }

  /**
   * Takes `amount`; resolves with the function that gives it back (safe to call twice). `entitled`: at once, even beyond the
   * maximum, so that whoever holds nothing always gets on. @throws Stopped when the signal aborts first.
   */
  async take(
    amount: number,
    {
      urgent,
      entitled,
      signal,
    }: { readonly urgent: boolean; readonly entitled: boolean; readonly signal: AbortSignal },
  ): Promise<() => void> {
    if (!entitled && (this.#used + amount > this.#max || this.#waiting.length > 0)) {
      await new Promise<void>((resolve, reject) => {
        const stop = (): void => {
          this.#waiting = this.#waiting.filter(one => one !== waiting)
          reject(new Stopped())
        }
        const enter = (): void => {
          signal.removeEventListener('abort', stop)
          resolve()
        }
        const waiting: Waiting = { amount, urgent, enter }
        signal.addEventListener('abort', stop)
        this.#waiting.push(waiting)
        if (signal.aborted) stop()
        else this.#serve()
      })
    } else this.#used += amount
    let given = false
    return () => {
      if (given) return
      given = true
      this.#used -= amount
      this.#serve()
    }
  }

  #serve(): void {
    for (;;) {
      const next = this.#waiting.find(one => one.urgent) ?? this.#waiting[0]
      // Whoever asks for more than there is waits until all is free.
      if (!next || (this.#used + next.amount > this.#max && this.#used > 0)) return
      this.#waiting = this.#waiting.filter(one => one !== next)
      this.#used += next.amount
      next.enter()
    }
  }
}

/** What arrives now is to be stored within a few seconds: from this age on, the rest waits for it … */
const LATE_MS = 2_000
/** … but for one range never longer than this, so that a store that is slow altogether is still caught up with. */
const YIELD_MAX_MS = 3_000
const LOOK_MS = 100

/** Lets backlogs and replays yield to live lanes that are late. */
export class Courtesy {
  readonly #oldest = new Set<() => number | undefined>()

  /** `oldestMs`: Unix ms of a live lane's oldest message that is not stored. Returns the function that ends the watch. */
  watch(oldestMs: () => number | undefined): () => void {
    this.#oldest.add(oldestMs)
    return () => this.#oldest.delete(oldestMs)
  }

  /** Resolves when no live lane is late, when it has yielded long enough, or when the signal aborts. */
  async yield(signal: AbortSignal): Promise<void> {
    const until = performance.now() + YIELD_MAX_MS
    while (!signal.aborted && performance.now() < until && this.#isLate()) await sleep(LOOK_MS, signal)
  }

  #isLate(): boolean {
    const before = Date.now() - LATE_MS
    return [...this.#oldest].some(ask => (ask() ?? before) < before)
  }
}

/** What the lanes of a process share. */
export interface Gate {
  /** Payload bytes that are parsed or inserted. */
  readonly bytes: Share
  /** Threads that parse for backlogs and replays: one is always left to what arrives now. */
  readonly background: Share
  /** The thread for ranges that are looked at by themselves. */
  readonly apart: Share
  readonly courtesy: Courtesy
}

/** `threads`: of the pool; `maxBytes`: in flight. */
export function createGate(threads: number, maxBytes: number): Gate {
  const background = new Share(Math.max(1, threads - 1))
  return { bytes: new Share(maxBytes), background, apart: new Share(1), courtesy: new Courtesy() }
}
