// Who is loud, and what is slow, against real engines: neither keeps the others waiting, and everything is stored exactly once,
// also when owners vanish in the middle of it.
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { BLOCKS_STREAM } from '#proto/streams.ts'
import { getReplay, requestReplay } from '#streams/replay.ts'
import { eventually } from '#test/rig.ts'
import type { BlockRecord } from './blocks.ts'
import type { OwnerShared } from './context.ts'
import type { Bench } from './fixture.ts'
import {
  allEqual,
  countsOf,
  createBench,
  envelopeOf,
  gatedStore,
  own,
  poolOf,
  publish,
  organization as sole,
  someEvents,
} from './fixture.ts'
import { inScope } from './lanes.ts'
import type { Cursor } from './protocol.ts'

const pool = poolOf(t)

const loud = randomUUID()
const quiet = randomUUID()
const small: Partial<OwnerShared> = { backlogBytes: 64 * 1024, blockBytes: 64 * 1024, insertIntervalMs: 20 }

async function cursorOf(bench: Bench): Promise<Cursor> {
  return (await bench.buckets.cursors.get('partition.0'))?.json<Cursor>() as Cursor
}

const kindsOf = (cursor: Cursor): string => cursor.lanes.map(lane => lane.kind).join()
const openBulk = (cursor: Cursor) => cursor.lanes.find(({ kind, end }) => kind === 'bulk' && end === null)

/** Envelopes of which each holds `each` events of the loud organization and one of the quiet one. */
async function flood(bench: Bench, n: number, each = 40): Promise<{ loud: number; quiet: number }> {
  for (let i = 0; i < n; i++) {
    const [much, little] = [someEvents(each, { args: 'a'.repeat(300) }), someEvents(1)]
    await publish(bench, mixed(much, little))
  }
  return { loud: n * each, quiet: n }
}

/** One envelope of two organizations. */
function mixed(much: readonly object[], little: readonly object[]): Uint8Array {
  const [a, b] = [envelopeOf(much, loud), envelopeOf(little, quiet)]
  const both = Buffer.concat([a, Buffer.from(b.subarray(8))])
  both.writeUInt32LE(much.length + little.length, 4)
  return both
}

async function eventsOf(bench: Bench, organization = sole): Promise<number> {
  const rows = await bench.db.store.read<{ n: string }>(
    'SELECT sum(sign) AS n FROM events WHERE organization = {organization:UUID}',
    { parameters: { organization } },
  )
  return Number(rows[0]?.n)
}

async function exactly(t: Test, bench: Bench, n: number, what: string): Promise<void> {
  let last: Record<string, number> = {}
  await eventually(what, async () => allEqual((last = await countsOf(bench.db.store, n)), n), 30_000).catch(() => {})
  t.same(last, Object.fromEntries(Object.keys(last).map(name => [name, n])), what)
}

/** The block records that speak of an organization, the latest of each range: where each of them begins and ends, in order. */
async function recordsOf(
  bench: Bench,
  organization: string,
): Promise<{ ranges: [number, number][]; some: BlockRecord[] }> {
  const { state } = await bench.shared.jsm.streams.info(BLOCKS_STREAM)
  const latest = new Map<number, BlockRecord>()
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const record = (await bench.shared.jsm.streams.getMessage(BLOCKS_STREAM, { seq }))?.json<BlockRecord>()
    if (!record || !inScope(record, organization) || (latest.get(record.from)?.generation ?? 0) > record.generation)
      continue
    latest.set(record.from, record)
  }
  const some = [...latest.values()].sort((a, b) => a.from - b.from)
  return { ranges: some.map(({ from, to }) => [from, to]), some }
}

