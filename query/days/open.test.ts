// Days on which events arrive, added up from what had arrived and what came since, beside the same from rows: after random events, captures,
// moves and erasures, in any order of arrival, while the clock goes on. What only came is added, and what else has changed is read whole.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { Present } from '#proto/rows.ts'
import { sqlMillis } from '#proto/time.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { silentLog, walledDatabase } from '#test/rig.ts'
import type { Call } from '../endpoint.ts'
import { readMetrics } from '../endpoints/dashboard/metrics.ts'
import { askedTools } from '../endpoints/tools/filters.ts'
import { readToolStats } from '../endpoints/tools/stats.ts'
import {
  id,
  insertEvents,
  insertMove,
  insertSessions,
  NOW_MS,
  readersOver,
  storedEvent,
  storedSession,
} from '../fixture.ts'
import { createDice } from '../fixture-random.ts'
import { remembering } from '../fixture-remembered.ts'
import type { OpenReader, Parameters } from '../reader.ts'
import { windowOf } from '../window.ts'
import { readKeptBounds } from './bounds.ts'
import { readKeptFigures } from './figures.ts'
import { EVERY } from './filter.ts'
import { answerOf, MONTH } from './fixture-answers.ts'
import { readKeptHistories } from './histories.ts'
import { createKeptDays, KEEP_NOTHING } from './kept.ts'
import { readKeptPage } from './page.ts'

const { store, reader } = remembering(await walledDatabase(t))
const open = readersOver(reader)
/** Of each read of an open day: its question, and whether only what came since was read. */
const asked: string[] = []
/** Reads of open days that had begun when versions were told. */
let early: string[] = []
/** All questions. */
const questions: string[] = []
/** Called before a read of an open day. */
let beforeRead: (() => Promise<unknown>) | undefined
const openReader: OpenReader = (organization, signal) => {
  const inner = open(organization, signal)
  return {
    ...inner,
    async read(question, sql, parameters: Parameters = {}, ...rest) {
      const { arrived } = parameters
      questions.push(question)
      if (arrived !== undefined) {
        const before = beforeRead
        beforeRead = undefined
        await before?.()
        asked.push(`${question}: ${String(arrived).startsWith('1970') ? 'all' : 'since'}`)
      }
      const rows = await inner.read(question, sql, parameters, ...rest)
      if (question === 'day_versions') early = [...asked]
      return rows as never
    },
  }
}

/** The time of the query node. */
let nowMs = 0
const keeping = () =>
  createKeptDays({
    ...{ maxMb: 64, waitMs: 600_000, freshMs: 0, openReader, metrics: createMetrics('kept'), log: silentLog },
    clock: () => nowMs,
  })
const HOUR_MS = 3_600_000
let number = 0
const dice = createDice(20_261_123)
const KINDS = ['agent', 'llm', 'tool', 'resource'] as const

/** An event that arrived so many milliseconds ago, and happened some time before. */
function arriving(organization: string, agoMs: number, lateMs = dice.below(2) * dice.below(20 * HOUR_MS)) {
  const [priced, n] = [dice.below(3) > 0, ++number]
  return storedEvent({
    ...{ organization, event_id: id(10_000 + n), conversation_id: id(dice.below(12)), kind: dice.pick(KINDS) },
    ...{ at: new Date(nowMs - agoMs - lateMs).toISOString(), received_at: sqlMillis(nowMs - agoMs) },
    ...{
      name: dice.pick(['find', 'send']),
      failed: dice.below(4) === 0 ? 1 : 0,
      user_id: dice.pick(['', 'user-1', 'user-3']),
    },
    ...{
      duration_ns: dice.below(5) === 0 ? -1 : dice.below(9) * 1_700_000,
      model: dice.pick(['m-0', 'm-1']),
      provider: 'acme',
    },
    ...{ present: priced ? Present.inputTokens : 0, input_tokens: priced ? n : 0 },
    metadata: dice.pick([{}, { plan: 'pro' }, { team: 'blue', plan: 'free' }, { team: '' }]),
  })
}

const capturing = (organization: string, agoMs: number) =>
  storedSession({
    ...{ organization, conversation_id: id(dice.below(12)), at: new Date(nowMs - agoMs).toISOString() },
    ...{
      user_id: dice.pick(['', 'captured-0', 'captured-1']),
      metadata: dice.pick([{}, { team: 'red' }, { team: '["red", "blue"]' }]),
    },
    user_data: dice.pick([{}, { plan: 'pro' }]),
  })

