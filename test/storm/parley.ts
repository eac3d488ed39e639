// parley as a storm's target: engines, receivers, processors and a query node in processes of their own with the settings that the
// launcher gives them, a proxy between any two that talk, small disks where they may be mounted.
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { putGuard } from '#control/admin.ts'
import { startClickHouse, WALL_NAMES } from '#local/clickhouse.ts'
import { startDiskGuard } from '#local/disk-guard.ts'
import { copyLog, openLogFile } from '#local/logs.ts'
import { startNats } from '#local/nats.ts'
import { startPartProcess } from '#local/part.ts'
import { freePort } from '#local/ports.ts'
import type { Running } from '#local/supervise.ts'
import { streamOf, subjectOf } from '#proto/streams.ts'
import { createStore } from '#store/client.ts'
import { migrate } from '#store/migrate.ts'
import { raiseWall } from '#store/wall/raise.ts'
import type { Buckets } from '#streams/apply.ts'
import { applyStreams, openBuckets } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { readSettled } from '#streams/settled.ts'
import { envelopeOf, payload } from '#test/kill-points/ledger.ts'
import { connectNats, createTenant, nodeEnv, silentLog } from '#test/rig.ts'
import { compareParley } from './compare.ts'
import type { Disk } from './disks.ts'
import { mountDisk } from './disks.ts'
import { createClient } from './http.ts'
import type { Fleet } from './processes.ts'
import { createFleet } from './processes.ts'
import type { Proxy } from './proxy.ts'
import { startProxy } from './proxy.ts'
import type { Proxies, Target } from './target.ts'
import { patiently } from './wait.ts'

const MiB = 1024 * 1024
const DATABASE = 'parley'
const PARTITIONS = 2
const START_MS = 120_000
const DISK_MB = { data: 3_072, clickhouse: 4_096 }
const GUARD = { minFreePercent: 10, everyMs: 500 }

/** What a target is started with. */
export interface TargetOptions {
  /** Folder of data and logs. */
  readonly dir: string
  readonly tag: number
  readonly disks: boolean
  readonly say: (line: string) => void
  /** Added to the environment of every part. */
  readonly env?: Readonly<Record<string, string>>
  /** Of the store's queries; left out: those that users have. */
  readonly settings?: Readonly<Record<string, number>>
}

/** Engines behind proxies, and what was learnt when they were laid out. */
export interface Engines {
  readonly fleet: Fleet
  readonly nc: NatsConnection
  readonly natsUrl: string
  readonly clickhouseUrl: string
  readonly viaProxy: {
    readonly natsUrl: string
    readonly clickhouseUrl: string
    readonly readerUrl: string
    readonly sqlUrl: string
  }
  readonly proxies: Pick<Proxies, 'nats' | 'clickhouse'>
  readonly disks: Target['disks']
  /** Connection, proxies and disks; the processes are the fleet's. */
  close(keep: boolean): Promise<void>
}

