import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { DeadHeader } from '#proto/dead.ts'
import { fingerprint } from '#proto/ids.ts'
import { DEAD_STREAM } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import { eventually } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import type { Bench } from './fixture.ts'
import {
  allEqual,
  countsOf,
  createBench,
  envelopeOf,
  organization,
  own,
  poolOf,
  publish,
  someEvents,
} from './fixture.ts'
import type { Cursor, Scope } from './protocol.ts'
import { rebuildWindow } from './rebuild.ts'
import { RepeatWindow, runsOf } from './repeats.ts'
import { envelopeWeight, loudest, organizationWeights } from './weight.ts'

const pool = poolOf(t)

/** Of each of two months, in each of four envelopes. */
const EVENTS_OF_A_MONTH = scaled({ sample: 1_250, full: 6_250 })

/** Resolves when every count is `n`; fails with the counts otherwise. */
async function stored(t: Test, bench: Bench, n: number, timeoutMs = 30_000): Promise<void> {
  let last: Record<string, number> = {}
  try {
    await eventually(`${n} events`, async () => allEqual((last = await countsOf(bench.db.store, n)), n), timeoutMs)
    t.pass(`${n} events in rows, texts and every projection`)
  } catch {
    t.same(last, Object.fromEntries(Object.keys(last).map(name => [name, n])))
  }
}

async function cursorOf(bench: Bench): Promise<Cursor | undefined> {
  return (await bench.buckets.cursors.get('partition.0'))?.json<Cursor>()
}

/** Codes of the dead letters of partition 0, by the text of their bodies. */
async function letters(bench: Bench): Promise<{ code: string; frame: string; body: string }[]> {
  const { state } = await bench.shared.jsm.streams.info(DEAD_STREAM)
  const all = []
  for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq++) {
    const letter = await bench.shared.jsm.streams.getMessage(DEAD_STREAM, { seq })
    if (!letter) continue
    const header = (name: string): string => letter.header.get(name)
    all.push({
      code: header(DeadHeader.code),
      frame: header(DeadHeader.frame),
      body: Buffer.from(letter.data).toString(),
    })
  }
  return all
}

t.test('what a stream holds becomes rows and projections, and the floor follows', async t => {
  const bench = await createBench(t, { pool })
  const session_id = randomUUID()
  await publish(bench, envelopeOf([{ session_id, user_data: { user_id: 'u' } }, ...someEvents(50, { session_id })]))
  const { stop } = await own(t, bench)
  await stored(t, bench, 50)
  const startedAt = performance.now()
  await publish(bench, envelopeOf(someEvents(1)))
  await stored(t, bench, 51)
  t.comment(`visible after ${Math.round(performance.now() - startedAt)} ms`)
  await stop()
  t.match(await cursorOf(bench), { floor: 2, intents: [] })
  const sessions = await bench.db.store.read<{ n: string }>('SELECT count() AS n FROM sessions')
  t.same(sessions, [{ n: '1' }])
})

t.test('the same event counts once: in one envelope, in a later block, and before another owner', async t => {
  const bench = await createBench(t, { pool })
  const events = someEvents(20)
  const { stop, crash } = await own(t, bench)
  await publish(bench, envelopeOf([...events, ...events.slice(5, 10)]))
  await publish(bench, envelopeOf(events))
  await stored(t, bench, 20)
  await publish(bench, envelopeOf([...events.slice(3, 5), ...someEvents(2)]))
  await stored(t, bench, 22)
  await stop()
  await crash()
  const next = await own(t, bench)
  await publish(bench, envelopeOf([...events, ...someEvents(1)]))
  await stored(t, bench, 23)
  await publish(bench, envelopeOf(events, randomUUID()))
  await eventually('the same ids of another organization', async () => {
    const rows = await bench.db.store.read<{ n: string }>('SELECT sum(sign) AS n FROM events')
    return rows[0]?.n === '43'
  })
  await next.stop()
  t.equal((await cursorOf(bench))?.floor, 5)
})

