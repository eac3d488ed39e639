// Rows of a table as they travel: out of a clone piece by piece in ClickHouse's Native format, into an empty table, and the sum by which
// both can be told to hold the same.
import type { Readable } from 'node:stream'
import { Transform } from 'node:stream'
import type { Store } from '#store/client.ts'

/** How many rows, and a sum over all that they say which does not depend on their order. */
export interface RowSum {
  readonly rows: number
  readonly hash: string
}

/** Reading or writing one piece may take as long as it takes; who waits sees whether bytes move. */
const NO_LIMIT = { max_execution_time: 0 } as const
/**
 * The last column of what is read: a one in every row, so that a whole answer ends with that byte. An engine that fails after its first
 * byte can only say so in the answer itself, which then ends with its words.
 */
const END = '__end'

/** Partitions of a table with their sums, in order. `table` with its database. */
export async function sumsOf(store: Store, table: string): Promise<(RowSum & { readonly partition: string })[]> {
  const found = await store.read<{ partition: string; rows: string; hash: string }>(
    `SELECT _partition_id AS partition, count() AS rows, sum(cityHash64(*)) AS hash FROM ${table}
     GROUP BY partition ORDER BY partition`,
    { settings: { ...NO_LIMIT, optimize_use_projections: 0 } },
  )
  return found.map(({ partition, rows, hash }) => ({ partition, rows: Number(rows), hash }))
}

/** The sum of a whole, from those of its parts. */
export function totalOf(sums: readonly RowSum[]): RowSum {
  const hash = sums.reduce((sum, one) => BigInt.asUintN(64, sum + BigInt(one.hash)), 0n)
  return { rows: sums.reduce((sum, one) => sum + one.rows, 0), hash: String(hash) }
}

/** The rows of one partition; the stream fails when the engine does, also in the middle of its answer. */
export async function readRows(store: Store, table: string, partition: string): Promise<Readable> {
  const { stream } = await store.client.exec({
    query: `SELECT *, toUInt8(1) AS ${END} FROM ${table} WHERE _partition_id = {partition:String} FORMAT Native`,
    query_params: { partition },
    clickhouse_settings: NO_LIMIT,
  })
  return stream.compose(endWatch()) as Readable
}

function endWatch(): Transform {
  let last: Buffer = Buffer.alloc(0)
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      if (chunk.length > 0) last = chunk
      done(null, chunk)
    },
    flush: done => {
      const whole = last.at(-1) === 1
      done(whole ? null : new Error(`the rows end with: ${last.subarray(-500).toString('latin1').trim()}`))
    },
  })
}

/** Writes rows into a table as they are: none is folded, or taken for one that is there. */
export async function writeRows(store: Store, table: string, rows: Readable): Promise<void> {
  const { stream } = await store.client.exec({
    query: `INSERT INTO ${table} FORMAT Native`,
    values: rows,
    clickhouse_settings: {
      ...NO_LIMIT,
      ...{ async_insert: 0, insert_deduplicate: 0, optimize_on_insert: 0, input_format_skip_unknown_fields: 1 },
    },
  })
  stream.resume()
  await new Promise((resolve, reject) => stream.once('end', resolve).once('error', reject))
}

/**
 * Does what writes rows into a table of the store's database for good: in parts as merges would leave them. What inserts write is meant to
 * be merged soon, so it is compact however large it is (0045_parts_and_merges.sql), and what comes back may wait for its merge for weeks.
 */
export async function inWideParts(store: Store, table: string, write: () => Promise<void>): Promise<void> {
  const [about] = await store.read<{ level: string }>(
    `SELECT extract(engine_full, 'min_level_for_wide_part = ([0-9]+)') AS level FROM system.tables
     WHERE database = {database:String} AND name = {table:String}`,
    { parameters: { database: store.database, table } },
  )
  const level = about?.level ?? ''
  if (level === '') return write()
  const from = (value: string): Promise<void> =>
    store.command(`ALTER TABLE ${store.database}.${table} MODIFY SETTING min_level_for_wide_part = ${value}`)
  await from('0')
  await write()
  await from(level)
}
