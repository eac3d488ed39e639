// Corrections that owners make, against real engines: costs by the prices of now, and positions that count wrong. Whatever fails and
// whoever vanishes, every row counts once at every moment, and in the end the rows are what reading the payloads again makes of them.
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { CorrectionRecord, RemapTask } from '#proto/correction.ts'
import type { PriceOverride } from '#proto/prices.ts'
import type { Store } from '#store/client.ts'
import { verify } from '#store/verify/verify.ts'
import { cancelCorrection, getCorrection, isOpen, requestCorrection } from '#streams/corrections.ts'
import { getReplay, requestReplay } from '#streams/replay.ts'
import { readSettled } from '#streams/settled.ts'
import { eventually } from '#test/rig.ts'
import type { Bench } from './fixture.ts'
import {
  ambiguousWritings,
  createBench,
  envelopeOf,
  organization,
  own,
  poolOf,
  publish,
  someEvents,
  tracesOf,
} from './fixture.ts'
import { createReadings, type Readings } from './readings.ts'

const pool = poolOf(t)

const DAY_MS = 86_400_000
const TOKENS = 1_000
const PATIENCE_MS = 60_000
const task: RemapTask = { kind: 'remap', organization, estimate: false }

/** Readings of one organization whose price of a million tokens is set by hand. */
function priced(): { readings: Readings; set(dollars: number): void } {
  let prices: PriceOverride[] = []
  let changed = (): void => {}
  const said = () => ({ hash: String(prices[0]?.prices.input), prices, rules: [] })
  const control = {
    readings: () => new Map([[organization, said()]]),
    readingOf: said,
    onReading: (tell: () => void) => {
      changed = tell
    },
  }
  const set = (dollars: number): void => {
    prices = [{ model: 'm', prices: { input: dollars, output: 0 } }]
    changed()
  }
  const list = { version: 'none', entries: [] }
  return { readings: createReadings(list, control as never), set }
}

/** Events with tokens over three months, two that say their cost, and two spans. Returns the last position and the rows in question. */
async function publishSome(bench: Bench): Promise<{ last: number; rows: number }> {
  const metadata = { model: 'm', input_tokens: String(TOKENS), output_tokens: '0' }
  const events = someEvents(24).map((event, i) => ({
    ...event,
    timestamp: Date.now() - (i % 3) * 31 * DAY_MS,
    metadata: i < 2 ? { ...metadata, cost: '0.5' } : metadata,
  }))
  await publish(bench, envelopeOf(events))
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.usage.input_tokens': String(TOKENS),
  }
  const spans = [1, 2].map(span => ({ trace: 1, span, session: 's', attributes }))
  return { last: await publish(bench, tracesOf(spans)), rows: 24 }
}

const one = async <T>(store: Store, sql: string): Promise<T> => (await store.read<T>(sql))[0] as T

/** Everything that must not change while costs do, from rows and from projections. */
async function sumsOf(store: Store): Promise<Record<string, unknown>> {
  const rows = 'optimize_use_projections = 0'
  const held = (name: string) =>
    one<object>(
      store,
      `SELECT sumMerge(\`sum(sign)\`) AS n, sumMerge(\`sum(multiply(sign, toInt64(input_tokens)))\`) AS tokens
       FROM mergeTreeProjection(currentDatabase(), 'events', '${name}')`,
    )
  return {
    rows: await one(
      store,
      `SELECT sum(sign) AS n, sum(sign * toInt64(input_tokens)) AS tokens FROM events SETTINGS ${rows}`,
    ),
    positions: await one(
      store,
      `SELECT min(n) AS least, max(n) AS most FROM (SELECT sum(sign) AS n FROM events GROUP BY origin_sequence, origin_frame, origin_index)
       SETTINGS ${rows}`,
    ),
    metrics: await held('metrics_15m'),
    costs: await held('priced'),
  }
}

/** The rows with all that a price decides, in an order of their own. */
const rowsOf = (store: Store): Promise<unknown[]> =>
  store.read(
    `SELECT event_id, cost_nanos, present, mapSort(CAST(metadata, 'Map(String, String)')) AS metadata FROM events FINAL WHERE sign = 1
     ORDER BY event_id`,
  )

