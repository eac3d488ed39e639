// How the data is laid out, for its whole life: into how many partitions, and over how many shards of the store.
import type { KV } from '@nats-io/kv'
import { ParleyError } from '#proto/errors.ts'
import { LAYOUT_KEY } from '#proto/streams.ts'

/** The layout. */
export interface Layout {
  readonly partitions: number
  /** Each shard has the organizations, and the partitions, that `shardOf` and `shardOfPartition` give it. */
  readonly shards: number
}

/** The layout; undefined when nobody has laid out the streams. @throws when the server doesn't answer. */
export async function readLayout(control: Pick<KV, 'get'>): Promise<Layout | undefined> {
  const entry = await control.get(LAYOUT_KEY)
  if (entry?.operation !== 'PUT') return undefined
  // Those that were written before there were shards have one.
  return { shards: 1, ...entry.json<{ partitions: number }>() }
}

/**
 * Rows are looked for where they were laid: another number of addresses would look, and write, elsewhere.
 * @throws ParleyError CFG_INVALID when `named` addresses are not one for each shard.
 */
export function requireShards({ shards }: Pick<Layout, 'shards'>, named: number): void {
  if (named !== shards) {
    throw new ParleyError(
      'CFG_INVALID',
      `the store was laid out over ${shards} shards, and CLICKHOUSE_URL names ${named}`,
    )
  }
}
