// Nothing -> NATS with its streams laid out, and ClickHouse with a database of this build's schema, both a bench's own.
import type { NatsConnection } from '@nats-io/transport-node'
import { createStore, type Store } from '#store/client.ts'
import { applyStreams, type Buckets } from '#streams/apply.ts'
import { connectNats, freshDatabase, startClickHouse, startNats, type Teardown, type TestEngine } from '#test/rig.ts'

const GiB = 1024 * 1024 * 1024
/** A recount of millions of rows on a busy machine. */
const REQUEST_MS = 600_000

/** Engines that nobody else uses. */
export interface BenchEngines {
  readonly nats: TestEngine
  readonly clickhouse: TestEngine
  readonly store: Store
  readonly nc: NatsConnection
  readonly buckets: Buckets
  /** Of a part that works on them. */
  readonly env: { readonly NATS_URL: string; readonly CLICKHOUSE_URL: string; readonly PARLEY_DATABASE: string }
}

/** Starts both. Streams hold 8 GiB unless told otherwise. */
export async function startEngines(
  t: Teardown,
  { partitions, streamMaxBytes = 8 * GiB }: { readonly partitions: number; readonly streamMaxBytes?: number },
): Promise<BenchEngines> {
  const [nats, clickhouse] = await Promise.all([startNats(t), startClickHouse(t, {})])
  const { database } = await freshDatabase(t, clickhouse.url)
  const store = createStore({ url: clickhouse.url, database, application: 'bench', requestTimeoutMs: REQUEST_MS })
  t.teardown(() => store.close())
  const nc = await connectNats(t, nats.url)
  const { buckets } = await applyStreams(nc, { partitions, streamMaxBytes, deadMaxBytes: GiB, replicas: 1 })
  const env = { NATS_URL: nats.url, CLICKHOUSE_URL: clickhouse.url, PARLEY_DATABASE: database }
  return { nats, clickhouse, store, nc, buckets, env }
}
