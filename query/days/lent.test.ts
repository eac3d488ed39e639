// Questions about an organization whose events arrive densely go by what was told shortly before, all parts of them by one moment; looks at
// the store are made beside them, and what they show is never less than what was shown. Quiet organizations are told what is stored.
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { sqlMillis } from '#proto/time.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { silentLog, type Teardown, walledDatabase } from '#test/rig.ts'
import type { Call } from '../endpoint.ts'
import { readMetrics } from '../endpoints/dashboard/metrics.ts'
import { askedTools } from '../endpoints/tools/filters.ts'
import { readToolStats } from '../endpoints/tools/stats.ts'
import { readStories } from '../endpoints/user-stories/list.ts'
import { id, insertEvents, insertSessions, NOW_MS, readersOver, storedEvent, storedSession } from '../fixture.ts'
import { createDice } from '../fixture-random.ts'
import type { OpenReader, Reader } from '../reader.ts'
import { createNewest } from '../reads/newest.ts'
import { MONTH } from './fixture-answers.ts'
import { readKeptHistories } from './histories.ts'
import { createKeptDays, KEEP_NOTHING, type KeptDays } from './kept.ts'
import { DENSE_EVENTS } from './told.ts'

const { store, reader } = await walledDatabase(t)
const open = readersOver(reader)
/** Looks and what they read of days, in the order in which they were asked for. */
const asked: string[] = []
const LOOKS = new Set<string>(['day_versions', 'day_arrived', 'day_captures', 'day_values'])
const reads: Promise<unknown>[] = []
/** Called before a look's statement of this name. */
let beforeLook: (() => Promise<unknown>) | undefined
let heldBack = 'day_versions'
/** Of each read, whether it steps back, and how many are under way with it. */
const ran: { question: string; stepsBack: boolean; atOnce: number }[] = []
let running = 0
const openReader: OpenReader = (...of) => {
  const inner = open(...of)
  const watched: Reader = {
    bounded: () => watched,
    read(question, ...rest) {
      if (LOOKS.has(question)) asked.push(question)
      ran.push({ question, stepsBack: rest[2]?.os_thread_priority !== undefined, atOnce: ++running })
      const before = question === heldBack ? beforeLook?.() : undefined
      const rows = before ? before.then(() => inner.read(question, ...rest)) : inner.read(question, ...rest)
      const ended = () => {
        running--
      }
      reads.push(rows.then(ended, ended))
      return rows as never
    },
  }
  return watched
}
/** All that is read has been read, and whoever waited for it has gone on: a question that comes now has its turn after them. */
async function settled(): Promise<void> {
  while (reads.length > 0) {
    await Promise.all(reads.splice(0))
    await setImmediate()
  }
}
const FRESH_MS = 1_000
let number = 0
/** The clock of memory; it stands still where nobody moves it. */
let sinceMs = 0

const eventsOf = (organization: string, count: number, fields: Partial<Parameters<typeof storedEvent>[0]> = {}) =>
  Array.from({ length: count }, () => {
    const at = NOW_MS - 1_000
    const event_id = id(++number)
    return storedEvent({
      ...{ organization, event_id, conversation_id: id(number % 50), kind: 'tool', name: 'find', user_id: 'user-1' },
      ...{ at: new Date(at).toISOString(), received_at: sqlMillis(at), ...fields },
    })
  })

/** An organization of which so many events have come since memory was made. */
async function createCome(t: Teardown, events: number) {
  const organization = randomUUID()
  const metrics = createMetrics('kept')
  const kept = createKeptDays({
    ...{ maxMb: 64, waitMs: 600_000, freshMs: FRESH_MS, openReader, metrics, log: silentLog },
    ...{ clock: () => NOW_MS, sinceMs: () => sinceMs },
  })
  t.teardown(() => kept.close())
  const call = (by: KeptDays = kept): Call => {
    const reader = openReader(organization, new AbortController().signal)
    const about = { nowMs: NOW_MS, organization: { id: organization }, log: silentLog }
    return { reader, kept: by, newest: createNewest(), ...about } as Call
  }
  const ask = async (by?: KeptDays) => (await readMetrics(call(by), MONTH as never)).total_calls
  await insertEvents(store, eventsOf(organization, 10, { received_at: sqlMillis(NOW_MS - 60_000) }))
  await ask()
  await insertEvents(store, eventsOf(organization, events))
  await ask()
  asked.length = 0
  const outcomes = async (): Promise<Record<string, number>> => {
    const found = (await metrics.registry.metrics()).matchAll(/query_told_total\{[^}]*how="([^"]*)"[^}]*\} (\d+)/g)
    return Object.fromEntries([...found].map(([, how, n]) => [how as string, Number(n)]))
  }
  return { organization, kept, call, ask, outcomes }
}

