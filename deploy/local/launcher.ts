// Everything of one machine: engines, streams and schema, the first organization, parts. Started in the order of their needs,
// supervised, and stopped in the reverse order, so that what was accepted is stored before the store goes away.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { putGuard } from '#control/admin.ts'
import { ParleyError } from '#proto/errors.ts'
import type { Listening } from '#runtime/listening.ts'
import { createLog } from '#runtime/log.ts'
import type { Env, Values } from '#runtime/settings.ts'
import { migrate, type WhileStill } from '#store/migrate.ts'
import { raiseWall } from '#store/wall/raise.ts'
import { applyStreams, openBuckets } from '#streams/apply.ts'
import { connect } from '#streams/connect.ts'
import { whileOwnersHold } from '#streams/hold.ts'
import { limitsOf } from '../settings.ts'
import type { WallUrls } from '../wall.ts'
import { raiseServerWalls } from '../wall.ts'
import type { Tenant } from './bootstrap.ts'
import { bootstrap } from './bootstrap.ts'
import { startClickHouse, WALL_NAMES } from './clickhouse.ts'
import type { launcherSettings } from './config.ts'
import type { DataDir } from './data-dir.ts'
import { type DiskGuard, startDiskGuard } from './disk-guard.ts'
import type { Fleet, Group } from './fleet.ts'
import { createFleet } from './fleet.ts'
import { startNats } from './nats.ts'
import { createPartKeeper, partEnvironment } from './parts.ts'
import { freePort, refuseTakenPorts } from './ports.ts'
import { urlOf } from './terminal.ts'

export type LauncherSettings = Values<typeof launcherSettings>

/** A running instance. */
export interface Instance {
  readonly baseUrl: string
  readonly otelUrl: string
  readonly tenant: Tenant
}

/** A launcher: started once, stopped once; stopping is allowed at any time, also in the middle of the start. */
export interface Launcher {
  start(): Promise<Instance>
  /** Ends everything in order, within 10 s. */
  stop(): Promise<void>
  /** Ends everything now. */
  kill(): void
}

/** What a launcher is made of. `env` is handed on to parts, `say` gets lines for the operator. */
export interface LauncherOptions {
  readonly settings: LauncherSettings
  readonly dataDir: DataDir
  readonly env: Env
  readonly say: (line: string) => void
}

/** When each step of the stop has to be over, counted from its beginning; what still runs then is killed. */
const STOP_STEPS: readonly { groups: readonly Group[]; byMs: number }[] = [
  { groups: ['receivers'], byMs: 5_500 },
  { groups: ['processors', 'query'], byMs: 8_000 },
  { groups: ['engines'], byMs: 9_500 },
]

/** Makes a launcher over an owned data directory. */
export function createLauncher(options: LauncherOptions): Launcher {
  const { settings, dataDir } = options
  let guard: DiskGuard | undefined
  let facts: Readonly<Record<string, unknown>> | undefined
  const say = (line: string): void => {
    if (!fleet.stopping()) options.say(line)
  }
  const publish = async (): Promise<void> => {
    if (facts === undefined || fleet.stopping()) return
    await dataDir.publish({ ...facts, pids: pidsOf(fleet), ops_ports: parts.opsPorts() })
  }
  const onChange = (): void => {
    publish().catch((error: unknown) => say(`local.json cannot be written: ${String(error)}`))
  }
  const fleet = createFleet({ dataDir, onChange, say })
  const parts = createPartKeeper({ fleet, logsDir: join(dataDir.path, 'logs'), say })

  return {
    start: async () => {
      await mkdir(join(dataDir.path, 'logs'), { recursive: true, mode: 0o700 })
      await refuseTakenPorts(portsOf(settings))
      const ready = readyNats(fleet, options, say)
      const [{ natsUrl, tenant }, store] = await Promise.all([ready, readyClickHouse(fleet, options, say, ready)])
      guard = watchDisk(options, natsUrl, say)
      const env = partEnvironment(options.env, {
        ...{ natsUrl, ...store, database: settings.clickhouseDatabase },
      })
      const port = settings.port || (await freePort())
      const otlpPort = settings.otlpPort || (await freePort())
      // A fixed port, so that receivers find the query node again after it was restarted.
      const queryPort = await freePort()
      const baseUrl = urlOf(settings.host, port)
      // A deployment behind a proxy has an address of its own.
      const publicUrl = env.PARLEY_PUBLIC_URL || baseUrl
      await parts.keepAll({ settings, env: { ...env, PARLEY_PUBLIC_URL: publicUrl }, port, otlpPort, queryPort })
      const otelUrl = urlOf(settings.host, otlpPort)
      facts = {
        base_url: baseUrl,
        otel_url: otelUrl,
        org_id: tenant.organization,
        api_key: tenant.apiKey,
        bearer: tenant.bearer,
        email: tenant.email,
        password: tenant.password ?? null,
        nats_url: natsUrl,
        clickhouse_url: store.clickhouseUrl,
        reader_url: store.readerUrl || null,
        sql_url: store.sqlUrl || null,
      }
      await publish()
      return { baseUrl, otelUrl, tenant }
    },
    stop: async () => {
      guard?.stop()
      const ended = fleet.stop(STOP_STEPS)
      await dataDir.unpublish()
      await ended
      await parts.closeLogs()
    },
    kill: fleet.kill,
  }
}

