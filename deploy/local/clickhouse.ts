// The embedded ClickHouse for one machine: a folder goes in, an HTTP address with credentials comes out.
import { createHash, randomBytes } from 'node:crypto'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rotateLog, startChild } from './child.ts'
import type { Engine } from './nats.ts'
import { engineOf, waitUntilReady } from './nats.ts'
import { freePort } from './ports.ts'

const HOST = fileURLToPath(new URL('./clickhouse-host.ts', import.meta.url))
const USER = 'parley'
const LOG_MAX_BYTES = 8 * 1024 * 1024

/** What the engine needs. */
export interface ClickHouseOptions {
  /** Folder of the configuration, the data and the logs; made when missing. One process at a time may own it. */
  readonly dir: string
  /** 0 or left out: a free one. */
  readonly port?: number
  /** Left out: random, for this start only. */
  readonly password?: string
  readonly startTimeoutMs?: number
  /** Called as soon as the process exists, before it answers. */
  readonly onSpawn?: (engine: Engine) => void
}

/**
 * Starts the engine and resolves once it has answered a query.
 * @throws ParleyError RUN_ENGINE_FAILED with the last lines of its log when it ends early or does not answer in time.
 */
export async function startClickHouse(options: ClickHouseOptions): Promise<Engine> {
  const { dir } = options
  const port = options.port || (await freePort())
  const password = options.password ?? randomBytes(24).toString('hex')
  const logFile = join(dir, 'clickhouse.log')
  const configFile = join(dir, 'config.xml')
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await writePrivate(join(dir, 'users.xml'), usersXml([{ name: USER, password }]))
  await writePrivate(configFile, configXml(dir, [{ name: USER, password }]))
  rotateLog(logFile, LOG_MAX_BYTES)
  const child = startChild({
    command: process.execPath,
    args: [HOST, join(dir, 'data'), configFile, String(port)],
    env: {},
    cwd: dir,
    output: { file: logFile },
    ipc: true,
  })
  const engine = engineOf(child, { url: `http://${USER}:${password}@127.0.0.1:${port}`, port, logFile })
  options.onSpawn?.(engine)
  await waitUntilReady({
    name: 'ClickHouse',
    engine,
    ask: () => answers(port, password),
    timeoutMs: options.startTimeoutMs ?? 30_000,
  })
  return engine
}

/** A user of the engine who may connect over HTTP. */
interface EngineUser {
  readonly name: string
  readonly password: string
}

/**
 * Users. `default` is the engine's own (it runs the query that keeps it alive) and cannot have a password: the handlers of the
 * configuration keep it from the network.
 */
function usersXml(users: readonly EngineUser[]): string {
  const entries = users.map(
    ({ name, password }) => `    <${name}>
      <password_sha256_hex>${createHash('sha256').update(password).digest('hex')}</password_sha256_hex>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </${name}>`,
  )
  return `<clickhouse>
  <profiles><default/></profiles>
  <quotas><default/></quotas>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </default>
${entries.join('\n')}
  </users>
</clickhouse>
`
}

/**
 * The engine's configuration. A request reaches the query handler only with the exact credentials of a user in its Authorization
 * header: a check of the user's name alone would still let `?user=default` in, which wins over the header (seen on 26.7).
 * Query logs are off (not configured); the engine's own log is bounded. Intervals are long because an idle engine should cost
 * next to nothing; caches are small and memory is limited because it shares its machine.
 */
function configXml(dir: string, users: readonly EngineUser[]): string {
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
  <memory_worker_period_ms>1000</memory_worker_period_ms>
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
