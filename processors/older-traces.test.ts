// Traces with rows from before an owner came: every one is found, whenever its rows were stored, and the store is asked about no others.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { conversationIdOf } from '#proto/ids.ts'
import type { Store } from '#store/client.ts'
import { freshDatabase } from '#test/rig.ts'
import type { BlockRecord } from './blocks.ts'
import { log, organization, traceHex } from './fixture.ts'
import type { LinkedTrace } from './moves.ts'
import { OlderTraces } from './older-traces.ts'

const { store } = await freshDatabase(t)
const uuidOf = (trace: number): string => traceHex(trace).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
const standInOf = (trace: number): string => conversationIdOf(organization, traceHex(trace))

/** A span of a trace: under its stand-in, moved home, or one that has always been where its session says. */
type Kind = 'loose' | 'home' | 'named'

async function stored(partition: number, sequence: number, trace: number, kind: Kind): Promise<void> {
  const row = {
    ...{ organization, event_id: randomUUID(), trace_id: uuidOf(trace), source: 'otlp', ts: '2026-01-01 00:00:00' },
    ...{ conversation_id: kind === 'loose' ? standInOf(trace) : conversationIdOf(organization, `home ${trace}`) },
    ...{ provisional: kind === 'loose' ? 1 : 0, version: kind === 'home' ? 4_294_967_297 : 4_294_967_296, sign: 1 },
    ...{ origin_partition: partition, origin_generation: 1, origin_sequence: sequence },
  }
  await store.client.insert({ table: 'events', values: [row], format: 'JSONEachRow' })
}

/** What links say of some traces: that they are at home in another conversation since. */
async function linkedTo(traces: readonly number[]): Promise<LinkedTrace[]> {
  const ids = traces.map(uuidOf)
  const hashes = await store.read<{ low: number; high: number }>(
    `SELECT toUInt32(h) AS low, toUInt32(bitShiftRight(h, 32)) AS high
     FROM (SELECT sipHash64({organization:UUID}, toUUID(arrayJoin({ids:Array(String)}))) AS h)`,
    { parameters: { organization, ids } },
  )
  return traces.map((trace, i) => ({
    ...(hashes[i] as { low: number; high: number }),
    ...{ organization, trace: uuidOf(trace), provisional: standInOf(trace), session: `better ${trace}` },
    home: conversationIdOf(organization, `better ${trace}`),
    linked: [`better ${trace}`, `home ${trace}`].map(session => conversationIdOf(organization, session)),
  }))
}

/** The older traces of a partition, and how often the store was asked about traces. */
function olderOf(partition: number, firsts: { since: number; turns: number }, againMs = 0) {
  const asked: number[] = []
  const read = (sql: string, options?: object): Promise<unknown[]> => {
    if (sql.includes('DISTINCT trace_id')) asked.push(sql.length)
    return store.read(sql, options)
  }
  const older = new OlderTraces({ store: { ...store, read } as Store, partition, firsts, log, againMs })
  const among = async (...traces: number[]): Promise<number[]> =>
    (await older.of(await linkedTo(traces)))
      .map(({ trace }) => Number.parseInt(trace.slice(-4), 16))
      .toSorted((a, b) => a - b)
  return { older, among, asked }
}

const recordFrom = (from: number): BlockRecord => ({
  ...{ partition: 0, generation: 1, from, to: from, rows: { events: 1 }, repeats: 0, dead: 0 },
  ...{ checksum: '', at: '2026-01-01T00:00:00.000Z' },
})

t.test(
  'rows under stand-ins and rows that went home from there are found, and nobody is asked about others',
  async t => {
    const { among, asked } = olderOf(1, { since: 10, turns: 0 })
    await stored(1, 1, 1, 'loose')
    await stored(1, 2, 2, 'home')
    await stored(1, 3, 3, 'named')
    await stored(1, 11, 4, 'loose')
    await stored(2, 1, 5, 'loose')
    t.strictSame(await among(3, 4, 5, 6), [])
    t.equal(asked.length, 0, 'it is known of all of them that they have none')
    t.strictSame(await among(1, 2, 3, 4, 5, 6), [1, 2])
    t.equal(asked.length, 1)
    t.strictSame(await olderOf(1, { since: 0, turns: 0 }).among(1, 2), [], 'who has read everything has nothing older')
  },
)

t.test('what is stored of older positions afterwards is found once its record is there', async t => {
  const { older, among } = olderOf(3, { since: 10, turns: 0 })
  t.strictSame(await among(11), [])
  await stored(3, 5, 11, 'loose')
  older.stored([recordFrom(5)])
  t.strictSame(await among(11, 12), [11])
  const late = olderOf(3, { since: 10, turns: 0 }, 600_000)
  t.strictSame(await late.among(12), [])
  await stored(3, 6, 12, 'loose')
  late.older.stored([recordFrom(6)])
  t.strictSame(await late.among(11, 12), [11, 12], 'also where it is too early to read all of them again')
  t.equal(late.asked.length, 1)
})

t.test('what an owner forgets it finds in the store', async t => {
  const firsts = { since: 10, turns: 0 }
  const { among } = olderOf(4, firsts)
  t.strictSame(await among(21, 22), [])
  await stored(4, 15, 21, 'loose')
  await stored(4, 7, 22, 'loose')
  t.strictSame(await among(21, 22), [], 'these it remembers')
  firsts.turns++
  t.strictSame(await among(21, 22), [22])
  firsts.since = 20
  t.strictSame(await among(21, 22), [21, 22])
})

t.test('while that is not known all traces are asked about', async t => {
  const read = async (sql: string, options?: object): Promise<unknown[]> => {
    if (sql.startsWith('SELECT count()')) throw new Error('connection lost')
    return store.read(sql, options)
  }
  const firsts = { since: 10, turns: 0 }
  const older = new OlderTraces({ store: { ...store, read } as Store, partition: 1, firsts, log })
  const found = await older.of(await linkedTo([1, 2, 6]))
  t.strictSame(found.map(({ trace }) => trace).toSorted(), [uuidOf(1), uuidOf(2)])
})
