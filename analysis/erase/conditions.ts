// Tables and what is erased -> which rows go. Tables are told by their columns, so that one that is added later is not forgotten.
import { NIL_UUID } from '#proto/ids.ts'
import type { Parameter, Store } from '#store/client.ts'

/** What one pass deletes: an organization's rows, or those of one end user. */
export interface Target {
  readonly organization: string
  readonly erasure: string
  readonly kind: 'user' | 'organization'
  /** The user's id; undefined where only the conversations of the tombstones are meant. */
  readonly user?: string
}

/** A table and the rows of it that go. */
export interface Doomed {
  readonly table: string
  readonly where: string
  readonly parameters: Readonly<Record<string, Parameter>>
}

/** Books about what was done stay: they hold hashes and ids. */
const OWN = new Set(['erased', 'migrations', 'audit', 'ledger'])
/** The last ones are those that others are found by: a pass that was cut short finds everything again. */
const LAST = ['sessions', 'events', 'corrections']

/** Every table that holds rows of organizations, with the rows that go, in the order in which they go. */
export async function doomedTables(store: Store, target: Target): Promise<Doomed[]> {
  const found = await store.read<{ table: string; columns: string[] }>(
    `SELECT table, groupArray(name) AS columns FROM system.columns
     WHERE database = {database:String} AND table IN (
       SELECT name FROM system.tables WHERE database = {database:String} AND engine LIKE '%MergeTree')
     GROUP BY table HAVING has(columns, 'organization') ORDER BY table`,
    { parameters: { database: store.database } },
  )
  const rank = (table: string): number => LAST.indexOf(table)
  return found
    .filter(({ table }) => !OWN.has(table))
    .sort((a, b) => rank(a.table) - rank(b.table))
    .flatMap(({ table, columns }) => {
      const condition = conditionOf(store.database, new Set(columns), target)
      if (condition === null) return []
      const { organization, erasure } = target
      const parameters = target.kind === 'organization' ? { organization } : { organization, erasure }
      return { table, where: `organization = {organization:UUID} AND (${condition})`, parameters }
    })
}

/** Trace or conversation, as texts are grouped: no correction ever changes it for the events of a trace. */
export const GROUP = `if(trace_id = toUUID('${NIL_UUID}'), conversation_id, trace_id)`

/** The condition that the columns of a table allow; null for a table that knows no users. */
export function conditionOf(database: string, columns: ReadonlySet<string>, target: Target): string | null {
  if (target.kind === 'organization') return '1'
  // Spelled with the database: a deletion goes on by itself after a restart of the server.
  const listed = (kind: string) =>
    `SELECT subject FROM ${database}.erased WHERE organization = {organization:UUID} AND kind = '${kind}' AND erasure = {erasure:UUID}`
  const conditions: string[] = []
  if (columns.has('conversation_id')) conditions.push(`toString(conversation_id) IN (${listed('conversation')})`)
  if (columns.has('group_id')) conditions.push(`toString(group_id) IN (${listed('conversation')})`)
  // Never the id itself: deletions are logged.
  if (columns.has('user_id')) conditions.push(`user_id IN (${listed('name')})`)
  if (columns.has('event_id')) {
    const group = columns.has('group_id') ? 'group_id' : columns.has('trace_id') ? GROUP : null
    if (group !== null) conditions.push(`concat(toString(${group}), '/', toString(event_id)) IN (${listed('event')})`)
  }
  return conditions.length === 0 ? null : conditions.join(' OR ')
}