t.test('an organization that floods a partition does not keep another one waiting', { timeout: 1_200_000 }, async t => {
  const bench = await createBench(t, { pool })
  const sent = await flood(bench, 60)
  // Nothing is stored until the flood has a lane of its own; that one waits until the end.
  let free: (queryId: string) => boolean = () => false
  const store = gatedStore(bench.db.store, async queryId => {
    while (!free(queryId)) await new Promise(resolve => setTimeout(resolve, 20))
  })
  const first = await own(t, bench, { ...small, store })
  await eventually('a lane for what is loud and old', async () => /bulk/.test(kindsOf(await cursorOf(bench))), 30_000)
  const more = await flood(bench, 60)
  const divided = await eventually(
    'a lane for what is loud and new',
    async () => {
      const cursor = await cursorOf(bench)
      return openBulk(cursor) && cursor
    },
    30_000,
  )
  t.same(openBulk(divided)?.only, [loud])
  t.same(divided.lanes.find(({ kind }) => kind === 'live')?.without, [loud])
  free = queryId => !/\.l\d+\./.test(queryId)
  const late = someEvents(7)
  await publish(bench, mixed(someEvents(40), late))
  const expected = { loud: sent.loud + more.loud + 40, quiet: sent.quiet + more.quiet + late.length }
  await eventually('the quiet ones', async () => (await eventsOf(bench, quiet)) === expected.quiet, 30_000)
  const behind = await eventsOf(bench, loud)
  t.ok(behind < expected.loud, `all ${expected.quiet} quiet events are there, of the loud ones ${behind}`)
  t.match(kindsOf(await cursorOf(bench)), /bulk/)
  await eventually('an open range of the flood', async () => (await cursorOf(bench)).intents.some(({ only }) => only))

  await first.crash()
  free = () => true
  const { floor } = await cursorOf(bench)
  if (floor > 0) await requestReplay(bench.buckets.cursors, 0, { from: 1, to: floor })
  const second = await own(t, bench, small)
  await publish(bench, mixed(someEvents(3), late))
  if (floor > 0) {
    const done = async (): Promise<boolean> => (await getReplay(bench.buckets.cursors, 0))?.record.state === 'done'
    await eventually('the replay', done, 60_000)
  }
  await eventually('one lane again', async () => kindsOf(await cursorOf(bench)) === 'live', 60_000)
  t.match(await cursorOf(bench), { floor: 122, intents: [] })
  await exactly(t, bench, expected.loud + 3 + expected.quiet, 'each event once')
  t.equal(await eventsOf(bench, quiet), expected.quiet)
  await second.stop()

  const { some } = await recordsOf(bench, quiet)
  t.ok(
    some.some(({ without }) => without?.includes(loud)),
    'some records speak of all but the loud organization',
  )
  for (const organization of [loud, quiet]) {
    const { ranges } = await recordsOf(bench, organization)
    const covered = new Set(ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, i) => from + i)))
    t.equal(covered.size, 122, 'records speak of each position, for either organization')
  }
})

t.test('a payload that never comes back is looked at by itself, and what stands around it goes on', async t => {
  const bench = await createBench(t, { pool: poolOf(t, 1_500) })
  const patient = poolOf(t, 600_000, 1_500)
  const envelopes = [
    someEvents(5),
    someEvents(5),
    [...someEvents(2), ...someEvents(1, { primitive_name: 'poison-spin' })],
  ]
  for (const events of [...envelopes, someEvents(5), someEvents(5)]) await publish(bench, envelopeOf(events))
  const first = await own(t, bench, { pool: patient })
  await eventually('all but its envelope', async () => (await eventsOf(bench)) === 20, 60_000)
  await publish(bench, envelopeOf(someEvents(5)))
  await eventually('what comes later', async () => (await eventsOf(bench)) === 25, 60_000)
  const { lanes, floor } = await cursorOf(bench)
  t.match(lanes, [{ kind: 'suspect', start: 2, end: 3 }, { kind: 'live' }], 'it is still being looked at')
  t.equal(floor, 2)
  await first.crash()
  const second = await own(t, bench)
  await eventually('one lane again', async () => kindsOf(await cursorOf(bench)) === 'live', 60_000)
  await exactly(t, bench, 27, 'its neighbours are stored too')
  const letters = await bench.shared.jsm.streams.info('DEAD')
  t.equal(letters.state.messages, 1, 'and itself is a dead letter')
  await second.stop()
})
