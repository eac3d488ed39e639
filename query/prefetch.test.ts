// Requests that are asked again: which of their reads begin with them, and that answers tell what was stored meanwhile.
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createMetrics } from '#runtime/metrics.ts'
import { id, insertEvents, insertMove, insertSessions, storedEvent, storedSession } from './fixture.ts'
import { CHAT, startDataNode } from './fixture-data.ts'
import { createPrefetch } from './prefetch.ts'
import type { Reader } from './reader.ts'

/** What the store was asked and answered, in this order. */
let steps: ('asked' | 'answered')[] = []
const node = await startDataNode(t, {
  store: ({ reader }) => ({
    ...reader,
    read: async (...asked) => {
      steps.push('asked')
      // What is about to be asked is asked before any answer: the rows of a test may be remembered.
      await setImmediate()
      const rows = await reader.read(...asked)
      steps.push('answered')
      return rows as never
    },
  }),
})
const { post, db, a } = node

/** Reads that began before any was answered, and all of them. */
const rounds = (): [number, number] => [steps.indexOf('answered'), steps.filter(step => step === 'asked').length]

const REQUESTS = [
  ['raw-logs', { time_range: 'all', page_size: 7 }],
  ['errors', { time_range: 'all' }],
  ['user-stories', { time_range: 'all' }],
  ['raw-logs', { event_id: id(30) }],
] as const

t.test('what two answers in a row read begins with the third request; the answer is the same', async t => {
  for (const [path, body] of REQUESTS) {
    // Days are there from now on.
    await post('command-center-summary', { time_range: '1m' })
    const first = await post(path, body)
    t.equal(first.status, 200, path)
    steps = []
    await post(path, body)
    const [before, all] = rounds()
    t.ok(before < all, `${path}: reads of the second answer wait for each other`)
    steps = []
    t.strictSame((await post(path, body)).body, first.body, path)
    t.strictSame(rounds(), [all, all], `${path}: all begin at once`)
  }
})

t.test('a conversation that kept days know is read beside its bounds, and anew where they have moved', async t => {
  const body = { conversation_id: CHAT }
  const first = await post('conversation-messages', body)
  await post('dashboard', { time_range: 'all' })
  steps = []
  // A request that nobody has made before.
  const { body: detail } = await post('conversation-detail', body)
  t.strictSame(detail.messages, first.body)
  const [before, all] = rounds()
  t.equal(before, 3, 'captures, bounds and events')
  t.equal(all, 5, 'a text that is longer than its preview, and who was captured when, as there were several users')
  await insertEvents(db.store, [
    storedEvent({
      ...{ organization: a.organization, conversation_id: CHAT, event_id: id(703) },
      at: '2026-06-15T06:00:00.000Z',
    }),
  ])
  const { messages } = (await post('conversation-messages', body)).body
  t.equal(messages[0].event_id, id(703), 'it began hours earlier than memory says')
  t.equal(messages.length, first.body.messages.length + 1)
})

t.test('an answer tells what was stored since the last one', async t => {
  const body = { time_range: 'all', page_size: 2 }
  const conversation_id = id(700)
  const late = storedEvent({
    organization: a.organization,
    conversation_id,
    event_id: id(701),
    at: '2026-06-15T11:59:59.000Z',
  })
  for (let i = 0; i < 3; i++) await post('raw-logs', body)
  await insertEvents(db.store, [late])
  t.match((await post('raw-logs', body)).body.events[0], {
    event_id: id(701),
    session_id: conversation_id,
    user_id: null,
  })
  for (let i = 0; i < 3; i++) await post('raw-logs', body)
  await insertSessions(db.store, [
    storedSession({ organization: a.organization, conversation_id, user_id: 'named', at: '2026-06-15T11:59:59.500Z' }),
  ])
  t.match((await post('raw-logs', body)).body.events[0], { user_id: 'named' })
  for (let i = 0; i < 3; i++) await post('raw-logs', body)
  await insertMove(db.store, [late], { conversation_id: id(702) })
  t.match((await post('raw-logs', body)).body.events[0], { event_id: id(701), session_id: id(702), user_id: null })
})

t.test('a read is begun for the same organization and request only', async t => {
  const body = { time_range: 'all', page_size: 3 }
  for (let i = 0; i < 3; i++) await post('raw-logs', body)
  steps = []
  await post('raw-logs', body, node.b.apiKey)
  t.ok(rounds()[0] < rounds()[1], 'another organization waits')
  steps = []
  await post('raw-logs', { ...body, page_size: 4 })
  t.ok(rounds()[0] < rounds()[1], 'another page waits')
})

/** A reader whose reads are answered by `answer`, and what it was asked. */
function fakeReader(answer: (sql: string) => Promise<unknown[]>): { reader: Reader; asked: string[] } {
  const asked: string[] = []
  const reader: Reader = {
    bounded: () => reader,
    read: async (_, sql) => {
      asked.push(sql)
      return (await answer(sql)) as never[]
    },
  }
  return { reader, asked }
}

t.test('what an answer did not ask for again is not begun again, and its failure is nobody’s', async t => {
  const metrics = createMetrics('query')
  const prefetch = createPrefetch(metrics, 7)
  const { reader, asked } = fakeReader(sql =>
    sql === 'bad' ? Promise.reject(new Error('bad')) : Promise.resolve([sql]),
  )
  const answer = async (...sql: string[]): Promise<readonly string[]> => {
    asked.length = 0
    const { reader: reads, answered } = prefetch.begin('request', reader)
    const begun = [...asked]
    for (const one of sql) await reads.read('events', one).catch(() => undefined)
    answered()
    return begun
  }
  t.strictSame(await answer('one', 'bad'), [])
  t.strictSame(await answer('one', 'bad'), [])
  t.strictSame(await answer('one'), ['one', 'bad'])
  t.strictSame(asked, ['one', 'bad'], 'what was begun is not read a second time')
  t.strictSame(await answer('one', 'one'), ['one'])
  t.strictSame(asked, ['one', 'one'], 'what is asked twice is read twice')
  t.strictSame(await answer('two'), ['one'])
  t.strictSame(await answer('two'), [])
  const text = await metrics.registry.metrics()
  t.match(text, /query_prefetched_total\{[^}]*outcome="used"[^}]*\} 2/)
  t.match(text, /query_prefetched_total\{[^}]*outcome="unused"[^}]*\} 2/)
})

t.test('reads whose order matters are begun when they are asked for', async t => {
  const prefetch = createPrefetch(createMetrics('query'), 7)
  const { reader, asked } = fakeReader(() => Promise.resolve([]))
  for (let i = 0; i < 3; i++) {
    const { reader: reads, answered } = prefetch.begin('request', reader)
    t.strictSame(asked.splice(0), [])
    await reads.bounded().read('day_versions', 'versions')
    t.strictSame(asked.splice(0), ['versions'])
    answered()
  }
})

t.test('as many reads begin at once as may, those that were asked for last', async t => {
  const prefetch = createPrefetch(createMetrics('query'), 2)
  const { reader, asked } = fakeReader(() => Promise.resolve([]))
  for (const begun of [[], [], ['two', 'three']]) {
    const { reader: reads, answered } = prefetch.begin('request', reader)
    t.strictSame(asked.splice(0), begun)
    for (const one of ['one', 'two', 'three']) await reads.read('events', one)
    answered()
    asked.length = 0
  }
})
