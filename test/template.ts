// The schema as the migrations leave it, migrated once by the keeper of the shared engine and copied for each test: a tenth of the
// engine's time that the migrations themselves take.
import { createStore } from '#store/client.ts'

/** The database that is copied. Its name stands nowhere else in the schema. */
export const TEMPLATE = 'parley_test_template'

/** Databases that the wall's users of the shared engine know: the engine has its users from its start on. */
export const WALLED: readonly string[] = Array.from({ length: 24 }, (_, i) => `parley_test_walled_${i + 1}`)

/** The same with `events` whose inserts have their projections from the first one on, for whoever wants it so. */
const AGGREGATED_TEMPLATE = `${TEMPLATE}_aggregated`

/** What is changed of a setting there. */
const [ROWS_ALONE, AGGREGATED] = [0, 1].map(built => `materialize_projections_on_insert = ${built}`) as [string, string]

const aggregated = (sql: string): string => {
  if (!sql.includes(ROWS_ALONE)) throw new Error(`events do not say ${ROWS_ALONE}`)
  return sql.replace(ROWS_ALONE, AGGREGATED)
}

/** How a copy is made. */
interface Copying {
  /** As if `aggregateInserts` of folding.ts had been asked of it, which costs as much as the whole copy. */
  readonly aggregated?: boolean
  /** The engine that has the template, where it is another one. */
  readonly from?: string
}

interface Table {
  readonly name: string
  readonly sql: string
  readonly view: number
}

/** Tables of the template; their statements are asked for apart, because the engine writes each anew. */
const TABLES = `SELECT name, '' AS sql, engine LIKE '%View' AS view FROM system.tables WHERE database = {template:String} ORDER BY name`
const STATEMENTS = TABLES.replace(`''`, 'create_table_query')

/** Makes what copies are made from, in the engine that has just been migrated. */
export async function prepareTemplate(url: string): Promise<void> {
  const store = createStore({ url, database: 'default', application: 'test' })
  try {
    const tables = await store.read<Table>(STATEMENTS, { parameters: { template: TEMPLATE } })
    const events = tables.find(({ name }) => name === 'events')
    if (events === undefined) throw new Error(`${TEMPLATE} has no events`)
    await store.command(`CREATE DATABASE ${AGGREGATED_TEMPLATE}`)
    await store.command(aggregated(events.sql).replaceAll(TEMPLATE, AGGREGATED_TEMPLATE))
  } finally {
    await store.close()
  }
}

/**
 * Makes a database like the template, its record of migrations included. Where the template stands beside it a table is made as that one
 * is: its columns and projections are known there, and to read and check them again costs as much as the rest.
 */
export async function copyTemplate(url: string, database: string, how: Copying = {}): Promise<void> {
  const store = createStore({ url, database: 'default', application: 'test' })
  const template = createStore({ url: how.from ?? url, database: 'default', application: 'test' })
  const beside = how.from === undefined || how.from === url
  try {
    const ask = (sql: string): Promise<Table[]> => template.read<Table>(sql, { parameters: { template: TEMPLATE } })
    let tables = await ask(beside ? TABLES : STATEMENTS)
    if (tables.length === 0) throw new Error(`the shared engine has no ${TEMPLATE}`)
    const views = tables.some(({ view }) => view)
    if (beside && views) tables = await ask(STATEMENTS)
    await store.command(`CREATE DATABASE ${database}`)
    const create = ({ name, sql, view }: Table): Promise<void> => {
      const wanted = name === 'events' && how.aggregated === true
      if (beside && !view) {
        return store.command(`CREATE TABLE ${database}.${name} AS ${wanted ? AGGREGATED_TEMPLATE : TEMPLATE}.${name}`)
      }
      const copied = sql.replaceAll(TEMPLATE, database)
      return store.command(wanted ? aggregated(copied) : copied)
    }
    await Promise.all(tables.filter(({ view }) => !view).map(create))
    await Promise.all(tables.filter(({ view }) => view).map(create))
    const values = await template.read(`SELECT name, checksum FROM ${TEMPLATE}.migrations`)
    await store.client.insert({ table: `${database}.migrations`, values, format: 'JSONEachRow' })
  } finally {
    await Promise.all([store.close(), template.close()])
  }
}
