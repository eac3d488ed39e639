// A world -> the tables of a store, made inside the engine piece by piece. Which pieces are done stands in the store: a build that was
// ended goes on where it stood, after what the unfinished piece has left is taken away.
import { createHash } from 'node:crypto'
import { uuidText } from '#proto/ids.ts'
import { blockTables } from '#proto/rows.ts'
import type { Store } from '#store/client.ts'
import { buildProjections, strandedParts } from '#store/projections.ts'
import { BLOCK, correctionsSql, eventsSql, FIRST_POSITION, tablesSql, type World } from './world.ts'

/** Whole blocks of the world, and whole messages. */
const PIECE_ROWS = 4_096 * BLOCK
/** Texts of a piece pass through memory. */
const PIECE_ROWS_TEXTS = 800 * BLOCK
/** Parts as large as they get, made on both cores: a part costs the same however few rows it has, and merges would make each again. */
const SETTINGS = {
  max_insert_threads: '2',
  max_insert_block_size: '1048576',
  min_insert_block_size_rows: '1048576',
  min_insert_block_size_bytes: '2000000000',
  max_execution_time: 3_600,
  max_query_size: String(16 * 1024 * 1024),
  max_partitions_per_insert_block: '1000',
}

/** Builds what is missing; `say` is told after each piece. */
export async function build(store: Store, world: World, say: (line: string) => void): Promise<void> {
  await store.command(
    'CREATE TABLE IF NOT EXISTS bench_pieces (piece UInt32, done UInt8, at DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY piece',
  )
  const rows = world.texts ? PIECE_ROWS_TEXTS : PIECE_ROWS
  const pieces = Math.ceil(world.events / rows)
  const known = await store.read<{ piece: number; done: number }>(
    'SELECT piece, max(done) AS done FROM bench_pieces GROUP BY piece',
  )
  const done = new Set(known.filter(row => row.done === 1).map(row => row.piece))
  const begun = known.filter(row => row.done === 0)
  for (const { piece } of begun) await clear(store, piece * rows, rows)
  // Merged afterwards, as far as there is time: in the end there are some parts a month, as where much has just arrived.
  await mergesOf(store, 'STOP')
  const startedAt = performance.now()
  let made = 0
  for (let piece = 0; piece < pieces; piece++) {
    if (done.has(piece)) continue
    await store.command(`INSERT INTO bench_pieces (piece, done) VALUES (${piece}, 0)`)
    const from = piece * rows
    await insertPiece(store, world, from, Math.min(rows, world.events - from))
    await store.command(`INSERT INTO bench_pieces (piece, done) VALUES (${piece}, 1)`)
    made += Math.min(rows, world.events - from)
    const perSecond = made / ((performance.now() - startedAt) / 1000)
    const left = Math.max(0, world.events - from - rows) / perSecond
    const minutes = (seconds: number): string => (seconds / 60).toFixed(1)
    say(
      `${piece + 1} of ${pieces} pieces, ${Math.round(perSecond)} events/s, ${minutes((performance.now() - startedAt) / 1000)} minutes, ${minutes(left)} left`,
    )
  }
  await mergesOf(store, 'START')
}

/** Merges of what is built here: without a table the engine takes all of its databases to be meant. */
async function mergesOf(store: Store, how: 'STOP' | 'START'): Promise<void> {
  for (const table of blockTables) await store.command(`SYSTEM ${how} MERGES ${table}`)
}

async function insertPiece(store: Store, world: World, from: number, count: number): Promise<void> {
  const events = await eventsSql(world, from, count)
  for (const [table, sql] of Object.entries(tablesSql)) {
    if (table === 'texts' && !world.texts) continue
    await insert(store, table, sql(events))
  }
  const move = uuidText(createHash('sha256').update(`move ${from}`).digest().subarray(0, 16))
  await insert(store, 'corrections', correctionsSql(events, move))
  await store.command(`INSERT INTO events SELECT * FROM corrections WHERE move_id = '${move}'`, { settings: SETTINGS })
}

/** Columns by the names that the rows have: those that are left out have their defaults. */
async function insert(store: Store, table: string, sql: string): Promise<void> {
  const columns = await store.read<{ name: string }>(`DESCRIBE (${sql})`, { settings: SETTINGS })
  const names = columns.map(({ name }) => name).join(', ')
  await store.command(`INSERT INTO ${table} (${names}) ${sql}`, { settings: SETTINGS })
}

/** Takes away what a piece that was not finished has left. */
async function clear(store: Store, from: number, rows: number): Promise<void> {
  // Positions of a piece are its numbers by messages; a message at an edge is of the neighbour, too, which is why pieces are multiples.
  const first = FIRST_POSITION + Math.floor(from / 64)
  const last = FIRST_POSITION + Math.floor((from + rows - 1) / 64)
  for (const table of ['events', 'corrections', 'links', 'texts', 'sessions']) {
    await store.command(`ALTER TABLE ${table} DELETE WHERE origin_sequence BETWEEN ${first} AND ${last}`, {
      settings: { mutations_sync: '2', max_execution_time: 3_600 },
    })
  }
}

/** Waits until the engine has merged what it wants to merge, or for `seconds`; then builds what large parts lack. */
export async function settle(store: Store, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000
  for (let quiet = 0; quiet < 3 && performance.now() < end; ) {
    const [row] = await store.read<{ n: string }>('SELECT count() AS n FROM system.merges')
    quiet = row?.n === '0' ? quiet + 1 : 0
    await new Promise(resolve => setTimeout(resolve, 1_000))
  }
  // What no merge has taken has no projections yet: analysis would have built them, as it does of large parts that wait.
  for (const { table, partitionId } of await strandedParts(store, 0)) await buildProjections(store, table, partitionId)
}
