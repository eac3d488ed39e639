// Which records count, and which positions none speaks of; that rows are compared with them is seen from outside (cli/verify.test.ts).
import t from 'tap'
import type { RecordedRange } from '#proto/recorded-range.ts'
import { freshDatabase } from '#test/rig.ts'
import { compareLedger, currentOf, gapsOf } from './ledger.ts'

const record = (from: number, to: number, more: Partial<RecordedRange> = {}): RecordedRange => ({
  ...{ partition: 0, generation: 1, from, to, rows: {}, repeats: 0, dead: 0, at: '' },
  ...more,
})

t.test('of records of the same positions the latest generation counts', async t => {
  const f = (records: readonly RecordedRange[], expected: readonly (readonly [number, number, number, boolean])[]) =>
    t.strictSame(
      currentOf(records).map(({ from, to, generation, replayed }) => [from, to, generation, replayed]),
      expected,
    )
  f(
    [record(4, 6), record(1, 3)],
    [
      [1, 3, 1, false],
      [4, 6, 1, false],
    ],
  )
  f([record(1, 3), record(1, 3)], [[1, 3, 1, false]])
  f([record(1, 3, { generation: 2 }), record(1, 3)], [[1, 3, 2, false]])
  f(
    [record(1, 3), record(1, 2, { generation: 2 }), record(3, 3, { generation: 2 })],
    [
      [1, 2, 2, false],
      [3, 3, 2, false],
    ],
  )
  f(
    [record(1, 3), record(2, 2, { generation: 2 })],
    [
      [1, 3, 1, true],
      [2, 2, 2, false],
    ],
  )
  // Lanes of some organizations beside the others.
  f(
    [record(1, 9, { only: ['a'] }), record(1, 4, { without: ['a'] })],
    [
      [1, 4, 1, false],
      [1, 9, 1, false],
    ],
  )
})

t.test('a settled position without a record is told', async t => {
  const f = (records: readonly RecordedRange[], through: number, expected: readonly (readonly [number, number])[]) =>
    t.strictSame(
      gapsOf(0, records, through).map(({ from, to }) => [from, to]),
      expected,
    )
  f([], 0, [])
  f([], 4, [[1, 4]])
  f([record(1, 4)], 4, [])
  f([record(5, 6), record(1, 2)], 9, [
    [3, 4],
    [7, 9],
  ])
  f([record(1, 4, { only: ['a'] }), record(3, 4, { without: ['a'] })], 4, [[1, 2]])
})

t.test('rows of the generation are counted, those that were taken back too', async t => {
  const { store } = await freshDatabase(t)
  const organization = '00000000-0000-4000-8000-0000000000a1'
  const insert = (table: string, generation: number, rows: number, sign: number) =>
    store.command(
      `INSERT INTO ${table} (organization, event_id, ts, origin_generation, origin_sequence, origin_index, version, sign)
       SELECT '${organization}', reinterpretAsUUID(toUInt128(number)), toDateTime64('2026-06-10 12:00:00', 9, 'UTC'), ${generation}, 1 + number % 2,
         number, 1, ${sign} FROM numbers(${rows})`,
      { settings: { async_insert: 0, optimize_on_insert: 0 } },
    )
  await insert('events', 2, 10, 1)
  await insert('events', 2, 4, -1)
  await insert('corrections', 2, 4, -1)
  await insert('events', 1, 6, 1)
  await insert('events', 1, 6, -1)
  const compare = (events: number, more: Partial<RecordedRange> = {}) =>
    compareLedger(store, {
      records: [record(1, 2, { generation: 2, rows: { events }, repeats: 3, ...more })],
      trimmed: false,
      settled: new Map([[0, 2]]),
    })
  t.match(await compare(10), { differences: [], events: 10, standing: 6, reversed: 4, repeats: 3, unproven: 0 })
  t.match(await compare(10, { only: [organization] }), {
    differences: [{ detail: 'no record speaks of these positions' }],
  })
  t.match(await compare(11), { differences: [{ from: 1, to: 2, detail: '10 of 11 rows of events' }] })
  await store.command(
    `INSERT INTO erased (organization, kind, subject, erased_at) VALUES ('${organization}', 'user', 'x', now64(3))`,
  )
  t.match(await compare(11), { differences: [], unproven: 1 })
  t.match(await compare(9), { differences: [{ detail: '10 of 9 rows of events' }] }, 'too many are too many')
})
