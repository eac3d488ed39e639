// The embedded ClickHouse for one machine: a folder goes in, an HTTP address with credentials comes out.
import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ParleyError } from '#proto/errors.ts'
import { HEADER_SETTING, READER_PROFILE, sqlProfile, type WallNames } from '#store/wall/profiles.ts'
import { ROW_FILTER, viewsDatabase, WALLED_TABLES } from '#store/wall/tables.ts'
import { nodeCommand, rotateLog, startChild } from './child.ts'
import { roomOf, spaceOf } from './disk-space.ts'
import type { Engine } from './nats.ts'
import { engineOf, waitUntilReady } from './nats.ts'
import { freePort } from './ports.ts'

/** Users of the wall; one instance owns the engine, so they need no names of their own. */
export const WALL_NAMES: WallNames = { reader: 'parley_reader', sql: 'parley_sql', definer: 'parley_definer' }

const HOST = fileURLToPath(new URL('./clickhouse-host.ts', import.meta.url))
const USER = 'parley'
const LOG_MAX_BYTES = 8 * 1024 * 1024
/**
 * Of the threads while they merge: on a busy machine inserts and pages come first, and merges keep a quarter of a core that they
 * contend for. The engine may only do so with CAP_SYS_NICE (root has it) and else leaves it, without a word.
 */
const MERGE_NICE = 5

/** Of every user: what is asked for over HTTP is small, and its text is not worth threads of its own. */
const SMALL_ANSWERS = { output_format_parallel_formatting: 0 } as const

/** What the engine needs. */
export interface ClickHouseOptions {
  /** Folder of the configuration, the data and the logs; made when missing. One process at a time may own it. */
  readonly dir: string
  /** 0 or left out: a free one. */
  readonly port?: number
  /** Left out: random, for this start only. */
  readonly password?: string
  /** Databases whose rows the users of the wall may see, each its own organization's. */
  readonly databases?: readonly string[]
  readonly startTimeoutMs?: number
  /** Of queries, where the engine's own defaults are not wanted. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** Called as soon as the process exists, before it answers. */
  readonly onSpawn?: (engine: Engine) => void
}

/** A running ClickHouse. */
export interface ClickHouseEngine extends Engine {
  /** The same address for the reader of the dashboard. */
  readonly readerUrl: string
  /** The same for SQL of tenants. */
  readonly sqlUrl: string
}

/**
 * Starts the engine and resolves once it has answered a query. Its configuration holds the passwords of its users, and SQL can read
 * files: so it is removed as soon as the engine has read it.
 * @throws ParleyError RUN_ENGINE_FAILED with the last lines of its log when it ends early or does not answer in time.
 */
export async function startClickHouse(options: ClickHouseOptions): Promise<ClickHouseEngine> {
  const { dir, databases = [] } = options
  const settings = { ...SMALL_ANSWERS, ...options.settings }
  const port = options.port || (await freePort())
  const password = options.password ?? randomBytes(24).toString('hex')
  const logFile = join(dir, 'clickhouse.log')
  const configFile = join(dir, 'config.xml')
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const { free, size } = spaceOf(dir)
  const { keepBytes, stopBytes } = roomOf(size)
  if (free < keepBytes) {
    const [has, needs] = [free, keepBytes].map(bytes => `${Math.floor(bytes / 1024 / 1024)} MiB`)
    throw new ParleyError(
      'RUN_ENGINE_FAILED',
      `ClickHouse is not started: ${dir} has ${has} free, and ${needs} are left alone`,
    )
  }
  const usersFile = join(dir, 'users.xml')
  // The passwords of the wall are made from the first, so that they last as long.
  const derived = (name: string): string => createHash('sha256').update(`${name}:${password}`).digest('hex')
  const login = (name: string): EngineUser => ({ name, password: name === USER ? password : derived(name) })
  const [owner, reader, sql] = [login(USER), login(WALL_NAMES.reader), login(WALL_NAMES.sql)]
  await writePrivate(usersFile, usersXml({ owner, reader, sql }, databases, settings))
  await writePrivate(configFile, configXml(dir, keepBytes, [owner, reader, sql]))
  rotateLog(logFile, LOG_MAX_BYTES)
  const child = startChild({
    ...nodeCommand(HOST, join(dir, 'data'), configFile, String(port), String(stopBytes)),
    env: {},
    cwd: dir,
    output: { file: logFile },
    ipc: true,
  })
  const urlOf = (user: EngineUser): string => `http://${user.name}:${user.password}@127.0.0.1:${port}`
  const engine = engineOf(child, { url: urlOf(owner), port, logFile })
  options.onSpawn?.(engine)
  try {
    await waitUntilReady({
      name: 'ClickHouse',
      engine,
      ask: () => answers(port, password),
      timeoutMs: options.startTimeoutMs ?? 30_000,
    })
  } finally {
    await Promise.all([configFile, usersFile].map(file => rm(file, { force: true })))
  }
  return { ...engine, readerUrl: urlOf(reader), sqlUrl: urlOf(sql) }
}

/** A user of the engine who may connect over HTTP. */
interface EngineUser {
  readonly name: string
  readonly password: string
}

/**
 * Users. `default` is the engine's own (it runs the query that keeps it alive) and cannot have a password: the handlers of the
 * configuration keep it from the network. The definer of the views has no network to log in from.
 */