const LOOK = ['day_arrived', 'day_versions']

t.test('a quiet organization is told all that is stored', async t => {
  const { organization, ask, outcomes } = await createCome(t, DENSE_EVENTS - 1)
  const before = await ask()
  t.strictSame(asked.splice(0), ['day_arrived', 'day_versions'])
  await insertEvents(store, eventsOf(organization, 1))
  t.equal(await ask(), before + 1)
  t.strictSame(asked.toSorted(), LOOK)
  t.match(await outcomes(), { asked: 4, lent: undefined })
})

t.test('questions about a dense one share a look, and the next look is made beside a question', async t => {
  const { organization, ask, outcomes } = await createCome(t, DENSE_EVENTS)
  const before = await ask()
  await insertEvents(store, eventsOf(organization, 3))
  for (let i = 0; i < 3; i++) t.equal(await ask(), before)
  t.strictSame(asked, [], 'nothing is asked')
  sinceMs += FRESH_MS / 2
  t.strictSame(await Promise.all([ask(), ask(), ask()]), [before, before, before])
  await settled()
  t.strictSame(asked.toSorted(), LOOK, 'one look for three questions')
  t.equal(await ask(), before + 3)
  t.equal(await ask(KEEP_NOTHING), before + 3)
  t.strictSame(asked.splice(0).toSorted(), LOOK)
  await insertEvents(store, eventsOf(organization, 2))
  sinceMs += FRESH_MS
  t.equal(await ask(), before + 5, 'what is older is not gone by')
  t.strictSame(asked.toSorted(), LOOK)
  t.strictSame(await outcomes(), { asked: 3, lent: 7, 'lent, asked beside': 1 })
})

t.test('a look steps back, one statement after the other, until somebody waits for it', async t => {
  const { organization, ask } = await createCome(t, DENSE_EVENTS)
  let before = await ask()
  const steps = () => ran.splice(0).map(({ question, stepsBack, atOnce }) => [question, stepsBack, atOnce])
  const look = async () => {
    await settled()
    sinceMs += FRESH_MS * 0.8
    ran.length = 0
    await insertEvents(store, eventsOf(organization, 2))
    t.equal(await ask(), before)
    before += 2
  }
  await look()
  await settled()
  t.strictSame(steps(), [
    ['day_arrived', true, 1],
    ['day_versions', true, 1],
  ])
  const { promise, resolve } = Promise.withResolvers<void>()
  heldBack = 'day_arrived'
  beforeLook = () => promise
  t.teardown(() => {
    heldBack = 'day_versions'
    beforeLook = undefined
  })
  await look()
  t.strictSame(steps(), [['day_arrived', true, 1]])
  // What was told is too old now.
  sinceMs += FRESH_MS * 0.2
  const waiting = ask()
  await setImmediate()
  t.strictSame(steps(), [['day_versions', false, 2]], 'nothing is asked twice')
  resolve()
  t.equal(await waiting, before)
  t.strictSame(steps(), [])
})

t.test('no part of a request waits for a look, when another one went by what was told', async t => {
  const { organization, call, ask } = await createCome(t, DENSE_EVENTS)
  const before = await ask()
  await settled()
  const { promise, resolve } = Promise.withResolvers<void>()
  beforeLook = () => promise
  t.teardown(() => {
    beforeLook = undefined
  })
  sinceMs += FRESH_MS * 0.9
  await insertEvents(store, eventsOf(organization, 2))
  const of = call()
  const part = async () => (await readMetrics(of, MONTH as never)).total_calls
  t.equal(await part(), before)
  sinceMs += FRESH_MS * 0.2
  ran.length = 0
  t.equal(await part(), before)
  // The look goes on, which steps back.
  const own = ran.filter(({ stepsBack }) => !stepsBack)
  t.strictSame(own, [], 'nor does it ask')
  const another = ask()
  resolve()
  t.equal(await another, before + 2)
})

