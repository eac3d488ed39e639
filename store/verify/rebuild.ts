// Everything that the store derives from its rows -> built again, bucket by bucket: a bucket is one month (and retention class) of one
// table, a piece one projection or index of it. A piece is cleared and built from the rows of its parts; reads take the rows meanwhile.
import type { Store } from '#store/client.ts'
import { alterDerived, clearDerived } from '../mutations.ts'
import { inPartition } from '../partition.ts'
import { projectionsOf, readingsOf, TABLES } from './projections.ts'
import { rebuildIn } from './repair.ts'
import { GENTLE, ofOrganization, ofScope, type VerifyScope } from './scope.ts'

/** One month of a table, and what is derived there. */
export interface Bucket {
  readonly table: string
  readonly partitionId: string
  readonly rows: number
  readonly bytes: number
  /** Of what is derived, as it stands now. */
  readonly derivedBytes: number
  readonly projections: readonly string[]
  readonly indexes: readonly string[]
}

/** What to build: "table/partition/name". */
export interface Piece {
  readonly table: string
  readonly partitionId: string
  readonly name: string
}

/** Rows of a part that are read for an estimate. */
const PROBE_ROWS = 1_000_000

/** The buckets that hold rows of the scope, oldest last. @throws when the store does not answer. */
export async function bucketsOf(store: Store, scope: VerifyScope): Promise<Bucket[]> {
  const buckets: Bucket[] = []
  for (const table of TABLES) {
    const projections = (await projectionsOf(store, table)).map(({ name }) => name)
    const indexes = await indexesOf(store, table)
    const { sql, parameters } = table === 'events' ? ofScope(scope) : ofOrganization(scope)
    const found = await store.read<{ id: string; n: string; bytes: string; derived: string }>(
      `SELECT id, n, bytes, derived
       FROM (SELECT partition_id AS id, sum(rows) AS n, sum(bytes_on_disk) AS bytes FROM system.parts
         WHERE database = {database:String} AND table = {table:String} AND active GROUP BY id) AS held
       LEFT JOIN (SELECT partition_id AS of, sum(bytes_on_disk) AS derived FROM system.projection_parts
         WHERE database = {database:String} AND table = {table:String} AND active GROUP BY of) AS made ON made.of = held.id
       WHERE id IN (SELECT DISTINCT _partition_id FROM ${table} WHERE ${sql})
       ORDER BY id DESC`,
      { parameters: { ...parameters, database: store.database, table }, settings: GENTLE },
    )
    for (const { id, n, bytes, derived } of found) {
      const sizes = { rows: Number(n), bytes: Number(bytes), derivedBytes: Number(derived) }
      buckets.push({ table, partitionId: id, ...sizes, projections, indexes })
    }
  }
  return buckets
}

/** The pieces of buckets, bucket after bucket. */
export function piecesOf(buckets: readonly Bucket[]): Piece[] {
  return buckets.flatMap(({ table, partitionId, projections, indexes }) =>
    [...projections, ...indexes].map(name => ({ table, partitionId, name })),
  )
}

/** The name of a piece, and back. */
export const pieceName = ({ table, partitionId, name }: Piece): string => `${table}/${partitionId}/${name}`
export function pieceOf(text: string): Piece {
  const [table = '', partitionId = '', name = ''] = text.split('/')
  return { table, partitionId, name }
}

/**
 * Builds a piece from its rows. Safe to repeat, and to end at any moment: what is not built yet is read from rows, and what the engine
 * still does for a call that was ended is waited for; `tell` hears of that.
 */
export async function rebuildPiece(
  store: Store,
  { table, partitionId, name }: Piece,
  tell?: (line: string) => void,
): Promise<void> {
  const projections = await projectionsOf(store, table)
  if (projections.some(one => one.name === name))
    return rebuildIn(store, { table, partitionId, projections: [name] }, tell)
  // A piece of an earlier schema is no piece any more.
  if (!(await indexesOf(store, table)).includes(name)) return
  await clearDerived(store, { table, partitionId, indexes: [name] }, tell)
  await alterDerived(store, table, `MATERIALIZE INDEX ${name} ${inPartition(partitionId)}`, tell)
}

/**
 * About how many seconds it takes to read the rows of the buckets once for each projection, by asking one part of each table.
 * @throws when the store does not answer.
 */
export async function estimateSeconds(store: Store, buckets: readonly Bucket[]): Promise<number> {
  let seconds = 0
  for (const [table, some] of Map.groupBy(buckets, bucket => bucket.table)) {
    const [part] = await store.read<{ name: string; rows: string }>(
      `SELECT name, rows FROM system.parts
       WHERE database = {database:String} AND table = {table:String} AND active AND rows > 0
       ORDER BY rows <= ${PROBE_ROWS} DESC, if(rows <= ${PROBE_ROWS}, toInt64(rows), -toInt64(rows)) DESC LIMIT 1`,
      { parameters: { database: store.database, table } },
    )
    if (part === undefined) continue
    const begun = performance.now()
    for (const projection of await projectionsOf(store, table)) {
      const { rows } = await readingsOf(store, projection)
      const parameters = { part: part.name }
      await store.read(`SELECT count() FROM (${rows('_part = {part:String}')})`, { parameters, settings: GENTLE })
    }
    const share = some.reduce((sum, bucket) => sum + bucket.rows, 0) / Number(part.rows)
    seconds += ((performance.now() - begun) / 1000) * share
  }
  return seconds
}

async function indexesOf(store: Store, table: string): Promise<string[]> {
  const found = await store.read<{ name: string }>(
    `SELECT name FROM system.data_skipping_indices WHERE database = {database:String} AND table = {table:String} ORDER BY name`,
    { parameters: { database: store.database, table } },
  )
  return found.map(({ name }) => name)
}
