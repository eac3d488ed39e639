// Input that nobody sends on purpose, or only on purpose: it costs time, never a row and never a neighbour.
import { randomUUID } from 'node:crypto'
import { headers } from '@nats-io/transport-node'
import t from 'tap'
import { DeadHeader } from '#proto/dead.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { BLOCKS_STREAM, cursorKeyOf, DEAD_STREAM, SESSIONS_HEADER, subjectOf } from '#proto/streams.ts'
import { getLetter, replayLetter } from '#streams/dead-letters.ts'
import { eventually, startPart } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import type { BlockRecord } from './blocks.ts'
import type { Bench } from './fixture.ts'
import {
  allEqual,
  countsOf,
  createBench,
  envelopeOf,
  log,
  organization,
  own,
  poolOf,
  publish,
  someEvents,
} from './fixture.ts'
import { createPool } from './pool.ts'
import { type Cursor, INTENTS_MAX } from './protocol.ts'

const pool = poolOf(t)

const DAY_MS = 86_400_000
const MiB = 1024 * 1024

async function cursorOf(bench: Bench): Promise<Cursor | undefined> {
  return (await bench.buckets.cursors.get(cursorKeyOf(0)))?.json<Cursor>()
}

t.test('many thousands of organizations in one block', async t => {
  const bench = await createBench(t, { pool })
  const [messages, each] = [5, scaled({ sample: 1_000, full: 20_000 })]
  for (let m = 0; m < messages; m++) {
    const writer = new EnvelopeWriter(16 * MiB)
    for (const event of someEvents(each)) {
      const body = Buffer.from(JSON.stringify(event))
      writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(randomUUID()), Date.now(), null, body)
    }
    await publish(bench, writer.finish().slice())
  }
  const worker = new URL('./fixture-worker.ts', import.meta.url)
  const roomy = createPool({ worker, threads: 1, frameTimeoutMs: 10_000, heapMb: 768, log })
  t.teardown(() => roomy.close())
  const { stop } = await own(t, bench, { pool: roomy, blockBytes: 64 * MiB, insertIntervalMs: 2_000 })
  await eventually('the floor', async () => (await cursorOf(bench))?.floor === messages, 60_000)
  const rows = await bench.db.store.read<{ n: string; o: string }>(
    'SELECT sum(sign) AS n, uniqExact(organization) AS o FROM events',
  )
  t.same(rows, [{ n: String(messages * each), o: String(messages * each) }])
  await stop()
})

t.test(
  'retention classes of thousands of organizations, and as many repeats: no intent of the cursor is large',
  async t => {
    const bench = await createBench(t, { pool })
    const [messages, each] = [8, 500]
    const organizations = Array.from({ length: messages * each }, () => randomUUID())
    const events = someEvents(messages * each)
    for (let m = 0; m < messages; m++) {
      const writer = new EnvelopeWriter(MiB)
      for (let i = m * each; i < (m + 1) * each; i++) {
        const body = Buffer.from(JSON.stringify(events[i]))
        // Every other one comes twice: runs of one.
        for (let n = 0; n <= i % 2; n++) {
          const id = uuidBytes(organizations[i] as string)
          writer.append(FrameKind.event, FrameEncoding.json, id, Date.now(), null, body)
        }
      }
      await publish(bench, writer.finish().slice())
    }
    let [largest, most] = [0, 0]
    const watch = await bench.buckets.cursors.watch({ key: cursorKeyOf(0) })
    const watching = (async () => {
      for await (const entry of watch) {
        const sizes = entry.json<Cursor>().intents.map(intent => JSON.stringify(intent).length)
        largest = Math.max(largest, ...sizes)
        most = Math.max(most, sizes.length)
      }
    })()
    const classes = Object.fromEntries(organizations.map(id => [id, 1]))
    const { stop } = await own(t, bench, { classes: () => classes, blockBytes: 64 * MiB, insertIntervalMs: 1_000 })
    await eventually('the floor', async () => (await cursorOf(bench))?.floor === messages, 60_000)
    await stop()
    await eventually('what was watched', () => largest > 16 * 1024)
    watch.stop()
    await watching
    // How many stand at once is the machine's affair; each is small, and there are never many.
    t.ok(largest > 16 * 1024 && largest <= 48 * 1024, `the largest intent has ${largest} bytes`)
    t.ok(most <= INTENTS_MAX, `${most} intents at once`)
    const rows = await bench.db.store.read<{ n: string }>('SELECT sum(sign) AS n FROM events WHERE retention = 1')
    t.same(rows, [{ n: String(messages * each) }])
  },
)