t.test('a rebuilt window knows the same fingerprints, oldest first, up to its size', async t => {
  const bench = await createBench(t, { pool })
  const events = someEvents(300)
  for (let i = 0; i < 3; i++) await publish(bench, envelopeOf(events.slice(i * 100, i * 100 + 100)))
  const { stop } = await own(t, bench)
  await stored(t, bench, 300)
  const spoken = randomUUID()
  await bench.db.store.command(
    `INSERT INTO events (organization, event_id, conversation_id, source, ts, received_at, origin_sequence, version, sign)
     VALUES ({organization:UUID}, {spoken:UUID}, generateUUIDv4(), 'voice', now64(9), now64(3), 3, 1, 1)`,
    { parameters: { organization, spoken } },
  )
  await stop()
  const f = async (max: number, floor: number): Promise<string> => {
    const window = new RepeatWindow(max)
    await rebuildWindow(bench.db.store, window, { partition: 0, ranges: [{ after: 0, through: floor }], max })
    const list = [
      ...events.map(e => fingerprint('event', organization, e.event_id)),
      fingerprint('event', organization, spoken),
    ]
    return JSON.stringify(runsOf({ list: Buffer.concat(list), sequences: [] }, words => !window.add(words, 0)))
  }
  t.equal(await f(1000, 3), '[[0,299]]', 'no part of a call, which is judged by what its report says')
  t.equal(await f(1000, 2), '[[0,199]]', 'nothing above the floor')
  t.equal(await f(101, 2), '[[99,199]]', 'the newest ones')
})

t.test('poison kills only itself: payloads that throw, end the thread, or never come back', async t => {
  const bench = await createBench(t, { pool: poolOf(t, 1_500) })
  const poison = ['throw', 'exit', 'spin'].map(kind => someEvents(1, { primitive_name: `poison-${kind}` })[0] as object)
  const [a, b, c] = poison as [object, object, object]
  const { stop } = await own(t, bench)
  await publish(
    bench,
    envelopeOf([...someEvents(10), a, ...someEvents(10), b, ...someEvents(10), c, ...someEvents(10)]),
  )
  await publish(bench, envelopeOf(someEvents(10)))
  // Each death costs a new thread.
  await stored(t, bench, 50, 60_000)
  await stop()
  const found = await letters(bench)
  t.same(
    found.map(({ code, frame }) => `${frame} ${code}`),
    ['10 DEAD_PARSE', '21 DEAD_CRASH', '32 DEAD_TIMEOUT'],
  )
  t.same(
    found.map(letter => JSON.parse(letter.body)),
    poison,
    'the payload is kept as it came',
  )
})

t.test('a row that the store refuses is found and dead-lettered, and what went in before it is taken back', async t => {
  const bench = await createBench(t, { pool })
  const refused = someEvents(1, { primitive_name: 'poison-refused' })
  const { stop } = await own(t, bench)
  await publish(bench, envelopeOf([...someEvents(30), ...refused, ...someEvents(30)]))
  await stored(t, bench, 60)
  await publish(bench, envelopeOf(someEvents(5)))
  await stored(t, bench, 65)
  await stop()
  t.match(await letters(bench), [{ code: 'DEAD_REFUSED', frame: '30' }])
  t.match(await cursorOf(bench), { floor: 2, generation: 2, intents: [] })
})

t.test('a broken message is dead-lettered whole; one of a newer version stops the partition', async t => {
  const bench = await createBench(t, { pool })
  const { owner } = await own(t, bench)
  const broken = envelopeOf(someEvents(2)).slice(0, -3)
  await publish(bench, broken)
  await publish(bench, envelopeOf(someEvents(3)))
  await stored(t, bench, 3)
  t.match(await letters(bench), [{ code: 'DEAD_ENVELOPE_BROKEN', frame: '-1' }])
  const newer = envelopeOf(someEvents(1))
  newer[2] = 99
  await publish(bench, newer)
  await publish(bench, envelopeOf(someEvents(3)))
  const error = await owner.ended
  t.match(String(error), /version 99/)
  t.equal((await cursorOf(bench))?.floor, 2, 'the floor stands before it')
  await stored(t, bench, 3)
})

// ---- a store that lies ---------------------------------------------------------------------------------------------------

