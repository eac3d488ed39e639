// Random events, captures and corrections; random filters; every answer must equal a recount written without SQL.
import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import t from 'tap'
import { foldEvents } from '#test/folding.ts'
import { createTenant, eventually } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { startNode } from './fixture.ts'
import type { Filters, RandomData } from './fixture-random.ts'
import {
  createDice,
  eventsOf,
  hasCaptured,
  hasOwn,
  inWindow,
  isTurnOf,
  randomFilters,
  timeOf,
  USERS,
  userOf,
  writeRandomData,
} from './fixture-random.ts'

const SEED = 20_260_615
const EVENTS = 200
const ROUNDS = scaled({ sample: 2, full: 8 })

const dice = createDice(SEED)
const { below } = dice
const node = await startNode(t, { aggregated: true })
const { apiKey, organization } = await createTenant(node.buckets)
const post = (path: string, body: object) =>
  node.ask('POST', `/dashboard/api/${path}`, { body, headers: { 'x-api-key': apiKey } })
await eventually('the tenant', async () => (await post('raw-logs/count', {})).status === 200)

let data: RandomData
t.before(async () => {
  await node.db.store.command('SYSTEM STOP MERGES events')
  // Another organization, under the same ids: none of it may be counted.
  const other = { organization: randomUUID(), count: EVENTS / 2, dice: createDice(SEED + 1) }
  const [ours] = await writeRandomData(node.db.store, [{ organization, count: EVENTS, dice }, other])
  data = ours as RandomData
})

/** Ids of the events that the filters let through, newest first. */
function logsOf(filters: Filters): string[] {
  return eventsOf(data, filters)
    .sort((x, y) => timeOf(y) - timeOf(x) || (x.event.event_id < y.event.event_id ? -1 : 1))
    .map(stored => stored.event.event_id)
}

interface Story {
  readonly conversation_id: string
  readonly user_id: string | null
  readonly message_count: number
  readonly error_count: number
  readonly started_at: string
  readonly last_active: string
  /** Of the window: what the order goes by. */
  readonly sort_key: number
}

/** The conversations that the filters let through, by last activity. */
function storiesOf(filters: Filters): Story[] {
  const stories = data.conversations.flatMap(conversation_id => {
    const events = data.standing.filter(stored => stored.event.conversation_id === conversation_id)
    const seen = events.filter(stored => inWindow(stored, filters))
    const { agent_name } = filters
    const agents = agent_name === undefined || seen.some(stored => isTurnOf(stored, agent_name))
    const metadata = (filters.metadata_filters ?? []).every(
      ({ key, value }) =>
        hasCaptured(data, conversation_id, key, value) || seen.some(stored => hasOwn(stored, key, value)),
    )
    if (seen.length === 0 || !agents || !metadata) return []
    const times = events.map(timeOf)
    return {
      conversation_id,
      user_id: userOf(data, conversation_id) || null,
      message_count: events.length,
      error_count: events.filter(stored => stored.event.failed === 1).length,
      started_at: new Date(Math.min(...times)).toISOString(),
      last_active: new Date(Math.max(...times)).toISOString(),
      sort_key: Math.max(...seen.map(timeOf)),
    }
  })
  return stories.sort((x, y) => y.sort_key - x.sort_key || (x.conversation_id < y.conversation_id ? -1 : 1))
}

/** Compares every answer under random filters; the second comparison draws others than the first. */
async function compare(t: Test): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const filters = randomFilters(dice)
    const said = JSON.stringify(filters)
    const expected = logsOf(filters)
    const size = 1 + below(200)
    const page = 1 + below(3)
    const logs = await post('raw-logs', { ...filters, page_size: size, page, exclude_io: true })
    const ids = logs.body.events.map((event: { event_id: string }) => event.event_id)
    t.strictSame(ids, expected.slice((page - 1) * size, page * size), `raw-logs ${said} page ${page} of ${size}`)
    t.equal(logs.body.has_more, expected.length > page * size)
    const { total_count } = (await post('raw-logs/count', filters)).body
    if (filters.metadata_filters?.[0]?.key === 'plan') t.equal(total_count, null)
    else t.equal(total_count, expected.length, `count ${said}`)

    const { success: _success, ...story } = filters
    const rows = (await post('user-stories', { ...story, page_size: 100, exclude_io: true })).body.conversations
    const shown = rows.map((row: Story) => {
      const { conversation_id, user_id, message_count, error_count, started_at, last_active } = row
      return { conversation_id, user_id, message_count, error_count, started_at, last_active }
    })
    const expectedStories = storiesOf(story).map(({ sort_key: _key, ...rest }) => rest)
    t.strictSame(shown, expectedStories, `user-stories ${said}`)
  }
  for (const user of USERS.slice(1)) {
    const search = { time_range: 'all', search_field: 'user_id', search_value: user, page_size: 100, exclude_io: true }
    const { conversations: rows, user_summaries } = (await post('user-stories', search)).body
    const expected = storiesOf({ time_range: 'all' }).filter(story => story.user_id === user)
    t.strictSame(
      rows.map((row: Story) => row.conversation_id),
      expected.map(story => story.conversation_id),
      `conversations of ${user}`,
    )
    const messages = expected.reduce((sum, story) => sum + story.message_count, 0)
    t.match(user_summaries, [{ key: `user:${user}`, conversation_count: expected.length, message_count: messages }])
  }
}

t.test(`answers equal a recount while corrections are unmerged (seed ${SEED})`, compare)

t.test('and when they are merged', async t => {
  await foldEvents(node.db.store)
  await compare(t)
})
