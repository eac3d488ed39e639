// Pages of raw logs over busy days, quiet weeks and rows taken back, against the same pages from memory; and how many statements they take.
import t from 'tap'
import { createRandom } from '#proto/scan/fuzz/random.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { silentLog, walledDatabase } from '#test/rig.ts'
import { eventsEachFailure } from '../days/failing.ts'
import { readKeptFigures } from '../days/figures.ts'
import { createKeptDays } from '../days/kept.ts'
import { type Conditions, NOTHING } from '../filters.ts'
import { heard, id, insertEvents, insertMove, NOW_MS, readersOver, type StoredEvent, storedEvent } from '../fixture.ts'
import type { Slice } from '../page.ts'
import { type Window, windowBetween, windowFrom } from '../window.ts'
import { readLogPage } from './log-page.ts'

const organization = id(1)
const db = await walledDatabase(t, { aggregated: true })
const asked: string[] = []
const open = readersOver(db.reader)
const all = open(organization, new AbortController().signal)
const reader = heard(all, question => asked.push(question))

const DAY_MS = 86_400_000
const random = createRandom(11)
/** Rows that stand, newest first; ties by id. */
const standing: StoredEvent[] = []

/** Some events between two times before now, in milliseconds. */
function between(count: number, first: number, last: number): StoredEvent[] {
  const n = standing.length
  const made = Array.from({ length: count }, (_, i) =>
    storedEvent({
      ...{ organization, event_id: id(1_000 + n + i), conversation_id: id((n + i) % 7) },
      ...{ failed: (n + i) % 60 === 0 ? 1 : 0, name: (n + i) % 900 === 0 ? 'rare' : 'agent' },
      at: new Date(NOW_MS - last - Math.floor(((first - last) * random.below(1_000)) / 1_000)).toISOString(),
    }),
  )
  standing.push(...made)
  return made
}

t.before(async () => {
  // A sender whose clock runs ahead, a busy day, a week without anything, a month with little, and the time before.
  await insertEvents(db.store, between(3, 0, -DAY_MS))
  await insertEvents(db.store, between(900, DAY_MS, 0))
  await insertEvents(db.store, between(60, 40 * DAY_MS, 8 * DAY_MS))
  await insertEvents(db.store, between(2_000, 41 * DAY_MS, 40 * DAY_MS))
  const gone = between(40, DAY_MS / 2, 0)
  standing.splice(standing.length - gone.length)
  await insertEvents(db.store, gone)
  await insertMove(db.store, gone, null)
  standing.sort(({ event: a }, { event: b }) =>
    a.ts === b.ts ? (a.event_id < b.event_id ? -1 : 1) : a.ts < b.ts ? 1 : -1,
  )
})

const FAILED: Conditions = { sql: ['failed = 1'], parameters: {} }
const RARE: Conditions = { sql: [`name = 'rare'`], parameters: {} }
const NONE: Conditions = { sql: [`name = 'nobody'`], parameters: {} }
const holds = new Map<Conditions, (row: StoredEvent['event']) => boolean>([
  [NOTHING, () => true],
  [FAILED, row => row.failed === 1],
  [RARE, row => row.name === 'rare'],
  [NONE, () => false],
])

/** Ids of a page, and the same from memory. */
async function pages(
  conditions: Conditions,
  window: Window,
  slice: Slice,
  each?: number,
): Promise<[string[], string[]]> {
  const keys = await readLogPage(reader, { window, conditions, slice, conversation: undefined, nowMs: NOW_MS, each })
  const { from, to } = window.parameters
  const isIn = holds.get(conditions) as (row: StoredEvent['event']) => boolean
  const { after, offset, limit } = slice
  const expected = standing
    .map(({ event }) => event)
    .filter(event => event.ts >= from && event.ts < to && isIn(event))
    .filter(event => {
      const at = after?.at.replace('T', ' ').slice(0, -1) ?? ''
      return after === undefined || event.ts < at || (event.ts === at && event.event_id > after.id)
    })
    .slice(offset, offset + limit)
  return [keys.map(key => key.event_id), expected.map(event => event.event_id)]
}

const WINDOWS: Readonly<Record<string, Window>> = {
  day: windowFrom(NOW_MS - DAY_MS),
  month: windowFrom(NOW_MS - 30 * DAY_MS),
  all: windowFrom(0),
  'one that ends in the quiet week': windowBetween(NOW_MS - 60 * DAY_MS, NOW_MS - 3 * DAY_MS),
  'one that begins within a bucket': windowBetween(NOW_MS - 40 * DAY_MS - 12_345_678, NOW_MS - 1_234_567),
}

t.test('a page holds what it would if everything was read', async t => {
  for (const [name, window] of Object.entries(WINDOWS)) {
    for (const conditions of holds.keys()) {
      for (const slice of [
        { offset: 0, limit: 21 },
        { offset: 40, limit: 21 },
        { offset: 880, limit: 101 },
      ]) {
        const [found, expected] = await pages(conditions, window, slice)
        t.strictSame(found, expected, `${name}, ${conditions.sql.join()}, ${JSON.stringify(slice)}`)
      }
    }
  }
})

t.test('cursors lead through a window without a gap, from the busy day into the time before', async t => {
  const [everything] = await pages(NOTHING, windowFrom(0), { offset: 0, limit: 5_000 })
  t.equal(everything.length, standing.length)
  const seen: string[] = []
  for (let after: Slice['after']; seen.length < standing.length; ) {
    const [found, expected] = await pages(NOTHING, windowFrom(0), { offset: 0, limit: 160, after })
    t.strictSame(found, expected)
    seen.push(...found)
    const last = standing[seen.length - 1]?.event
    if (found.length === 0 || last === undefined) break
    after = { at: `${last.ts.replace(' ', 'T')}Z`, id: last.event_id }
  }
  t.strictSame(seen, everything)
})

t.test('sums of the newest days are asked for once, and those of all days only when these were not enough', async t => {
  const f = async (conditions: Conditions, limit: number, expected: string[]): Promise<void> => {
    asked.length = 0
    await pages(conditions, windowFrom(0), { offset: 0, limit })
    t.strictSame(asked, expected, `${conditions.sql.join()} ${limit}`)
  }
  await f(NOTHING, 51, ['log_reach', 'log_page'])
  await f(FAILED, 6, ['log_reach', 'log_page', 'log_page'])
  await f(NOTHING, 951, ['log_reach', 'log_reach', 'log_page'])
  // Fewer than that there are: the window is read to its end.
  await f(NOTHING, 5_000, ['log_reach', 'log_reach', 'log_page'])
})

t.test('what days know of failures says how far a list of them looks, and a wrong guess changes no answer', async t => {
  const kept = createKeptDays({
    ...{ maxMb: 64, waitMs: 600_000, freshMs: 0, openReader: open, metrics: createMetrics('kept'), log: silentLog },
  })
  t.teardown(() => kept.close())
  const { day: window } = WINDOWS as { day: Window }
  t.equal(eventsEachFailure(kept, organization, window), undefined)
  await readKeptFigures(kept, reader, { organization, window, before: null })
  const each = eventsEachFailure(kept, organization, window)
  t.ok(each !== undefined && each > 50 && each < 70, String(each))
  for (const [guess, expected] of [
    [each, ['log_reach', 'log_page']],
    [0, ['log_reach', 'log_page', 'log_page']],
    [1e9, ['log_reach', 'log_reach', 'log_page']],
  ] as const) {
    asked.length = 0
    t.strictSame(...(await pages(FAILED, windowFrom(0), { offset: 0, limit: 6 }, guess)), String(guess))
    t.strictSame(asked, expected, String(guess))
  }
})
