// Searches over texts in merged parts, in parts that no index knows yet, replaced, and gone, against a search over the same data in memory.
import t from 'tap'
import { createRandom } from '#proto/scan/fuzz/random.ts'
import { walledDatabase } from '#test/rig.ts'
import { type Conditions, NOTHING } from '../filters.ts'
import { type EventFields, heard, id, insertEvents, NOW_MS, readersOver, storedEvent } from '../fixture.ts'
import { remembering } from '../fixture-remembered.ts'
import type { Slice } from '../page.ts'
import { windowBetween } from '../window.ts'
import type { EventKey } from './events.ts'
import { foundSql, readFoundKeys, searchFor } from './search.ts'
import { sqlTime } from './sql.ts'
import { textsSql } from './texts.ts'

const organization = id(1)
const db = remembering(await walledDatabase(t))
const reader = readersOver(db.reader)(organization, new AbortController().signal)

/** What stands in the store, newest first. */
const held: (EventFields & { event_id: string })[] = []
const random = createRandom(7)
const WORDS = [
  'order',
  'Reorder',
  'ORDERS',
  'refund',
  'Müller',
  'straße',
  'x9-77',
  'don’t',
  'заказ',
  '注文',
  'a_b',
  '50%',
  'ok',
  'İstanbul',
]
const EVENTS = 240
const OLD_FROM = 200
const DAY_MS = 86_400_000

function written(n: number): EventFields & { event_id: string } {
  const text = (): string =>
    Array.from({ length: 1 + random.below(5) }, () => WORDS[random.below(WORDS.length)]).join(' ')
  return {
    ...{ organization, event_id: id(1000 + n), conversation_id: id(n % 9), name: n % 40 === 0 ? 'refunds' : 'agent' },
    // Some at the same instant, and some months before the others: they are looked for when the newest did not fill a page.
    at: new Date(NOW_MS - Math.floor(n / 3) * 1_800_000 - (n < OLD_FROM ? 0 : 100 * DAY_MS)).toISOString(),
    ...{ user_id: n % 31 === 0 ? 'user-of-orders' : 'u', input: text(), output: text() },
  }
}

t.before(async () => {
  await db.store.command('SYSTEM STOP MERGES texts')
  for (let n = 0; n < EVENTS; n++) held.push(written(n))
  const halves = [held.slice(0, EVENTS / 2), held.slice(EVENTS / 2)]
  for (const half of halves) await insertEvents(db.store, half.map(storedEvent))
  await insertEvents(db.store, [storedEvent({ ...written(0), organization: id(2) })])
  // Two later texts of events that stand already, as a call's later report leaves them.
  for (const n of [5, 6]) {
    const event = held[n] as (typeof held)[number]
    const { text } = storedEvent({ ...event, input: 'said later', output: 'nothing of it' })
    const origin = { origin_sequence: 1_000_000 + n }
    await db.store.client.insert({ table: 'texts', format: 'JSONEachRow', values: [{ ...text, ...origin }] })
    await db.store.command(
      `ALTER TABLE events UPDATE input_preview = 'said later', output_preview = 'nothing of it' WHERE event_id = {event:UUID}`,
      { parameters: { event: event.event_id }, settings: { mutations_sync: '2' } },
    )
    held[n] = { ...event, input: 'said later', output: 'nothing of it' }
  }
  held.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : a.event_id < b.event_id ? -1 : 1))
})

/** Conversations of which others are asked for: a third of all, and some. */
const SOME = [id(1), id(4), id(7)]
const OF_SOME: Conditions = { sql: ['conversation_id IN {some:Array(UUID)}'], parameters: { some: SOME } }

/** Ids of what holds a text. */
function expected(text: string, { offset, limit, after }: Slice, conditions: Conditions): string[] {
  const lower = text.toLowerCase()
  const among =
    conditions === NOTHING ? held : held.filter(({ conversation_id = '' }) => SOME.includes(conversation_id))
  const hits = among.filter(({ input = '', output = '', name = '', user_id = '', event_id, conversation_id = '' }) =>
    [input, output, name, user_id, event_id, conversation_id].some(field => field.toLowerCase().includes(lower)),
  )
  const from = after === undefined ? 0 : hits.findIndex(({ event_id }) => event_id === after.id) + 1
  return hits.slice(from + offset, from + offset + limit).map(({ event_id }) => event_id)
}

/** Words and pieces of words, several of them, other letters, signs between; then names, ids, and what is nowhere. */
const SEARCHES = ['RDER', 'order refund', 'MÜLL', 'don’t', 'said later', 'nothing of it order', 'of-orders', '00001003']
const MORE = ['reorder', 'straße ok', 'x9-77', '50%', 'aXb', 'refunds', 'absent']

