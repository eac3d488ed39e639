// The engines that a command works on: NATS_URL and CLICKHOUSE_URL, else those of the instance that runs on this machine.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { NatsConnection } from '@nats-io/transport-node'
import { createLog } from '#runtime/log.ts'
import { readSettings } from '#runtime/settings.ts'
import { createStore, type Store } from '#store/client.ts'
import { createShards, type Shards } from '#store/shards.ts'
import { viewsDatabase } from '#store/wall/tables.ts'
import { connect } from '#streams/connect.ts'
import { cliSettings } from './config.ts'
import { UsageError } from './usage.ts'

const PROBE_MS = 10_000
const PATIENCE_MS = 900_000

/** Opens a connection. @throws UsageError when no instance is found or it does not answer. */
export async function openNats(): Promise<NatsConnection> {
  const settings = readSettings({ ...process.env }, cliSettings)
  const url = settings.natsUrl === '' ? (await local(settings.dataDir)).nats_url : settings.natsUrl
  try {
    return await connect({
      url,
      name: 'parley-cli',
      log: createLog({ part: 'cli', level: 'silent' }),
      timeoutMs: 3_000,
    })
  } catch (cause) {
    throw new UsageError('NATS does not answer: is parley running?', { cause })
  }
}

/** Questions of an operator may take long: clients with a long patience, once the store is known to answer. @throws UsageError when a shard does not answer. */
export async function openShards(): Promise<Shards> {
  const settings = readSettings({ ...process.env }, cliSettings)
  const url = settings.clickhouseUrl === '' ? (await local(settings.dataDir)).clickhouse_url : settings.clickhouseUrl
  const options = { url, database: settings.database, application: 'parley-cli' }
  const probe = createShards({ ...options, requestTimeoutMs: PROBE_MS })
  const answers = await probe.ping()
  await probe.close()
  if (!answers) throw new UsageError('ClickHouse does not answer: is parley running?')
  return createShards({ ...options, requestTimeoutMs: PATIENCE_MS })
}

/** The one store. @throws UsageError when there are several shards, or it does not answer. */
export async function openStore(): Promise<Store> {
  const shards = await openShards()
  const [store] = shards.all
  if (store !== undefined && shards.all.length === 1) return store
  await shards.close()
  throw new UsageError('this command works on one shard: let CLICKHOUSE_URL name the one that is meant')
}

/** The store as the user of tenants' SQL sees it. @throws UsageError where there is no such user, or the store does not answer. */
export async function openSqlStore(): Promise<Store> {
  const { sqlUrl, dataDir, database } = readSettings({ ...process.env }, cliSettings)
  const url = sqlUrl === '' ? (await local(dataDir)).sql_url : sqlUrl
  if (!url) throw new UsageError('this instance has no user for SQL of tenants: docs/wall.md says how to make one')
  if (url.includes(',')) throw new UsageError('let PARLEY_SQL_URL name the shard that has the organization')
  const store = createStore({ url, database: viewsDatabase(database), application: 'parley-cli' })
  if (await store.ping()) return store
  await store.close()
  throw new UsageError('ClickHouse does not answer: is parley running?')
}

interface LocalInstance {
  readonly nats_url: string
  readonly clickhouse_url: string
  /** Null where the wall could not be raised. */
  readonly sql_url?: string | null
}

async function local(dataDir: string): Promise<LocalInstance> {
  const file = join(dataDir, 'local.json')
  try {
    return JSON.parse(await readFile(file, 'utf8')) as LocalInstance
  } catch (cause) {
    throw new UsageError(`no running instance found in ${file}: set NATS_URL and CLICKHOUSE_URL, or PARLEY_DATA_DIR`, {
      cause,
    })
  }
}
