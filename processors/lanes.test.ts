// Lanes against real engines: what arrives now is stored beside a backlog, stored ranges are read again, and owners that vanish in
// the middle of either lose and double nothing.
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { streamOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { getReplay, positionAt, requestReplay, spanOf } from '#streams/replay.ts'
import { eventually } from '#test/rig.ts'
import type { OwnerShared } from './context.ts'
import type { Bench, TestEvent } from './fixture.ts'
import {
  allEqual,
  ambiguousWritings,
  countsOf,
  createBench,
  envelopeOf,
  gatedStore,
  own,
  poolOf,
  publish,
  someEvents,
} from './fixture.ts'
import { Courtesy, createGate } from './gate.ts'
import type { Cursor } from './protocol.ts'

const pool = poolOf(t)

const HOUR_MS = 3_600_000

async function cursorOf(bench: Bench): Promise<Cursor> {
  return (await bench.buckets.cursors.get('partition.0'))?.json<Cursor>() as Cursor
}

const kindsOf = (cursor: Cursor): string => cursor.lanes.map(lane => lane.kind).join()

async function exactly(t: Test, store: Store, n: number, what: string): Promise<void> {
  let last: Record<string, number> = {}
  await eventually(what, async () => allEqual((last = await countsOf(store, n)), n), 30_000).catch(() => {})
  t.same(last, Object.fromEntries(Object.keys(last).map(name => [name, n])), what)
  t.equal(await ambiguousWritings(store), 0, 'a writing says one thing')
}

/** The store, whose inserts of events wait for `gate` first. */
function gated(store: Store, gate: (nth: number, from: number) => Promise<unknown>): Store {
  let nth = 0
  return gatedStore(store, queryId => gate(++nth, Number(/\.s(\d+)-/.exec(queryId)?.[1])))
}

/** Publishes `n` envelopes of `each` events; every third event of an envelope is one of the envelope before. */
async function outage(bench: Bench, n: number, each: number): Promise<TestEvent[]> {
  const all: TestEvent[] = []
  for (let i = 0; i < n; i++) {
    const events = someEvents(each, { args: 'a'.repeat(200) })
    await publish(bench, envelopeOf([...events, ...all.slice(-Math.floor(each / 3))]))
    all.push(...events)
  }
  return all
}

const small: Partial<OwnerShared> = { backlogBytes: 64 * 1024, blockBytes: 64 * 1024, insertIntervalMs: 20 }

t.test('after an outage new events are stored beside the backlog, and repeats between the two count once', async t => {
  const bench = await createBench(t, { pool })
  const old = await outage(bench, 40, 60)
  await new Promise(resolve => setTimeout(resolve, 2_100))
  // A backlog that waits after its first inserts until it is let go.
  let release = (): void => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  // Where it ends depends on how old its messages have become: the newest of them are the live lane's.
  const backlogEnd = async (): Promise<number> =>
    (await cursorOf(bench)).lanes.find(({ kind }) => kind === 'backlog')?.end ?? 0
  const slow = gated(bench.db.store, async (nth, from) => {
    if (nth > 2 && from <= (await backlogEnd())) await released
  })
  const { stop } = await own(t, bench, { ...small, store: slow })
  await eventually('a backlog', async () => kindsOf(await cursorOf(bench)) === 'backlog,live')
  // A late repeat of what the backlog has not reached yet, and new events.
  const late = old.slice(-400, -395)
  const session_id = randomUUID()
  await publish(bench, envelopeOf([...someEvents(10, { session_id }), ...late]))
  const conversation = `SELECT sum(sign) AS n FROM events WHERE conversation_id = {session_id:UUID}`
  await eventually('the new events', async () => {
    const rows = await bench.db.store.read<{ n: string }>(conversation, { parameters: { session_id } })
    return rows[0]?.n === '10'
  })
  const middle = await cursorOf(bench)
  t.equal(kindsOf(middle), 'backlog,live', 'the backlog is still being read')
  t.ok(middle.floor < (await backlogEnd()), 'the floor is that of the backlog')
  release()
  await eventually('one lane again', async () => kindsOf(await cursorOf(bench)) === 'live', 30_000)
  t.match(await cursorOf(bench), { floor: 41, intents: [] })
  await exactly(t, bench.db.store, old.length + 10, 'each event once')
  await stop()
})

t.test('owners that vanish while two lanes have open intents leave both to the next one', async t => {
  const bench = await createBench(t, { pool })
  const old = await outage(bench, 30, 60)
  await new Promise(resolve => setTimeout(resolve, 2_100))
  let expected = old.length
  for (let round = 0; round < 4; round++) {
    // Some inserts are answered, the next ones never are, though they may arrive.
    const silent = gated(bench.db.store, nth => (nth <= round + 1 ? Promise.resolve() : new Promise(() => {})))
    const first = await own(t, bench, { ...small, store: silent })
    if (round === 0) await eventually('a backlog', async () => kindsOf(await cursorOf(bench)) === 'backlog,live')
    await publish(bench, envelopeOf([...someEvents(7), ...old.slice(-3)]))
    expected += 7
    await eventually('open intents', async () => (await cursorOf(bench)).intents.length >= 2, 5_000).catch(() => {})
    await first.crash()
  }
  const last = await own(t, bench, small)
  await eventually('one lane again', async () => kindsOf(await cursorOf(bench)) === 'live', 30_000)
  await exactly(t, bench.db.store, expected, 'each event once')
  await last.stop()
})

t.test('a stored range is read again under a new generation while events arrive, also by the next owner', async t => {
  const bench = await createBench(t, { pool })
  const old = await outage(bench, 20, 60)
  const first = await own(t, bench, small)
  await exactly(t, bench.db.store, old.length, 'stored')
  await first.stop()
  // As if a build had read some of it wrongly: an event too much, one too little.
  const wrong = await bench.db.store.read<{ event_id: string }>(
    'SELECT event_id FROM events WHERE origin_sequence BETWEEN 5 AND 15 ORDER BY origin_sequence, origin_frame LIMIT 1',
  )
  await bench.db.store.command(
    `INSERT INTO events SELECT * REPLACE (-1 AS sign) FROM events WHERE event_id = {id:UUID} AND sign = 1`,
    { parameters: { id: wrong[0]?.event_id ?? '' } },
  )
  let nth = 0
  const silent = gated(bench.db.store, () => (++nth <= 2 ? Promise.resolve() : new Promise(() => {})))
  const second = await own(t, bench, { ...small, store: silent, blockBytes: 64 * 1024 })
  t.match(await requestReplay(bench.buckets.cursors, 0, { from: 5, to: 15 }), { asked: true })
  t.match(await requestReplay(bench.buckets.cursors, 0, { from: 1, to: 3 }), { asked: false, record: { from: 5 } })
  await eventually('it runs', async () => (await getReplay(bench.buckets.cursors, 0))?.record.state === 'running')
  await eventually('an open range of it', async () => (await cursorOf(bench)).intents.length > 0)
  await second.crash()
  t.match(kindsOf(await cursorOf(bench)), 'live,replay')
  const third = await own(t, bench, small)
  const more = someEvents(25)
  await publish(bench, envelopeOf([...more, ...old.slice(100, 120)]))
  const isDone = async (): Promise<boolean> => (await getReplay(bench.buckets.cursors, 0))?.record.state === 'done'
  await eventually('the end', isDone, 60_000)
  t.match((await getReplay(bench.buckets.cursors, 0))?.record, { from: 5, to: 15, floor: 15 })
  await exactly(t, bench.db.store, old.length + more.length, 'each event once')
  const generations = await bench.db.store.read<{ sequence: string; generation: number }>(
    `SELECT toString(origin_sequence) AS sequence, max(origin_generation) AS generation FROM events GROUP BY origin_sequence
      HAVING sum(sign) > 0 ORDER BY origin_sequence`,
  )
  t.same(
    generations
      .filter(({ sequence, generation }) => generation > 1 && Number(sequence) <= 20)
      .map(({ sequence }) => Number(sequence)),
    Array.from({ length: 11 }, (_, i) => i + 5),
    'the range, and nothing else, was stored anew',
  )
  await third.stop()
  // The memory of the next owner is that of what stands.
  const fourth = await own(t, bench, small)
  await publish(bench, envelopeOf([...old, ...someEvents(1)]))
  await exactly(t, bench.db.store, old.length + more.length + 1, 'no repeat is stored')
  await fourth.stop()
})

t.test('what is left of a small backlog does not yield to lanes that are always late', async t => {
  const bench = await createBench(t, { pool })
  const old = await outage(bench, 20, 60)
  // Whoever yields, yields for ever.
  const courtesy = Object.assign(new Courtesy(), {
    yield: (signal: AbortSignal) => new Promise<void>(resolve => signal.addEventListener('abort', () => resolve())),
  })
  const late: Partial<OwnerShared> = { ...small, gate: { ...createGate(2, 64 * 1024 * 1024), courtesy } }
  const first = await own(t, bench, late)
  await eventually('a backlog', async () => kindsOf(await cursorOf(bench)) === 'backlog,live')
  await publish(bench, envelopeOf(someEvents(3)))
  await eventually('what is live', async () => (await cursorOf(bench)).lanes[1]?.floor === 21)
  t.match(await cursorOf(bench), { floor: 0 }, 'a large one yields')
  await first.crash()
  const second = await own(t, bench, { ...late, backlogBytes: 16 * 1024 * 1024 })
  await eventually('one lane again', async () => kindsOf(await cursorOf(bench)) === 'live', 30_000)
  await exactly(t, bench.db.store, old.length + 3, 'each event once')
  await second.stop()
})

t.test('a replay of what is not there any more, or not yet, is refused with the reason', async t => {
  const bench = await createBench(t, { pool })
  await outage(bench, 6, 5)
  const { stop } = await own(t, bench, small)
  await eventually('the floor', async () => (await cursorOf(bench)).floor === 6)
  await bench.shared.jsm.streams.purge(streamOf(0), { seq: 3 })
  const f = async (from: number, to: number, reason: RegExp): Promise<void> => {
    await requestReplay(bench.buckets.cursors, 0, { from, to })
    const record = await eventually('an answer', async () => {
      const last = (await getReplay(bench.buckets.cursors, 0))?.record
      return last?.state === 'refused' ? last : undefined
    })
    t.match(record.reason, reason)
  }
  await f(1, 5, /from 3 on/)
  await f(4, 9, /everything up to 6 is stored/)
  const span = await spanOf(bench.shared.jsm, streamOf(0))
  t.same(span, { first: 3, last: 6 })
  t.equal(await positionAt(bench.shared.jsm, streamOf(0), span, Date.now() - HOUR_MS), 3)
  t.equal(await positionAt(bench.shared.jsm, streamOf(0), span, Date.now() + HOUR_MS), 7)
  await stop()
})