/** Starts NATS and ClickHouse, each with a proxy in front and on a disk of its own where that can be had. */
export async function startEngines(options: TargetOptions, databases: readonly string[]): Promise<Engines> {
  const { dir, say, settings = {} } = options
  const fleet = createFleet(say)
  const disks = options.disks ? await mountDisks(dir) : 'not asked for'
  const nats = { dir: join(dir, 'nats'), port: await freePort(), password: randomBytes(16).toString('hex') }
  const clickhouse = {
    dir: join(dir, 'clickhouse', 'engine'),
    port: await freePort(),
    password: randomBytes(16).toString('hex'),
  }
  const urls = { nats: '', clickhouse: '', reader: '', sql: '' }
  const fixed = { startTimeoutMs: START_MS, searchPath: process.env.PATH ?? '' }
  await Promise.all([
    fleet.keep('nats', 'nats', async onSpawn => {
      urls.nats = (await startNats({ ...nats, ...fixed, onSpawn })).url
    }),
    fleet.keep('clickhouse', 'clickhouse', async onSpawn => {
      const { url, readerUrl, sqlUrl } = await startClickHouse({
        ...clickhouse,
        ...fixed,
        databases,
        settings,
        onSpawn,
      })
      Object.assign(urls, { clickhouse: url, reader: readerUrl, sql: sqlUrl })
    }),
  ])
  const proxies = { nats: await startProxy(nats.port), clickhouse: await startProxy(clickhouse.port) }
  const through = (url: string, port: number): string => {
    const via = new URL(url)
    via.port = String(port)
    return via.href.replace(/\/$/, '')
  }
  const nc = await connect({ url: urls.nats, name: 'storm', log: silentLog, timeoutMs: START_MS })
  return {
    fleet,
    nc,
    natsUrl: urls.nats,
    clickhouseUrl: urls.clickhouse,
    viaProxy: {
      natsUrl: through(urls.nats, proxies.nats.port),
      clickhouseUrl: through(urls.clickhouse, proxies.clickhouse.port),
      readerUrl: through(urls.reader, proxies.clickhouse.port),
      sqlUrl: through(urls.sql, proxies.clickhouse.port),
    },
    proxies: { nats: [proxies.nats], clickhouse: [proxies.clickhouse] },
    disks,
    close: async keep => {
      await nc.close()
      await Promise.all([proxies.nats.close(), proxies.clickhouse.close()])
      if (typeof disks !== 'string' && !keep) await Promise.all([disks.data.unmount(), disks.clickhouse.unmount()])
    },
  }
}

async function mountDisks(dir: string): Promise<Target['disks']> {
  const data = await mountDisk(join(dir, 'nats'), DISK_MB.data)
  if (typeof data === 'string') return data
  const clickhouse = await mountDisk(join(dir, 'clickhouse'), DISK_MB.clickhouse)
  if (typeof clickhouse !== 'string') return { data, clickhouse }
  await data.unmount()
  return clickhouse
}

/** Keeps a part of parley, or of the ordinary design, running. */
export async function keepPart(
  fleet: Fleet,
  {
    role,
    name,
    main,
    env,
    dir,
  }: { role: 'receiver' | 'processor' | 'query'; name: string; main: string; env: Record<string, string>; dir: string },
): Promise<void> {
  const log = openLogFile(join(dir, `${name}.log`))
  await fleet.keep(role, name, async (spawned: (running: Running) => void) => {
    const { child, ready } = startPartProcess({ main, env: { ...nodeEnv, ...env }, output: 'pipe' })
    copyLog(name, [child.process.stdout, child.process.stderr], log, () => {})
    spawned(child)
    await ready
  })
}

