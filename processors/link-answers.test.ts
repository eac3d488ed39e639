// What the store says of links, asked for once a process: whoever asks about a record, each answer knows every link that was stored
// before it, and nothing is kept without end.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { conversationIdOf } from '#proto/ids.ts'
import type { Store } from '#store/client.ts'
import { freshDatabase } from '#test/rig.ts'
import type { BlockRecord } from './blocks.ts'
import type { PlacedRecord } from './finished-ranges.ts'
import { organization, traceHex } from './fixture.ts'
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

/** A store that counts what it is asked, and answers through `gate`. */
function counted(gate: (answer: () => Promise<unknown[]>) => Promise<unknown[]> = answer => answer()) {
  let asked = 0
  const read = (sql: string, options?: object): Promise<unknown[]> => {
    asked++
    return gate(() => store.read(sql, options))
  }
  return { store: { ...store, read } as Store, asked: () => asked }
}

const homesIn = async (answers: LinkAnswers, ...records: PlacedRecord[]): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await answers.tracesOf(records)).map(({ trace, session }) => [Number.parseInt(trace.slice(-4), 16), session]),
  )

t.test('a record is asked about once, however many ask and whenever', async t => {
  const { store, asked } = counted()
  const answers = createLinkAnswers(store)
  const records = [await linked(1, 1, 'a'), recordAt(2, 0), await linked(3, 2, 'b')]
  const all = await Promise.all([1, 2, 3].map(() => homesIn(answers, ...records)))
  t.strictSame(all, Array(3).fill({ 1: 'a', 2: 'b' }))
  t.strictSame(await homesIn(answers, ...records), { 1: 'a', 2: 'b' })
  t.equal(asked(), 1)
  t.strictSame(await homesIn(answers, recordAt(4, 0)), {})
  t.equal(asked(), 1, 'a range without links is nothing to ask about')
})

t.test('an answer knows the links of its record, whatever was answered before', async t => {
  const { store } = counted()
  const answers = createLinkAnswers(store)
  const first = await linked(11, 11, 'of a child', 1)
  t.strictSame(await homesIn(answers, first), { 11: 'of a child' })
  const second = await linked(12, 11, 'of the root')
  t.strictSame(await homesIn(answers, second), { 11: 'of the root' })
  t.strictSame(await homesIn(answers, second, first), { 11: 'of the root' }, 'the last record holds')
})

t.test('an answer that comes late does not take the place of a newer one', async t => {
  const late = Promise.withResolvers<void>()
  let answersLate = true
  const { store } = counted(async answer => {
    const rows = await answer()
    const waits = answersLate
    answersLate = false
    if (waits) await late.promise
    return rows
  })
  const answers = createLinkAnswers(store)
  const first = await linked(21, 21, 'of a child', 1)
  const slow = homesIn(answers, first)
  const second = await linked(22, 21, 'of the root')
  t.strictSame(await homesIn(answers, second), { 21: 'of the root' }, 'nobody waits for what others have asked')
  const both = homesIn(answers, first, second)
  late.resolve()
  t.strictSame(await both, { 21: 'of the root' })
  await slow
})

t.test('what failed is asked again, and what was kept for long enough is', async t => {
  let fails = true
  const { store, asked } = counted(async answer => {
    if (fails) throw new Error('connection lost')
    return answer()
  })
  const answers = createLinkAnswers(store, { traces: 1 })
  const [first, second] = [await linked(31, 31, 'a'), await linked(32, 32, 'b')]
  await t.rejects(answers.tracesOf([first]), { message: 'connection lost' })
  fails = false
  t.strictSame(await homesIn(answers, first), { 31: 'a' })
  t.equal(asked(), 2)
  t.strictSame(await homesIn(answers, second), { 32: 'b' })
  t.strictSame(await homesIn(answers, second), { 32: 'b' })
  t.equal(asked(), 3, 'the last answer is kept')
  t.strictSame(await homesIn(answers, first), { 31: 'a' })
  t.equal(asked(), 4, 'the one before it made room')
})
