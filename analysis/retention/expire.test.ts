// What a sweep takes and what it leaves, on real engines: organizations that keep for ever, for a week, and texts for a shorter time;
// moved rows, positions that are not settled, and a partition in which rows are just being moved.
import { ClickHouseError } from '@clickhouse/client'
import t from 'tap'
import type { Organization } from '#control/records.ts'
import { cursorKeyOf, movesKeyOf } from '#proto/streams.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { shardsOf } from '#store/shards.ts'
import { verify } from '#store/verify/verify.ts'
import { applyStreams } from '#streams/apply.ts'
import { readSettled } from '#streams/settled.ts'
import { foldEvents } from '#test/folding.ts'
import { connectNats, freshDatabase, silentLog, startNats, testLimits } from '#test/rig.ts'
import { createExpiry } from './expire.ts'
import { expiredRows, LASTING } from './tables.ts'

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const [WEEK, TEXTS, EVER] = [id(1), id(2), id(3)]
const NOW = Date.UTC(2026, 5, 15, 12)
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const [nats, { store }] = await Promise.all([startNats(t), freshDatabase(t)])
const nc = await connectNats(t, nats.url)
const { cursors } = (await applyStreams(nc, { ...testLimits, partitions: 2 })).buckets
const keeps = [
  { id: WEEK, keep: { events_days: 7, texts_days: null } },
  { id: TEXTS, keep: { events_days: 18, texts_days: 3 } },
  { id: EVER },
] as unknown as Organization[]
let nowMs = NOW
/** Deletions that the engine is about to say were cut short, though nothing is wrong with them. */
let cutShort = 0
const interrupted: Store = {
  ...store,
  command: async (sql, options) => {
    if (sql.startsWith('ALTER TABLE texts DELETE') && cutShort-- > 0) {
      throw new ClickHouseError({ message: 'Cancelled mutating parts', code: '341', type: 'UNFINISHED' })
    }
    await store.command(sql, options)
  },
}
const metrics = createMetrics('analysis')
const expire = createExpiry({
  ...{ cursors, shards: shardsOf([interrupted]), partitions: 2, everyHours: 1, metrics, log: silentLog },
  organizations: () => keeps,
  clock: () => nowMs,
})
const never = new AbortController().signal
const settle = (partition: number, floor: number, more: object = {}) =>
  cursors.put(cursorKeyOf(partition), JSON.stringify({ floor, intents: [], ...more }))

/** Two events every second day, the first now; a conversation has those of every eighth. */
const DAYS = 24
async function write(organization: string, partition: number, sequence: number): Promise<void> {
  const parameters = { organization, partition, sequence, base: Number(organization.slice(-1)) * 1000, now: NOW }
  const settings = { async_insert: 0 as const, max_insert_threads: '1' }
  const origin = `{partition:UInt16} AS origin_partition, 1 AS origin_generation, {sequence:UInt64} AS origin_sequence, toUInt32(number) AS origin_index`
  const ts = `fromUnixTimestamp64Milli({now:Int64} - toInt64(intDiv(number, 2)) * 2 * ${DAY_MS}, 'UTC')`
  const uuid = (n: string): string => `toUUID(concat('00000000-0000-4000-8000-', leftPad(toString(${n}), 12, '0')))`
  const conversation = uuid('{base:UInt32} + intDiv(number, 2) % 4')
  const event = 'reinterpretAsUUID(toUInt128({base:UInt32} * 1000 + number))'
  const from = `FROM numbers(${DAYS})`
  await store.command(
    `INSERT INTO events (organization, conversation_id, event_id, trace_id, ts, source, kind, name, metadata, origin_partition, origin_generation,
       origin_sequence, origin_index, version, sign)
     SELECT {organization:UUID}, ${conversation}, ${event}, ${conversation}, toDateTime64(${ts}, 9, 'UTC'), 'otlp', 'agent', 'support',
       map('age', toString(intDiv(number, 2))), ${origin}, 4294967296, 1 ${from}`,
    { parameters, settings },
  )
  await store.command(
    `INSERT INTO texts (organization, group_id, event_id, ts, input, output, origin_partition, origin_generation, origin_sequence, origin_index)
     SELECT {organization:UUID}, ${conversation}, ${event}, toDateTime64(${ts}, 9, 'UTC'), 'question', 'answer', ${origin} ${from}`,
    { parameters, settings },
  )
  // One capture a conversation, and one of a conversation without events, all of 20 days ago.
  await store.command(
    `INSERT INTO sessions (organization, conversation_id, user_id, received_at, origin_partition, origin_generation, origin_sequence, origin_index)
     SELECT {organization:UUID}, ${uuid('{base:UInt32} + number')}, 'ada', fromUnixTimestamp64Milli({now:Int64} - 20 * ${DAY_MS}, 'UTC'),
       {partition:UInt16}, 1, {sequence:UInt64}, toUInt32(number) FROM numbers(5)`,
    { parameters, settings },
  )
  await store.command(
    `INSERT INTO links (organization, trace_id, conversation_id, started_at, origin_partition, origin_generation, origin_sequence, origin_index)
     SELECT organization, conversation_id, conversation_id, toDateTime64(received_at, 9, 'UTC'), origin_partition, 1, origin_sequence, origin_index
     FROM sessions WHERE organization = {organization:UUID} AND origin_sequence = {sequence:UInt64}`,
    { parameters, settings },
  )
  await store.command(
    `INSERT INTO replaced_reports SELECT organization, conversation_id, origin_partition, origin_sequence, 7
     FROM sessions WHERE organization = {organization:UUID} AND origin_sequence = {sequence:UInt64}`,
    { parameters, settings },
  )
}