t.test('random arrivals, moves and erasures', async t => {
  const [organization, kept] = [randomUUID(), keeping()]
  nowMs = NOW_MS
  const stored: ReturnType<typeof arriving>[] = []
  const write = async (count: number, agoMs: () => number): Promise<void> => {
    const some = Array.from({ length: count }, () => arriving(organization, agoMs()))
    stored.push(...some)
    await insertEvents(store, some)
  }
  const steps: Record<string, () => Promise<unknown>> = {
    'events came': () => write(1 + dice.below(6), () => dice.below(4_000)),
    'events came late': () => write(1, () => 10_000 + dice.below(HOUR_MS)),
    'captures came': () =>
      insertSessions(store, [capturing(organization, dice.below(4_000)), capturing(organization, 0)]),
    'a capture came late': () => insertSessions(store, [capturing(organization, 20_000)]),
    'rows moved': async () => {
      const [moved] = stored.splice(dice.below(stored.length), 1)
      if (moved !== undefined) await insertMove(store, [moved], { conversation_id: id(dice.below(14)), provisional: 0 })
    },
    'newest rows moved': () => insertMove(store, stored.splice(-2), { conversation_id: id(13) }),
    'a row was taken back': () => insertMove(store, stored.splice(-1), null),
    'rows were erased': () => {
      const gone = id(dice.below(12))
      // What is gone moves no more.
      stored.splice(0, stored.length, ...stored.filter(({ event }) => event.conversation_id !== gone))
      const settings = { mutations_sync: '2' } as const
      return store.command(`ALTER TABLE events DELETE WHERE conversation_id = '${gone}'`, { settings })
    },
    'rows were merged': () => store.command('OPTIMIZE TABLE events FINAL'),
  }
  await write(40, () => dice.below(40 * HOUR_MS))
  await insertSessions(
    store,
    Array.from({ length: 8 }, () => capturing(organization, dice.below(40 * HOUR_MS))),
  )
  const names = ['events came', 'events came', 'captures came', ...Object.keys(steps)]
  for (let i = 0; i < 14; i++) {
    const some = i === 0 ? [] : [dice.pick(names), dice.pick(names)]
    for (const name of some) await steps[name]?.()
    const expected = await answerOf(openReader, KEEP_NOTHING, { organization, body: MONTH, grouped: ['users'] })
    const found = await answerOf(openReader, kept, { organization, body: MONTH, grouped: ['users'] })
    t.strictSame(found, expected, `${i}: ${some.join(' and ')}`)
    // Within what may still come, beyond it, and over a midnight.
    nowMs += dice.pick([100, 3_000, 12_000, HOUR_MS])
  }
  kept.close()
})

t.test('what came is all that is read; what came before the cut lets the day be read whole', async t => {
  const [organization, kept] = [randomUUID(), keeping()]
  nowMs = NOW_MS
  const came = (agoMs: number) => arriving(organization, agoMs, 0)
  const ask = async (): Promise<string[]> => {
    asked.length = 0
    await answerOf(openReader, kept, { organization, body: MONTH, grouped: [] })
    return [...new Set(asked.map(one => one.split(': ')[1] as string))]
  }
  await insertEvents(store, [came(60_000), came(50_000), came(1_000)])
  t.strictSame(await ask(), ['all'])
  t.strictSame(await ask(), [], 'nothing has changed')
  await insertEvents(store, [came(500)])
  t.strictSame(await ask(), ['since'])
  nowMs += 20_000
  await insertEvents(store, [came(200)])
  t.strictSame(await ask(), ['since'], 'and the cut moves on')
  const moved = came(300)
  await insertEvents(store, [moved])
  await insertMove(store, [moved], { conversation_id: id(99) })
  t.strictSame(await ask(), ['since'], 'a row that moves soon is behind the cut with its reversal')
  await insertEvents(store, [came(30_000)])
  t.strictSame(await ask(), ['since', 'all'], 'one that came late is found missing')
  t.strictSame(await ask(), ['since'], 'what has gained something each time is read at once')
  t.strictSame(await ask(), [], 'and no longer when it has not')
  kept.close()
})

t.test('what comes between the versions and the read is no reason to read the day whole', async t => {
  const [organization, kept] = [randomUUID(), keeping()]
  nowMs = NOW_MS
  const came = (agoMs: number) => insertEvents(store, [arriving(organization, agoMs, 0)])
  const ask = (by = kept) => answerOf(openReader, by, { organization, body: MONTH, grouped: [] })
  await came(60_000)
  await ask()
  await came(100)
  asked.length = 0
  beforeRead = () => came(50)
  await ask()
  const found = await ask()
  t.ok(asked.length > 0)
  t.strictSame(
    asked.filter(one => one.endsWith('all')),
    [],
  )
  t.strictSame(found, await ask(KEEP_NOTHING))
  kept.close()
})

t.test(
  'a day that gains something each time is read beside the versions, of all kinds that were asked for',
  async t => {
    const [organization, kept] = [randomUUID(), keeping()]
    nowMs = NOW_MS
    const came = (agoMs: number) => insertEvents(store, [arriving(organization, agoMs, 0)])
    const ask = async (by = kept): Promise<unknown> => {
      asked.length = 0
      const reader = openReader(organization, new AbortController().signal)
      const call = { reader, kept: by, nowMs: NOW_MS, organization: { id: organization }, log: silentLog } as Call
      return [
        await readMetrics(call, MONTH as never, ['tools']),
        await readToolStats(call, askedTools(call, MONTH as never)),
      ]
    }
    const SINCE = ['day_arrived: since']
    await came(60_000)
    await ask()
    await came(100)
    await ask()
    t.strictSame([early, asked.toSorted()], [[], SINCE], 'nobody knew')
    await came(90)
    const found = await ask()
    t.strictSame([early.toSorted(), asked.toSorted()], [SINCE, SINCE])
    t.strictSame(found, await ask(KEEP_NOTHING))
    t.strictSame(await ask(), found)
    t.strictSame([early.toSorted(), asked.toSorted()], [SINCE, SINCE], 'it was to be expected')
    await ask()
    t.strictSame(asked, [], 'and is not any more')
    kept.close()
  },
)