t.test('a header of 64 KiB, and an envelope as large as a message may be', async t => {
  const bench = await createBench(t, { pool })
  const { stop } = await own(t, bench)
  const h = headers()
  h.set(SESSIONS_HEADER, 'x'.repeat(63 * 1024))
  await bench.shared.js.publish(subjectOf(0), envelopeOf(someEvents(3)), { headers: h })
  const most = (bench.nc.info?.max_payload ?? 0) - 4096
  await publish(bench, envelopeOf(someEvents(1, { args: 'a'.repeat(Math.min(most, 8 * MiB - 8192) - 2048) })))
  await publish(bench, envelopeOf(someEvents(3)))
  await eventually('all of it', async () => allEqual(await countsOf(bench.db.store, 7), 7), 30_000)
  await stop()
})

t.test('times over fourteen months in one block: one insert a month, and beyond the limit the limit', async t => {
  const bench = await createBench(t, { pool })
  const now = Date.UTC(2026, 5, 15)
  const ages = Array.from({ length: 60 }, (_, i) => i * 10)
  const events = ages.flatMap(days => someEvents(2, { timestamp: now - days * DAY_MS }))
  await publish(bench, envelopeOf(events, organization, now))
  const { stop } = await own(t, bench)
  await eventually(
    'every event',
    async () => allEqual(await countsOf(bench.db.store, events.length), events.length),
    60_000,
  )
  const months = await bench.db.store.read<{ months: string; clamped: string }>(
    `SELECT uniqExact(toYYYYMM(ts)) AS months, countIf(ts < toDateTime64('2025-05-11 23:59:59', 3, 'UTC')) AS clamped FROM events`,
  )
  t.ok(Number(months[0]?.months) >= 14, `${months[0]?.months} months`)
  t.ok(Number(months[0]?.clamped) > 20, 'what is older stands at the limit')
  t.match(await cursorOf(bench), { floor: 1, intents: [] })
  await stop()
})

t.test('an envelope of a newer version: what stands before it is stored, the log and /readyz say why', async t => {
  const bench = await createBench(t, { pool })
  await publish(bench, envelopeOf(someEvents(4)))
  const newer = envelopeOf(someEvents(1))
  newer[2] = 99
  await publish(bench, newer)
  await publish(bench, envelopeOf(someEvents(4)))
  const part = await startPart(t, 'processors/main.ts', {
    NATS_URL: bench.nats.url,
    CLICKHOUSE_URL: bench.db.url,
    PARLEY_DATABASE: bench.db.database,
  })
  await eventually('what stands before it', async () => allEqual(await countsOf(bench.db.store, 4), 4))
  const body = await eventually('a reason', async () => {
    const answer = await fetch(`http://127.0.0.1:${part.opsPort}/readyz`)
    return answer.status === 503 && (await answer.text())
  })
  t.match(body, /partition 0: .*version 99/)
  await eventually('a line', () => /newer version/.test(part.logs()))
  t.equal((await cursorOf(bench))?.floor, 1, 'it is not skipped')
})

