// Tables as they are at one moment: their parts linked into tables of a database of its own, which costs neither time nor room however
// much they hold. Plain SQL: the same on the embedded engine and on a server, and no folder of a server's machine has to be reached.
import type { Store } from '#store/client.ts'

/** A table that has a clone. */
export interface ClonedTable {
  readonly name: string
  /** The clone, with its database. */
  readonly clone: string
}

/** Clones that are to be filled. */
export interface Clones {
  readonly tables: readonly ClonedTable[]
  /** Links every part that a table has now. */
  fill(): Promise<void>
  /** Removes them. */
  drop(): Promise<void>
}

/** What migrations have done is told by their names, not by rows. */
const LEFT_OUT = ['migrations']
/** Of an engine with all that belongs to it: how its parts are cut and ordered. */
const KEYS = / ((?:PARTITION BY|PRIMARY KEY|ORDER BY) .*?)(?: SAMPLE BY .*| TTL .*| SETTINGS .*)?$/s
const SETTINGS = { max_execution_time: 600 } as const

/** The database that holds clones of another one. */
const clonesDatabase = (database: string): string => `${database}_backup`

/**
 * Makes empty clones; what an earlier call left is removed. They are plain MergeTree tables whatever their sources are, so that no merge
 * folds a row of theirs while they are read.
 */
export async function makeClones(store: Store): Promise<Clones> {
  const database = clonesDatabase(store.database)
  const drop = (): Promise<void> => store.command(`DROP DATABASE IF EXISTS ${database} SYNC`)
  await drop()
  await store.command(`CREATE DATABASE ${database}`)
  const found = await store.read<{ name: string; definition: string }>(
    `SELECT name, engine_full AS definition FROM system.tables
     WHERE database = {database:String} AND engine LIKE '%MergeTree' AND name NOT IN ({left:Array(String)}) ORDER BY name`,
    { parameters: { database: store.database, left: LEFT_OUT } },
  )
  const tables = found.map(({ name }) => ({ name, clone: `${database}.${name}` }))
  for (const { name, definition } of found) {
    await store.command(
      `CREATE TABLE ${database}.${name} AS ${store.database}.${name} ENGINE = MergeTree ${KEYS.exec(definition)?.[1] ?? 'ORDER BY tuple()'}`,
    )
  }
  return {
    tables,
    fill: async () => {
      for (const table of tables) await fill(store, table)
    },
    drop,
  }
}

async function fill(store: Store, { name, clone }: ClonedTable): Promise<void> {
  const parts = await store.read<{ id: string }>(
    `SELECT DISTINCT partition_id AS id FROM system.parts
     WHERE database = {database:String} AND table = {name:String} AND active ORDER BY id`,
    { parameters: { database: store.database, name } },
  )
  if (parts.length === 0) return
  const links = parts.map(({ id }) => `ATTACH PARTITION ID '${id}' FROM ${store.database}.${name}`)
  await store.command(`ALTER TABLE ${clone} ${links.join(', ')}`, { settings: SETTINGS })
}
