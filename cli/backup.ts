// parley backup: a running instance -> a folder from which it can be made again. Owners hold still while tables are linked aside and what
// belongs to them is copied, which takes a second or so; rows are read from the links afterwards, while everything goes on.
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { jetstreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { BACKUP_FORMAT, type BackupStream, type BackupTable } from '#proto/backup.ts'
import {
  AUDIT_STREAM,
  BLOCKS_STREAM,
  bucketStreamOf,
  CONTROL_BUCKET,
  CURSORS_BUCKET,
  DEAD_STREAM,
  REJECTS_BUCKET,
  streamOf,
} from '#proto/streams.ts'
import { readSettings } from '#runtime/settings.ts'
import { readVersion } from '#runtime/version.ts'
import { type ClonedTable, type Clones, makeClones } from '#store/backup/clone.ts'
import { readRows, sumsOf, totalOf } from '#store/backup/rows.ts'
import type { Store } from '#store/client.ts'
import { openBuckets } from '#streams/apply.ts'
import { type HeldOwners, holdOwners } from '#streams/hold.ts'
import { readLayout } from '#streams/layout.ts'
import { readSettled } from '#streams/settled.ts'
import { copyStream } from '#streams/snapshot.ts'
import { takeTurn } from '#streams/turn.ts'
import { type BackupFolder, createFolder, describe, textStream } from './backup/folder.ts'
import { cliSettings } from './config.ts'
import { openNats, openStore } from './instance.ts'
import { BACKUP_USAGE, UsageError } from './usage.ts'

/** How long owners may take to come to rest: what they insert ends by itself or is given up. */
const PATIENCE_MS = 180_000
/** An owner that changes while all stand still makes the moment worth nothing: then another one is tried. */
const TRIES = 5

/** In the moment itself. The cursors before the tables: what they say is done is in the tables, and what is done twice does no harm. */
const MOMENT = [AUDIT_STREAM, bucketStreamOf(CURSORS_BUCKET), DEAD_STREAM, BLOCKS_STREAM]
/** After it, behind the payloads: whom a payload belongs to is known then. */
const LATER = [bucketStreamOf(CONTROL_BUCKET), bucketStreamOf(REJECTS_BUCKET)]

/** Where from and where to. */
interface Taking {
  readonly nc: NatsConnection
  readonly store: Store
  readonly folder: BackupFolder
  readonly partitions: number
}

/** Runs `backup`; returns the exit code. */
export async function backup(args: readonly string[]): Promise<number> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} })
  const [given] = positionals
  if (given === undefined || positionals.length > 1) throw new UsageError(BACKUP_USAGE)
  const path = resolve(given)
  const nc = await openNats()
  try {
    const { control, leases } = await openBuckets(nc)
    const partitions = await readWhole(control)
    const store = await openStore()
    try {
      const turn = await takeTurn(leases, 'backup', `${hostname()}/${process.pid}`)
      if (!turn) throw new UsageError('another backup is under way')
      try {
        await take({ nc, store, partitions }, path)
        return 0
      } finally {
        await turn.release()
      }
    } finally {
      await store.close()
    }
  } finally {
    await nc.close()
  }
}

/** How many partitions there are. @throws UsageError when one store does not hold the rows of all: half of them is no backup. */
async function readWhole(control: KV): Promise<number> {
  const layout = await readLayout(control)
  if (!layout) throw new UsageError('the streams are not laid out: nobody has started parley here')
  if (layout.shards === 1) return layout.partitions
  throw new UsageError(`the store was laid out over ${layout.shards} shards, and a backup is of one`)
}

async function take(from: Omit<Taking, 'folder'>, path: string): Promise<void> {
  const { store, partitions } = from
  const folder = await createFolder(path)
  const taking: Taking = { ...from, folder }
  const moment = await standStill(taking)
  try {
    const streams = [...moment.streams, ...(await copyPayloads(taking, moment))]
    const tables: BackupTable[] = []
    for (const table of moment.clones.tables) tables.push(await copyTable(taking, table))
    const launcher = await copyLauncher(folder)
    const manifest = await folder.finish({
      ...{ format: BACKUP_FORMAT, version: await readVersion(), at: moment.at, partitions },
      settled: Object.fromEntries(moment.settled),
      ...{ migrations: await appliedMigrations(store), tables, streams },
      ...(launcher === undefined ? {} : { launcher }),
    })
    say(`${path}: ${describe(manifest)}`)
    say('it holds keys, passwords and all that was sent: keep it as you keep those')
  } finally {
    await moment.held.release()
    await moment.clones.drop()
  }
}