async function compare(what: string, searches: readonly string[], foundMax = 10_000, namedMax = 1_000): Promise<void> {
  for (const text of searches) {
    const window = windowBetween(NOW_MS - 400 * DAY_MS, Number.POSITIVE_INFINITY)
    const looking = { search: searchFor(text), window, nowMs: NOW_MS, foundMax, namedMax }
    const idsOf = async (slice: Slice, conditions: Conditions): Promise<readonly EventKey[]> => {
      const keys = await readFoundKeys(reader, { ...looking, conditions, slice })
      const [ids, wanted] = [keys.map(key => key.event_id), expected(text, slice, conditions)]
      if (ids.join() !== wanted.join()) t.strictSame(ids, wanted, `${what}: ${text}, ${conditions.sql.join()}`)
      return keys
    }
    for (const conditions of [NOTHING, OF_SOME]) {
      const [, , last] = await idsOf({ offset: 2, limit: 500 }, conditions)
      if (last) await idsOf({ offset: 0, limit: 4, after: { at: last.ts, id: last.event_id } }, conditions)
    }
  }
  t.pass(what)
}

t.test('in parts that no merge has touched', () => compare('unmerged', [...SEARCHES, ...MORE]))

t.test('texts of events are looked for in the parts that hold their instants', async t => {
  const instants = [sqlTime(written(0).at)]
  const parameters = { organization, instants, groups: [id(0)], events: [id(1000)] }
  const plan = await db.store.read<{ explain: string }>(`EXPLAIN indexes = 1 ${textsSql('input', 'output')}`, {
    parameters,
  })
  const text = plan.map(row => row.explain).join('\n')
  const [, read, all] = text.match(/Parts: (\d+)\/(\d+)/) ?? []
  // Both halves are of one month, and the text of another organization has the same instant.
  t.strictSame([read, all], ['2', '6'], text)
})

t.test('by the index, once parts are merged', async t => {
  await db.store.command('SYSTEM START MERGES texts')
  await db.store.command('OPTIMIZE TABLE texts FINAL')
  const parameters = {
    some: SOME,
    from: '2020-01-01 00:00:00',
    until: '2100-01-01 00:00:00',
    search: 'refund',
    run_0: 'refund',
    most: 10,
  }
  const settings = { text_index_like_min_pattern_length: 2, text_index_like_max_postings_to_read: 100_000 }
  for (const conditions of [NOTHING, OF_SOME]) {
    const plan = await db.store.read<{ explain: string }>(
      `EXPLAIN indexes = 1 ${foundSql(searchFor('refund'), conditions)}`,
      { parameters: { ...parameters, organization }, settings },
    )
    const text = plan.map(row => row.explain).join('\n')
    t.match(text, /__text_index_words_like/, 'no text is read')
  }
  await compare('merged', [...SEARCHES, ...MORE])
})

t.test('where more texts hold it than are named', () => compare('many', SEARCHES, 10))

t.test('under conditions texts of other events are not named, however many hold it', async t => {
  const window = windowBetween(NOW_MS - 400 * DAY_MS, Number.POSITIVE_INFINITY)
  const asked: string[] = []
  const hearing = heard(reader, question => asked.push(question))
  const slice = { offset: 0, limit: 500 }
  const wanted = expected('straße', slice, OF_SOME)
  // As many are named as hold it and pass, and one more; about three times as many hold it.
  const foundMax = wanted.length + 1
  t.ok(wanted.length > 10 && expected('straße', slice, NOTHING).length > 2 * foundMax)
  const looking = { search: searchFor('straße'), window, conditions: OF_SOME, nowMs: NOW_MS, foundMax, slice }
  const keys = await readFoundKeys(hearing, looking)
  t.strictSame(
    keys.map(key => key.event_id),
    wanted,
  )
  // Of the newest month, and of all time: none of the two had to look for texts within a search of all events.
  t.equal(asked.filter(question => question === 'search_keys').length, 2)
})

t.test('where more names and ids hold it than are named', () =>
  compare('names', ['refunds', 'of-orders', '0000100'], 10, 3),
)

t.test('in previews, when the texts are kept no longer', async t => {
  const settings = { mutations_sync: '2' } as const
  const parameters = { until: new Date(NOW_MS - DAY_MS).toISOString().slice(0, 10) }
  await db.store.command('ALTER TABLE texts DELETE WHERE ts < toDateTime({until:Date})', { parameters, settings })
  const [left] = await db.store.read<{ n: string }>('SELECT count() AS n FROM texts')
  t.ok(Number(left?.n) < EVENTS)
  await compare('bare', SEARCHES)
  await compare('bare and many', SEARCHES.slice(0, 4), 10, 3)
})
