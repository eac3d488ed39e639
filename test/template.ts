// The schema as the migrations leave it, migrated once by the keeper of the shared engine and copied for each test: a tenth of the
// engine's time that the migrations themselves take.
import { createStore } from '#store/client.ts'

/** The database that is copied. Its name stands nowhere else in the schema. */
export const TEMPLATE = 'parley_test_template'

/** Databases that the wall's users of the shared engine know: the engine has its users from its start on. */
export const WALLED: readonly string[] = Array.from({ length: 24 }, (_, i) => `parley_test_walled_${i + 1}`)

/** Makes a database like the template, its record of migrations included. */
export async function copyTemplate(url: string, database: string): Promise<void> {
  const store = createStore({ url, database: 'default', application: 'test' })
  try {
    const tables = await store.read<{ sql: string; view: number }>(
      `SELECT create_table_query AS sql, engine LIKE '%View' AS view FROM system.tables WHERE database = {template:String} ORDER BY name`,
      { parameters: { template: TEMPLATE } },
    )
    if (tables.length === 0) throw new Error(`the shared engine has no ${TEMPLATE}`)
    await store.command(`CREATE DATABASE ${database}`)
    const create = ({ sql }: { sql: string }): Promise<void> => store.command(sql.replaceAll(TEMPLATE, database))
    await Promise.all(tables.filter(({ view }) => !view).map(create))
    await Promise.all(tables.filter(({ view }) => view).map(create))
    await store.command(`INSERT INTO ${database}.migrations SELECT * FROM ${TEMPLATE}.migrations`)
  } finally {
    await store.close()
  }
}
