// The statements that processors send to the store, and how their outcomes are told apart: inserted, refused (the data can never
// be stored), or unknown (anything else: only a count can tell).
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ClickHouseSettings } from '@clickhouse/client'
import { NIL_UUID } from '#proto/ids.ts'
import type { BlockTable } from '#proto/rows.ts'
import type { Store } from '#store/client.ts'
import { BODY_FORMAT, unfitReason } from './encoder.ts'
import { ONE_BLOCK, PINNED, ROWS } from './engine-settings.ts'
import { leave } from './let-go.ts'
import type { Counted, Scope } from './protocol.ts'

/** The engine gives up before the client does, so that a timed-out insert is seldom still running. */
const EXECUTION_MAX_S = 30
export const REQUEST_TIMEOUT_MS = 45_000

/** Names the pinned settings in a recipe: a build that inserts differently must not retry blindly. */
export const SETTINGS_HASH = hash('sha1', JSON.stringify([PINNED, BODY_FORMAT]), 'hex').slice(0, 12)

/** Codes that speak of the data alone, so that a retry can't help: unparsable values and the like. */
const DATA_CODES = new Set([
  '6',
  '26',
  '27',
  '33',
  '38',
  '41',
  '53',
  '69',
  '72',
  '117',
  '131',
  '321',
  '349',
  '376',
  '456',
])

/** How an insert ended. */
export type InsertOutcome =
  | { readonly is: 'inserted' }
  | { readonly is: 'refused' | 'unknown'; readonly error: unknown }

/** Sends one body as one INSERT under `token`. */
export async function insertBody(
  store: Store,
  options: { table: BlockTable; token: string; body: Uint8Array; signal: AbortSignal },
): Promise<InsertOutcome> {
  const unfit = unfitReason(options.body)
  if (unfit !== undefined) return { is: 'refused', error: new Error(unfit) }
  try {
    await post(store, `INSERT INTO ${options.table} FORMAT ${BODY_FORMAT}`, options.body, {
      query_id: queryIdOf(store, options.token),
      abort_signal: options.signal,
      clickhouse_settings: {
        ...PINNED,
        insert_deduplication_token: options.token,
        max_execution_time: EXECUTION_MAX_S,
        // The status line must wait for the outcome: without it a late error arrives inside a 200.
        wait_end_of_query: 1,
      },
    })
    return { is: 'inserted' }
  } catch (error) {
    return { is: DATA_CODES.has(codeOf(error)) ? 'refused' : 'unknown', error }
  }
}

/**
 * One request with a raw body; resolves at the end of the answer. It says its length: what comes in chunks is copied once more by the
 * engine, a tenth of what an insert of large texts costs.
 */
async function post(
  store: Store,
  query: string,
  body: Uint8Array,
  options: { query_id?: string; abort_signal: AbortSignal; clickhouse_settings: ClickHouseSettings },
): Promise<void> {
  const values = Readable.from([body], { objectMode: false })
  try {
    const http_headers = { 'Content-Length': String(body.byteLength) }
    const { stream } = await store.client.exec({ query, values, http_headers, ...options })
    for await (const _ of stream);
  } catch (error) {
    leave(body)
    throw error
  }
}

/** ClickHouse's error number, or '' for an error that is not the server's. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** The id under which an insert runs: the server refuses a second one while the first still runs. */
export function queryIdOf(store: Store, token: string): string {
  return `${store.database}.${token}`
}

/** Ends whatever still runs under tokens that begin with `prefix`; resolves when nothing does. @throws when the store is away. */
export async function settle(store: Store, prefix: string): Promise<void> {
  const parameters = { prefix: `${queryIdOf(store, prefix)}.` }
  for (;;) {
    const running = await store.read<{ n: string }>(
      'SELECT count() AS n FROM system.processes WHERE startsWith(query_id, {prefix:String})',
      { parameters },
    )
    if (Number(running[0]?.n) === 0) return
    await store.command('KILL QUERY WHERE startsWith(query_id, {prefix:String}) SYNC', { parameters })
  }
}

/** Which rows: of a range and its organizations, and of one generation or of all before it; of one part or of all. */
export interface RowRange extends Scope {
  readonly partition: number
  readonly from: number
  readonly to: number
  readonly generation: number
  readonly which: 'same' | 'older'
  readonly part?: { readonly retention: number; readonly month: number }
}

/**
 * The condition that picks the rows of a range. Of the present generation first writings only: what corrections add is not the
 * owner's. Of older ones everything: what a correction has reversed already must not be taken back once more.
 */
