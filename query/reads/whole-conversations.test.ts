// What is found from all rows of conversations is what statements of the store find of the same ones, while corrections are unmerged and after.
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import t from 'tap'
import { Present } from '#proto/rows.ts'
import { foldEvents } from '#test/folding.ts'
import { walledDatabase } from '#test/rig.ts'
import { id, insertEvents, insertMove, NOW_MS, readersOver, type StoredEvent, storedEvent } from '../fixture.ts'
import { createDice } from '../fixture-random.ts'
import type { Reader } from '../reader.ts'
import { newestEvents } from './conversation-events.ts'
import { boundsOf, type ConversationBounds, readFacts } from './conversation-facts.ts'
import { readConversationRows } from './conversation-rows.ts'
import { readCosts } from './costs.ts'
import { lendersAmong, readLenders } from './lenders.ts'
import type { Lenders } from './texts.ts'
import { readWhole } from './whole-conversations.ts'

const { store, reader } = await walledDatabase(t)
const organization = randomUUID()
const asking = readersOver(reader)(organization, new AbortController().signal)
const CONVERSATIONS = Array.from({ length: 12 }, (_, i) => id(100 + i))
const NEWEST = 20
const { pick, below, random } = createDice(20261123)

/** Both sides of tiers of prices, and more than a double counts, which JSON holds as text. */
const TOKENS = [0, 1, 31_999, 32_000, 32_001, 64_001, 1_000_001, '9007199254740993' as unknown as number]
const TRACES = [id(1), id(2), id(3)]

/** Turns and calls, mostly. */
const KINDS = ['agent', 'agent', 'agent', 'llm', 'llm', 'llm', 'llm', 'tool', 'resource', 'prompt', 'other'] as const

/** Times that coincide, texts in several scripts, prices of every kind, turns that say again what their calls said. */
function anyEvent(n: number): StoredEvent {
  const nanos = String(below(3)).padStart(9, '0')
  const fields = {
    ...{
      organization,
      conversation_id: CONVERSATIONS[n % 12] as string,
      event_id: id(10_000 + n),
      parent_id: id(10_000 + n - 12 * (1 + below(2))),
      span_id: String(below(3)),
      trace_id: TRACES[n % 3] as string,
    },
    ...{ session_id: pick(['', 'sent', 'Ärger', '😀', '￿']), user_id: pick(['', 'ada', 'Zoë', '😀', '￿']) },
    ...{
      kind: pick(KINDS),
      source: pick(['otlp', 'sdk'] as const),
    },
    ...{
      name: pick(['plan', 'Plan', '😀', '￿', 'reranK', 'RERAN\u212a']),
      failed: pick([0, 0, 1] as const),
      provisional: pick([0, 0, 0, 1] as const),
    },
    ...{ duration_ns: pick([-1, 0, below(3_000_000), 8_999_999_999_999]), model: pick(['', 'm-1', 'm-2', '😀', '￿']) },
    ...{
      provider: pick(['', 'acme', 'Acme']),
      input_tokens: pick(TOKENS),
      output_tokens: pick(TOKENS),
    },
    ...{
      cache_read_tokens: below(100),
      cache_write_tokens: below(100),
      reasoning_tokens: below(100),
      cost_nanos: below(1e9),
    },
    at: `${new Date(NOW_MS - below(40) * 900_000).toISOString().slice(0, 19)}.${nanos}Z`,
    present: below(Present.pricingInvalid * 2) & ~(Present.input | Present.output),
  }
  return storedEvent({
    ...fields,
    ...(random() < 0.5 ? { input: `asked ${n}` } : {}),
    ...(random() < 0.5 ? { output: `said ${n}` } : {}),
  })
}

/** Who lends, by who borrows. */
const told = (lenders: ReadonlyMap<string, Lenders>) =>
  new Map([...lenders].map(([event, { input, output }]) => [event, [input?.event_id, output?.event_id]]))

async function same(t: Test, conversations: readonly string[]): Promise<void> {
  const bounds = await boundsOf(asking, conversations)
  if (bounds === null) throw new Error('none of the conversations has an event')
  const [facts, costs, newest, whole] = await Promise.all([
    readFacts(asking, bounds),
    readCosts(asking, bounds),
    newestEvents(asking, bounds, NEWEST),
    readWhole(asking, bounds, NEWEST),
  ])
  t.equal(whole.facts.size, conversations.length)
  const lent = await readLenders(asking, newest)
  if (conversations === CONVERSATIONS)
    t.ok([...lent.values()].filter(({ input, output }) => input ?? output).length > 10)
  t.strictSame(told(lendersAmong(whole.all ?? [], whole.newest)), told(lent), 'who lends texts to whom')
  for (const id of conversations) {
    t.strictSame(whole.facts.get(id), facts.get(id), `figures of ${id}`)
    t.strictSame(whole.costs.get(id), costs.get(id) ?? [], `costs of ${id}`)
    t.strictSame(
      whole.newest.filter(event => event.conversation_id === id).map(({ event_id }) => event_id),
      newest.filter(event => event.conversation_id === id).map(({ event_id }) => event_id),
      `newest events of ${id}`,
    )
  }
}

t.test('figures, costs, newest events and lenders of whole conversations are those of statements', async t => {
  const events = Array.from({ length: 400 }, (_, n) => anyEvent(n))
  await store.command('SYSTEM STOP MERGES events')
  await insertEvents(store, events)
  await insertMove(store, events.slice(0, 30), null)
  await insertMove(store, events.slice(30, 60), { conversation_id: CONVERSATIONS[0] as string, kind: 'llm' })
  await same(t, CONVERSATIONS)
  // What a conversation costs is its own affair, whoever else is on the page.
  await same(t, CONVERSATIONS.slice(3, 5))
  await foldEvents(store)
  await same(t, CONVERSATIONS)
})

t.test('what is asked for at once is one statement, whose rows each gets of its own conversations', async t => {
  let statements = 0
  const counting: Reader = {
    ...asking,
    read: (...asked) => {
      statements++
      return asking.read(...asked)
    },
  }
  const bounds = await Promise.all(
    [CONVERSATIONS.slice(0, 5), CONVERSATIONS.slice(3, 7)].map(
      async some => (await boundsOf(asking, some)) as ConversationBounds,
    ),
  )
  const alone = [
    await readConversationRows(counting, bounds[0] as never),
    await readConversationRows(counting, bounds[1] as never),
  ]
  t.equal(statements, 2, 'one after the other')
  t.ok(alone.every(rows => rows.length > 50))
  t.strictSame(await Promise.all(bounds.map(each => readConversationRows(counting, each))), alone)
  t.equal(statements, 3)
})