t.test('nobody waits for a look of before what was changed, nor for one that has begun long ago', async t => {
  const { organization, kept, ask } = await createCome(t, DENSE_EVENTS)
  for (const changed of [true, false]) {
    const before = await ask()
    await settled()
    sinceMs += FRESH_MS / 2
    const { promise, resolve } = Promise.withResolvers<void>()
    beforeLook = () => promise
    t.equal(await ask(), before)
    beforeLook = undefined
    await insertEvents(store, eventsOf(organization, 2))
    if (changed) kept.endLoans(organization)
    else sinceMs += FRESH_MS
    t.equal(await ask(), before + 2)
    resolve()
    await settled()
  }
})

t.test('rows of a list are asked for before figures and tools beside it are added up', async t => {
  const { call } = await createCome(t, DENSE_EVENTS)
  const of = call()
  ran.length = 0
  const questions = () => ran.map(({ question }) => question)
  const request = { ...MONTH, page: 1, page_size: 5, sort: 'newest' }
  const parts = [
    readStories(of, { ...request, exclude_io: true } as never),
    readMetrics(of, MONTH as never).then(questions),
    readToolStats(of, askedTools(of, MONTH as never)).then(questions),
  ]
  const [, figures, tools] = await Promise.all(parts)
  for (const asked of [figures, tools]) t.ok((asked as string[]).includes('conversation_whole'))
})

t.test('after a look that took long another one begins, if somebody came meanwhile', async t => {
  const { organization, ask } = await createCome(t, DENSE_EVENTS)
  for (const { tookMs, comes, looks } of [
    { tookMs: FRESH_MS * 0.4, comes: true, looks: 2 },
    { tookMs: FRESH_MS * 0.3, comes: true, looks: 1 },
    { tookMs: FRESH_MS * 0.4, comes: false, looks: 1 },
  ]) {
    await insertEvents(store, eventsOf(organization, 2))
    sinceMs += FRESH_MS
    const before = await ask()
    await settled()
    asked.length = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    beforeLook = () => promise
    sinceMs += FRESH_MS * 0.5
    t.equal(await ask(), before)
    beforeLook = undefined
    sinceMs += tookMs
    if (comes) t.equal(await ask(), before)
    resolve()
    await settled()
    t.equal(asked.filter(one => one === 'day_versions').length, looks)
  }
})

t.test('nothing is looked at where nobody asks', async t => {
  const { ask } = await createCome(t, DENSE_EVENTS)
  sinceMs += FRESH_MS / 2
  await ask()
  await settled()
  sinceMs += 60 * FRESH_MS
  await settled()
  t.strictSame(asked.toSorted(), LOOK)
})

t.test('whoever has changed something is told what became of it', async t => {
  const { organization, kept, ask } = await createCome(t, DENSE_EVENTS)
  const before = await ask()
  await insertEvents(store, eventsOf(organization, 1))
  kept.endLoans(organization)
  t.equal(await ask(), before + 1)
  // A look that was under way then says what was before.
  const { promise, resolve } = Promise.withResolvers<void>()
  sinceMs += FRESH_MS / 2
  beforeLook = () => promise
  t.equal(await ask(), before + 1)
  beforeLook = undefined
  await insertEvents(store, eventsOf(organization, 1))
  kept.endLoans(organization)
  t.equal(await ask(), before + 2)
  resolve()
  await settled()
  t.equal(await ask(), before + 2)
})

t.test('parts of a question go by one moment, and what they need in turn is read together', async t => {
  const { organization, call, ask } = await createCome(t, DENSE_EVENTS)
  const tools = async (of: Call) => {
    const found = await readToolStats(of, askedTools(of, MONTH as never))
    return found.reduce((sum, { calls }) => sum + calls, 0)
  }
  // A kind that was read whole tells of no arrivals. The next look does, and those after it bring along what was asked for lately.
  await tools(call())
  await insertEvents(store, eventsOf(organization, 1))
  const before = await ask()
  await tools(call())
  asked.length = 0
  await insertEvents(store, eventsOf(organization, 1))
  const of = call()
  const parts = await Promise.all([readMetrics(of, MONTH as never), tools(of)])
  t.strictSame([parts[0].total_calls, parts[1]], [before, before])
  t.strictSame(asked, [])
  sinceMs += FRESH_MS
  t.equal(await ask(), before + 1)
  t.equal(await tools(call()), before + 1)
  t.strictSame(
    asked.filter(one => one === 'day_versions'),
    ['day_versions'],
    'tools were asked for just before',
  )
})

