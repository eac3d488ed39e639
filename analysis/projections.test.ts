// Inserts write rows, merges build projections, and what no merge would take is found and built where it lies; answers are the same all along.
import { pino } from 'pino'
import type { Test } from 'tap'
import t from 'tap'
import { createMetrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { strandedParts } from '#store/projections.ts'
import { projectionsOf } from '#store/verify/projections.ts'
import { aggregateInserts } from '#test/folding.ts'
import { freshDatabase } from '#test/rig.ts'
import { createBuilder } from './projections.ts'

const { store } = await freshDatabase(t)
const all = (await projectionsOf(store, 'events')).length

async function insert(rows: number): Promise<void> {
  await store.command(
    `INSERT INTO events (organization, conversation_id, event_id, ts, kind, user_id, version, sign)
     SELECT '00000000-0000-4000-8000-000000000001', toUUID('00000000-0000-4000-8000-00000000001' || toString(number % 3)), generateUUIDv4(),
       toDateTime64('2026-06-15 12:00:00', 9, 'UTC') + number % 3600, 'tool', toString(number % 7), 1, 1
     FROM numbers(${rows})`,
  )
}

/** How many projections the parts have, oldest first. */
async function held(): Promise<number[]> {
  const parts = await store.read<{ n: string }>(
    `SELECT length(projections) AS n FROM system.parts WHERE database = {database:String} AND table = 'events' AND active
     ORDER BY min_block_number`,
    { parameters: { database: store.database } },
  )
  return parts.map(({ n }) => Number(n))
}

/** Sums by conversation, as the planner likes to answer them and as rows say. */
async function answersAlike(t: Test, store: Store, rows: number): Promise<void> {
  const sql = `SELECT conversation_id, sum(sign) AS n, min(ts) AS first, max(ts) AS last FROM events
    WHERE organization = '00000000-0000-4000-8000-000000000001' GROUP BY conversation_id ORDER BY conversation_id`
  const projected = await store.read<{ n: string }>(`${sql} SETTINGS preferred_optimize_projection_name = 'bounds'`)
  t.strictSame(projected, await store.read(sql, { settings: { optimize_use_projections: 0 } }))
  t.equal(
    projected.reduce((sum, { n }) => sum + Number(n), 0),
    rows,
  )
}

t.test('an insert writes rows alone, and the first merge builds every projection', async t => {
  await store.command('SYSTEM STOP MERGES events')
  await insert(40)
  await insert(30)
  t.strictSame(await held(), [0, 0])
  await answersAlike(t, store, 70)
  await store.command('SYSTEM START MERGES events')
  await store.command('OPTIMIZE TABLE events FINAL')
  t.strictSame(await held(), [all])
  await answersAlike(t, store, 70)
})

t.test('a part that lies between others, and a large one, are found and built', async t => {
  await store.command('TRUNCATE TABLE events')
  await store.command('SYSTEM STOP MERGES events')
  for (const [rows, builds] of [
    [50, true],
    [20, false],
    [60, true],
    [10, false],
  ] as const) {
    await aggregateInserts(store, builds)
    await insert(rows)
  }
  t.strictSame(await held(), [all, 0, all, 0])
  await answersAlike(t, store, 140)
  t.strictSame(await strandedParts(store, 600), [], 'nothing is old yet')
  const small = { table: 'events', partitionId: '0-202606', parts: 1, rows: 20 }
  t.strictSame(await strandedParts(store, 0), [small], 'the newest part is not stranded')
  await insert(100_000)
  t.strictSame(await strandedParts(store, 0), [{ ...small, parts: 2, rows: 100_020 }])
  await store.command('SYSTEM START MERGES events')
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: line => lines.push(line) })
  const metrics = createMetrics('test')
  let isShort = true
  const look = createBuilder({ shards: { all: [store] }, metrics, log, isShort: () => isShort, waitsS: 0 })
  const build = () => look(new AbortController().signal)
  t.equal(await build(), 0, 'not while the disk is short of room')
  isShort = false
  t.equal(await build(), 2)
  t.match(
    lines.map(line => JSON.parse(line)),
    [{ table: 'events', partitionId: '0-202606', parts: 2, rows: 100_020 }],
  )
  t.match(await metrics.registry.metrics(), /parley_projections_built_parts_total\{table="events",part="test"\} 2/)
  t.ok((await held()).every(n => n === all))
  t.equal(await build(), 0, 'once')
  await answersAlike(t, store, 100_140)
})
