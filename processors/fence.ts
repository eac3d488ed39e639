// Makes sure that no move which was sent can take effect any more: a move carries a number, and copies nothing once a greater one
// stands in the store. Deduplication cannot do this, because a move says what still counts when it begins.

import { randomBytes } from 'node:crypto'
import type { Outage } from '#runtime/outage.ts'
import type { Store } from '#store/client.ts'
import { insist } from './context.ts'
import { settle } from './insert.ts'

/** Fences that one owner may raise: takeovers are farther apart than that. */
const PER_EPOCH = 2 ** 20

/** What a fence stands on. */
export interface FenceOptions {
  readonly store: Store
  readonly partition: number
  /** Of the cursor: no two owners have the same. */
  readonly epoch: number
  readonly outage: Outage
  readonly signal: AbortSignal
}

/** The fence of one owner. */
export class Fence {
  readonly #options: FenceOptions
  #number: number

  constructor(options: FenceOptions) {
    this.#options = options
    this.#number = options.epoch * PER_EPOCH
  }

  /** Keeps out everything that was sent before, by whomever, and waits until nothing of it runs. @throws Stopped. */
  async raise(): Promise<void> {
    const { store, partition, outage, signal } = this.#options
    const number = ++this.#number
    const raise = `INSERT INTO fences VALUES (${partition}, ${number})`
    await insist(outage, signal, () =>
      store.command(raise, { settings: { async_insert: 0, insert_deduplicate: 0, wait_end_of_query: 1 } }),
    )
    await insist(outage, signal, () => settle(store, movesOf(partition)))
  }

  /** Condition of a statement: nobody has raised a fence since. */
  get standing(): string {
    return `(SELECT max(number) FROM fences WHERE origin_partition = ${this.#options.partition}) = ${this.#number}`
  }

  /** The end of the query id of a statement that `raise` ends. */
  get token(): string {
    return `${movesOf(this.#options.partition)}.${this.#number}.${randomBytes(4).toString('hex')}`
  }
}

const movesOf = (partition: number): string => `p${partition}.move`
