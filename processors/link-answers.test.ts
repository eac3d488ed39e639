// What the store says of links, asked for once a process: whoever asks about a record, each answer knows every link that was stored
// before it, and nothing is kept without end.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { conversationIdOf } from '#proto/ids.ts'
import { randomOf } from '#runtime/seeded.ts'
import type { Store } from '#store/client.ts'
import { eventually, freshDatabase } from '#test/rig.ts'
import type { BlockRecord } from './blocks.ts'
import type { PlacedRecord } from './finished-ranges.ts'
import { log, organization, traceHex } from './fixture.ts'
import { createLinkAnswers, type LinkAnswers } from './link-answers.ts'

const { store } = await freshDatabase(t)

/** Stores a link of a trace, the better the less deep, as a range of its own; returns the record of the range. */
async function linked(position: number, trace: number, session: string, depth = 0): Promise<PlacedRecord> {
  const row = {
    ...{ organization, trace_id: traceHex(trace).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'), depth },
    ...{ provisional_id: conversationIdOf(organization, traceHex(trace)), session_id: session },
    ...{ conversation_id: conversationIdOf(organization, session), started_at: '2026-01-01 00:00:00', span_id: '1' },
    ...{
      retention: 0,
      origin_partition: 0,
      origin_generation: 1,
      origin_sequence: position,
      origin_frame: 0,
      origin_index: 0,
    },
  }
  await store.client.insert({ table: 'links', values: [row], format: 'JSONEachRow' })
  return recordAt(position, 1)
}

function recordAt(position: number, links: number): PlacedRecord {
  const record: BlockRecord = {
    ...{ partition: 0, generation: 1, from: position, to: position, rows: { events: 1, links } },
    ...{ repeats: 0, dead: 0, checksum: randomUUID(), at: '2026-01-01T00:00:00.000Z' },
  }
  return { position, record }
}

type Gate = (answer: () => Promise<unknown[]>) => Promise<unknown[]>
const open: Gate = answer => answer()

/** A store that tells what it is asked: for links of ranges, and for all links of traces. */
function heard(gates: { readonly links?: Gate; readonly whole?: Gate } = {}) {
  const asked = { links: 0, whole: 0 }
  const read = (sql: string, options?: object): Promise<unknown[]> => {
    const answer = (): Promise<unknown[]> => store.read(sql, options)
    if (!sql.includes('AS linked')) return answer()
    const kind = sql.includes('WHERE origin_partition') ? 'links' : 'whole'
    asked[kind]++
    return (gates[kind] ?? open)(answer)
  }
  return { store: { ...store, read } as Store, asked }
}

/** Answers that know all links which are stored when it resolves; records from the next position on are the stream's next. */
async function knowing(position: number) {
  const { store, asked } = heard()
  const answers = createLinkAnswers(store, log)
  let at = position
  await eventually('what is stored is known', async () => {
    const before = asked.whole
    await answers.tracesOf([await linked(++at, 1_000 + at, 'any')])
    return asked.whole === before
  })
  return { answers, asked, next: () => ++at }
}

const homesIn = async (answers: LinkAnswers, ...records: PlacedRecord[]): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await answers.tracesOf(records)).map(({ trace, session }) => [Number.parseInt(trace.slice(-4), 16), session]),
  )

t.test('a record is asked about once, however many ask and whenever', async t => {
  const { store, asked } = heard()
  const answers = createLinkAnswers(store, log)
  const records = [await linked(1, 1, 'a'), recordAt(2, 0), await linked(3, 2, 'b')]
  const all = await Promise.all([1, 2, 3].map(() => homesIn(answers, ...records)))
  t.strictSame(all, Array(3).fill({ 1: 'a', 2: 'b' }))
  t.strictSame(await homesIn(answers, ...records), { 1: 'a', 2: 'b' })
  t.equal(asked.links, 1)
  t.strictSame(await homesIn(answers, recordAt(4, 0)), {})
  t.equal(asked.links, 1, 'a range without links is nothing to ask about')
})

t.test('an answer knows the links of its record, whatever was answered before', async t => {
  const { store } = heard()
  const answers = createLinkAnswers(store, log)
  const first = await linked(11, 11, 'of a child', 1)
  t.strictSame(await homesIn(answers, first), { 11: 'of a child' })
  const second = await linked(12, 11, 'of the root')
  t.strictSame(await homesIn(answers, second), { 11: 'of the root' })
  t.strictSame(await homesIn(answers, second, first), { 11: 'of the root' }, 'the last record holds')
})

