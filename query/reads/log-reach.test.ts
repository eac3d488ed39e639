// Pages of raw logs that begin where memory guesses: over bursts, pauses, batches and events that are taken back they hold what they would
// if everything was read, and where events arrive they look at few others.
import t from 'tap'
import { createRandom } from '#proto/scan/fuzz/random.ts'
import { sqlMillis } from '#proto/time.ts'
import { walledDatabase } from '#test/rig.ts'
import { NOTHING } from '../filters.ts'
import { heard, id, insertEvents, insertMove, readersOver, type StoredEvent, storedEvent } from '../fixture.ts'
import type { Slice } from '../page.ts'
import { type Window, windowBetween, windowFrom } from '../window.ts'
import { readLogPage } from './log-page.ts'
import { createNewest } from './newest.ts'

const organization = id(1)
const db = await walledDatabase(t, { aggregated: true })
const all = readersOver(db.reader)(organization, new AbortController().signal)
let asked: { question: string; lower: string }[] = []
const reader = heard(all, (question, parameters) => asked.push({ question, lower: String(parameters?.lower) }))
const questions = (): string[] => asked.map(({ question }) => question)
/** Since when the nth read looked. */
const lowerOf = (n: number): string => asked[n]?.lower ?? ''

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const random = createRandom(23)
const newest = createNewest()(organization)
let nowMs = Date.UTC(2026, 5, 15, 12, 1, 0)
/** Rows that stand, newest first; ties by id. */
let standing: StoredEvent['event'][] = []
let made = 0

/** Stores events that came evenly between two instants. */
async function store(count: number, fromMs: number, toMs: number): Promise<StoredEvent[]> {
  const events = Array.from({ length: count }, (_, i) =>
    storedEvent({
      ...{ organization, event_id: id(1_000 + made + i), conversation_id: id((made + i) % 211) },
      at: new Date(fromMs + Math.floor(((toMs - fromMs) * (i + 1)) / count)).toISOString(),
    }),
  )
  made += count
  await insertEvents(db.store, events)
  standing.push(...events.map(({ event }) => event))
  standing.sort((a, b) => (a.ts === b.ts ? (a.event_id < b.event_id ? -1 : 1) : a.ts < b.ts ? 1 : -1))
  return events
}

/** Asks for a page, and compares it with what stands. */
async function compare(what: string, slice: Slice, window: Window = windowFrom(nowMs - DAY_MS)): Promise<void> {
  asked = []
  const found = await readLogPage(reader, {
    ...{ window, slice, nowMs, newest, conditions: NOTHING, conversation: undefined },
  })
  const { from, to } = window.parameters
  const { after, offset, limit } = slice
  const at = after?.at.replace('T', ' ').slice(0, -1) ?? ''
  const expected = standing
    .filter(event => event.ts >= from && event.ts < to)
    .filter(event => after === undefined || event.ts < at || (event.ts === at && event.event_id > after.id))
    .slice(offset, offset + limit)
  t.strictSame(
    found.map(event => event.event_id),
    expected.map(event => event.event_id),
    what,
  )
}

const FIRST: Slice = { offset: 0, limit: 51 }

t.test('sums that were read lately answer for other pages and windows; what came since is there', async t => {
  await store(900, nowMs - DAY_MS, nowMs)
  await compare('first', FIRST)
  t.strictSame(questions(), ['log_reach', 'log_page'])
  await compare('again', FIRST)
  t.strictSame(questions(), ['log_page'])
  await compare('another page', { offset: 100, limit: 51 })
  t.strictSame(questions(), ['log_page'])
  await compare('another window', FIRST, windowFrom(nowMs - DAY_MS / 2))
  t.strictSame(questions(), ['log_page'])
  const { ts, event_id } = standing[60] as StoredEvent['event']
  await compare('after a cursor', { ...FIRST, after: { at: `${ts.replace(' ', 'T')}Z`, id: event_id } })
  t.strictSame(questions(), ['log_page'])
  nowMs += MINUTE_MS
  await store(40, nowMs - MINUTE_MS, nowMs)
  await compare('with what came', FIRST)
  t.strictSame(questions(), ['log_page'])
  nowMs += 5 * MINUTE_MS
  await compare('sums are too old', FIRST)
  t.strictSame(questions(), ['log_reach', 'log_page'])
})

