// The ordinary design as a storm's target: the same engines, proxies and kinds of processes, so that the same faults happen to it.
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { AckPolicy, DiscardPolicy, jetstreamManager } from '@nats-io/jetstream'
import { freePort } from '#local/ports.ts'
import type { Store } from '#store/client.ts'
import { createStore } from '#store/client.ts'
import { keepPart, limitStreams, startEngines, type TargetOptions } from './engines.ts'
import { createClient } from './http.ts'
import type { Oracle, Space } from './oracle.ts'
import { startProxy } from './proxy.ts'
import type { Check, Target } from './target.ts'

const GiB = 1024 ** 3
const NS_PER_S = 1_000_000_000
const DATABASE = 'ordinary'
const STREAM = 'ORDINARY'
const CONSUMER = 'store'
const ACK_WAIT_S = 10

/** A row of the ordinary table; `mark` holds the digits of a storm's number. */
export interface OrdinaryRow {
  readonly id: string
  readonly conversation: string
  readonly source: 'event' | 'minted' | 'session' | 'voice' | 'json' | 'protobuf'
  readonly mark: string
}

const SCHEMA = [
  `CREATE DATABASE ${DATABASE}`,
  `CREATE TABLE ${DATABASE}.events (id String, conversation String, source LowCardinality(String), mark String)
   ENGINE = ReplacingMergeTree ORDER BY (source, id)`,
  `CREATE TABLE ${DATABASE}.counts (source LowCardinality(String), events UInt64) ENGINE = SummingMergeTree ORDER BY source`,
  `CREATE MATERIALIZED VIEW ${DATABASE}.counting TO ${DATABASE}.counts AS
   SELECT source, count() AS events FROM ${DATABASE}.events GROUP BY source`,
]

/** Starts it. */
export async function startOrdinary(options: TargetOptions): Promise<Target> {
  const { dir } = options
  const organization = randomUUID()
  const engines = await startEngines({ ...options, shards: 1 }, [])
  const { fleet, nc, viaProxy } = engines
  const url = engines.clickhouseUrls[0] as string
  const setup = createStore({ url, database: 'default', application: 'storm' })
  for (const statement of SCHEMA) await setup.command(statement)
  await setup.close()
  const limits = { max_bytes: GiB, discard: DiscardPolicy.New }
  const jsm = await jetstreamManager(nc)
  await jsm.streams.add({ name: STREAM, subjects: ['ordinary.>'], ...limits })
  await jsm.consumers.add(STREAM, {
    durable_name: CONSUMER,
    ack_policy: AckPolicy.Explicit,
    ack_wait: ACK_WAIT_S * NS_PER_S,
  })
  const [port, otlpPort] = [await freePort(), await freePort()]
  const common = {
    NATS_URL: viaProxy.natsUrl,
    CLICKHOUSE_URL: viaProxy.clickhouseUrl,
    PARLEY_DATABASE: DATABASE,
    STORM_ORGANIZATION: organization,
    PARLEY_PORT: String(port),
    PARLEY_OTLP_PORT: String(otlpPort),
  }
  const main = 'test/storm/ordinary.ts'
  const roles = ['receiver', 'processor'] as const
  await Promise.all(
    roles.flatMap(role =>
      [1, 2].map(i => keepPart(fleet, { role, name: `${role}-${i}`, main, env: { ...common, STORM_ROLE: role }, dir })),
    ),
  )
  const front = [await startProxy(port), await startProxy(otlpPort)] as const
  const [near, far, otlpNear, otlpFar] = [port, front[0].port, otlpPort, front[1].port].map(each =>
    createClient(each),
  ) as Clients
  return {
    name: 'ordinary design',
    organizations: [organization],
    fleet,
    proxies: { ...engines.proxies, clients: front },
    ways: {
      rest: [near.post, far.post],
      otlp: [otlpNear.post, otlpFar.post],
      // Its consumer would choke on it for ever, as such consumers do: it is spared.
      poison: async () => {},
    },
    disks: engines.disks,
    limitStreams: (on, slack) => limitStreams(nc, [STREAM], on ? slack : null, GiB),
    positions: async () => [(await jsm.streams.info(STREAM)).state.last_seq],
    stored: async ([upTo = 0]) => {
      const { ack_floor } = await jsm.consumers.info(STREAM, CONSUMER)
      return ack_floor.stream_seq >= upTo
    },
    compare: async oracle => {
      const store = createStore({
        url,
        database: DATABASE,
        application: 'storm',
        requestTimeoutMs: 600_000,
      })
      try {
        return await compareOrdinary(oracle, store)
      } finally {
        await store.close()
      }
    },
    stop: async keep => {
      for (const client of [near, far, otlpNear, otlpFar]) client.close()
      await Promise.all(front.map(proxy => proxy.close()))
      await fleet.stop()
      await engines.close(keep)
      if (!keep) await rm(dir, { recursive: true, force: true })
    },
  }
}

type Client = ReturnType<typeof createClient>
type Clients = [Client, Client, Client, Client]

/** What its view counts, which is what its dashboard would show. */
async function compareOrdinary(oracle: Oracle, store: Store): Promise<Check[]> {
  const spaces: Readonly<Record<OrdinaryRow['source'], Space>> = {
    event: oracle.events,
    minted: oracle.minted,
    session: oracle.sessions,
    voice: oracle.calls,
    json: oracle.spansJson,
    protobuf: oracle.spansProtobuf,
  }
  const rows = await store.read<{ source: OrdinaryRow['source']; mark: string; n: string }>(
    'SELECT source, right(mark, 12) AS mark, count() AS n FROM events FINAL GROUP BY source, mark',
  )
  for (const { source, mark, n } of rows) {
    if (!spaces[source].found(Number.parseInt(mark, 16), Number(n))) oracle.foreign += Number(n)
  }
  const counted = await store.read<{ source: OrdinaryRow['source']; n: string }>(
    'SELECT source, sum(events) AS n FROM counts GROUP BY source ORDER BY source',
  )
  return counted
    .filter(({ source }) => source !== 'session')
    .map(({ source, n }) => {
      const space = spaces[source]
      let sent = 0
      for (let i = 0; i < space.size; i++) sent += Math.min(space.stored(i), space.rows)
      const off = Number(n) - sent
      return {
        what: `view: ${space.name}`,
        right: off === 0,
        detail: `${n}, ${off >= 0 ? `${off} too many` : `${-off} too few`} (rows by id: ${sent})`,
      }
    })
}