/** The store, with `spoil` called instead of each insert; it may send it, fail it, or do worse. */
function spoiled(
  store: Store,
  spoil: (send: () => Promise<unknown>, table: string, nth: number, signal: AbortSignal) => Promise<unknown>,
): Store {
  let nth = 0
  const exec = (options: { query: string; abort_signal: AbortSignal }): Promise<unknown> => {
    const table = /^INSERT INTO (\w+) FORMAT/.exec(options.query)?.[1]
    const send = async (): Promise<unknown> => store.client.exec(options as never)
    return table === undefined ? send() : spoil(send, table, ++nth, options.abort_signal)
  }
  const client = new Proxy(store.client, {
    get: (target, key) => {
      if (key === 'exec') return exec
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { ...store, client }
}

/** No answer, until the asker gives up. */
const silence = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

const drained = async (sent: Promise<unknown>): Promise<void> => {
  for await (const _ of ((await sent) as { stream: AsyncIterable<unknown> }).stream);
}

t.test(
  'answers that are lost, rows that are lost, doubled or torn behind a clean retry: a count makes them right',
  async t => {
    const bench = await createBench(t, { pool })
    const { store } = bench.db
    const fail = (): never => {
      throw new Error('connection lost')
    }
    const faults: Record<string, (send: () => Promise<unknown>, table: string) => Promise<unknown>> = {
      'not sent': async () => fail(),
      'answer lost': async send => {
        await drained(send())
        return fail()
      },
      'token kept, rows lost': async (send, table) => {
        await drained(send())
        await store.command(
          `ALTER TABLE ${table} DELETE WHERE origin_sequence = {seq:UInt64} SETTINGS mutations_sync = 2`,
          {
            parameters: { seq: sequence },
          },
        )
        return fail()
      },
      doubled: async (send, table) => {
        await drained(send())
        await store.command(
          `INSERT INTO ${table} SELECT * FROM ${table} WHERE origin_sequence = {seq:UInt64} SETTINGS insert_deduplicate = 0`,
          { parameters: { seq: sequence } },
        )
        return fail()
      },
      torn: async (send, table) => {
        await drained(send())
        await store.command(
          `ALTER TABLE ${table} DELETE WHERE origin_sequence = {seq:UInt64} AND origin_frame % 2 = 0 SETTINGS mutations_sync = 2`,
          { parameters: { seq: sequence } },
        )
        return fail()
      },
    }
    let sequence = 0
    let fault: ((send: () => Promise<unknown>, table: string) => Promise<unknown>) | undefined
    const done = new Set<string>()
    const liar = spoiled(store, (send, table) => {
      if (!fault || done.has(table)) return send()
      done.add(table)
      return fault(send, table)
    })
    const { stop } = await own(t, bench, { store: liar })
    let expected = 0
    for (const [name, make] of Object.entries(faults)) {
      done.clear()
      fault = make
      sequence++
      const session_id = randomUUID()
      await publish(bench, envelopeOf([{ session_id, user_data: { user_id: 'u' } }, ...someEvents(9, { session_id })]))
      expected += 9
      await eventually(`${name}: the floor`, async () => (await cursorOf(bench))?.floor === sequence)
      t.equal(done.size, 3, `${name}: every table was hit`)
      await stored(t, bench, expected)
      const sessions = await store.read<{ n: string }>('SELECT count() AS n FROM sessions')
      t.same(sessions, [{ n: String(sequence) }], `${name}: one session each`)
    }
    await stop()
  },
)

t.test('an owner that vanishes between its inserts leaves an intent that the next one completes', async t => {
  const bench = await createBench(t, { pool })
  // After n inserts the store never answers this owner again, whatever arrives there.
  for (const [n, arrives] of [
    [0, false],
    [0, true],
    [1, true],
    [2, true],
  ] as const) {
    const before = (await cursorOf(bench))?.floor ?? 0
    const silent = spoiled(bench.db.store, async (send, _table, nth, signal) => {
      if (nth <= n) return send()
      if (arrives) await drained(send())
      return silence(signal)
    })
    const first = await own(t, bench, { store: silent })
    const session_id = randomUUID()
    await publish(bench, envelopeOf([{ session_id, user_data: { user_id: 'u' } }, ...someEvents(7, { session_id })]))
    await eventually('an intent', async () => (await cursorOf(bench))?.intents.length === 1)
    await first.crash()
    const second = await own(t, bench)
    await eventually('the floor', async () => (await cursorOf(bench))?.floor === before + 1)
    await second.stop()
  }
  await stored(t, bench, 28)
})

t.test('a recipe that is not reproduced inserts nothing blindly: the range is taken back and stored anew', async t => {
  const bench = await createBench(t, { pool })
  const before = someEvents(5)
  await publish(bench, envelopeOf(before))
  const first = await own(t, bench)
  await stored(t, bench, 5)
  await first.stop()
  // The second table of this range is never reached: the intent stays open with its texts already in.
  const silent = spoiled(bench.db.store, async (send, _table, nth, signal) => (nth <= 1 ? send() : silence(signal)))
  const second = await own(t, bench, { store: silent })
  await publish(bench, envelopeOf([...someEvents(7), ...before.slice(0, 2)]))
  await eventually('texts of the open intent', async () => {
    const rows = await bench.db.store.read<{ n: string }>('SELECT count() AS n FROM texts')
    return rows[0]?.n === '12'
  })
  await second.crash()
  // As if another build had written it.
  const entry = await bench.buckets.cursors.get('partition.0')
  const cursor = (await cursorOf(bench)) as Cursor
  const intents = cursor.intents.map(intent => ({
    ...intent,
    parser: 'another',
    blocks: intent.blocks.map(block => ({ ...block, checksum: 'another' })),
  }))
  await bench.buckets.cursors.update('partition.0', JSON.stringify({ ...cursor, intents }), entry?.revision ?? 0)
  const third = await own(t, bench)
  await eventually('the floor', async () => (await cursorOf(bench))?.floor === 2)
  await stored(t, bench, 12)
  t.match(await cursorOf(bench), { generation: 2, intents: [] })
  await third.stop()
})

t.test(`${8 * EVENTS_OF_A_MONTH} events over two months are one part for each month`, async t => {
  const bench = await createBench(t, { pool })
  // Projections are built all the same.
  for (const table of ['events', 'texts'])
    await bench.db.store.command(`ALTER TABLE ${table} MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1`)
  const now = Date.UTC(2026, 5, 15)
  for (let i = 0; i < 4; i++) {
    const events = [now, now - 40 * 86_400_000].flatMap(timestamp => someEvents(EVENTS_OF_A_MONTH, { timestamp }))
    await publish(bench, envelopeOf(events, organization, now))
  }
  const { stop } = await own(t, bench, { blockBytes: 64 * 1024 * 1024, insertIntervalMs: 1_000 })
  await stored(t, bench, 8 * EVENTS_OF_A_MONTH, 30_000)
  await stop()
  const parts = await bench.db.store.read<{ table: string; partition: string; parts: string; blocks: string }>(
    `SELECT table, partition, toString(count()) AS parts, toString(uniqExact(min_block_number)) AS blocks FROM system.parts
      WHERE database = {database:String} AND active AND table IN ('events', 'texts') GROUP BY table, partition ORDER BY table, partition`,
    { parameters: { database: bench.db.database } },
  )
  const records = await bench.shared.jsm.streams.info('BLOCKS')
  t.same(
    parts.map(({ table, partition, parts }) => `${table} ${partition} ${parts}`),
    ['events (0,202605)', 'events (0,202606)', 'texts (0,202605)', 'texts (0,202606)'].map(
      name => `${name} ${records.state.messages}`,
    ),
    'as many parts of each month as ranges',
  )
})

t.test('a message weighs what its payloads are inflated', t => {
  const plain = envelopeOf(someEvents(3))
  t.equal(envelopeWeight(plain), plain.length)
  t.end()
})

t.test('who is loud is told by bytes; who is left to others already counts and is not named', t => {
  const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()] as const
  const weights = new Map<string, number>()
  const add = (id: typeof a, n: number): void => organizationWeights(envelopeOf(someEvents(n), id), weights)
  const f = (share: number, expected: readonly string[], scope: Scope = {}): void => {
    t.same(loudest(weights, share, scope), expected)
  }
  add(a, 60)
  f(0.5, [])
  add(b, 35)
  f(0.5, [a])
  f(0.7, [])
  f(0.3, [], {})
  add(c, 5)
  f(0.3, [a, b])
  f(0.3, [b], { without: [a] })
  f(0.5, [], { without: [a] })
  f(0.3, [], { without: [a, c] })
  t.equal(weights.size, 3)
  t.end()
})