t.test('a cursor of the first version is read as one lane; one of a later version is not guessed at', async t => {
  const bench = await createBench(t, { pool })
  for (let i = 0; i < 3; i++) await publish(bench, envelopeOf(someEvents(2)))
  const old = { version: 1, epoch: 4, owner: 'a', generation: 3, floor: 1, intents: [] }
  const key = cursorKeyOf(0)
  await bench.buckets.cursors.put(key, JSON.stringify(old))
  const { stop } = await own(t, bench)
  await eventually('the rest', async () => (await cursorOf(bench))?.floor === 3)
  t.equal((await countsOf(bench.db.store, -1)).raw, 4, 'what was stored is not read again')
  t.match(await cursorOf(bench), { version: 3, epoch: 5, generation: 3, lanes: [{ kind: 'live', floor: 3 }] })
  await stop()
  await bench.buckets.cursors.put(key, JSON.stringify({ ...old, version: 99 }))
  const next = await own(t, bench)
  t.match(await next.owner.ended, { code: 'RUN_CURSOR_NEWER' })
})

t.test(
  'a dead letter keeps the id that its receiver minted, so that it is the same event when it is sent again',
  async t => {
    const bench = await createBench(t, { pool })
    const minted = randomUUID()
    const writer = new EnvelopeWriter(MiB)
    const bytes = Buffer.from('{"session_id":')
    writer.append(FrameKind.event, FrameEncoding.json, uuidBytes(organization), Date.now(), uuidBytes(minted), bytes)
    await publish(bench, writer.finish().slice())
    const { stop } = await own(t, bench)
    const died = async (n: number): Promise<boolean> =>
      (await bench.shared.jsm.streams.info(DEAD_STREAM)).state.last_seq === n
    await eventually('a letter', () => died(1))
    const message = await bench.shared.jsm.streams.getMessage(DEAD_STREAM, { seq: 1 })
    t.equal(message?.header.get(DeadHeader.mintedId), minted)
    const letter = await getLetter(bench.nc, 1)
    t.equal(letter && (await replayLetter(bench.nc, letter)), null)
    await eventually('it died again', () => died(2))
    t.equal((await getLetter(bench.nc, 2))?.mintedId, minted)
    await stop()
  },
)

t.test(
  'one payload in many thousands that kills its thread: its block is late, no other is lost or waits for more',
  async t => {
    const bench = await createBench(t, { pool })
    const [messages, each, guilty] = [40, scaled({ sample: 300, full: 2_500 }), 20]
    for (let m = 1; m <= messages; m++) {
      const events = someEvents(each)
      if (m === guilty) events.splice(each / 2, 1, ...someEvents(1, { primitive_name: 'poison-exit' }))
      await publish(bench, envelopeOf(events))
    }
    const { stop } = await own(t, bench, { blockBytes: MiB, insertIntervalMs: 0 })
    const steps: { readonly floor: number; readonly atMs: number }[] = []
    await eventually(
      'the floor',
      async () => {
        const floor = (await cursorOf(bench))?.floor ?? 0
        if (floor !== (steps.at(-1)?.floor ?? 0)) steps.push({ floor, atMs: performance.now() })
        return floor === messages
      },
      60_000,
    )
    const waits = steps.slice(1).map((step, i) => ({ ...step, ms: step.atMs - (steps[i]?.atMs ?? 0) }))
    const late = waits.filter(({ floor }) => floor >= guilty).at(0)
    const others = waits.filter(wait => wait !== late).map(({ ms }) => Math.round(ms))
    t.comment(`the block of the poison took ${Math.round(late?.ms ?? 0)} ms, the others ${others.join(', ')} ms`)
    const { state } = await bench.shared.jsm.streams.info(BLOCKS_STREAM)
    const record = (
      await bench.shared.jsm.streams.getMessage(BLOCKS_STREAM, { seq: state.first_seq })
    )?.json<BlockRecord>()
    t.ok((record?.to ?? guilty) < guilty, 'what stands before it did not wait for it')
    await eventually('every healthy one', async () =>
      allEqual(await countsOf(bench.db.store, messages * each - 1), messages * each - 1),
    )
    t.match(await getLetter(bench.nc, 1), { code: 'DEAD_CRASH', sequence: guilty, frame: each / 2 })
    await stop()
  },
)