/** NATS is there, the streams are laid out, and the first organization exists. */
async function readyNats(
  fleet: Fleet,
  { settings, dataDir, env }: LauncherOptions,
  say: (line: string) => void,
): Promise<{ natsUrl: string; tenant: Tenant }> {
  let natsUrl = settings.natsUrl
  if (natsUrl === '') {
    const fixed = {
      dir: join(dataDir.path, 'nats'),
      port: settings.natsPort || (await freePort()),
      password: dataDir.secrets.natsPassword,
      searchPath: env.PATH ?? '',
    }
    await fleet.keep('engines', 'nats', async spawned => {
      natsUrl = (await startNats({ ...fixed, onSpawn: spawned })).url
    })
  }
  const log = createLog({ part: 'launcher', level: 'silent' })
  const nc = await connect({ url: natsUrl, name: 'launcher', log })
  try {
    const { buckets, partitions } = await applyStreams(nc, limitsOf(settings, settings.clickhouseUrl))
    if (env.PARLEY_PARTITIONS && settings.partitions !== partitions)
      say(`PARLEY_PARTITIONS is ${settings.partitions}, but the streams were laid out with ${partitions}: so it stays`)
    return { natsUrl, tenant: await bootstrap(buckets.control, dataDir, log) }
  } finally {
    await nc.close()
  }
}

/** The disk is watched here because this is the one process that is surely on the same machine as the data. */
function watchDisk({ settings, dataDir }: LauncherOptions, natsUrl: string, say: (line: string) => void): DiskGuard {
  const log = createLog({ part: 'launcher', level: 'silent' })
  return startDiskGuard({
    path: dataDir.path,
    // Engines elsewhere have disks of their own, which this process cannot see.
    minFreePercent: settings.natsUrl !== '' && settings.clickhouseUrl !== '' ? 0 : settings.diskMinFreePercent,
    lowPercent: settings.diskLowPercent,
    say,
    // The state seldom changes: a connection each time, none in between.
    publish: async guard => {
      const nc = await connect({ url: natsUrl, name: 'launcher', log, timeoutMs: 3_000 })
      try {
        const { control } = await openBuckets(nc)
        await putGuard(control, guard)
      } finally {
        await nc.close()
      }
    },
  })
}

/** ClickHouse is there, has this build's schema, and keeps tenants apart. */
async function readyClickHouse(
  fleet: Fleet,
  { settings, dataDir }: LauncherOptions,
  say: (line: string) => void,
  nats: Promise<{ readonly natsUrl: string }>,
): Promise<WallUrls & { clickhouseUrl: string }> {
  const database = settings.clickhouseDatabase
  // The embedded engine has no owners yet; one that is shared may have those of another launcher.
  const whileStill: WhileStill = async work => {
    const { natsUrl: url } = await nats
    const nc = await connect({ url, name: 'launcher', log: createLog({ part: 'launcher', level: 'silent' }) })
    try {
      await whileOwnersHold(nc, 'migrate', work)
    } finally {
      await nc.close()
    }
  }
  const schema = async (url: string, more: { whileStill?: WhileStill } = {}): Promise<void> => {
    await migrate({ url, database, application: 'parley launcher', cluster: settings.cluster, ...more })
  }
  const secret = dataDir.secrets.clickhousePassword
  if (settings.clickhouseUrl !== '') {
    const { clickhouseUrl } = settings
    for (const shard of clickhouseUrl.split(',')) await schema(shard, { whileStill })
    return { clickhouseUrl, ...(await raiseServerWalls({ settings, clickhouseUrl, secret, say })) }
  }
  const fixed = {
    dir: join(dataDir.path, 'clickhouse'),
    port: settings.clickhousePort || (await freePort()),
    ...{ password: secret, databases: [database] },
  }
  const urls = { clickhouseUrl: '', readerUrl: '', sqlUrl: '' }
  await fleet.keep('engines', 'clickhouse', async spawned => {
    const { url: clickhouseUrl, readerUrl, sqlUrl } = await startClickHouse({ ...fixed, onSpawn: spawned })
    Object.assign(urls, { clickhouseUrl, readerUrl, sqlUrl })
  })
  await schema(urls.clickhouseUrl)
  // Its users come with the engine's configuration; what is missing are the views.
  const store = { url: urls.clickhouseUrl, database, application: 'parley wall' }
  const reason = await raiseWall({ store, users: WALL_NAMES })
  if (reason !== undefined) throw new ParleyError('RUN_WALL_FAILED', reason)
  return settings.wall === 'off' ? { ...urls, readerUrl: '', sqlUrl: '' } : urls
}

/** The `pids` of local.json; 0 for a process that is down for the moment, null for an engine that is not ours. */
function pidsOf(fleet: Fleet): Readonly<Record<string, number | null | readonly number[]>> {
  return {
    launcher: process.pid,
    nats: fleet.pidOf('nats'),
    clickhouse: fleet.pidOf('clickhouse'),
    receivers: fleet.pids('receivers'),
    processors: fleet.pids('processors'),
    query: fleet.pidOf('query'),
    analysis: fleet.pidOf('analysis'),
  }
}

/** The ports that have to be free, each with the variable that sets it. */
function portsOf(settings: LauncherSettings): Listening[] {
  const hostVariable = 'PARLEY_HOST'
  const own = { host: settings.host, hostVariable }
  const engine = { host: '127.0.0.1', hostVariable }
  return [
    { portVariable: 'PARLEY_PORT', port: settings.port, ...own },
    { portVariable: 'PARLEY_OTLP_PORT', port: settings.otlpPort, ...own },
    ...(settings.natsUrl === '' ? [{ portVariable: 'PARLEY_NATS_PORT', port: settings.natsPort, ...engine }] : []),
    ...(settings.clickhouseUrl === ''
      ? [{ portVariable: 'PARLEY_CLICKHOUSE_PORT', port: settings.clickhousePort, ...engine }]
      : []),
  ]
}
