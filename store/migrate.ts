// Applies store/migrations/*.sql in order, once each, under the names they have. A migration is never edited after its release:
// the checksum of what was applied is kept and a difference stops the start.
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { ParleyError } from '#proto/errors.ts'
import type { Store, StoreOptions } from '#store/client.ts'
import { createStore } from '#store/client.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)

/** Inserts (per table) whose tokens are remembered: at one a second and partition, weeks. */
const DEDUPE_WINDOW = 1_000_000

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
 * since every statement is IF NOT EXISTS. Returns the names that were applied now.
 * @throws ParleyError RUN_MIGRATION_FAILED when a statement fails, was edited after it ran, or is newer than this build.
 */
export async function migrate(
  options: StoreOptions & { cluster?: string; only?: readonly string[] },
): Promise<string[]> {
  const placement: Placement = { database: options.database, cluster: options.cluster ?? '' }
  // The database may not exist yet, so the client must not select it.
  const store = createStore({ ...options, database: 'default' })
  try {
    return await apply(store, placement, options.only)
  } finally {
    await store.close()
  }
}

async function apply(store: Store, placement: Placement, only?: readonly string[]): Promise<string[]> {
  const onCluster = fill('{{on_cluster}}', placement)
  await store.command(`CREATE DATABASE IF NOT EXISTS ${placement.database} ${onCluster}`)
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
  const known = new Map(rows.map(row => [row.name, row.checksum]))
  const files = await migrationNames()
  const unknown = [...known.keys()].filter(name => !files.includes(name))
  if (unknown.length > 0) {
    throw new ParleyError(
      'RUN_MIGRATION_FAILED',
      `the database holds ${unknown.join(', ')}: written by a newer version`,
    )
  }
  const applied: string[] = []
  for (const name of files) {
    if (only?.includes(name) === false) continue
    const sql = await readFile(new URL(name, MIGRATIONS), 'utf8')
    const checksum = createHash('sha256').update(sql).digest('hex')
    const before = known.get(name)
    if (before === checksum) continue
    if (before !== undefined) throw new ParleyError('RUN_MIGRATION_FAILED', `${name} was edited after it was applied`)
    try {
      await store.command(fill(sql, placement))
    } catch (error) {
      throw new ParleyError('RUN_MIGRATION_FAILED', `${name}: ${String(error)}`, { cause: error })
    }
    await store.command(
      `INSERT INTO ${placement.database}.migrations (name, checksum) VALUES ({name:String}, {checksum:String})`,
      {
        parameters: { name, checksum },
      },
    )
    applied.push(name)
  }
  return applied
}