function conditionOf(table: BlockTable, range: RowRange): string {
  const { partition, from, to, generation, which, part } = range
  return [
    `origin_partition = ${partition}`,
    `origin_sequence BETWEEN ${from} AND ${to}`,
    `origin_generation ${which === 'same' ? '=' : '<'} ${generation}`,
    ...scopeConditions(range),
    ...(part ? [`retention = ${part.retention}`] : []),
    ...(part && (table === 'events' || table === 'texts') ? [`toYYYYMM(ts) = ${part.month}`] : []),
    ...(table === 'events' && which === 'same' ? [`move_id = '${NIL_UUID}'`] : []),
  ].join(' AND ')
}

/** SQL conditions that pick the organizations of a scope. */
export function scopeConditions({ only, without }: Scope): string[] {
  const list = (organizations: readonly string[]): string => {
    if (!organizations.every(organization => UUID.test(organization))) throw new Error('an organization is no uuid')
    return organizations.map(organization => `'${organization}'`).join()
  }
  if (only) return [`organization IN (${list(only)})`]
  return without ? [`organization NOT IN (${list(without)})`] : []
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const POSITION = 'origin_generation, origin_sequence, origin_frame, origin_index'
/** What one row of events is, with its reversal. */
const WRITING = `${POSITION}, version`

/** A count, and the parts in which the rows were seen. */
export interface Seen extends Counted {
  readonly parts: readonly string[]
}

/** Counts a range's rows by position. @throws when the store is away. */
export async function countRows(store: Store, table: BlockTable, range: RowRange): Promise<Seen> {
  const signed = table === 'events' ? 'sum(sign)' : 'toInt64(count())'
  const rows = await store.read<{ total: string; exact: string; parts: string[] }>(
    `SELECT sum(s) AS total, countIf(s = 1) AS exact, arraySort(groupUniqArrayArrayIf(p, s != 0)) AS parts FROM
       (SELECT ${signed} AS s, groupUniqArray(_part) AS p FROM ${table} WHERE ${conditionOf(table, range)} GROUP BY ${table === 'events' ? WRITING : POSITION})`,
    { settings: ROWS },
  )
  return { total: Number(rows[0]?.total ?? 0), exact: Number(rows[0]?.exact ?? 0), parts: rows[0]?.parts ?? [] }
}

/**
 * Takes back rows of a range that were seen in `parts`: events by one reversing row for each position that still counts, the
 * others (which have no sign) by deletion. Bound to the parts, because a statement that arrives late must not touch what was
 * inserted since; a part that was merged away is counted again under its new name. @throws when the outcome is unknown.
 */
export async function takeBack(
  store: Store,
  table: BlockTable,
  range: RowRange,
  { parts, token }: { readonly parts: readonly string[]; readonly token: string },
): Promise<void> {
  const condition = conditionOf(table, range)
  const seen = '_part IN ({parts:Array(String)})'
  const parameters = { parts }
  if (table !== 'events') {
    const settings = { mutations_sync: '2' } as const
    await store.command(`ALTER TABLE ${table} DELETE WHERE ${condition} AND ${seen}`, { parameters, settings })
    return
  }
  const named = `${token}.${hash('sha1', parts.join(), 'hex').slice(0, 12)}`
  // The reversing rows copy every column, so that projections subtract exactly what was added. The inner query keeps the new
  // sign out of the condition.
  await store.command(
    `INSERT INTO events SELECT * REPLACE (-1 AS sign) FROM
       (SELECT * FROM events
         WHERE ${condition} AND sign = 1 AND ${seen}
           AND (${WRITING}) IN (SELECT ${WRITING} FROM events WHERE ${condition} GROUP BY ${WRITING} HAVING sum(sign) > 0)
         LIMIT 1 BY ${WRITING})`,
    {
      parameters,
      queryId: queryIdOf(store, named),
      settings: {
        ...ONE_BLOCK,
        insert_deduplication_token: named,
      },
    },
  )
}

/** Rows of `body` go nowhere: only whether the server can read them counts. */
export async function probeBody(
  store: Store,
  table: BlockTable,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<InsertOutcome> {
  const unfit = unfitReason(body)
  if (unfit !== undefined) return { is: 'refused', error: new Error(unfit) }
  try {
    const columns = await store.read<{ name: string; type: string }>(
      'SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String} ORDER BY position',
      { parameters: { database: store.database, table } },
    )
    const structure = columns.map(({ name, type }) => `${name} ${type}`).join(', ')
    const quoted = structure.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
    await post(store, `INSERT INTO FUNCTION null('${quoted}') FORMAT ${BODY_FORMAT}`, body, {
      abort_signal: signal,
      clickhouse_settings: { ...PINNED, wait_end_of_query: 1, allow_suspicious_low_cardinality_types: 1 },
    })
    return { is: 'inserted' }
  } catch (error) {
    return { is: DATA_CODES.has(codeOf(error)) ? 'refused' : 'unknown', error }
  }
}
