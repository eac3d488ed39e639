// Raises the wall in a store: users, row policies and grants where the server lets us, and the views of tenants' SQL. Everything can be
// repeated; what stands already is brought to this build's form.
import { ClickHouseError } from '@clickhouse/client'
import { ParleyError } from '#proto/errors.ts'
import type { Store, StoreOptions } from '#store/client.ts'
import { createStore } from '#store/client.ts'
import { createCores } from '#store/cores.ts'
import type { Placement } from '#store/migrate.ts'
import { fill } from '#store/migrate.ts'
import type { Profile, WallNames } from './profiles.ts'
import { HEADER_SETTING, PATIENT, READER_PROFILE, sqlProfile } from './profiles.ts'
import { ORGANIZATION_HEADER, ROW_FILTER, TENANT_VIEWS, viewsDatabase, WALLED_TABLES } from './tables.ts'

/** A user who may log in. */
export interface WallLogin {
  readonly name: string
  readonly password: string
}

/** Users of a wall on a server. */
export interface WallLogins {
  readonly reader: WallLogin
  readonly sql: WallLogin
  readonly definer: string
}

/** Not allowed; no place to store users (an embedded engine, a server with users in files only). */
const REFUSED = new Set(['497', '514'])

/** A store that takes longer is looked at later. */
const LOOK_MS = 5_000

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const named = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``

const settings = (profile: Readonly<Record<string, string | number>>): string =>
  Object.entries({ ...profile, [HEADER_SETTING]: 1 })
    .map(([key, value]) => `${key} = ${typeof value === 'number' ? value : quoted(value)}`)
    .join(', ')

/** The statements that make users, policies and grants on a server; an administrator may run them in our place. */
export function userStatements(placement: Placement, logins: WallLogins, sqlUser: Profile): string[] {
  const { database } = placement
  const on = fill('{{on_cluster}}', placement)
  const { reader, sql, definer } = logins
  const user = (name: string, how: string, profile: Readonly<Record<string, string | number>>): string[] => [
    `CREATE USER IF NOT EXISTS ${named(name)} ${on}`,
    `ALTER USER ${named(name)} ${on} ${how} SETTINGS ${settings(profile)}`,
    `REVOKE ${on} ALL ON *.* FROM ${named(name)}`,
  ]
  const password = (login: WallLogin): string => `IDENTIFIED WITH sha256_password BY ${quoted(login.password)}`
  const both = `${named(reader.name)}, ${named(definer)}`
  return [
    ...user(reader.name, password(reader), READER_PROFILE),
    ...user(sql.name, password(sql), sqlUser),
    ...user(definer, 'HOST NONE', { readonly: 1 }),
    ...WALLED_TABLES.flatMap(table => [
      // First: where a table has any policy, some servers show nothing to users who have none.
      `CREATE ROW POLICY OR REPLACE parley_others ${on} ON ${database}.${table} USING 1 TO ALL EXCEPT ${both}`,
      `CREATE ROW POLICY OR REPLACE parley_wall ${on} ON ${database}.${table} USING ${ROW_FILTER} TO ${both}`,
      `GRANT ${on} SELECT ON ${database}.${table} TO ${both}`,
    ]),
    `GRANT ${on} SELECT ON ${viewsDatabase(database)}.* TO ${named(sql.name)}`,
  ]
}

/** The statements that make the views; they need the definer. */
export function viewStatements(placement: Placement, definer: string): string[] {
  const on = fill('{{on_cluster}}', placement)
  const views = viewsDatabase(placement.database)
  return [
    `CREATE DATABASE IF NOT EXISTS ${views} ${on}`,
    ...TENANT_VIEWS.map(
      view => `CREATE OR REPLACE VIEW ${views}.${view.name} ${on}
        DEFINER = ${named(definer)} SQL SECURITY DEFINER AS ${fill(view.sql, placement)}`,
    ),
  ]
}

/** The profile of tenants' SQL as this server can have it: before 25.4 who makes room would wait for a second at every block. */
async function profileOf(store: Store): Promise<Profile> {
  const profile = sqlProfile(await createCores()(store))
  const [known] = await store.read('SELECT 1 FROM system.settings WHERE name = {name:String}', {
    parameters: { name: PATIENT.at(-1) as string },
  })
  if (known !== undefined) return profile
  return Object.fromEntries(Object.entries(profile).filter(([name]) => !PATIENT.includes(name)))
}

/** Where a wall is raised, by whom, and for which users. */
export interface WallOptions {
  /** A user who may make what is missing. */
  readonly store: StoreOptions
  readonly cluster?: string
  /** Users to make; names alone when they are there already (the embedded engine has them from its configuration). */
  readonly users: WallLogins | WallNames
}

/**
 * Raises the wall. Returns why the server refused, or undefined when it stands.
 * @throws ParleyError RUN_WALL_FAILED when a statement fails for any other reason than a missing right.
 */
export async function raiseWall(options: WallOptions): Promise<string | undefined> {
  const placement: Placement = { database: options.store.database, cluster: options.cluster ?? '' }
  const { users } = options
  const store = createStore({ ...options.store, database: 'default' })
  try {
    const statements = [
      ...(typeof users.reader === 'string'
        ? []
        : userStatements(placement, users as WallLogins, await profileOf(store))),
      ...viewStatements(placement, users.definer),
    ]
    for (const statement of statements) await store.command(statement)
    return undefined
  } catch (error) {
    const reason = error instanceof ClickHouseError ? error.message.split('\n')[0]?.slice(0, 300) : String(error)
    if (error instanceof ClickHouseError && REFUSED.has(error.code)) return reason
    throw new ParleyError('RUN_WALL_FAILED', reason, { cause: error })
  } finally {
    await store.close()
  }
}

/**
 * Looks whether a reader is narrowed: a read that names no organization must find nothing.
 * @throws ParleyError RUN_WALL_OPEN with the table that it found rows in.
 */
export async function requireWall(reader: Store): Promise<void> {
  const signal = AbortSignal.timeout(LOOK_MS)
  for (const table of WALLED_TABLES) {
    const rows = await reader.read(`SELECT 1 AS seen FROM ${table} LIMIT 1`, { signal })
    if (rows.length > 0) {
      throw new ParleyError('RUN_WALL_OPEN', `${table} shows rows without ${ORGANIZATION_HEADER}`)
    }
  }
}
