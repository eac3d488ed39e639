// What verify finds, repairs, and leaves alone, on a real store. A projection is falsified the hard way: on disk.
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import type { Store } from '#store/client.ts'
import { buildProjections } from '#store/projections.ts'
import { foldEvents } from '#test/folding.ts'
import { freshDatabase } from '#test/rig.ts'
import { adjustmentsOf, correctPositions, type Wrong } from './repair.ts'
import { verify } from './verify.ts'

const ORGANIZATION = '00000000-0000-4000-8000-0000000000a1'
const OTHER = '00000000-0000-4000-8000-0000000000b2'
/** Everything that the test writes is settled. */
const settled = async (): Promise<ReadonlyMap<number, number>> => new Map([[0, 1_000_000]])
const { store } = await freshDatabase(t)
const empty = async (): Promise<void> => {
  for (const table of ['events', 'corrections']) await store.command(`TRUNCATE TABLE ${table}`)
}
const quick = { settled, lookPauseMs: 20 }
/** Nobody else works on these rows. */
const repair = async (wrong: Wrong): Promise<void> => {
  await correctPositions(store, wrong, { partition: 0, settled: '1', standing: '1' })
}

/** `rows` events of one range: two conversations, three users, distinct ids and positions. */
async function insert(
  store: Store,
  options: { sequence: number; rows?: number; organization?: string; generation?: number; sign?: 1 | -1 },
): Promise<void> {
  const { sequence, rows = 50, organization = ORGANIZATION, generation = 1, sign = 1 } = options
  await store.command(
    `INSERT INTO events (organization, conversation_id, event_id, ts, duration_ns, latency_bucket, source, kind, name, failed, user_id,
        input_tokens, cost_nanos, metadata, origin_generation, origin_sequence, origin_index, version, sign)
     SELECT {organization:UUID}, reinterpretAsUUID(toUInt128(number % 2)), reinterpretAsUUID(toUInt128({sequence:UInt32} * 1000000 + number)),
       toDateTime64('2026-06-10 12:00:00', 9, 'UTC') + number * 60 + {sequence:UInt32} * 7200, 1000000 * number, 64, 'sdk',
       number % 3 = 0 ? 'tool' : 'agent', concat('n', toString(number % 4)), number % 7 = 0, concat('u', toString(number % 3)),
       number, 10 * number, map('event_type', 'x'), {generation:UInt32}, {sequence:UInt32}, number, 1, {sign:Int8}
     FROM numbers({rows:UInt32})`,
    {
      parameters: { organization, sequence, rows, generation, sign },
      settings: { async_insert: 0, insert_deduplicate: 0, optimize_on_insert: 0 },
    },
  )
}

interface Part {
  readonly name: string
  readonly path: string
}

const partsOf = (store: Store): Promise<Part[]> =>
  store.read<Part>(
    `SELECT name, path FROM system.parts WHERE database = {database:String} AND table = 'events' AND active ORDER BY min_block_number`,
    { parameters: { database: store.database } },
  )

/** The first part gets projections of the second. */
async function falsify(store: Store, projections: readonly string[]): Promise<void> {
  const [first, second] = (await partsOf(store)) as [Part, Part]
  await store.command(`ALTER TABLE events DETACH PART '${first.name}'`)
  for (const projection of projections) {
    const place = join(first.path, '..', 'detached', first.name, `${projection}.proj`)
    await rm(place, { recursive: true })
    await cp(join(second.path, `${projection}.proj`), place, { recursive: true })
  }
  await store.command(`ALTER TABLE events ATTACH PART '${first.name}'`)
}

async function nothingDiffers(t: Test, store: Store, message: string): Promise<void> {
  await buildProjections(store, 'events')
  const report = await verify(store, quick)
  t.strictSame(report.differences, [], message)
  t.ok(report.compared > 0)
}

t.test('a store that nobody touched has no differences', async t => {
  await empty()
  t.match(await verify(store, quick), { differences: [], rows: 0, compared: 0 })
  await insert(store, { sequence: 1 })
  await insert(store, { sequence: 2, organization: OTHER })
  // A reversal of a row is no difference, before and after they are folded.
  await insert(store, { sequence: 1, rows: 10, sign: -1 })
  await nothingDiffers(t, store, 'with reversals')
  await foldEvents(store)
  await nothingDiffers(t, store, 'merged')
  const rows = async (scope: object) => (await verify(store, { ...quick, ...scope })).rows
  t.equal(await rows({ organization: OTHER }), 50, 'of one organization')
  t.equal(await rows({ fromMs: Date.UTC(2026, 5, 10, 14), toMs: Date.UTC(2026, 5, 10, 15) }), 40, 'of a time')
})

