// Figures from kept days beside the same figures from aggregates and rows, while events, captures and corrections of any day arrive and
// vanish: they must be equal after every step, and what did not change must not be read again.
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import t from 'tap'
import { Present } from '#proto/rows.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { silentLog, walledDatabase } from '#test/rig.ts'
import type { Call } from '../endpoint.ts'
import { readMetrics } from '../endpoints/dashboard/metrics.ts'
import { askedTools } from '../endpoints/tools/filters.ts'
import { readToolStats } from '../endpoints/tools/stats.ts'
import {
  heard,
  id,
  insertEvents,
  insertMove,
  insertSessions,
  NOW_MS,
  readersOver,
  type StoredEvent,
  storedEvent,
  storedSession,
} from '../fixture.ts'
import { remembering } from '../fixture-remembered.ts'
import type { OpenReader } from '../reader.ts'
import { readCaptured } from './captured.ts'
import { type Answer, answerOf, GROUPED, type Grouped, MONTH } from './fixture-answers.ts'
import { createKeptDays, KEEP_NOTHING, type KeptDays } from './kept.ts'

const { store, reader } = remembering(await walledDatabase(t))
const asked: string[] = []
const open = readersOver(reader)
const openReader: OpenReader = (...of) => heard(open(...of), question => asked.push(question))
const keeping = (maxMb: number): KeptDays =>
  createKeptDays({ maxMb, waitMs: 600_000, freshMs: 0, openReader, metrics: createMetrics('kept'), log: silentLog })
const kept = keeping(64)

const [ours, theirs] = [randomUUID(), randomUUID()]
const DAY_MS = 86_400_000
/** A time of a day before the instant at which the windows end. */
const ago = (days: number, minutes = 0): string => new Date(NOW_MS - days * DAY_MS - minutes * 60_000).toISOString()

/** An instant so many nanoseconds from another, which has milliseconds. */
const beside = (at: string, nanos: number): string =>
  nanos > 0
    ? `${at.slice(0, -1)}00000${nanos}Z`
    : `${new Date(Date.parse(at) - 1).toISOString().slice(0, -1)}${1_000_000 + nanos}Z`

const answer = (by: KeptDays, organization: string, body: object, grouped = GROUPED): Promise<Answer> =>
  answerOf(openReader, by, { organization, body, grouped })

const ALL = { time_range: 'all' }
/** Ends on ragged days, and so does the window before it. */
const ENDING = { time_range: 'all', from: ago(20, 90), to: ago(3, 7) }

/** Compares answers. @returns the questions that kept days asked. */
async function same(
  t: Test,
  after: string,
  bodies: readonly object[] = [MONTH],
  organization = ours,
  next = (): Grouped => GROUPED,
): Promise<string[]> {
  const questions: string[] = []
  for (const body of bodies) {
    const grouped = next()
    const expected = await answer(KEEP_NOTHING, organization, body, grouped)
    asked.length = 0
    const found = await answer(kept, organization, body, grouped)
    questions.push(...asked)
    const equal = isDeepStrictEqual(found, expected)
    t.ok(equal, `${after}: ${JSON.stringify(body)}`, equal ? {} : { found, expected })
  }
  return questions
}

let turn = 0
/** The same where nobody looks at the questions: of the pages of groups beside the first each has its turn. */
const alike = (t: Test, after: string, bodies: readonly object[], organization = ours): Promise<string[]> =>
  same(t, after, bodies, organization, () => [GROUPED[turn++ % GROUPED.length] as Grouped[number]])

/** Questions that read days again. */
const readAgain = (questions: readonly string[]): string[] =>
  [...new Set(questions.filter(question => /^day_(?!versions)/.test(question)))].sort()

/** All that is kept of events. */
const OF_EVENTS = ['day_conversations', 'day_event_values', 'day_figures', 'day_prices', 'day_tools']

/** Of one name there is a tool and a resource; two have as many calls. */
const TOOLS = [
  ...[{ kind: 'agent', name: 'turn' } as const, { kind: 'tool', name: 'find' } as const],
  ...[{ kind: 'tool', name: 'send' } as const, { kind: 'resource', name: 'find' } as const],
  { kind: 'prompt', name: 'ask' } as const,
]