/** What belongs together, because nothing changed while it was taken. */
interface Moment {
  readonly at: string
  readonly held: HeldOwners
  readonly clones: Clones
  readonly settled: ReadonlyMap<number, number>
  readonly streams: readonly BackupStream[]
}

async function standStill(taking: Taking): Promise<Moment> {
  const { nc, store, partitions } = taking
  const { leases, cursors } = await openBuckets(nc)
  for (let tries = 1; ; tries++) {
    const clones = await makeClones(store)
    let held: HeldOwners | undefined
    try {
      held = await holdOwners({ nc, leases, cursors, partitions, patienceMs: PATIENCE_MS })
      const startedAt = performance.now()
      const at = new Date().toISOString()
      const streams: BackupStream[] = []
      for (const name of await present(nc, MOMENT)) streams.push(await copy(taking, name))
      const settled = await readSettled(cursors, partitions)
      await clones.fill()
      if (await held.isUnbroken()) {
        held.keep()
        say(`everything stood still for ${((performance.now() - startedAt) / 1000).toFixed(1)} s, at ${at}`)
        return { at, held, clones, settled, streams }
      }
      if (tries === TRIES) throw new UsageError('partitions keep changing their owners: try again when they are calm')
    } catch (error) {
      await held?.release()
      await clones.drop()
      throw error
    }
    await held.release()
    say('an owner changed in the middle: once more')
  }
}

/** Payloads, those that are not stored above all; then what may be newer than they are. */
async function copyPayloads(taking: Taking, { held, settled }: Moment): Promise<BackupStream[]> {
  const streams: BackupStream[] = []
  for (let partition = 0; partition < taking.partitions; partition++) {
    const stream = await copy(taking, streamOf(partition))
    const next = (settled.get(partition) ?? 0) + 1
    if (stream.state.first_seq > next) throw new Error(`${streamOf(partition)} has lost what stood at ${next}`)
    streams.push(stream)
    say(`${streamOf(partition)}: ${stream.state.messages} messages, ${stream.state.last_seq - next + 1} not stored yet`)
  }
  for (const name of await present(taking.nc, LATER)) streams.push(await copy(taking, name))
  // From here on nothing has to be kept for this.
  await held.release()
  return streams
}

async function present(nc: NatsConnection, names: readonly string[]): Promise<string[]> {
  const jsm = await jetstreamManager(nc)
  const found: string[] = []
  for await (const name of jsm.streams.names()) found.push(name)
  return names.filter(name => found.includes(name))
}

async function copy({ nc, folder }: Taking, name: string): Promise<BackupStream> {
  const file = `streams/${name}`
  const { config, state } = await folder.collect(file, write => copyStream(nc, name, write))
  return { file, config, state }
}

async function copyTable({ store, folder }: Taking, { name, clone }: ClonedTable): Promise<BackupTable> {
  const sums = await sumsOf(store, clone)
  const files: string[] = []
  for (const { partition } of sums) {
    const file = `tables/${name}/${partition}.native.zst`
    await folder.write(file, await readRows(store, clone, partition))
    files.push(file)
  }
  const total = totalOf(sums)
  say(`${name}: ${total.rows} rows`)
  return { name, ...total, files }
}

/** The instance that runs on this machine shows its first key and password again after a restore. */
async function copyLauncher(folder: BackupFolder): Promise<string | undefined> {
  const settings = readSettings({ ...process.env }, cliSettings)
  if (settings.natsUrl !== '') return undefined
  const text = await readFile(join(settings.dataDir, 'secrets.json'), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const { organization, apiKey, ownerPassword } = JSON.parse(text) as Record<string, unknown>
  const file = 'launcher.json'
  await folder.write(file, textStream(`${JSON.stringify({ organization, apiKey, ownerPassword })}\n`))
  return file
}

async function appliedMigrations(store: Store): Promise<string[]> {
  const rows = await store.read<{ name: string }>('SELECT DISTINCT name FROM migrations ORDER BY name')
  return rows.map(({ name }) => name)
}

const say = (line: string): void => console.log(line)
