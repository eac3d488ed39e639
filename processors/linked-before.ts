// Traces that have links -> whether a record's links are the first of their traces, without asking the store. It is loaded from the store
// once and then told of every link whose record comes; what it cannot be sure of, it takes for linked before.
import type { Log } from '#runtime/log.ts'
import type { Store } from '#store/client.ts'
import { hasLinks, type PlacedRecord } from './finished-ranges.ts'
import { addTraces, filterFor } from './load-traces.ts'
import type { TraceFilter, TraceHash } from './trace-filter.ts'

/** A filter has room for twice as many traces as there are, and for so many at least. */
const LEAST_TRACES = 500_000
/** Until it is loaded again, after it could not be or has missed records. */
const AGAIN_MS = 60_000

/** What this process knows of the traces that have links. */
export class LinkedBefore {
  readonly #store: Store
  readonly #log: Log
  /** What is told is added to it; it may be loading. */
  #filter: TraceFilter | undefined
  /** The same, once it is loaded. */
  #loaded: TraceFilter | undefined
  #loading = false
  #beganAt = Number.NEGATIVE_INFINITY
  /** The last record that anybody here has heard of: links of all records up to it are in the store. */
  #heard = 0
  /** The filter knows the links of all records up to this one, and of these. */
  #through = 0
  readonly #beyond = new Set<number>()

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
  }

  /** Somebody has these records. */
  hear(records: readonly PlacedRecord[]): void {
    for (const one of records) {
      this.#heard = Math.max(this.#heard, one.position)
      if (!hasLinks(one)) this.#knows(one.position)
    }
    this.#advance()
  }

  /**
   * Of these traces those that links of records up to `last` may touch, without what the records `own` tell of them. Asked before that
   * is added.
   */
  doubtful<T extends TraceHash>(traces: readonly T[], last: number, own: readonly number[] = []): readonly T[] {
    const filter = this.#loaded
    const isSure = filter !== undefined && this.#covers(last, new Set(own))
    if (!isSure || filter.isFull) this.#load()
    return isSure ? traces.filter(trace => filter.has(trace)) : traces
  }

  /** These traces have links, which the records at these positions tell of. */
  add(traces: readonly TraceHash[], positions: readonly number[]): void {
    const filter = this.#filter
    if (filter === undefined) return
    for (const trace of traces) filter.add(trace)
    for (const position of positions) this.#knows(position)
    this.#advance()
  }

  #knows(position: number): void {
    if (this.#filter !== undefined && position > this.#through) this.#beyond.add(position)
  }

  #advance(): void {
    while (this.#beyond.delete(this.#through + 1)) this.#through++
  }

  #covers(last: number, own: ReadonlySet<number>): boolean {
    for (let at = this.#through + 1; at <= last; at++) if (!own.has(at) && !this.#beyond.has(at)) return false
    return true
  }

  #load(): void {
    const isSoon = performance.now() - this.#beganAt < AGAIN_MS
    if (this.#loading || (isSoon && !this.#loaded?.isFull)) return
    this.#loading = true
    this.#beganAt = performance.now()
    this.#loaded = undefined
    this.#filter = undefined
    this.#read()
      .then(() => {
        this.#loaded = this.#filter
      })
      .catch((error: unknown) => {
        this.#filter = undefined
        this.#log.debug({ err: error }, 'traces with links are not known yet')
      })
      .finally(() => {
        this.#loading = false
      })
  }

  async #read(): Promise<void> {
    const filter = await filterFor(this.#store, 'links', LEAST_TRACES)
    // From here on what is added is added to it, and what was heard of before is in the store, which is read now.
    this.#filter = filter
    this.#through = this.#heard
    this.#beyond.clear()
    await addTraces(this.#store, 'links', filter)
  }
}
