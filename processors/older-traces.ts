// Traces of a round -> those with rows in this partition from before its owner came, or that it has forgotten. Which traces may have such rows is
// read once and kept as a filter of bits, so that the store is asked about those alone, and about none where all spans name their sessions.
import type { Log } from '#runtime/log.ts'
import type { Store } from '#store/client.ts'
import type { BlockRecord } from './blocks.ts'
import { addTraces, filterFor } from './load-traces.ts'
import { type LinkedTrace, movableUpTo, olderTraces } from './moves.ts'
import type { Placing } from './placing.ts'
import type { TraceFilter } from './trace-filter.ts'

/** Until it is read again, when it may lack rows. */
const AGAIN_MS = 60_000

interface OlderOptions {
  readonly store: Store
  readonly partition: number
  readonly firsts: Pick<Placing['firsts'], 'since' | 'turns'>
  readonly log: Log
  /** For tests. */
  readonly againMs?: number
}

/** Traces with rows at positions of which one owner does not remember where each trace begins. */
export class OlderTraces {
  readonly #options: OlderOptions
  #known: { readonly filter: TraceFilter; readonly since: number; readonly turns: number } | undefined
  #readAt = Number.NEGATIVE_INFINITY

  constructor(options: OlderOptions) {
    this.#options = options
  }

  /** These ranges of the partition are stored. Told before anybody asks for their rows: what was read before may lack them. */
  stored(records: readonly BlockRecord[]): void {
    const { since } = this.#options.firsts
    if (records.some(({ from }) => from <= since)) this.#known = undefined
  }

  /** Those of these traces. @throws when the store is away. */
  async of(traces: readonly LinkedTrace[]): Promise<readonly LinkedTrace[]> {
    const { store, partition, firsts } = this.#options
    const { since } = firsts
    if (since === 0) return []
    const filter = await this.#filter()
    const doubtful = filter === undefined ? traces : traces.filter(trace => filter.has(trace))
    if (doubtful.length === 0) return []
    return olderTraces(store, { partition, traces: doubtful, settled: '1', from: 0 }, since)
  }

  /** Undefined: nobody knows, or there are too many. */
  async #filter(): Promise<TraceFilter | undefined> {
    const { store, partition, firsts, log, againMs = AGAIN_MS } = this.#options
    const { since, turns } = firsts
    // What it has forgotten since then stands at positions that were not read.
    if (this.#known?.since === since && this.#known.turns === turns) return this.#known.filter
    this.#known = undefined
    if (performance.now() - this.#readAt < againMs) return undefined
    this.#readAt = performance.now()
    try {
      const rows = `events WHERE ${movableUpTo(partition, since)}`
      const filter = await filterFor(store, rows, 0)
      await addTraces(store, rows, filter)
      this.#known = { filter, since, turns }
      return filter
    } catch (error) {
      log.debug({ err: error }, 'older traces are not known; the store is asked about each')
      return undefined
    }
  }
}
