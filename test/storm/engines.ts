// The engines of a storm, each with a proxy in front and on a disk of its own where that can be had; and how a part is kept running beside them.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { startClickHouse } from '#local/clickhouse.ts'
import { copyLog, openLogFile } from '#local/logs.ts'
import { startNats } from '#local/nats.ts'
import { startPartProcess } from '#local/part.ts'
import { freePort } from '#local/ports.ts'
import type { Running } from '#local/supervise.ts'
import { connect } from '#streams/connect.ts'
import { nodeEnv, silentLog } from '#test/rig.ts'
import { mountDisk } from './disks.ts'
import type { Fleet } from './processes.ts'
import { createFleet } from './processes.ts'
import type { Proxy } from './proxy.ts'
import { startProxy } from './proxy.ts'
import type { Proxies, Target } from './target.ts'
import { patiently } from './wait.ts'

const START_MS = 120_000
const DISK_MB = { data: 3_072, clickhouse: 4_096 }

/** What a target is started with. */
export interface TargetOptions {
  /** Folder of data and logs. */
  readonly dir: string
  readonly tag: number
  readonly disks: boolean
  readonly say: (line: string) => void
  /** ClickHouse servers; left out: one. */
  readonly shards?: number
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
  /** One for each shard. */
  readonly clickhouseUrls: readonly string[]
  /** As settings name them: those of several shards with commas between. */
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

/** Starts NATS and as many ClickHouse servers as there are shards; these share a disk. */
export async function startEngines(options: TargetOptions, databases: readonly string[]): Promise<Engines> {
  const { dir, say, shards = 1 } = options
  const fleet = createFleet(say)
  const disks = options.disks ? await mountDisks(dir) : 'not asked for'
  const nats = { dir: join(dir, 'nats'), port: await freePort(), password: randomBytes(16).toString('hex') }
  const names = Array.from({ length: shards }, (_, i) => (shards === 1 ? '' : `-${i + 1}`))
  let natsUrl = ''
  const [stores] = await Promise.all([
    Promise.all(names.map(name => keepClickHouse(fleet, name, options, databases))),
    fleet.keep('nats', 'nats', async onSpawn => {
      natsUrl = (await startNats({ ...nats, startTimeoutMs: START_MS, searchPath: process.env.PATH ?? '', onSpawn }))
        .url
    }),
  ])
  const natsProxy = await startProxy(nats.port)
  const nc = await connect({ url: natsUrl, name: 'storm', log: silentLog, timeoutMs: START_MS })
  const joined = (which: 'owner' | 'reader' | 'sql'): string =>
    stores.map(({ urls, proxy }) => through(urls[which], proxy)).join(',')
  return {
    fleet,
    nc,
    natsUrl,
    clickhouseUrls: stores.map(({ urls }) => urls.owner),
    viaProxy: {
      natsUrl: through(natsUrl, natsProxy),
      clickhouseUrl: joined('owner'),
      readerUrl: joined('reader'),
      sqlUrl: joined('sql'),
    },
    proxies: { nats: [natsProxy], clickhouse: stores.map(({ proxy }) => proxy) },
    disks,
    close: async keep => {
      await nc.close()
      await Promise.all([natsProxy, ...stores.map(({ proxy }) => proxy)].map(proxy => proxy.close()))
      if (typeof disks !== 'string' && !keep) await Promise.all([disks.data.unmount(), disks.clickhouse.unmount()])
    },
  }
}

/** Starts one ClickHouse, in a folder of its own; `name` tells it from others. */
async function keepClickHouse(
  fleet: Fleet,
  name: string,
  { dir, settings = {} }: TargetOptions,
  databases: readonly string[],
) {
  const port = await freePort()
  const urls = { owner: '', reader: '', sql: '' }
  const engine = { dir: join(dir, 'clickhouse', `engine${name}`), port, password: randomBytes(16).toString('hex') }
  await fleet.keep('clickhouse', `clickhouse${name}`, async onSpawn => {
    const started = await startClickHouse({ ...engine, startTimeoutMs: START_MS, databases, settings, onSpawn })
    Object.assign(urls, { owner: started.url, reader: started.readerUrl, sql: started.sqlUrl })
  })
  return { urls, proxy: await startProxy(port) }
}

/** The same address, by way of a proxy. */
function through(url: string, proxy: Proxy): string {
  const via = new URL(url)
  via.port = String(proxy.port)
  return via.href.replace(/\/$/, '')
}

async function mountDisks(dir: string): Promise<Target['disks']> {
  const data = await mountDisk(join(dir, 'nats'), DISK_MB.data)
  if (typeof data === 'string') return data
  const clickhouse = await mountDisk(join(dir, 'clickhouse'), DISK_MB.clickhouse)
  if (typeof clickhouse !== 'string') return { data, clickhouse }
  await data.unmount()
  return clickhouse
}

/** A part of parley, or of the ordinary design. */
export interface Part {
  readonly role: 'receiver' | 'processor' | 'query'
  readonly name: string
  readonly main: string
  readonly env: Readonly<Record<string, string>>
  readonly dir: string
}

/** Keeps a part running. */
export async function keepPart(fleet: Fleet, { role, name, main, env, dir }: Part): Promise<void> {
  const log = openLogFile(join(dir, `${name}.log`))
  await fleet.keep(role, name, async (spawned: (running: Running) => void) => {
    const { child, ready } = startPartProcess({ main, env: { ...nodeEnv, ...env }, output: 'pipe' })
    copyLog(name, [child.process.stdout, child.process.stderr], log, () => {})
    spawned(child)
    await ready
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
