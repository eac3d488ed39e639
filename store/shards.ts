// The store as shards: a client each. All rows of an organization are in one of them, and so are all rows of a partition, because the
// partitions of an organization are those of its shard. Nothing is asked of two shards to answer one question.
import { shardOf, shardOfPartition, uuidBytes } from '#proto/ids.ts'
import type { Store, StoreOptions } from '#store/client.ts'
import { createStore } from '#store/client.ts'

/** One or several stores. */
export interface Shards {
  readonly all: readonly Store[]
  /** The one that has an organization (a uuid). */
  of(organization: string): Store
  ofPartition(partition: number): Store
  /** True when all answer. */
  ping(): Promise<boolean>
  close(): Promise<void>
}

/** Opens a client for each address of `url`, which are separated by commas; each connects on first use. */
export function createShards(options: StoreOptions): Shards {
  return shardsOf(options.url.split(',').map(url => createStore({ ...options, url })))
}

/** Stores as shards, in the order in which the data was laid out over them. */
export function shardsOf(all: readonly Store[]): Shards {
  const at = (index: number): Store => all[index] as Store
  return {
    all,
    // Whoever asks about no uuid asks in vain anywhere.
    of: organization => at(all.length === 1 ? 0 : shardOf(uuidBytes(organization), all.length)),
    ofPartition: partition => at(shardOfPartition(partition, all.length)),
    ping: async () => (await Promise.all(all.map(store => store.ping()))).every(Boolean),
    close: async () => {
      await Promise.all(all.map(store => store.close()))
    },
  }
}