function usersXml(
  users: { owner: EngineUser; reader: EngineUser; sql: EngineUser },
  databases: readonly string[],
  settings: Readonly<Record<string, string | number>>,
): string {
  const { owner, reader, sql } = users
  const tables = databases.flatMap(database => WALLED_TABLES.map(table => `${database}.${table}`))
  const views = databases.map(database => `${viewsDatabase(database)}.*`)
  const narrowed = grantsXml(tables) + filtersXml(databases)
  const nobody = { name: WALL_NAMES.definer, password: randomBytes(24).toString('hex') }
  return `<clickhouse>
  <profiles>
    <default>${settingsXml(settings)}</default>
    ${profileXml('reader', { ...settings, ...READER_PROFILE })}
    ${profileXml('sql', { ...settings, ...sqlProfile(availableParallelism()) })}
  </profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </default>
    ${userXml(owner, 'default', '127.0.0.1', '')}
    ${userXml(reader, 'reader', '127.0.0.1', narrowed)}
    ${userXml(sql, 'sql', '127.0.0.1', grantsXml(views))}
    ${userXml(nobody, 'reader', undefined, narrowed)}
  </users>
</clickhouse>
`
}

const userXml = ({ name, password }: EngineUser, profile: string, network: string | undefined, rest: string): string =>
  `<${name}>
      <password_sha256_hex>${createHash('sha256').update(password).digest('hex')}</password_sha256_hex>
      <networks>${network === undefined ? '' : `<ip>${network}</ip>`}</networks>
      <profile>${profile}</profile>
      <quota>default</quota>${rest}
    </${name}>`

/** A profile whose settings are limits, and in which what opens the row filter's eyes cannot be switched off. */
const profileXml = (name: string, profile: Readonly<Record<string, string | number>>): string =>
  `<${name}>${settingsXml({ ...profile, [HEADER_SETTING]: 1 })}<constraints><${HEADER_SETTING}><readonly/></${HEADER_SETTING}></constraints></${name}>`

const settingsXml = (settings: Readonly<Record<string, string | number>>): string =>
  Object.entries(settings)
    .map(([key, value]) => `<${key}>${value}</${key}>`)
    .join('')

const grantsXml = (objects: readonly string[]): string =>
  // An empty list would mean every right.
  `<grants>${(objects.length === 0 ? ['nothing.nothing'] : objects)
    .map(object => `<query>GRANT SELECT ON ${object}</query>`)
    .join('')}</grants>`

const filtersXml = (databases: readonly string[]): string => {
  const tables = WALLED_TABLES.map(table => `<${table}><filter>${ROW_FILTER}</filter></${table}>`).join('')
  return `<databases>${databases.map(database => `<${database}>${tables}</${database}>`).join('')}</databases>`
}

/**
 * The engine's configuration. A request reaches the query handler only with the exact credentials of a user in its Authorization
 * header: a check of the user's name alone would still let `?user=default` in, which wins over the header (seen on 26.7).
 * Query logs are off (not configured); the engine's own log is bounded. Intervals are long because an idle engine should cost
 * next to nothing; caches are small and memory is limited because it shares its machine.
 */
function configXml(dir: string, keepBytes: number, users: readonly EngineUser[]): string {
  const handlers = users.map(
    ({ name, password }) => `    <rule>
      <headers>
        <authorization>Basic ${Buffer.from(`${name}:${password}`).toString('base64')}</authorization>
        <X-ClickHouse-User>regex:^$</X-ClickHouse-User>
      </headers>
      <handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler>
    </rule>`,
  )
  return `<clickhouse>
  <log-level>warning</log-level>
  <logger>
    <level>warning</level>
    <log>${escapeXml(join(dir, 'engine.log'))}</log>
    <size>8M</size>
    <count>2</count>
  </logger>
  <users_config>${escapeXml(join(dir, 'users.xml'))}</users_config>
  <timezone>UTC</timezone>
  <max_server_memory_usage_to_ram_ratio>0.6</max_server_memory_usage_to_ram_ratio>
  <asynchronous_metrics_update_period_s>60</asynchronous_metrics_update_period_s>
  <background_schedule_pool_size>16</background_schedule_pool_size>
  <os_threads_nice_value_merge_mutate>${MERGE_NICE}</os_threads_nice_value_merge_mutate>
  <memory_worker_period_ms>1000</memory_worker_period_ms>
  <storage_configuration><disks><default><keep_free_space_bytes>${keepBytes}</keep_free_space_bytes></default></disks></storage_configuration>
  <mark_cache_size>${64 * 1024 * 1024}</mark_cache_size>
  <primary_index_cache_size>${64 * 1024 * 1024}</primary_index_cache_size>
  <http_handlers>
    <rule>
      <url>/ping</url>
      <methods>GET,HEAD</methods>
      <handler><type>ping</type></handler>
    </rule>
${handlers.join('\n')}
  </http_handlers>
</clickhouse>
`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

async function writePrivate(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 })
  // An older file keeps its mode.
  await chmod(file, 0o600)
}

/** True when the engine on the port answers a query of ours: another program there, or another engine, does not. */
function answers(port: number, password: string): Promise<boolean> {
  return new Promise(resolve => {
    const asked = request(
      {
        port,
        host: '127.0.0.1',
        path: '/?query=SELECT%201',
        auth: `${USER}:${password}`,
        agent: false,
        timeout: 2_000,
      },
      response => {
        response.resume()
        response.once('end', () => resolve(response.statusCode === 200))
        response.once('error', () => resolve(false))
      },
    )
    asked.once('timeout', () => asked.destroy())
    asked.once('error', () => resolve(false))
    asked.end()
  })
}
