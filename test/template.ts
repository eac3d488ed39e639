// The schema as the migrations leave it, migrated once by the keeper of the shared engine and copied for each test: a tenth of the
// engine's time that the migrations themselves take.
import { createStore } from '#store/client.ts'

/** The database that is copied. Its name stands nowhere else in the schema. */
export const TEMPLATE = 'parley_test_template'

/** Databases that the wall's users of the shared engine know: the engine has its users from its start on. */
export const WALLED: readonly string[] = Array.from({ length: 24 }, (_, i) => `parley_test_walled_${i + 1}`)

/** What is changed of a setting, where inserts of events are to have their projections from the first one on. */
const [ROWS_ALONE, AGGREGATED] = [0, 1].map(built => `materialize_projections_on_insert = ${built}`) as [string, string]

/** How a copy is made. */
interface Copying {
  /** As if `aggregateInserts` of folding.ts had been asked of it, which costs as much as the whole copy. */
  readonly aggregated?: boolean
  /** The engine that has the template, where it is another one. */
  readonly from?: string
}

/** Makes a database like the template, its record of migrations included. */
export async function copyTemplate(url: string, database: string, how: Copying = {}): Promise<void> {
  const store = createStore({ url, database: 'default', application: 'test' })
  const template = createStore({ url: how.from ?? url, database: 'default', application: 'test' })
  try {
    const tables = await template.read<{ name: string; sql: string; view: number }>(
      `SELECT name, create_table_query AS sql, engine LIKE '%View' AS view FROM system.tables WHERE database = {template:String} ORDER BY name`,
      { parameters: { template: TEMPLATE } },
    )
    if (tables.length === 0) throw new Error(`the shared engine has no ${TEMPLATE}`)
    await store.command(`CREATE DATABASE ${database}`)
    const create = ({ name, sql }: { name: string; sql: string }): Promise<void> => {
      const copied = sql.replaceAll(TEMPLATE, database)
      if (name !== 'events' || !how.aggregated) return store.command(copied)
      if (!copied.includes(ROWS_ALONE)) throw new Error(`events do not say ${ROWS_ALONE}`)
      return store.command(copied.replace(ROWS_ALONE, AGGREGATED))
    }
    await Promise.all(tables.filter(({ view }) => !view).map(create))
    await Promise.all(tables.filter(({ view }) => view).map(create))
    const values = await template.read(`SELECT name, checksum FROM ${TEMPLATE}.migrations`)
    await store.client.insert({ table: `${database}.migrations`, values, format: 'JSONEachRow' })
  } finally {
    await Promise.all([store.close(), template.close()])
  }
}
