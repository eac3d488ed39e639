// parley restore: the folder of a backup -> an instance that goes on where the backup was made. Everything is read before anything is
// written, and nothing is written where something is.
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import type { BackupManifest, BackupTable } from '#proto/backup.ts'
import { isOurStream } from '#proto/streams.ts'
import { createLog } from '#runtime/log.ts'
import { readSettings } from '#runtime/settings.ts'
import { inWideParts, sumsOf, totalOf, writeRows } from '#store/backup/rows.ts'
import { createStore, type Store } from '#store/client.ts'
import { migrate, migrationNames } from '#store/migrate.ts'
import { connect } from '#streams/connect.ts'
import { putStream } from '#streams/snapshot.ts'
import { openEngines, type QuietEngines } from './backup/engines.ts'
import { checkFiles, describe, readBack, readManifest } from './backup/folder.ts'
import { cliSettings } from './config.ts'
import { RESTORE_USAGE, UsageError } from './usage.ts'

/** Writing a large piece may take long, and its answer comes at its end. */
const REQUEST_MS = 24 * 3_600_000
/** What stands in the way is named, up to so many things. */
const NAMED = 5

/** Both engines, and what is put into them. */
interface Putting {
  readonly nc: NatsConnection
  readonly store: Store
  readonly path: string
  readonly manifest: BackupManifest
  readonly replicas: number | undefined
  readonly clickhouseUrl: string
}

/** Runs `restore`; returns the exit code. */
export async function restore(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { check: { type: 'boolean' }, replicas: { type: 'string' } },
  })
  const [given] = positionals
  const replicas = values.replicas === undefined ? undefined : Number(values.replicas)
  if (given === undefined || positionals.length > 1) throw new UsageError(RESTORE_USAGE)
  if (replicas !== undefined && !(Number.isSafeInteger(replicas) && replicas > 0)) throw new UsageError(RESTORE_USAGE)
  const path = resolve(given)
  const manifest = await readManifest(path)
  await checkFiles(path, manifest)
  const names = await migrationNames()
  const unknown = manifest.migrations.filter(name => !names.includes(name))
  if (unknown.length > 0) throw new UsageError(`${path} was made by a newer parley: it has had ${unknown.join(', ')}`)
  say(`${path}: ${describe(manifest)}`)
  if (values.check) return 0
  const engines = await openEngines()
  let known: string | undefined
  try {
    await withConnections(engines, (nc, store) =>
      put({ nc, store, path, manifest, replicas, clickhouseUrl: engines.clickhouseUrl }),
    )
    if (manifest.launcher !== undefined) known = await readFile(join(path, manifest.launcher), 'utf8')
  } finally {
    await engines.close(known)
  }
  say(
    engines.dataDir === undefined
      ? 'restored: start parley'
      : `restored into ${engines.dataDir}: npm start goes on there`,
  )
  return 0
}

async function withConnections(
  { natsUrl: url, clickhouseUrl }: QuietEngines,
  work: (nc: NatsConnection, store: Store) => Promise<void>,
): Promise<void> {
  const { database } = readSettings({ ...process.env }, cliSettings)
  const log = createLog({ part: 'cli', level: 'silent' })
  const nc = await connect({ url, name: 'parley-restore', log }).catch((cause: unknown) => {
    throw new UsageError('NATS does not answer', { cause })
  })
  // The database is not there yet, so the client must not select it; `database` only names it.
  const client = {
    url: clickhouseUrl,
    database: 'default',
    application: 'parley-restore',
    requestTimeoutMs: REQUEST_MS,
  }
  const store: Store = { ...createStore(client), database }
  try {
    if (!(await store.ping())) throw new UsageError('ClickHouse does not answer')
    await work(nc, store)
  } finally {
    await Promise.all([store.close(), nc.close()])
  }
}

async function put(putting: Putting): Promise<void> {
  await refuseIfTaken(putting)
  try {
    await putTables(putting)
    await putStreams(putting)
  } catch (error) {
    // All that is there now was made here: the next try begins with nothing, too.
    await clear(putting).catch(() => {})
    throw error
  }
}

async function refuseIfTaken({ nc, store }: Putting): Promise<void> {
  const taken: string[] = []
  const jsm = await jetstreamManager(nc)
  for await (const { config, state } of jsm.streams.list()) {
    if (isOurStream(config.name)) taken.push(`stream ${config.name} with ${state.messages} messages`)
  }
  const tables = await store.read<{ name: string; rows: string | null }>(
    'SELECT name, total_rows AS rows FROM system.tables WHERE database = {database:String} ORDER BY rows DESC',
    { parameters: { database: store.database } },
  )
  taken.push(...tables.map(({ name, rows }) => `table ${store.database}.${name} with ${rows ?? 0} rows`))
  if (taken.length === 0) return
  const more = taken.length > NAMED ? ` and ${taken.length - NAMED} more` : ''
  throw new UsageError(
    `a backup goes into an empty instance only, and here is ${taken.slice(0, NAMED).join(', ')}${more}`,
  )
}

async function clear({ nc, store, manifest }: Putting): Promise<void> {
  await store.command(`DROP DATABASE IF EXISTS ${store.database} SYNC`)
  const jsm = await jetstreamManager(nc)
  for (const { config } of manifest.streams) await jsm.streams.delete(config.name).catch(() => {})
}

async function putTables({ store, path, manifest, clickhouseUrl }: Putting): Promise<void> {
  const { cluster } = readSettings({ ...process.env }, cliSettings)
  const options = { url: clickhouseUrl, database: store.database, application: 'parley-restore', cluster }
  // The schema in which the rows were written; what has changed since then happens to them afterwards.
  await migrate({ ...options, only: manifest.migrations })
  for (const table of manifest.tables) await putTable(store, path, table)
  const applied = await migrate(options)
  if (applied.length > 0) say(`schema: applied ${applied.join(', ')}`)
}

async function putTable(store: Store, path: string, { name, rows, hash, files }: BackupTable): Promise<void> {
  const table = `${store.database}.${name}`
  // A merge folds rows, and the sum would be another one.
  await store.command(`SYSTEM STOP MERGES ${table}`)
  await inWideParts(store, name, async () => {
    for (const file of files) await writeRows(store, table, readBack(path, file))
  })
  const found = totalOf(await sumsOf(store, table))
  if (found.rows !== rows || found.hash !== hash) {
    throw new Error(`${name} has ${found.rows} rows, the backup ${rows}, and their contents differ`)
  }
  await store.command(`SYSTEM START MERGES ${table}`)
  say(`${name}: ${rows} rows`)
}

async function putStreams({ nc, path, manifest, replicas }: Putting): Promise<void> {
  for (const { file, config, state } of manifest.streams) {
    const wanted = replicas === undefined ? config : { ...config, num_replicas: replicas }
    await putStream(nc, { config: wanted, state }, readBack(path, file) as AsyncIterable<Uint8Array>)
    const found = (await (await jetstreamManager(nc)).streams.info(config.name)).state
    // What came while it was copied may be there, too; what is kept for a time only may have passed it.
    if (!config.max_age && (found.messages < state.messages || found.last_seq < state.last_seq)) {
      throw new Error(`${config.name} has ${found.messages} messages, the backup ${state.messages}`)
    }
    say(`${config.name}: ${found.messages} messages`)
  }
}

const say = (line: string): void => console.log(line)