t.test('an answer that comes late does not take the place of a newer one', async t => {
  const [read, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  const whole: Gate = async answer => {
    const waits = isFirst
    isFirst = false
    const rows = await answer()
    if (waits) {
      read.resolve()
      await late.promise
    }
    return rows
  }
  const { store } = heard({ whole })
  const answers = createLinkAnswers(store, log)
  // Another link from before, so that all links of the trace are asked for whether or not it is known yet which traces have any.
  await linked(20, 21, 'of a later child', 2)
  const first = await linked(21, 21, 'of a child', 1)
  const slow = homesIn(answers, first)
  await read.promise
  const second = await linked(22, 21, 'of the root')
  t.strictSame(await homesIn(answers, second), { 21: 'of the root' }, 'nobody waits for what others have asked')
  const both = homesIn(answers, first, second)
  late.resolve()
  t.strictSame(await both, { 21: 'of the root' })
  await slow
})

t.test('what failed is asked again, and what was kept for long enough is', async t => {
  let fails = true
  const links: Gate = async answer => {
    if (fails) throw new Error('connection lost')
    return answer()
  }
  const { store, asked } = heard({ links })
  const answers = createLinkAnswers(store, log, { traces: 1 })
  const [first, second] = [await linked(31, 31, 'a'), await linked(32, 32, 'b')]
  await t.rejects(answers.tracesOf([first]), { message: 'connection lost' })
  fails = false
  t.strictSame(await homesIn(answers, first), { 31: 'a' })
  t.equal(asked.links, 2)
  t.strictSame(await homesIn(answers, second), { 32: 'b' })
  t.strictSame(await homesIn(answers, second), { 32: 'b' })
  t.equal(asked.links, 3, 'the last answer is kept')
  t.strictSame(await homesIn(answers, first), { 31: 'a' })
  t.equal(asked.links, 4, 'the one before it made room')
})

t.test('first links of their traces are asked for alone, and others with all links of theirs', async t => {
  await linked(1, 41, 'of a child', 1)
  const { answers, asked, next } = await knowing(100)
  const before = asked.whole
  t.strictSame(await homesIn(answers, await linked(next(), 42, 'a'), await linked(next(), 43, 'b')), {
    42: 'a',
    43: 'b',
  })
  t.equal(asked.whole, before, 'nobody has linked these')
  t.strictSame(await homesIn(answers, await linked(next(), 41, 'of a grandchild', 2)), { 41: 'of a child' })
  t.equal(asked.whole, before + 1, 'this one was linked before anything was known here')
  t.strictSame(await homesIn(answers, await linked(next(), 42, 'of a child of 42', 1)), { 42: 'a' })
  t.equal(asked.whole, before + 2, 'and this one since')
})

t.test('a record that nobody here has heard of may tell of any trace', async t => {
  const { answers, asked, next } = await knowing(200)
  await linked(next(), 51, 'of the root')
  const before = asked.whole
  const after = await linked(next(), 51, 'of a child', 1)
  t.strictSame(await homesIn(answers, after), { 51: 'of the root' })
  t.equal(asked.whole, before + 1)
})

t.test('records that come at the same time know of each other', async t => {
  const { answers, next } = await knowing(300)
  for (let trace = 60; trace < 70; trace++) {
    const [first, second] = [await linked(next(), trace, 'of the root'), await linked(next(), trace, 'of a child', 1)]
    const both = await Promise.all([homesIn(answers, first), homesIn(answers, second)])
    t.strictSame(both, [{ [trace]: 'of the root' }, { [trace]: 'of the root' }])
  }
})

t.test('whatever is stored and asked, in whatever portions, answers are those of a recount', async t => {
  const random = randomOf(7)
  const { answers, next } = await knowing(400)
  const best = new Map<number, { depth: number; session: string }>()
  const records: PlacedRecord[] = []
  let wrong = 0
  for (let i = 0; i < 80; i++) {
    const portion: number[] = []
    for (let n = random(3); n >= 0; n--) {
      // Each depth of a better link once, so that the least link is one.
      const [trace, nth, session] = [2_000 + random(12), 3 * i + n, `session ${i} ${n}`]
      const better = random(2) === 0 || !best.has(trace)
      const rank = better ? 240 - nth : 241 + (i % 10)
      if (rank < (best.get(trace)?.depth ?? Number.POSITIVE_INFINITY)) best.set(trace, { depth: rank, session })
      records.push(await linked(next(), trace, session, rank))
      portion.push(trace)
    }
    const from = random(3) === 0 ? Math.max(0, records.length - 20) : records.length - portion.length
    const homes = await homesIn(answers, ...records.slice(from))
    for (const trace of portion) if (homes[trace] !== best.get(trace)?.session) wrong++
  }
  t.equal(wrong, 0)
})
