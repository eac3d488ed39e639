// Pages that memory guesses: what is begun by a guess, that the answer is the same as from rows whatever comes meanwhile, and that none is
// guessed where events arrive.
import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createMetrics } from '#runtime/metrics.ts'
import { silentLog, walledDatabase } from '#test/rig.ts'
import type { Call } from '../endpoint.ts'
import { readErrors } from '../endpoints/errors/list.ts'
import { readStories } from '../endpoints/user-stories/list.ts'
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
import { remembering } from '../fixture-remembered.ts'
import type { OpenReader } from '../reader.ts'
import { createNewest } from '../reads/newest.ts'
import { createKeptDays, KEEP_NOTHING, type KeptDays } from './kept.ts'

const { store, reader } = remembering(await walledDatabase(t))
const open = readersOver(reader)
/** What was asked, and that versions were told. */
let steps: string[] = []
/** Called when versions are about to be asked. */
let beforeVersions: (() => Promise<unknown>) | undefined
const openReader: OpenReader = (organization, signal) => {
  const inner = open(organization, signal)
  const mine: typeof inner = {
    ...inner,
    bounded: () => mine,
    async read(question, ...rest) {
      steps.push(question)
      if (question !== 'day_versions') return inner.read(question, ...rest)
      // What is about to be asked is asked before any answer: the rows of a test may be remembered.
      await setImmediate()
      const before = beforeVersions
      beforeVersions = undefined
      await before?.()
      const rows = await inner.read(question, ...rest)
      steps.push('told')
      return rows as never
    },
  }
  return mine
}
const keeping = (): KeptDays =>
  createKeptDays({
    ...{ maxMb: 64, waitMs: 600_000, freshMs: 0, openReader, metrics: createMetrics('kept'), log: silentLog },
    clock: () => NOW_MS,
  })

const PAGE = { time_range: '1m', page: 1, page_size: 3, sort: 'newest', exclude_io: false }

/** Pages, each as a request that nobody made before. */
const PAGES = { stories: readStories, errors: readErrors }

function ask(page: keyof typeof PAGES, organization: string, kept: KeptDays, more: object = {}): Promise<unknown> {
  const about = { nowMs: NOW_MS, organization: { id: organization }, log: silentLog, kept, newest: createNewest() }
  const call = { ...about, reader: openReader(organization, new AbortController().signal) } as unknown as Call
  return PAGES[page](call, { ...PAGE, ...more, allow_limited_preview: false } as never)
}

let number = 0
/** A failed event of a conversation, so many seconds ago. */
const failing = (organization: string, conversation: number, agoS: number) =>
  storedEvent({
    ...{ organization, conversation_id: id(conversation), event_id: id(1_000 + ++number), failed: 1 },
    at: new Date(NOW_MS - agoS * 1_000).toISOString(),
  })

const capturing = (organization: string, conversation: number) =>
  storedSession({ organization, conversation_id: id(conversation), user_id: 'ada', at: '2026-06-15T11:00:00.000Z' })

/** An organization whose days are kept, and on which nothing has arrived since. */
async function quiet() {
  const [organization, kept] = [randomUUID(), keeping()]
  const events = Array.from({ length: 9 }, (_, n) => failing(organization, n % 6, 1_000 + n))
  await insertEvents(store, events)
  await insertSessions(store, [capturing(organization, 0)])
  await ask('stories', organization, kept)
  steps = []
  return { organization, kept, events }
}

/** What was asked before versions were told, and after. */
function rounds(): { before: string[]; after: string[] } {
  const told = steps.indexOf('told')
  return { before: steps.slice(0, told).sort(), after: steps.slice(told + 1) }
}

t.test('rows of a page are read beside the versions that prove it', async t => {
  const { organization, kept } = await quiet()
  const f = async (page: keyof typeof PAGES, before: string[], after: string[] = []): Promise<void> => {
    const found = await ask(page, organization, kept, { page_size: 4 })
    t.strictSame(rounds(), { before, after }, page)
    t.strictSame(found, await ask(page, organization, KEEP_NOTHING, { page_size: 4 }), page)
    steps = []
  }
  await f('stories', ['captures', 'conversation_whole', 'day_versions'])
  // Whose an event is that names nobody, is looked up once its rows are there.
  await f('errors', ['conversation_whole', 'day_versions'], ['session_users'])
  kept.close()
})

t.test('what comes or moves before the versions are asked for is on the page', async t => {
  type Change = (of: Awaited<ReturnType<typeof quiet>>) => Promise<unknown>
  const changes: Readonly<Record<string, Change>> = {
    'an event of another conversation': ({ organization }) => insertEvents(store, [failing(organization, 7, 5)]),
    'an event of one that is shown': ({ organization }) => insertEvents(store, [failing(organization, 0, 5)]),
    'an event of one that is not': ({ organization }) => insertEvents(store, [failing(organization, 5, 2_000)]),
    'an event that moves': ({ events }) => insertMove(store, events.slice(0, 1), { conversation_id: id(8) }),
    'an event that goes': ({ events }) => insertMove(store, events.slice(0, 1), null),
    'a capture': ({ organization }) => insertSessions(store, [capturing(organization, 1)]),
  }
  for (const page of ['stories', 'errors'] as const) {
    for (const [name, change] of Object.entries(changes)) {
      const of = await quiet()
      beforeVersions = () => change(of)
      const found = await ask(page, of.organization, of.kept)
      t.ok(rounds().before.includes('conversation_whole'), `${page}: guessed before ${name}`)
      t.strictSame(found, await ask(page, of.organization, KEEP_NOTHING), `${page}: ${name}`)
      of.kept.close()
    }
  }
})

t.test('where events arrive nothing is guessed, until they have stopped', async t => {
  const { organization, kept } = await quiet()
  const isGuessed = async (): Promise<boolean> => {
    steps = []
    await ask('stories', organization, kept)
    return rounds().before.includes('conversation_whole')
  }
  for (const expected of [true, true, false]) {
    t.equal(await isGuessed(), expected)
    await insertEvents(store, [failing(organization, 7, 5)])
  }
  t.equal(await isGuessed(), false, 'one came each time')
  t.equal(await isGuessed(), false, 'none came')
  t.equal(await isGuessed(), true, 'nor before')
  kept.close()
})