t.test('a falsified projection is found, in its organization only, and built again', async t => {
  await empty()
  // A merge would build projections anew.
  await store.command('ALTER TABLE events MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1')
  await insert(store, { sequence: 1 })
  await insert(store, { sequence: 2 })
  await insert(store, { sequence: 3, organization: OTHER })
  await buildProjections(store, 'events')
  await falsify(store, ['metrics_15m', 'ids'])
  const total = async (): Promise<number> => {
    const [row] = await store.read<{ n: string }>(
      `SELECT sum(sign * toInt64(cost_nanos)) AS n FROM events WHERE organization = {organization:UUID} AND toDate(ts) = '2026-06-10'`,
      { parameters: { organization: ORGANIZATION } },
    )
    return Number(row?.n)
  }
  const before = await total()
  const report = await verify(store, quick)
  const found = report.differences.map(one => (one.check === 'projection' ? one.projection : one.check))
  t.strictSame(found, ['ids', 'metrics_15m'])
  t.match(report.differences[0], { check: 'projection', table: 'events', detail: 'rows say' })
  t.strictSame((await verify(store, { ...quick, organization: OTHER })).differences, [])
  const repaired = await verify(store, { ...quick, repair })
  t.match(repaired, { found: 2, differences: [], unbuilt: 0 })
  t.equal(await total(), before)
  await store.command('ALTER TABLE events RESET SETTING max_bytes_to_merge_at_max_space_in_pool')
  await nothingDiffers(t, store, 'after the repair')
})

t.test('what counts twice, or less than nothing, is found and put right', async t => {
  await empty()
  const counted = async (): Promise<string> => {
    const [row] = await store.read<{ n: string; events: string }>(
      'SELECT sum(sign) AS n, uniqExact(event_id) AS events FROM events FINAL',
    )
    return `${row?.n} of ${row?.events}`
  }
  await insert(store, { sequence: 1 })
  await insert(store, { sequence: 1, rows: 20 })
  await insert(store, { sequence: 2 })
  await insert(store, { sequence: 2, rows: 5, generation: 2 })
  await insert(store, { sequence: 3, rows: 4, sign: -1 })
  t.strictSame(
    (await verify(store, { ...quick, settled: async () => new Map() })).differences,
    [],
    'nothing is settled',
  )
  const report = await verify(store, { ...quick, organization: ORGANIZATION })
  t.equal(report.differences.length, 20 + 5 + 4)
  t.match(report.differences[0], { check: 'position', at: '0-1-0-0', sum: 2 })
  const repaired = await verify(store, { ...quick, repair })
  t.match(repaired, { found: 29, differences: [] })
  t.equal(await counted(), '100 of 100')
  await foldEvents(store)
  t.equal(await counted(), '100 of 100')
  await nothingDiffers(t, store, 'merged')
})

t.test('an event that stands at two positions counts at the first', async t => {
  await empty()
  await insert(store, { sequence: 1 })
  await store.command(
    'INSERT INTO events SELECT * REPLACE (9 AS origin_sequence, ts + 5184000 AS ts) FROM events WHERE origin_index < 3',
  )
  const report = await verify(store, quick)
  t.match(report.differences, [{ check: 'repeat', sum: 2 }, { check: 'repeat' }, { check: 'repeat' }])
  t.match(await verify(store, { ...quick, repair }), { found: 3, differences: [] })
  const [row] = await store.read<{ n: string }>('SELECT sum(sign) AS n FROM events WHERE origin_sequence = 9')
  t.equal(row?.n, '0')
})

t.test('an id in two conversations counts where it was received first', async t => {
  await empty()
  await insert(store, { sequence: 1 })
  const other = '00000000-0000-4000-8000-0000000000cc'
  await store.command(
    `INSERT INTO events SELECT * REPLACE (0 AS origin_sequence, received_at + 1 AS received_at, toUUID('${other}') AS conversation_id)
     FROM events WHERE origin_index < 3`,
  )
  const report = await verify(store, quick)
  t.match(report.differences, [{ check: 'repeat', sum: 2, at: other }, { check: 'repeat' }, { check: 'repeat' }])
  t.match(await verify(store, { ...quick, repair }), { found: 3, differences: [] })
  const standing = await store.read(`SELECT sum(sign) AS n FROM events WHERE conversation_id = '${other}'`)
  t.match(standing, [{ n: '0' }], 'though it stands at a later position')
})

t.test('rows that come and parts that merge meanwhile are no difference', async t => {
  await empty()
  await insert(store, { sequence: 1 })
  let verified = false
  const writing = (async () => {
    for (let sequence = 2; sequence < 200 && !verified; sequence++) {
      await insert(store, { sequence, rows: 20 })
      if (sequence % 5 === 0) await store.command('OPTIMIZE TABLE events FINAL')
    }
  })()
  const reports = [await verify(store, quick), await verify(store, quick)]
  verified = true
  await writing
  t.strictSame(
    reports.flatMap(report => report.differences),
    [],
  )
  await nothingDiffers(t, store, 'at the end')
})

t.test('of the writings of a position one stays', async t => {
  const f = (sums: readonly number[], expected: readonly (readonly [string, number, number])[]) =>
    t.strictSame(
      adjustmentsOf(sums.map((s, i) => ({ place: 'p', writing: `w${i}`, order: String(i), s: String(s) }))).map(
        ({ writing, sign, times }) => [writing, sign, times],
      ),
      expected,
    )
  f([1], [])
  f([0, 1], [])
  f([2], [['w0', -1, 1]])
  f([1, 1], [['w1', -1, 1]])
  f(
    [-1, 3],
    [
      ['w0', 1, 1],
      ['w1', -1, 2],
    ],
  )
  f([-2], [['w0', 1, 2]])
})
