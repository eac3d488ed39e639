// parley as a storm's target: engines, receivers, processors and a query node in processes of their own with the settings that the
// launcher gives them, a proxy between any two that talk, small disks where they may be mounted.
import { rm } from 'node:fs/promises'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { putGuard } from '#control/admin.ts'
import { WALL_NAMES } from '#local/clickhouse.ts'
import { startDiskGuard } from '#local/disk-guard.ts'
import { freePort } from '#local/ports.ts'
import { shardOf, uuidBytes } from '#proto/ids.ts'
import { streamOf, subjectOf } from '#proto/streams.ts'
import { migrate } from '#store/migrate.ts'
import { createShards } from '#store/shards.ts'
import { raiseWall } from '#store/wall/raise.ts'
import type { Buckets } from '#streams/apply.ts'
import { applyStreams, openBuckets } from '#streams/apply.ts'
import { readSettled } from '#streams/settled.ts'
import { envelopeOf, payload } from '#test/kill-points/ledger.ts'
import { connectNats, createTenant } from '#test/rig.ts'
import type { Tenant } from './compare.ts'
import { compareParley } from './compare.ts'
import type { Disk } from './disks.ts'
import { type Engines, keepPart, limitStreams, startEngines, type TargetOptions } from './engines.ts'
import { createClient } from './http.ts'
import { startProxy } from './proxy.ts'
import type { Target } from './target.ts'

const MiB = 1024 * 1024
const DATABASE = 'parley'
const PARTITIONS_OF_SHARD = 2
/** Of all streams together: it has to fit their disk. */
const STREAMS_BYTES = 2_048 * MiB
const GUARD = { minFreePercent: 10, everyMs: 500 }

/** Starts parley. */
export async function startParley(options: TargetOptions): Promise<Target> {
  const { dir, shards = 1 } = options
  const engines = await startEngines(options, [DATABASE])
  const { fleet, nc, clickhouseUrls, disks } = engines
  for (const url of clickhouseUrls) await layOut(url)
  const partitions = Array.from({ length: PARTITIONS_OF_SHARD * shards }, (_, p) => p)
  const streamMaxBytes = STREAMS_BYTES / partitions.length
  const limits = { partitions: partitions.length, shards, streamMaxBytes, deadMaxBytes: 64 * MiB, replicas: 1 }
  // Laying out is waited for as long as it takes; what is asked again and again wants short answers.
  const patient = await connectNats({ teardown: () => {} }, engines.natsUrl)
  const tenants = await tenantsOf((await applyStreams(patient, limits)).buckets, shards)
  const buckets = await openBuckets(nc)
  const guard = typeof disks === 'string' ? undefined : watch(disks.data, buckets, options.say)
  const ports = { rest: await freePort(), otlp: await freePort(), query: await freePort() }
  await startParts(engines, options, ports)
  const front = await frontOf(ports)
  const streams = partitions.map(streamOf)
  return {
    name: 'parley',
    organizations: tenants.map(({ organization }) => organization),
    fleet,
    proxies: { ...engines.proxies, clients: front.proxies },
    ways: {
      ...front.ways,
      poison: async (organization, body) => {
        // The first partition of a shard has its number.
        const subject = subjectOf(shardOf(uuidBytes(organization), shards))
        const envelope = envelopeOf([payload('event', organization, body)], Date.now())
        await jetstream(nc, { timeout: 20_000 }).publish(subject, envelope)
      },
    },
    disks,
    limitStreams: (on, slack) => limitStreams(nc, streams, on ? slack : null, streamMaxBytes),
    positions: async () => {
      const jsm = await jetstreamManager(nc)
      return Promise.all(streams.map(async name => (await jsm.streams.info(name)).state.last_seq))
    },
    stored: async upTo => {
      const settled = await readSettled(buckets.cursors, partitions.length)
      return upTo.every((position, p) => (settled.get(p) ?? 0) >= position)
    },
    compare: async oracle => {
      const schema = { database: DATABASE, application: 'storm', requestTimeoutMs: 600_000 }
      const stores = createShards({ ...schema, url: clickhouseUrls.join(',') })
      try {
        const queryUrl = `http://127.0.0.1:${ports.query}`
        const where = { shards: stores, nc, buckets, partitions: partitions.length, queryUrl, tenants }
        return await compareParley(oracle, { ...where, tag: options.tag, crashes: fleet.crashes() })
      } finally {
        await stores.close()
      }
    },
    stop: async keep => {
      guard?.stop()
      await front.close()
      await patient.close()
      await fleet.stop()
      await engines.close(keep)
      if (!keep) await rm(dir, { recursive: true, force: true })
    },
  }
}