t.test('where many events arrive only those of the last seconds are looked at', async t => {
  for (let second = 0; second < 4; second++) {
    nowMs += 3_000
    // Stored two seconds after they happened.
    await store(3_000, nowMs - 5_000, nowMs - 2_000)
    await compare(`second ${second}`, FIRST)
  }
  t.strictSame(questions(), ['log_page'], 'no sums say so: the page before does')
  t.ok(lowerOf(0) >= sqlMillis(nowMs - 8_000), lowerOf(0))
  nowMs += 5 * MINUTE_MS
  await store(20_000, nowMs - 4 * MINUTE_MS, nowMs - 2_000)
  await compare('by new sums', FIRST)
  t.strictSame(questions(), ['log_reach', 'log_page'])
  t.ok(lowerOf(1) >= sqlMillis(nowMs - 10_000), lowerOf(1))
})

t.test('the newest event may be new or about to be followed: one look finds it either way', async t => {
  // Five events a millisecond are stored every two seconds; who asks right after that sees new ones, who asks before the next time does not.
  for (let i = 0; i < 3; i++) {
    nowMs += 150
    await store(10_000, nowMs - 2_100, nowMs - 100)
    for (const what of ['new', 'old']) {
      await compare(`${what}, ${i}`, FIRST)
      if (i > 0) t.strictSame(questions(), ['log_page'], `${what}, ${i}`)
      if (what === 'new') nowMs += 1_850
    }
  }
})

t.test('where they have stopped the page is found again, by one more look at most', async t => {
  nowMs += 20 * MINUTE_MS
  await compare('the first to ask', FIRST)
  await compare('again', FIRST)
  t.strictSame(questions(), ['log_page'])
  const { ts } = standing[0] as StoredEvent['event']
  const lastMs = Date.parse(`${ts.replace(' ', 'T')}Z`)
  t.ok(lowerOf(0) >= sqlMillis(lastMs - MINUTE_MS), lowerOf(0))
})

t.test('where they have stopped within the last 15 minutes that are summed up, too', async t => {
  const bucketMs = 15 * MINUTE_MS
  const begunMs = Math.ceil(nowMs / bucketMs) * bucketMs + bucketMs
  nowMs = begunMs + 6 * MINUTE_MS
  await store(20_000, begunMs, begunMs + 3 * MINUTE_MS)
  await compare('the first to ask', FIRST)
  await compare('again', FIRST)
  t.strictSame(questions(), ['log_page'])
  t.ok(lowerOf(0) >= sqlMillis(begunMs + 3 * MINUTE_MS - 10_000), lowerOf(0))
  await compare('another page', { offset: 200, limit: 51 })
  t.strictSame(questions(), ['log_page'])
  nowMs += MINUTE_MS
  await store(3_000, nowMs - MINUTE_MS, nowMs)
  await compare('they have begun again', FIRST)
  await compare('and again', FIRST)
  t.strictSame(questions(), ['log_page'])
  t.ok(lowerOf(0) >= sqlMillis(nowMs - 10_000), lowerOf(0))
})

t.test('whoever begins with a later page finds it again, too', async t => {
  nowMs += 20 * MINUTE_MS
  const later: Slice = { offset: 300, limit: 51 }
  await compare('the first to ask', later)
  await compare('the next page', { ...later, offset: 350 })
  t.strictSame(questions(), ['log_page'])
  t.ok(lowerOf(0) >= sqlMillis(Date.parse(`${standing[400]?.ts.replace(' ', 'T') ?? ''}Z`) - MINUTE_MS), lowerOf(0))
})

t.test('after random arrivals every page holds what it would if everything was read', async () => {
  for (let round = 0; round < 25; round++) {
    nowMs += random.below(3) === 0 ? random.below(40) * MINUTE_MS : random.below(20_000)
    const count = [0, 3, 60, 5_000][random.below(4)] as number
    const lagMs = random.below(10_000)
    const fresh = await store(count, nowMs - lagMs - 1 - random.below(5 * MINUTE_MS), nowMs - lagMs)
    if (random.below(3) === 0 && count > 0) {
      const gone = new Set(fresh.slice(-Math.ceil(count / 2)).map(({ event }) => event.event_id))
      await insertMove(
        db.store,
        fresh.filter(({ event }) => gone.has(event.event_id)),
        null,
      )
      standing = standing.filter(event => !gone.has(event.event_id))
    }
    const at = standing[random.below(200)] as StoredEvent['event']
    const after = { at: `${at.ts.replace(' ', 'T')}Z`, id: at.event_id }
    const window = windowBetween(nowMs - DAY_MS, nowMs - random.below(30) * MINUTE_MS)
    await compare(`round ${round}`, FIRST)
    await compare(`round ${round}, a later page`, { offset: random.below(400), limit: 51 })
    await compare(`round ${round}, after a cursor`, { ...FIRST, after })
    await compare(`round ${round}, a window that ends`, FIRST, window)
  }
})