t.test('by what captures say conversations are grouped at once, as they are counted', async t => {
  const { organization, call, ask } = await createCome(t, DENSE_EVENTS)
  const group_by = { source: 'conversation_metadata', key: 'team' }
  const capture = (metadata: Record<string, string>) =>
    insertSessions(store, [
      storedSession({ organization, conversation_id: id(7), at: new Date(NOW_MS - 10).toISOString(), metadata }),
    ])
  const groups = async () => {
    const found = await readStories(call(), { ...MONTH, page: 1, page_size: 50, sort: 'newest', group_by } as never)
    return found.groups?.map(({ value, message_count }) => [value, message_count])
  }
  await capture({ team: 'red' })
  const [[, before] = []] = (await groups()) ?? []
  await capture({ team: 'blue' })
  // The first look finds that there are many, the second brings along what groups count and what captures say of them.
  for (let i = 0; i < 2; i++) {
    sinceMs += FRESH_MS
    await insertEvents(store, eventsOf(organization, 1, { conversation_id: id(8) }))
    await ask()
  }
  asked.length = 0
  await insertEvents(store, eventsOf(organization, 1, { conversation_id: id(7) }))
  t.strictSame(await groups(), [['blue', before]])
  t.strictSame(asked, [], 'what captures say was brought along')
  await capture({ team: 'green' })
  t.strictSame(await groups(), [['blue', before]])
  t.strictSame(asked, [], 'and it is lent, too')
})

t.test('a page of newer rows is in order, and nobody on it has done less than it shows', async t => {
  const { organization, call } = await createCome(t, DENSE_EVENTS)
  const conversation_id = id(7)
  const page = (by?: KeptDays) =>
    readStories(call(by), { ...MONTH, page: 1, page_size: 50, sort: 'newest', exclude_io: true } as never)
  const first = await page()
  asked.length = 0
  const now = { at: new Date(NOW_MS - 10).toISOString(), conversation_id, user_id: '' }
  await insertEvents(store, eventsOf(organization, 5, now))
  await insertSessions(store, [storedSession({ organization, conversation_id, at: now.at, user_id: 'captured' })])
  const second = await page()
  const third = await page(KEEP_NOTHING)
  t.not(first.conversations?.[0]?.conversation_id, conversation_id)
  t.equal(second.conversations?.[0]?.conversation_id, conversation_id)
  const captured = second.user_summaries.find(({ key }) => key === 'user:captured')
  t.strictSame(
    captured,
    third.user_summaries.find(({ key }) => key === 'user:captured'),
  )
  t.strictSame(asked.filter(one => one === 'day_versions').length, 1, 'memory did not know who was captured')
})

t.test('windows that end now are read as of now', async t => {
  const { organization, kept, call } = await createCome(t, DENSE_EVENTS)
  const until = { from: new Date(NOW_MS - 86_400_000 * 9).toISOString(), to: new Date(NOW_MS).toISOString() }
  const ask = async (by: KeptDays) => (await readMetrics(call(by), until as never)).total_calls
  const before = await ask(kept)
  await insertEvents(store, eventsOf(organization, 4))
  t.equal(await ask(kept), before + 4)
})

t.test('whatever comes in between, numbers never go back and end as they are stored', async t => {
  const { organization, kept, call, ask } = await createCome(t, DENSE_EVENTS)
  const dice = createDice(20_261_123)
  let known = 0
  for (let i = 0; i < 60; i++) {
    await insertEvents(
      store,
      eventsOf(organization, 1 + dice.below(3), { received_at: sqlMillis(NOW_MS - dice.below(9_000)) }),
    )
    sinceMs += dice.below(FRESH_MS)
    const histories = async () => {
      const reader = call().reader
      const found = await readKeptHistories(kept, reader, { organization, users: ['user-1'] })
      return found?.figures.get('user-1')?.events ?? 0
    }
    const told = await Promise.all(
      Array.from({ length: 1 + dice.below(3) }, () => (dice.below(2) ? ask() : histories())),
    )
    for (const one of told) {
      t.ok(one >= known, `${one} after ${known}`)
      known = one
    }
    if (dice.below(9) === 0) kept.endLoans(organization)
  }
  await settled()
  kept.endLoans(organization)
  t.equal(await ask(), await ask(KEEP_NOTHING))
})
