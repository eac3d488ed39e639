// When a range that is not full may be cut: insert begins and ends go in, how long to wait comes out. Never sooner than the interval
// after the last one; while inserts take long, up to twice as late. A range costs the store the same however few rows it holds, so where
// the store is what is short, larger ones leave more of it.

/** An insert of so long is followed by a pause of at most twice that: it took a third of the time. */
const TURNS = 3
/** What arrives is seen after two intervals and an insert at the latest. */
const INTERVALS_MAX = 2

/** The inserts of one lane. Times are those of a monotonic clock, in ms. */
export class Rhythm {
  readonly #intervalMs: number
  readonly #now: () => number
  #begunMs = Number.NEGATIVE_INFINITY
  #tookMs = 0

  constructor(intervalMs: number, now = (): number => performance.now()) {
    this.#intervalMs = intervalMs
    this.#now = now
  }

  /** Does an insert and takes its time. */
  async during<T>(insert: () => Promise<T>): Promise<T> {
    const begunMs = this.#now()
    this.#begunMs = begunMs
    return insert().finally(() => {
      this.#tookMs = this.#now() - begunMs
    })
  }

  /** How long until the next range may be cut; zero or less: at once. */
  waitMs(): number {
    const wanted = Math.min(TURNS * this.#tookMs, INTERVALS_MAX * this.#intervalMs)
    return this.#begunMs + Math.max(wanted, this.#intervalMs) - this.#now()
  }
}
