// Applies store/migrations/*.sql in order, once each, under the names they have. A migration is never edited after its release:
// the checksum of what was applied is kept and a difference stops the start. A new database begins with what most of them make together.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { ClickHouseError } from '@clickhouse/client'
import { ParleyError } from '#proto/errors.ts'
import type { Store, StoreOptions } from '#store/client.ts'
import { createStore } from '#store/client.ts'
import { readScript, type Script } from './script.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)
/** What the migrations up to and with the one of this name make, each table by one statement. */
const BASELINE = new URL('./baseline/0040_sessions_rewritten.sql', import.meta.url)
const TABLE_ALREADY_EXISTS = '57'

/** Inserts (per table) whose tokens are remembered: at one a second and partition, weeks. */
const DEDUPE_WINDOW = 1_000_000

/** A statement may link the files of a whole table. */
const STATEMENT_MS = 3_600_000
/** How long a migration waits for what has to be over before it. */
const PATIENCE_MS = 600_000
const LOOK_MS = 250

/**
 * Does work while owners hold still, and one at a time; the work may ask whether they have done so without a break.
 * @throws what the work throws, and when they don't come to rest.
 */
export type WhileStill = (work: (isUnbroken: () => Promise<boolean>) => Promise<void>) => Promise<void>

/** What a migration may need beside the store. */
export interface MigrateOptions extends StoreOptions {
  readonly cluster?: string
  /** These migrations alone. */
  readonly only?: readonly string[]
  /** For migrations that nothing may be stored beside; left out where nobody can be storing. */
  readonly whileStill?: WhileStill
}

/** What the placeholders of a migration become. */
export interface Placement {
  readonly database: string
  /** Name of the ClickHouse cluster; '' for one server. */
  readonly cluster: string
}

/** A migration's text with its placeholders filled. One text serves one server and a cluster. */
export function fill(sql: string, placement: Placement): string {
  const values: Record<string, string> = {
    database: placement.database,
    on_cluster: placement.cluster === '' ? '' : `ON CLUSTER '${placement.cluster}'`,
    replicated: placement.cluster === '' ? '' : 'Replicated',
    dedupe_window:
      placement.cluster === ''
        ? `non_replicated_deduplication_window = ${DEDUPE_WINDOW}`
        : `replicated_deduplication_window = ${DEDUPE_WINDOW}`,
  }
  return sql.replaceAll(/\{\{(\w+)\}\}/g, (whole, name: string) => {
    const value = values[name]
    if (value === undefined) throw new ParleyError('RUN_MIGRATION_FAILED', `unknown placeholder ${whole}`)
    return value
  })
}

/** The migrations of this build, in order. */
export async function migrationNames(): Promise<string[]> {
  return (await readdir(MIGRATIONS)).filter(name => name.endsWith('.sql')).sort()
}

/**
 * Brings the database to this build's schema, or with `only` to the one that these migrations make; safe to run from several processes,
 * since every statement may be repeated, or is done while owners hold still. Returns the names that were applied now.
 * @throws ParleyError RUN_ENGINE_AWAY when the store does not answer; RUN_MIGRATION_FAILED when a statement fails, was edited after it ran, or is newer than this build.
 */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  // The database may not exist yet, so the client must not select it.
  const store = createStore({ requestTimeoutMs: STATEMENT_MS, ...options, database: 'default' })
  try {
    await reach(store, options.url)
    return await apply(store, options)
  } finally {
    await store.close()
  }
}

/** A store that is away is told by its address and without its password. */
async function reach(store: Store, url: string): Promise<void> {
  try {
    await store.read('SELECT 1')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ParleyError('RUN_ENGINE_AWAY', `ClickHouse at ${new URL(url).host}: ${why}`, { cause: error })
  }
}

async function apply(store: Store, { database, cluster = '', only, whileStill }: MigrateOptions): Promise<string[]> {
  const placement: Placement = { database, cluster }
  const files = await migrationNames()
  const known = await appliedBefore(store, placement)
  const unknown = [...known.keys()].filter(name => !files.includes(name))
  if (unknown.length > 0) {
    throw new ParleyError(
      'RUN_MIGRATION_FAILED',
      `the database holds ${unknown.join(', ')}: written by a newer version`,
    )
  }
  const asked = await Promise.all(files.filter(name => only?.includes(name) !== false).map(readMigration))
  const applied = known.size === 0 ? await begin(store, placement, asked) : []
  for (const { name, sql, checksum } of asked.slice(applied.length)) {
    const before = known.get(name)
    if (before === checksum) continue
    if (before !== undefined) throw new ParleyError('RUN_MIGRATION_FAILED', `${name} was edited after it was applied`)
    const script = readScript(fill(sql, placement))
    try {
      if (script.still && whileStill !== undefined) await whileStill(isUnbroken => run(store, script, isUnbroken))
      else await run(store, script)
    } catch (error) {
      throw new ParleyError('RUN_MIGRATION_FAILED', `${name}: ${String(error)}`, { cause: error })
    }
    await record(store, placement, [{ name, checksum }])
    applied.push(name)
  }
  return applied
}

