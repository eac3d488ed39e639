// Lists of failures from kept days beside the same from rows: many failures at one instant, more on a day than are kept, conversations of
// which some failures meet a filter and others don't.
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import t from 'tap'
import { createMetrics } from '#runtime/metrics.ts'
import { silentLog, walledDatabase } from '#test/rig.ts'
import type { Call } from '../endpoint.ts'
import { readErrors } from '../endpoints/errors/list.ts'
import { heard, id, insertEvents, insertSessions, NOW_MS, readersOver, storedEvent, storedSession } from '../fixture.ts'
import type { OpenReader } from '../reader.ts'
import { createNewest } from '../reads/newest.ts'
import { FAILURES_MAX, type Failures, failedEventOf, failuresOfBoth } from './failures.ts'
import { wordsOf } from './ids.ts'
import { createKeptDays, KEEP_NOTHING } from './kept.ts'

const { store, reader } = await walledDatabase(t)
const open = readersOver(reader)
const asked: string[] = []
const openReader: OpenReader = (...of) => heard(open(...of), question => asked.push(question))
const kept = createKeptDays({
  ...{ maxMb: 64, waitMs: 600_000, freshMs: 0, openReader, metrics: createMetrics('kept'), log: silentLog },
  // Long after the events: no day is open.
  clock: () => NOW_MS + 30 * 86_400_000,
})
t.teardown(() => kept.close())

const organization = randomUUID()
const MANY = FAILURES_MAX + 100
const [DAY_MS, MINUTE_MS] = [86_400_000, 60_000]
/** Noon of a day before the instant at which windows end. */
const noon = (days: number): number => Math.floor(NOW_MS / DAY_MS) * DAY_MS - days * DAY_MS + 12 * 60 * MINUTE_MS

t.before(async () => {
  const failure = (n: number, atMs: number, metadata = {}) =>
    storedEvent({
      ...{ organization, event_id: id(n * 7919), conversation_id: id(n % 30), failed: 1, metadata },
      ...{ at: new Date(atMs).toISOString(), user_id: n % 3 === 0 ? `user-${n % 5}` : '', error_message: `fault ${n}` },
    })
  await insertEvents(store, [
    // Three at each instant.
    ...Array.from({ length: MANY }, (_, n) =>
      failure(n, noon(2) + Math.floor(n / 3), n % 4 === 0 ? { plan: n % 8 === 0 ? 'pro' : '' } : {}),
    ),
    ...Array.from({ length: 6 }, (_, n) => failure(MANY + n, noon(1) + n * MINUTE_MS, { plan: 'pro' })),
    ...Array.from({ length: 6 }, (_, n) => failure(MANY + 10 + n, noon(5) + n * MINUTE_MS, { team: 'blue' })),
  ])
  const captured = { organization, at: new Date(noon(3)).toISOString() }
  await insertSessions(store, [
    storedSession({ ...captured, conversation_id: id(3), user_id: 'captured', metadata: { plan: 'pro' } }),
    storedSession({ ...captured, conversation_id: id(4), user_id: 'captured' }),
  ])
})

/** A page from kept days and from rows. @returns the page, and whether events were looked for. */
async function page(t: Test, request: object) {
  const answer = (by: typeof kept) => {
    const reader = openReader(organization, new AbortController().signal)
    const about = { nowMs: NOW_MS, organization: { id: organization }, log: silentLog }
    const call = { reader, kept: by, newest: createNewest(), ...about } as Call
    return readErrors(call, { time_range: '1w', page: 1, page_size: 20, ...request } as never)
  }
  const expected = await answer(KEEP_NOTHING)
  asked.length = 0
  const found = await answer(kept)
  t.strictSame(found, expected, JSON.stringify(request))
  return { found, isLookedFor: asked.includes('log_page') }
}

t.test('pages one after the other, by cursor and by number', async t => {
  let [cursor, pages] = [undefined as string | null | undefined, 0]
  for (; pages < 4; pages++) {
    const { found, isLookedFor } = await page(t, cursor === undefined ? {} : { cursor })
    t.equal(found.errors.length, 20)
    t.notOk(isLookedFor)
    cursor = found.next_cursor
  }
  t.notOk((await page(t, { page: 7, page_size: 13 })).isLookedFor)
})

t.test('further back than what is kept the store is asked', async t => {
  const size = 200
  const last = Math.floor((FAILURES_MAX + 6) / size)
  t.notOk((await page(t, { page: last, page_size: size - 1 })).isLookedFor)
  t.ok((await page(t, { page: last + 1, page_size: size })).isLookedFor)
  const from = new Date(noon(2) + 100).toISOString()
  const { found, isLookedFor } = await page(t, { from, page: last, page_size: size })
  t.notOk(isLookedFor, 'but not where the window begins later')
  t.ok(found.errors.length < size)
})

t.test('windows begin and end at milliseconds', async t => {
  for (const [first, last] of [
    [0, 3],
    [650, 652],
    [700, DAY_MS],
  ] as const) {
    const [from, to] = [noon(2) + first, noon(2) + last].map(ms => new Date(ms).toISOString())
    t.equal((await page(t, { from, to, page_size: 200 })).isLookedFor, first === 0, `${from} to ${to}`)
  }
})

t.test('filters that some failures of a conversation meet, all of them, or its captures', async t => {
  const plan = (value: string) => ({ key: 'plan', value })
  for (const metadata_filters of [
    [plan('pro')],
    [plan('')],
    [plan('pro'), plan('')],
    [{ key: 'team', value: 'blue' }],
  ]) {
    const { found } = await page(t, { metadata_filters, from: new Date(noon(2) + 300).toISOString(), page_size: 50 })
    t.equal(found.has_more, metadata_filters[0]?.key === 'plan')
    await page(t, { metadata_filters, page: 3, page_size: 7 })
    if (found.next_cursor !== null) await page(t, { metadata_filters, cursor: found.next_cursor })
  }
  const { isLookedFor } = await page(t, { metadata_filters: [plan('pro')] })
  t.notOk(isLookedFor)
})

t.test('two parts of a day say nothing behind the end of either', t => {
  const part = (instants: readonly number[], all: boolean): Failures => ({
    ...{ conversations: Uint32Array.from(instants), instants: Float64Array.from(instants), all },
    events: wordsOf(Buffer.concat(instants.map(at => Buffer.alloc(16, at))).toString('base64')),
  })
  const f = (one: Failures, other: Failures, expected: readonly number[], all: boolean): void => {
    for (const both of [failuresOfBoth(one, other), failuresOfBoth(other, one)]) {
      t.strictSame([...both.instants], expected)
      t.strictSame([...both.conversations], expected)
      t.equal(both.all, all)
      expected.forEach((at, place) => t.equal(failedEventOf(both, place), failedEventOf(part([at], true), 0)))
    }
  }
  f(part([9, 4], true), part([7, 2], true), [9, 7, 4, 2], true)
  f(part([9, 4], false), part([7, 2], true), [9, 7, 4], false)
  f(part([9, 4], false), part([7, 6], false), [9, 7, 6], false)
  f(part([], true), part([7, 6], false), [7, 6], false)
  const many = (first: number) =>
    part(
      Array.from({ length: 1_500 }, (_, i) => first - i * 2),
      true,
    )
  const { instants, all } = failuresOfBoth(many(5_000), many(5_001))
  t.equal(all, false)
  t.strictSame(
    [...instants],
    Array.from({ length: FAILURES_MAX }, (_, i) => 5_001 - i),
  )
  t.end()
})