/** Cost of the rows that have a computed one. */
const costOf = async (store: Store): Promise<number> =>
  Number(
    (
      await one<{ n: string }>(
        store,
        `SELECT sum(sign * toInt64(cost_nanos) * (bitAnd(present, 256) != 0)) AS n FROM events`,
      )
    ).n,
  )

async function ended(bench: Bench): Promise<CorrectionRecord> {
  return eventually(
    'the correction has ended',
    async () => {
      const record = (await getCorrection(bench.buckets.cursors, 0))?.record
      return record && !isOpen(record) ? record : undefined
    },
    PATIENCE_MS,
  )
}

async function nothingDiffers(t: Test, bench: Bench): Promise<void> {
  const report = await verify(bench.db.store, { settled: () => readSettled(bench.buckets.cursors, 1), lookPauseMs: 20 })
  t.strictSame(report.differences, [])
  t.equal(await ambiguousWritings(bench.db.store), 0, 'a writing says one thing')
}

type Step = 'stage' | 'copy'
const STEPS: readonly Step[] = ['stage', 'copy']

/** The store, with `spoil` called instead of each statement that writes. */
function spoiled(store: Store, spoil: (send: () => Promise<void>, step: Step) => Promise<void>): Store {
  return {
    ...store,
    command: (sql, options) => {
      const begins = sql.trimStart()
      const step = begins.startsWith('INSERT INTO corrections')
        ? 'stage'
        : begins.startsWith('INSERT INTO events')
          ? 'copy'
          : null
      const send = (): Promise<void> => store.command(sql, options)
      return step === null ? send() : spoil(send, step)
    },
  }
}

t.test('costs become those of now, pair by pair, whatever fails and whoever vanishes', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const { store } = bench.db
  const { cursors } = bench.buckets
  const { readings, set } = priced()
  set(10)
  const first = await own(t, bench, { readings })
  const { last, rows } = await publishSome(bench)
  const whole = rows * 10 * TOKENS * 1000
  await eventually('all is stored', async () => (await costOf(store)) === whole)
  const sums = await sumsOf(store)

  set(30)
  t.match(await requestCorrection(cursors, 0, { ...task, estimate: true }), { asked: true })
  t.match(await ended(bench), { state: 'done', looked: rows, changed: rows, left: {} })
  t.equal(await costOf(store), whole, 'an estimate changes nothing')
  await first.stop()

  // Each owner vanishes at another step of another page; every second one after its statement arrived.
  t.match(await requestCorrection(cursors, 0, task), { asked: true })
  for (const [i, step] of [...STEPS, ...STEPS].entries()) {
    const { promise: there, resolve: reached } = Promise.withResolvers<void>()
    let pages = 0
    const silent = spoiled(store, async (send, at) => {
      if (at !== step || ++pages <= i % 2) return send()
      if (i < 2) await send()
      reached()
      return new Promise(() => {})
    })
    const dying = await own(t, bench, { readings, store: silent })
    await there
    await Promise.race([dying.crash(), new Promise(resolve => setTimeout(resolve, 500))])
    await dying.lease.release()
    t.strictSame(await sumsOf(store), sums, `${step} ${i}: nothing is lost and nothing doubled`)
  }

  // The last one meets every lie once, and is watched.
  const lies: ((send: () => Promise<void>) => Promise<void>)[] = [
    async () => Promise.reject(new Error('not sent')),
    async () => {},
    async send => send().then(() => Promise.reject(new Error('answer lost'))),
  ]
  const told = new Map<Step, number>()
  const liar = spoiled(store, (send, step) => {
    const lie = lies[told.get(step) ?? 0]
    told.set(step, (told.get(step) ?? 0) + 1)
    return lie ? lie(send) : send()
  })
  const next = await own(t, bench, { readings, store: liar })
  for (let look = 0; look < 40; look++) {
    t.strictSame(await sumsOf(store), sums, 'at every moment')
    const record = (await getCorrection(cursors, 0))?.record
    if (record && !isOpen(record)) break
  }
  t.match(await ended(bench), { state: 'done', looked: Number, left: {} })
  t.equal(await costOf(store), 3 * whole)
  await nothingDiffers(t, bench)
  await store.command('OPTIMIZE TABLE events FINAL')
  t.strictSame(await sumsOf(store), sums, 'merged')

  // What was mapped from rows is what the payloads say.
  const mapped = await rowsOf(store)
  t.match(await requestReplay(cursors, 0, { from: 1, to: last }), { asked: true })
  const replayed = async (): Promise<boolean> => (await getReplay(cursors, 0))?.record.state === 'done'
  await eventually('the replay has ended', replayed, PATIENCE_MS)
  t.strictSame(await rowsOf(store), mapped, 'a replay gives the same rows')
  t.strictSame(await sumsOf(store), sums)

  // Again, and cancelled before anybody could begin.
  await next.stop()
  set(50)
  await requestCorrection(cursors, 0, task)
  t.equal(await cancelCorrection(cursors, 0), true)
  t.match(await requestCorrection(cursors, 0, task), { asked: false }, 'it is under way until its owner has heard')
  const after = await own(t, bench, { readings })
  t.match(await ended(bench), { state: 'cancelled', changed: 0 })
  t.equal(await cancelCorrection(cursors, 0), false)
  t.equal(await costOf(store), 3 * whole)
  await requestCorrection(cursors, 0, { ...task, fromMs: Date.now() - DAY_MS, before: last })
  t.match(await ended(bench), { state: 'done', changed: 8 - 1 }, 'of one day, before the spans')
  await after.stop()
})