/** Rows by table; events as a signed sum. */
async function rowsOf(organization: string): Promise<Record<string, number>> {
  const rows: Record<string, number> = {}
  for (const table of ['events', 'texts', 'sessions', 'links', 'replaced_reports', 'corrections']) {
    const [row] = await store.read<{ n: string }>(
      `SELECT ${table === 'events' ? 'sum(sign)' : 'count()'} AS n FROM ${table} WHERE organization = {organization:UUID}`,
      { parameters: { organization } },
    )
    rows[table] = Number(row?.n)
  }
  return rows
}

const ALL = { events: 24, texts: 24, sessions: 5, links: 5, replaced_reports: 5, corrections: 0 }
await write(WEEK, 0, 1)
await write(TEXTS, 0, 2)
await write(EVER, 0, 3)
// Everything of one conversation moves to another, pairs staged and copied: reversals of all ages.
await store.command(
  `INSERT INTO corrections SELECT * EXCEPT (way) REPLACE (if(way = 1, {to:UUID}, conversation_id) AS conversation_id, version + (way = 1) AS version,
     toInt8(way) AS sign, {move:UUID} AS move_id)
   FROM (SELECT *, arrayJoin([-1, 1]) AS way FROM events WHERE organization = {organization:UUID} AND metadata['age'] IN ('1', '5', '9'))`,
  { parameters: { organization: WEEK, to: id(77), move: id(9) }, settings: { async_insert: 0 } },
)
await store.command('INSERT INTO events SELECT * FROM corrections', { settings: { async_insert: 0 } })
const CORRECTED = { ...ALL, corrections: 12 }

t.test('every table of organizations either expires or is said to last', async t => {
  const tables = await store.read<{ name: string }>(
    `SELECT name FROM system.tables WHERE database = {database:String} AND engine LIKE '%MergeTree' ORDER BY name`,
    { parameters: { database: store.database } },
  )
  const expiring = expiredRows(store.database, [{ organization: WEEK, events: 1, texts: 1 }], '1')
  t.strictSame(
    tables.map(({ name }) => name),
    [...expiring.map(({ table }) => table), ...LASTING].sort(),
  )
})

t.test('nothing that is not settled, or just being moved, goes', async t => {
  await settle(0, 0)
  t.equal(await expire(never), true, 'nothing to do is done')
  t.equal(await expire(never), false, 'not due')
  nowMs += 2 * HOUR_MS
  await settle(0, 10, { intents: [{ from: 11, done: false, replaced: [{ at: '1/0' }] }] })
  t.equal(await expire(never), false, 'a report is just being taken back')
  await settle(0, 10)
  await cursors.put(movesKeyOf(0), JSON.stringify({ version: 1, owner: 'a', at: 1, move: { id: id(9), pairs: 6 } }))
  t.equal(await expire(never), false, 'a move is staged')
  await settle(0, 10, { intents: [{ from: 1, done: false }] })
  await cursors.put(movesKeyOf(0), JSON.stringify({ version: 1, owner: 'a', at: 1, move: null }))
  t.equal(await expire(never), true, 'a range is just being proven, so none of its positions is settled')
  for (const organization of [TEXTS, EVER]) t.strictSame(await rowsOf(organization), ALL)
  t.strictSame(await rowsOf(WEEK), CORRECTED)
})

t.test('what is older goes from every table, and every number equals a recount of the rest', async t => {
  nowMs += 2 * HOUR_MS
  await settle(0, 10)
  cutShort = 5
  await t.rejects(expire(never), { code: '341' }, 'whatever is cut short again and again is told')
  cutShort = 1
  t.equal(await expire(never), true, 'what was cut short once is asked for again')
  t.ok(cutShort < 0, 'it was')
  const week = await rowsOf(WEEK)
  t.strictSame(week, { events: 8, texts: 8, sessions: 3, links: 4, replaced_reports: 3, corrections: 4 })
  t.strictSame(await rowsOf(TEXTS), { ...ALL, events: 20, texts: 4, sessions: 4, links: 4, replaced_reports: 4 })
  t.strictSame(await rowsOf(EVER), ALL)
  const of = async () => {
    const sql = (by: string) =>
      `SELECT toString(${by}) AS key, toUInt32(sum(sign)) AS n FROM events WHERE organization = {organization:UUID} GROUP BY ${by} HAVING n > 0 ORDER BY key`
    const parameters = { organization: WEEK }
    return {
      days: await store.read(sql('toDate(ts)'), { parameters }),
      conversations: await store.read(sql('conversation_id'), { parameters }),
    }
  }
  const expected = {
    days: ['2026-06-09', '2026-06-11', '2026-06-13', '2026-06-15'].map(key => ({ key, n: 2 })),
    conversations: [id(77), id(1000), id(1002), id(1003)].map(key => ({ key, n: 2 })),
  }
  t.strictSame(await of(), expected)
  const looked = async () => verify(store, { settled: () => readSettled(cursors, 2), lookPauseMs: 10 })
  t.strictSame((await looked()).differences, [])
  await foldEvents(store)
  t.strictSame(await of(), expected, 'merged')
  t.strictSame((await looked()).differences, [])
  t.match(await metrics.registry.metrics(), /parley_expired_rows_total\{table="texts",part="analysis"\} 36/)
})

t.test('what arrives late with an old time goes at the next sweep, and an abort ends it', async t => {
  await write(WEEK, 1, 20)
  await settle(1, 20)
  nowMs += 2 * HOUR_MS
  const aborted = new AbortController()
  aborted.abort()
  await t.rejects(expire(aborted.signal))
  t.equal(await expire(never), true)
  t.equal((await rowsOf(WEEK)).events, 16)
})