let events: StoredEvent[] = []
t.before(async () => {
  await store.command('SYSTEM STOP MERGES events')
  events = Array.from({ length: 60 }, (_, i) =>
    storedEvent({
      ...{
        organization: ours,
        event_id: id(1000 + i),
        conversation_id: id(i % 17),
        at: ago((i * 7) % 50, (i * 37) % 600),
      },
      ...TOOLS[i % TOOLS.length],
      ...{ user_id: i % 3 === 0 ? `user-${i % 5}` : '', failed: i % 4 === 0 ? 1 : 0 },
      ...{ duration_ns: i % 5 === 0 ? -1 : i * 1_700_000, model: `m-${i % 2}`, provider: 'acme', input_tokens: i },
      present: i % 3 === 0 ? 0 : Present.inputTokens,
      metadata:
        i % 4 === 1 ? { plan: i % 8 === 1 ? 'pro' : 'free', team: i % 16 === 5 ? 'blue' : '', tier: `${i % 16}` } : {},
    }),
  )
  // The same ids in another organization: nothing of it may be counted.
  const others = events.slice(0, 20).map(({ event }) => storedEvent({ ...event, organization: theirs, at: ago(2) }))
  await insertEvents(store, [...events, ...others])
  await insertSessions(
    store,
    [1, 2, 3, 4].flatMap(n => {
      const user = { organization: ours, conversation_id: id(n), user_id: `captured-${n % 2}`, at: ago(n * 9) }
      const team = { team: ['["red", "blue", "red"]', 'red', 'blue', 'grün'][n - 1] as string }
      return [
        storedSession({ ...user, metadata: team, ...(n < 3 ? { user_data: { team: `t${n}` } } : {}) }),
        storedSession({ organization: ours, conversation_id: id(n + 6), metadata: team, at: ago(n * 5) }),
      ]
    }),
  )
})

t.test('kept days answer as rows do, whatever arrives late, moves or vanishes', async t => {
  await same(t, 'at first', [MONTH, ALL, ENDING])
  await alike(t, 'of the other organization', [ALL], theirs)
  const again = await same(t, 'again')
  t.strictSame(readAgain(again), [], 'nothing has changed, so no day is read')
  const known = /^(day_versions|filtered_last_calls|session_users)$/
  const others = again.filter(question => !known.test(question) && !/^(conversation_whole|texts)$/.test(question))
  t.strictSame(
    others,
    [],
    'nor are edges, since rows of the days that windows begin on are kept, and what they say of keys',
  )
  t.ok(again.includes('conversation_whole'), 'nor are failed events looked for: their conversations are read')

  const late = storedEvent({
    ...{ organization: ours, event_id: id(2000), conversation_id: id(77), at: ago(33), user_id: 'late', failed: 1 },
    ...{ kind: 'tool', name: 'send', present: Present.inputTokens, input_tokens: 70, model: 'm-1', provider: 'acme' },
    duration_ns: 5_000_000_000,
  })
  await insertEvents(store, [late])
  const questions = await same(t, 'after a late event', [ALL])
  t.strictSame(readAgain(questions), OF_EVENTS, 'its day is read, captures are not')

  await insertMove(store, events.slice(3, 8), { conversation_id: id(78), user_id: 'moved' })
  await alike(t, 'after rows have moved to another conversation', [ALL, ENDING])
  await insertMove(store, events.slice(8, 10), null)
  await alike(t, 'after events were taken back', [MONTH])
  await insertMove(store, events.slice(20, 22), { metadata: { plan: 'pro', team: 'blue' } })
  t.strictSame(
    readAgain(await same(t, 'after events say something else of a key', [ALL])),
    OF_EVENTS,
    'all of their days is read: one version tells of every change',
  )

  await insertSessions(store, [
    storedSession({
      organization: ours,
      conversation_id: id(5),
      user_id: 'new',
      metadata: { team: 'red' },
      at: ago(0),
    }),
    // Backlog: what came first is stored last, and must not win.
    storedSession({
      organization: ours,
      conversation_id: id(1),
      user_id: 'older',
      metadata: { team: 'old' },
      at: ago(40),
    }),
  ])
  t.strictSame(readAgain(await same(t, 'after captures', [ALL])), ['day_captures', 'day_values'])

  const report = storedSession({
    organization: ours,
    conversation_id: id(6),
    user_id: 'first',
    metadata: { team: 'said before' },
    at: ago(4),
    report: 'r',
  })
  await insertSessions(store, [report])
  await alike(t, 'after the report of a call', [MONTH])
  await store.command(
    `INSERT INTO replaced_reports SELECT organization, conversation_id, origin_partition, origin_sequence, origin_frame
     FROM sessions WHERE report = 'r'`,
  )
  t.strictSame(readAgain(await same(t, 'after it gave way to a later one')), ['day_captures', 'day_values'])

  await store.command('SYSTEM START MERGES events')
  await store.command('OPTIMIZE TABLE events FINAL')
  t.strictSame(readAgain(await same(t, 'after a merge')), [], 'a merge changes nothing')

  const erase = { settings: { mutations_sync: '2' as const } }
  await store.command(`ALTER TABLE events DELETE WHERE conversation_id = '${id(2)}'`, erase)
  await store.command(`ALTER TABLE sessions DELETE WHERE user_id = 'new'`, erase)
  await alike(t, 'after an erasure', [ALL])
  await store.command(`ALTER TABLE events DELETE WHERE organization = '${ours}'`, erase)
  await alike(t, 'after everything is gone', [ALL])
  await alike(t, 'and not of the other organization', [ALL], theirs)
})