/** A migration's text as it is written. */
interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

async function readMigration(name: string): Promise<Migration> {
  const sql = await readFile(new URL(name, MIGRATIONS), 'utf8')
  return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
}

/**
 * Makes what the first of these migrations make, at once: each ALTER has the engine plan all projections of a table again, which is two
 * thirds of what they cost. Returns the names that are done with it. Whoever makes every table by himself knows that it is as it should
 * be; who meets one that is there, of another process or of an attempt that was cut short, leaves all to the migrations, which may be
 * repeated. So does a cluster, whose servers may differ in what they have.
 */
async function begin(store: Store, placement: Placement, asked: readonly Migration[]): Promise<string[]> {
  const last = basename(BASELINE.pathname)
  const covered = (await migrationNames()).filter(name => name <= last)
  if (placement.cluster !== '' || !covered.every((name, i) => asked[i]?.name === name)) return []
  const { statements } = readScript(fill(await readFile(BASELINE, 'utf8'), placement))
  try {
    for (const statement of statements) await store.command(statement)
  } catch (error) {
    if (error instanceof ClickHouseError && error.code === TABLE_ALREADY_EXISTS) return []
    throw new ParleyError('RUN_MIGRATION_FAILED', `the baseline ${last}: ${String(error)}`, { cause: error })
  }
  await record(store, placement, asked.slice(0, covered.length))
  return covered
}

/** Keeps what has been applied. */
async function record(
  store: Store,
  { database }: Placement,
  migrations: readonly Pick<Migration, 'name' | 'checksum'>[],
): Promise<void> {
  await store.client.insert({
    table: `${database}.migrations`,
    columns: ['name', 'checksum'],
    values: migrations.map(({ name, checksum }) => ({ name, checksum })),
    format: 'JSONEachRow',
  })
}

/** The checksums of what was applied, by name; makes the database and the table that holds them when they are missing. */
async function appliedBefore(store: Store, placement: Placement): Promise<ReadonlyMap<string, string>> {
  await store.command(fill('CREATE DATABASE IF NOT EXISTS {{database}} {{on_cluster}}', placement))
  await store.command(
    fill(
      `CREATE TABLE IF NOT EXISTS {{database}}.migrations {{on_cluster}} (name String, checksum String, applied_at DateTime DEFAULT now())
       ENGINE = {{replicated}}MergeTree ORDER BY name`,
      placement,
    ),
  )
  const rows = await store.read<{ name: string; checksum: string }>(
    `SELECT name, any(checksum) AS checksum FROM ${placement.database}.migrations GROUP BY name`,
  )
  return new Map(rows.map(row => [row.name, row.checksum]))
}

/** Runs a migration's statements. The last one makes what the others have prepared count, so a break before it leaves all as it was. */
async function run(store: Store, script: Script, isUnbroken?: () => Promise<boolean>): Promise<void> {
  const holds = async (query: string): Promise<boolean> => {
    const [row] = await store.read<{ n: string | number }>(`SELECT (${query}) AS n`)
    return Number(row?.n) !== 0
  }
  if (script.unless !== undefined && (await holds(script.unless))) return
  const deadline = performance.now() + PATIENCE_MS
  while (script.once !== undefined && !(await holds(script.once))) {
    if (performance.now() > deadline)
      throw new Error(`something is still under way after ${PATIENCE_MS / 60_000} minutes: ${script.once}`)
    await new Promise(resolve => setTimeout(resolve, LOOK_MS))
  }
  for (const [i, statement] of script.statements.entries()) {
    if (i === script.statements.length - 1 && isUnbroken !== undefined && !(await isUnbroken())) {
      throw new Error('an owner of a partition has changed in the middle: run it again')
    }
    // A table that gives way to another may be of any size.
    await store.command(statement, { settings: { max_table_size_to_drop: '0' } })
  }
}