t.test('rows that count twice are reversed by their owner, once', async t => {
  const bench = await createBench(t, { aggregated: true, pool })
  const { store } = bench.db
  const { cursors } = bench.buckets
  const first = await own(t, bench)
  await publishSome(bench)
  const counts = async (): Promise<string> => (await one<{ n: string }>(store, 'SELECT sum(sign) AS n FROM events')).n
  await eventually('all is stored', async () => (await counts()) === '26')
  const positions = [0, 1, 2, 3].map(frame => `0-1-${frame}-0`)
  const double = (): Promise<void> =>
    store.command(
      'INSERT INTO events SELECT * FROM events WHERE origin_sequence = 1 AND origin_frame < 4 AND sign = 1 LIMIT 1 BY origin_frame',
    )
  const repair = () => requestCorrection(cursors, 0, { kind: 'repair', positions, events: [] })
  await double()
  t.equal(await counts(), '30')
  await repair()
  t.match(await ended(bench), { state: 'done', changed: 4 })
  t.equal(await counts(), '26')
  await first.stop()

  // An owner vanishes with its statement still on the way: the next one does it, and the late one finds nothing to do.
  await double()
  let late: (() => Promise<void>) | undefined
  const { promise: there, resolve: reached } = Promise.withResolvers<void>()
  const silent = spoiled(store, (send, at) => {
    if (at !== 'copy') return send()
    late = send
    reached()
    return new Promise(() => {})
  })
  const dying = await own(t, bench, { store: silent })
  await repair()
  await there
  await Promise.race([dying.crash(), new Promise(resolve => setTimeout(resolve, 500))])
  await dying.lease.release()
  const next = await own(t, bench)
  t.match(await ended(bench), { state: 'done', changed: 4 })
  await double()
  await late?.()
  t.equal(
    await counts(),
    '30',
    'what was sent by an owner that is gone does nothing, though the rows count as they did',
  )
  await repair()
  t.match(await ended(bench), { state: 'done', changed: 4 })
  await nothingDiffers(t, bench)

  const stranger = { organization, conversation: randomUUID(), event: randomUUID() }
  await requestCorrection(cursors, 0, { kind: 'repair', positions: ['0-9-9-9'], events: [stranger] })
  t.match(await ended(bench), { state: 'done', changed: 0 })
  await next.stop()
})