t.test('what came is read once for a page and all that it shows, and for questions that are asked at once', async t => {
  const [organization, kept] = [randomUUID(), keeping()]
  nowMs = NOW_MS
  const came = (agoMs: number) => insertEvents(store, [arriving(organization, agoMs, 0)])
  const window = windowOf(MONTH as never, NOW_MS)
  const open = () => openReader(organization, new AbortController().signal)
  const page = async () => {
    const reader = open()
    const slice = { offset: 0, limit: 9 }
    const asked = { organization, filter: EVERY, window, sort: 'newest', slice, beside: ['prices'] } as const
    const chosen = (await readKeptPage(kept, reader, asked))?.chosen ?? []
    const conversations = chosen.map(({ conversation_id }) => conversation_id)
    await readKeptBounds(kept, reader, { organization, conversations })
    await readKeptHistories(kept, reader, { organization, users: ['user-1'] })
  }
  const figures = () => readKeptFigures(kept, open(), { organization, window, before: null })
  await came(60_000)
  for (const ask of [page, figures]) await ask()
  await came(100)
  questions.length = 0
  await page()
  t.strictSame(questions, ['day_versions', 'day_arrived'])
  await came(90)
  questions.length = 0
  beforeRead = () => came(80)
  const [, one, other] = await Promise.all([page(), figures(), figures()])
  t.strictSame(questions.toSorted(), ['day_arrived', 'day_versions'], 'though something came meanwhile')
  t.strictSame(one, other)
  t.strictSame(one, await figures())
  kept.close()
})

t.test('whom captures that came name, and what they say of keys, is read at once', async t => {
  const [organization, kept] = [randomUUID(), keeping()]
  nowMs = NOW_MS
  const capture = (agoMs: number, more: object) =>
    insertSessions(store, [
      storedSession({ organization, conversation_id: id(1), at: new Date(nowMs - agoMs).toISOString(), ...more }),
    ])
  const ask = (by = kept) => {
    const reader = openReader(organization, new AbortController().signal)
    const call = { reader, kept: by, nowMs: NOW_MS, organization: { id: organization }, log: silentLog } as Call
    return readMetrics(call, { ...MONTH, metadata_filters: [{ key: 'plan', value: 'pro' }] } as never)
  }
  await insertEvents(store, [arriving(organization, 60_000, 0), arriving(organization, 59_000, 0)])
  await capture(60_000, { conversation_id: id(2), user_id: 'first' })
  await ask()
  const said = [
    { metadata: { plan: 'free' }, user_id: 'second' },
    { user_data: { plan: 'pro' } },
    { metadata: { plan: 'pro' }, user_data: { plan: 'free' } },
    { user_id: 'third' },
  ]
  for (const [i, more] of said.entries()) {
    for (let number = 0; number < 12; number++) await capture(100 - i, { conversation_id: id(number), ...more })
    asked.length = 0
    const found = await ask()
    t.strictSame([...asked], ['day_captures: since'], JSON.stringify(more))
    t.strictSame(found, await ask(KEEP_NOTHING), JSON.stringify(more))
  }
  kept.close()
})

t.test('since when conversations have captures, whether these name somebody or not', async t => {
  const [organization, kept] = [randomUUID(), keeping()]
  nowMs = NOW_MS
  const from = async (...numbers: number[]): Promise<string | undefined> => {
    const reader = openReader(organization, new AbortController().signal)
    const conversations = numbers.map(number => id(number))
    return (await readKeptBounds(kept, reader, { organization, conversations }))?.capturedFrom
  }
  const capture = (number: number, daysAgo: number, user_id = '') => {
    const at = new Date(NOW_MS - daysAgo * 24 * HOUR_MS).toISOString()
    return insertSessions(store, [storedSession({ organization, conversation_id: id(number), at, user_id })])
  }
  await insertEvents(store, [arriving(organization, 60_000, 0)])
  const day = (daysAgo: number): string => new Date(NOW_MS - daysAgo * 24 * HOUR_MS).toISOString().slice(0, 10)
  t.equal(await from(1, 2), undefined)
  await capture(1, 0)
  t.equal(await from(1, 2), day(0))
  await capture(2, 9, 'somebody')
  t.equal(await from(1, 2), day(9))
  t.equal(await from(1), day(0))
  await capture(1, 3)
  t.equal(await from(1), day(3), 'one that came late')
  await store.command(`ALTER TABLE sessions DELETE WHERE conversation_id = '${id(1)}'`, {
    settings: { mutations_sync: '2' },
  })
  t.equal(await from(1), undefined)
  t.equal(await from(1, 2), day(9))
  kept.close()
})