t.test('windows begin and end at nanoseconds of days whose rows are kept', async t => {
  const [here, by] = [randomUUID(), keeping(64)]
  /** On the nanoseconds around an instant, and far from it on the same day. */
  const around = (days: number, first: number): StoredEvent[] =>
    [`${ago(days, 90)}`, beside(ago(days), -1), ago(days), beside(ago(days), 1), ago(days, -60)].map((at, i) =>
      storedEvent({
        ...{ organization: here, event_id: id(first + i), conversation_id: id((first + i) % 7), at },
        ...{ failed: i === 2 ? 1 : 0, duration_ns: i === 1 ? -1 : (first + i) * 1_234_567, user_id: `user-${i % 2}` },
        ...TOOLS[(first + i) % TOOLS.length],
      }),
    )
  const stored = [...around(60, 3000), ...around(30, 3100), ...around(7, 3200), ...around(0, 3300)]
  await insertEvents(store, stored)
  // What ends, ends on a day whose rows are kept, too: a nanosecond before, at and after its end there are events.
  const bodies = [MONTH, { time_range: '1w' }, { ...MONTH, from: ago(30), to: ago(7) }, { ...MONTH, from: ago(7, 90) }]
  const compare = async (after: string): Promise<string[]> => {
    const questions: string[] = []
    for (const body of bodies) {
      const answers = async (from: KeptDays) => {
        const reader = openReader(here, new AbortController().signal)
        const call = { reader, kept: from, nowMs: NOW_MS, organization: { id: here }, log: silentLog } as Call
        return [await readMetrics(call, body as never), await readToolStats(call, askedTools(call, body as never))]
      }
      const expected = await answers(KEEP_NOTHING)
      asked.length = 0
      t.strictSame(await answers(by), expected, `${after}: ${JSON.stringify(body)}`)
      questions.push(...asked)
    }
    return questions.filter(question => question !== 'day_versions')
  }
  await compare('at first')
  t.strictSame(await compare('again'), [], 'versions are all that is read')

  const late = storedEvent({ ...{ organization: here, event_id: id(3400), conversation_id: id(99) }, at: ago(30, -1) })
  await insertEvents(store, [late])
  const questions = await compare('after a late event')
  t.strictSame(questions.filter(question => question === 'day_rows').length, 1, 'its day is read once')
  t.ok(questions.includes('day_conversations'), 'and who was active on it')
  // Of the first instant of the month nothing stands any more, and what stood before the week moves into it.
  await insertMove(store, stored.slice(7, 8), null)
  await insertMove(store, stored.slice(11, 13), { conversation_id: id(98), failed: 1 })
  t.ok((await compare('after rows were taken back')).includes('day_rows'))
})

t.test('whose captures meet a filter is told, but where they are very many', async t => {
  const organization = randomUUID()
  const of = (i: number) => ({ organization, conversation_id: id(6000 + i), at: ago(2), user_id: `user-${i}` })
  const call = (i: number) => storedEvent({ ...of(i), event_id: id(5000 + i), kind: 'tool', name: 'find' })
  await insertEvents(store, [0, 1, 2].map(call))
  const captures = Array.from({ length: 2_001 }, (_, i) => storedSession({ ...of(i + 1), metadata: { team: 'blue' } }))
  const other = storedSession({ organization, conversation_id: id(9000), at: ago(2), metadata: { team: 'red' } })
  await insertSessions(store, [...captures, other])
  await same(t, 'of very many', [MONTH], organization)
  const told = async (value: string) => {
    const filters = [{ key: 'team', values: [value] }]
    return readCaptured(kept, openReader(organization, new AbortController().signal), { organization, filters })
  }
  t.strictSame(await told('blue'), [null])
  t.strictSame(await told('red'), [[id(9000)]])
})

t.test('what does not fit is read', async t => {
  const tight = keeping(1 / 1024)
  const expected = await answer(KEEP_NOTHING, theirs, ALL)
  for (let i = 0; i < 2; i++) t.strictSame(await answer(tight, theirs, ALL), expected)
  asked.length = 0
  await answer(tight, theirs, ALL)
  t.notOk(asked.includes('day_versions'), 'and is not tried each time')
})
