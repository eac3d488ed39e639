// A store -> what lies on its disk: by table, by column, and what the engine worked for it.
import type { Store } from '#store/client.ts'
import { buildProjections } from '#store/projections.ts'
import { TABLES } from '#store/verify/projections.ts'
import { table } from '../stats.ts'

const MiB = 1024 * 1024

/** Bytes and parts of all tables that hold rows. */
export interface Disk {
  readonly bytes: number
  readonly parts: number
}

/** What active parts take, projections and indexes included. */
export async function diskOf(store: Store): Promise<Disk> {
  const [row] = await store.read<{ bytes: string; parts: string }>(
    'SELECT sum(bytes_on_disk) AS bytes, count() AS parts FROM system.parts WHERE active AND database = currentDatabase()',
  )
  return { bytes: Number(row?.bytes), parts: Number(row?.parts) }
}

/** What takes bytes: a column, a projection or an index. */
export interface Taken {
  readonly name: string
  /** Before compression. */
  readonly plain: number
  readonly bytes: number
}

/** What takes most: columns, projections and indexes. */
export async function largestOf(store: Store, limit: number): Promise<Taken[]> {
  const rows = await store.read<{ name: string; plain: string; bytes: string }>(
    `SELECT name, sum(u) AS plain, sum(c) AS bytes FROM (
       SELECT concat(table, '.', column) AS name, column_data_uncompressed_bytes AS u, column_data_compressed_bytes + column_marks_bytes AS c
       FROM system.parts_columns WHERE active AND database = currentDatabase()
       UNION ALL SELECT concat(table, ' projection ', name), data_uncompressed_bytes, bytes_on_disk
       FROM system.projection_parts WHERE active AND database = currentDatabase()
       UNION ALL SELECT concat(table, ' index ', name), data_uncompressed_bytes, data_compressed_bytes + marks_bytes
       FROM system.data_skipping_indices WHERE database = currentDatabase())
     GROUP BY name HAVING bytes > 0 ORDER BY bytes DESC LIMIT ${limit}`,
  )
  return rows.map(({ name, plain, bytes }) => ({ name, plain: Number(plain), bytes: Number(bytes) }))
}

/** A table of what takes most, in MiB. */
export async function largest(store: Store, limit = 14): Promise<string> {
  return table(
    ['', 'MiB before compression', 'MiB on disk'],
    (await largestOf(store, limit)).map(({ name, plain, bytes }) => [name, inMiB(plain), inMiB(bytes)]),
  )
}

/** Bytes of each table. */
export async function tablesOf(store: Store): Promise<ReadonlyMap<string, number>> {
  const rows = await store.read<{ table: string; bytes: string }>(
    'SELECT table, sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table',
  )
  return new Map(rows.map(row => [row.table, Number(row.bytes)]))
}

/** Bytes as MiB. */
export const inMiB = (bytes: number): string => (bytes / MiB).toFixed(1)

/** Tables of the store that have rows. */
export async function filled(store: Store): Promise<string[]> {
  const rows = await store.read<{ table: string }>(
    'SELECT DISTINCT table FROM system.parts WHERE active AND database = currentDatabase() AND rows > 0 ORDER BY table',
  )
  return rows.map(row => row.table)
}

/** Merges every table into one part for each of its partitions. Only parts that have the same projections are merged with each other. */
export async function mergeAll(store: Store): Promise<void> {
  for (const name of TABLES) await buildProjections(store, name)
  for (const name of await filled(store)) await store.command(`OPTIMIZE TABLE ${name} FINAL`)
}