/** Schema and wall of one shard. */
async function layOut(url: string): Promise<void> {
  const schema = { url, database: DATABASE, application: 'storm' }
  await migrate(schema)
  const refused = await raiseWall({ store: schema, users: WALL_NAMES })
  if (refused !== undefined) throw new Error(`no wall: ${refused}`)
}

/** One organization for each shard, in their order. Which shard one gets is chance: those that come too late are left alone. */
async function tenantsOf(buckets: Buckets, shards: number): Promise<Tenant[]> {
  const found = new Map<number, Tenant>()
  while (found.size < shards) {
    const { organization, apiKey } = await createTenant(buckets, { name: 'storm' })
    const shard = shardOf(uuidBytes(organization), shards)
    if (!found.has(shard)) found.set(shard, { organization, apiKey })
  }
  return [...found].sort(([a], [b]) => a - b).map(([, tenant]) => tenant)
}

interface Ports {
  readonly rest: number
  readonly otlp: number
  readonly query: number
}

/** Two receivers on the same ports, two processors, a query node. */
async function startParts({ fleet, viaProxy }: Engines, options: TargetOptions, ports: Ports): Promise<void> {
  const { dir } = options
  const env = {
    NATS_URL: viaProxy.natsUrl,
    CLICKHOUSE_URL: viaProxy.clickhouseUrl,
    PARLEY_READER_URL: viaProxy.readerUrl,
    PARLEY_SQL_URL: viaProxy.sqlUrl,
    PARLEY_DATABASE: DATABASE,
    ...options.env,
  }
  const receiving = {
    ...env,
    PARLEY_PORT: String(ports.rest),
    PARLEY_OTLP_PORT: String(ports.otlp),
    PARLEY_QUERY_URL: `http://127.0.0.1:${ports.query}`,
  }
  const receiver = { role: 'receiver', main: 'ingest/main.ts', env: receiving, dir } as const
  const processor = { role: 'processor', main: 'processors/main.ts', env, dir } as const
  const query = {
    role: 'query',
    main: 'query/main.ts',
    env: { ...env, PARLEY_QUERY_PORT: String(ports.query) },
  } as const
  await Promise.all([
    ...[1, 2].map(i => keepPart(fleet, { ...receiver, name: `receiver-${i}` })),
    ...[1, 2].map(i => keepPart(fleet, { ...processor, name: `processor-${i}` })),
    keepPart(fleet, { ...query, name: 'query', dir }),
  ])
}

/** Ways to the receivers: straight, and through proxies. */
async function frontOf({ rest, otlp }: Ports) {
  const [restProxy, otlpProxy] = [await startProxy(rest), await startProxy(otlp)]
  const near = { rest: createClient(rest), otlp: createClient(otlp) }
  const far = { rest: createClient(restProxy.port), otlp: createClient(otlpProxy.port) }
  return {
    proxies: [restProxy, otlpProxy],
    ways: { rest: [near.rest.post, far.rest.post], otlp: [near.otlp.post, far.otlp.post] },
    close: async (): Promise<void> => {
      for (const client of [near.rest, near.otlp, far.rest, far.otlp]) client.close()
      await Promise.all([restProxy, otlpProxy].map(proxy => proxy.close()))
    },
  } as const
}

/** The launcher's guard over the disk of the streams. */
function watch(disk: Disk, { control }: Buckets, say: (line: string) => void): { stop(): void } {
  return startDiskGuard({
    ...GUARD,
    path: disk.path,
    say,
    publish: guard => putGuard(control, guard),
  })
}