/** Starts parley. */
export async function startParley(options: TargetOptions): Promise<Target> {
  const { dir } = options
  const engines = await startEngines(options, [DATABASE])
  const { fleet, nc, clickhouseUrl, viaProxy, disks } = engines
  const schema = { url: clickhouseUrl, database: DATABASE, application: 'storm' }
  await migrate(schema)
  const refused = await raiseWall({ store: schema, users: WALL_NAMES })
  if (refused !== undefined) throw new Error(`no wall: ${refused}`)
  const limits = { partitions: PARTITIONS, streamMaxBytes: 1024 * MiB, deadMaxBytes: 64 * MiB, replicas: 1 }
  // Laying out is waited for as long as it takes; what is asked again and again wants short answers.
  const patient = await connectNats({ teardown: () => {} }, engines.natsUrl)
  const tenant = await createTenant((await applyStreams(patient, limits)).buckets, { name: 'storm' })
  const buckets = await openBuckets(nc)
  const guard = typeof disks === 'string' ? undefined : watch(disks.data, buckets, options.say)
  const [port, otlpPort, queryPort] = [await freePort(), await freePort(), await freePort()]
  const env = {
    NATS_URL: viaProxy.natsUrl,
    CLICKHOUSE_URL: viaProxy.clickhouseUrl,
    PARLEY_READER_URL: viaProxy.readerUrl,
    PARLEY_SQL_URL: viaProxy.sqlUrl,
    PARLEY_DATABASE: DATABASE,
    ...options.env,
  }
  const receiver = {
    PARLEY_PORT: String(port),
    PARLEY_OTLP_PORT: String(otlpPort),
    PARLEY_QUERY_URL: `http://127.0.0.1:${queryPort}`,
  }
  await Promise.all([
    ...[1, 2].map(i =>
      keepPart(fleet, {
        role: 'receiver',
        name: `receiver-${i}`,
        main: 'ingest/main.ts',
        env: { ...env, ...receiver },
        dir,
      }),
    ),
    ...[1, 2].map(i =>
      keepPart(fleet, { role: 'processor', name: `processor-${i}`, main: 'processors/main.ts', env, dir }),
    ),
    keepPart(fleet, {
      role: 'query',
      name: 'query',
      main: 'query/main.ts',
      env: { ...env, PARLEY_QUERY_PORT: String(queryPort) },
      dir,
    }),
  ])
  const front = [await startProxy(port), await startProxy(otlpPort)] as const
  const clients = [port, front[0].port, otlpPort, front[1].port].map(each => createClient(each)) as [
    Posting,
    Posting,
    Posting,
    Posting,
  ]
  return {
    name: 'parley',
    organization: tenant.organization,
    fleet,
    proxies: { ...engines.proxies, clients: front as readonly Proxy[] },
    ways: {
      rest: [clients[0].post, clients[1].post],
      otlp: [clients[2].post, clients[3].post],
      poison: async body => {
        const envelope = envelopeOf([payload('event', tenant.organization, body)], Date.now())
        await jetstream(nc, { timeout: 20_000 }).publish(subjectOf(0), envelope)
      },
    },
    disks,
    limitStreams: (on, slack) => limitStreams(nc, [streamOf(0), streamOf(1)], on ? slack : null, limits.streamMaxBytes),
    positions: async () => {
      const jsm = await jetstreamManager(nc)
      return Promise.all([0, 1].map(async p => (await jsm.streams.info(streamOf(p))).state.last_seq))
    },
    stored: async upTo => {
      const settled = await readSettled(buckets.cursors, PARTITIONS)
      return upTo.every((position, p) => (settled.get(p) ?? 0) >= position)
    },
    compare: async oracle => {
      const store = createStore({ ...schema, requestTimeoutMs: 600_000 })
      try {
        const where = { store, nc, buckets, partitions: PARTITIONS, queryUrl: `http://127.0.0.1:${queryPort}` }
        return await compareParley(oracle, { ...where, ...tenant, tag: options.tag, crashes: fleet.crashes() })
      } finally {
        await store.close()
      }
    },
    stop: async keep => {
      guard?.stop()
      for (const client of clients) client.close()
      await Promise.all(front.map(proxy => proxy.close()))
      await patient.close()
      await fleet.stop()
      await engines.close(keep)
      if (!keep) await rm(dir, { recursive: true, force: true })
    },
  }
}

type Posting = ReturnType<typeof createClient>

/** The launcher's guard over the disk of the streams. */
function watch(disk: Disk, { control }: Buckets, say: (line: string) => void): { stop(): void } {
  return startDiskGuard({
    ...GUARD,
    path: disk.path,
    say,
    publish: guard => putGuard(control, guard),
  })
}

/** Lets streams grow by `slack` bytes only; null: up to `whole` again. Asks until NATS has done it. */
export async function limitStreams(
  nc: NatsConnection,
  streams: readonly string[],
  slack: number | null,
  whole: number,
): Promise<void> {
  for (const name of streams) {
    await patiently(`the limit of ${name}`, async () => {
      const jsm = await jetstreamManager(nc)
      const { state } = await jsm.streams.info(name)
      await jsm.streams.update(name, { max_bytes: slack === null ? whole : state.bytes + slack })
      return true
    })
  }
}
