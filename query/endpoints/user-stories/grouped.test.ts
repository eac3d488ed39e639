import t from 'tap'
import { id, insertEvents, insertSessions, storedEvent, storedSession } from '../../fixture.ts'
import { CHAT, GREW, MCP, SHRUNK, STAND_IN, startDataNode, TRACE } from '../../fixture-data.ts'

const node = await startDataNode(t)
const { db, a, post } = node

t.before(async () => {
  const team = (conversation_id: string, value: string, at = '2026-06-15T11:58:00.000Z') =>
    storedSession({ at, organization: a.organization, conversation_id, metadata: { team: value } })
  await insertSessions(db.store, [
    team(TRACE, 'blue', '2026-06-15T11:00:00.000Z'),
    team(TRACE, 'red'),
    team(GREW, '["red", "blue", "red"]'),
    team(SHRUNK, 'blue'),
    team(MCP, 'red'),
    team(CHAT, '[]'),
  ])
})

const BY_TEAM = { group_by: { source: 'conversation_metadata', key: 'team' } }
const tags = { intent_count: 0, violation_count: 0, intent_labels: [], violation_labels: [] }
const red = {
  value: 'red',
  conversation_count: 3,
  user_count: 3,
  message_count: 10,
  ...tags,
  last_active: '2026-06-14T20:00:03.000Z',
  // Of the trace's model call alone: its agent says the same again.
  cost_metadata: [
    {
      ...{ model: 'm-1', provider: 'acme', 'tokens.input': '50', 'tokens.output': '5' },
      ...{ 'tokens.aggregated': 'true', 'tokens.request_input': '50' },
    },
  ],
}
const blue = {
  value: 'blue',
  conversation_count: 2,
  user_count: 1,
  message_count: 3,
  ...tags,
  last_active: '2026-06-14T08:00:00.000Z',
  cost_metadata: [],
}

t.test('a filter finds the conversations of a group, in every endpoint that takes filters', async t => {
  const f = async (value: string, conversations: readonly string[]): Promise<void> => {
    const filtered = { time_range: 'all', metadata_filters: [{ key: 'team', value }] }
    const stories = (await post('user-stories', filtered)).body.conversations
    const ids = (rows: { conversation_id: string }[]): string[] =>
      [...new Set(rows.map(row => row.conversation_id))].sort()
    t.strictSame(ids(stories), [...conversations].sort(), value)
    t.strictSame(ids((await post('raw-logs', filtered)).body.events), [...conversations].sort())
    t.equal((await post('dashboard', filtered)).body.total_conversations, conversations.length)
    const chart = { metric: 'conversations', filters: filtered }
    t.equal((await post('charts/query', chart)).body.series[0].total ?? 0, conversations.length)
    const failed = (await post('errors', filtered)).body.errors
    t.ok(ids(failed).every(id => conversations.includes(id)))
    t.equal((await post('errors/groups', filtered)).body.total_errors, failed.length)
  }
  await f('blue', [GREW, SHRUNK])
  await f('red', [TRACE, GREW, MCP])
  await f('["red", "blue", "red"]', [GREW])
  await f('[]', [CHAT])
  await f('["blue"]', [])
  // The same of what events say themselves.
  const at = { organization: node.b.organization, conversation_id: STAND_IN, at: '2026-06-15T06:00:00.000Z' }
  await insertEvents(db.store, [
    storedEvent({ ...at, event_id: id(901), failed: 1, metadata: { tags: '["ö","7",8]', event_type: '["a","b"]' } }),
    storedEvent({ ...at, event_id: id(902), failed: 1, metadata: { tags: 'ö', event_type: 'b' } }),
  ])
  const g = async (key: string, value: string, events: number): Promise<void> => {
    const filtered = { time_range: '1d', metadata_filters: [{ key, value }] }
    const ask = async (path: string) => (await post(path, filtered, node.b.apiKey)).body
    t.equal((await ask('raw-logs')).events.length, events, `${key} ${value}`)
    if (key === 'event_type') t.equal((await ask('raw-logs/count')).total_count, events)
    t.equal((await ask('errors')).errors.length, events)
    t.equal((await ask('dashboard')).total_calls, events)
    t.equal((await ask('user-stories')).conversations.length, Math.min(events, 1))
  }
  await g('tags', 'ö', 2)
  await g('tags', '8', 1)
  await g('tags', '["ö","7",8]', 1)
  await g('tags', '9', 0)
  await g('event_type', 'b', 2)
  await g('event_type', 'a', 1)
})

t.test('groups are the values captured last; an array puts a conversation into several', async t => {
  const { body } = await post('user-stories', BY_TEAM)
  t.strictSame(body, {
    groups: [red, blue],
    user_summaries: [],
    overlapping: true,
    page: 1,
    page_size: 50,
    total_pages: 1,
    has_more: false,
    next_cursor: null,
    partial_data: false,
  })
  t.strictSame((await post('user-stories', { ...BY_TEAM, sort: 'oldest' })).body.groups, [blue, red])
  t.match((await post('user-stories', { ...BY_TEAM, group_level: 'groups', page_size: 1, page: 2 })).body, {
    groups: [blue],
    has_more: false,
    total_pages: 2,
    overlapping: true,
  })
  const f = async (level: object, total_pages = 2): Promise<void> =>
    void t.match((await post('user-stories', { ...BY_TEAM, ...level, page_size: 1, page: 30 })).body, { total_pages })
  await f({})
  await f({ group_level: 'users', group_value: 'red' }, 3)
  const { users } = (await post('user-stories', { ...BY_TEAM, group_level: 'users', group_value: 'blue' })).body
  await f({ group_level: 'conversations', group_value: 'blue', group_user_key: users[0].key })
})

t.test('traits group as well, and a group can be searched by its exact value', async t => {
  const plans = await post('user-stories', { group_by: { source: 'user_metadata', key: 'plan' } })
  t.match(plans.body, { groups: [{ value: 'pro', conversation_count: 1, user_count: 1 }], overlapping: false })
  t.equal(plans.body.groups.length, 1, 'metadata of events does not group')
  const found = await post('user-stories', { ...BY_TEAM, search_field: 'group_value', search_value: 'blue' })
  t.strictSame(found.body.groups, [blue])
  t.strictSame((await post('user-stories', { group_by: { source: 'user_metadata', key: 'none' } })).body.groups, [])
})

t.test('filters and the time range choose the conversations of the groups', async t => {
  const scouts = await post('user-stories', { ...BY_TEAM, agent_name: 'scout' })
  t.match(scouts.body.groups, [
    { value: 'blue', conversation_count: 2 },
    { value: 'red', conversation_count: 1, message_count: 2 },
  ])
  const today = await post('user-stories', { ...BY_TEAM, time_range: '1d' })
  t.match(today.body.groups, [{ value: 'red', conversation_count: 1, message_count: 5 }])
  t.equal(today.body.groups.length, 1)
})

t.test('a group has users, each with a key that leads to their conversations', async t => {
  const { body } = await post('user-stories', { ...BY_TEAM, group_level: 'users', group_value: 'red' })
  t.equal(body.group_value, 'red')
  const shown = body.users.map((user: Record<string, unknown>) => [
    user.user_id,
    user.label,
    user.representative_conversation_id,
    user.conversation_count,
    user.message_count,
  ])
  t.strictSame(shown, [
    ['grace', 'grace', TRACE, 1, 5],
    ['lin', 'lin', GREW, 1, 2],
    [undefined, MCP, MCP, 1, 3],
  ])
  t.strictSame(
    body.users.map((user: { cost_metadata: unknown }) => user.cost_metadata),
    [red.cost_metadata, [], []],
  )
  for (const [i, conversation] of [TRACE, GREW, MCP].entries()) {
    const group_user_key = body.users[i].key
    const of = { ...BY_TEAM, group_level: 'conversations', group_value: 'red', group_user_key }
    const { conversations, has_more } = (await post('user-stories', of)).body
    t.match(conversations, [{ conversation_id: conversation }])
    t.equal(conversations.length, 1)
    t.equal(has_more, false)
  }
  const lin = (await post('user-stories', { ...BY_TEAM, group_level: 'users', group_value: 'blue' })).body.users
  t.match(lin, [{ user_id: 'lin', conversation_count: 2, representative_conversation_id: GREW }])
  const of = { ...BY_TEAM, group_level: 'conversations', group_value: 'blue', group_user_key: lin[0].key }
  const page = await post('user-stories', { ...of, page_size: 1 })
  t.match(page.body, { conversations: [{ conversation_id: GREW }], has_more: true, overlapping: true })
  t.strictSame((await post('user-stories', { ...of, group_user_key: '!' })).body.conversations, [])
})

t.test('another organization has no such groups', async t => {
  t.strictSame((await post('user-stories', { ...BY_TEAM, time_range: 'all' }, node.b.apiKey)).body.groups, [])
})

t.test('fields that do not go with the level are refused by name', async t => {
  const f = async (body: object, field: string): Promise<void> => {
    const answer = await post('user-stories', body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.body.error, new RegExp(`Invalid request body: ${field} `))
  }
  await f({ ...BY_TEAM, search_field: 'user_id', search_value: 'x' }, 'search_field')
  await f({ ...BY_TEAM, search_field: 'group_value' }, 'search_value')
  await f({ ...BY_TEAM, group_level: 'users' }, 'group_value')
  await f({ ...BY_TEAM, group_level: 'conversations', group_value: 'red' }, 'group_user_key')
  await f({ ...BY_TEAM, group_level: 'everything' }, 'group_level')
  await f({ group_by: { source: 'events', key: 'x' } }, 'group_by.source')
})

t.test('cursors walk groups, users and conversations', async t => {
  const walk = async (body: object, of: string, key: string) => {
    const seen: unknown[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = (await post('user-stories', { ...body, page_size: 1, ...(cursor === undefined ? {} : { cursor }) }))
        .body
      seen.push(...page[of].map((row: Record<string, unknown>) => row[key]))
      cursor = page.next_cursor as string | null
    }
    return seen
  }
  t.strictSame(await walk(BY_TEAM, 'groups', 'value'), ['red', 'blue'])
  t.strictSame(await walk({ ...BY_TEAM, sort: 'oldest' }, 'groups', 'value'), ['blue', 'red'])
  const users = { ...BY_TEAM, group_level: 'users', group_value: 'red' }
  t.strictSame(await walk(users, 'users', 'label'), ['grace', 'lin', MCP])
  t.strictSame(await walk({}, 'conversations', 'conversation_id'), [CHAT, TRACE, GREW, MCP, SHRUNK])
  const oldest = await walk({ sort: 'oldest' }, 'conversations', 'conversation_id')
  t.strictSame(oldest, [SHRUNK, MCP, GREW, TRACE, CHAT])
})

t.test('search options are identifiers that hold a text, beginnings first', async t => {
  const options = async (body: object): Promise<unknown[]> => {
    const answer = (await post('user-stories/search-options', body)).body
    t.equal(answer.has_more, false)
    return answer.options.map(({ field, value }: { field: string; value: string }) => [field, value])
  }
  t.strictSame(await options({ search: 'ADA' }), [
    ['user_email', 'ada@example.org'],
    ['user_id', 'ada'],
  ])
  t.strictSame(await options({ search: 'guest' }), [], 'what an earlier capture said')
  t.strictSame(await options({ search: 'my-' }), [['original_conversation_id', 'my-session']])
  t.strictSame(await options({ search: TRACE }), [['conversation_id', TRACE]])
  t.strictSame(await options({ search: 'a', agent_name: 'scout' }), [])
  t.strictSame(await options({ search: 'r', time_range: '1d' }), [
    ['user_email', 'ada@example.org'],
    ['user_id', 'grace'],
  ])
  const { body } = await post('user-stories/search-options', { search: 'l' })
  t.match(body.options[0], {
    field: 'user_id',
    value: 'lin',
    label: 'lin',
    conversation_count: 2,
    last_active: '2026-06-14T08:00:00.000Z',
  })
  t.equal((await post('user-stories/search-options', { search: '' })).body.options.length, 11)
  t.strictSame(await options({ ...BY_TEAM, search: 'E' }), [
    ['group_value', 'red'],
    ['group_value', 'blue'],
  ])
  t.strictSame(await options({ ...BY_TEAM, search: 'b' }), [['group_value', 'blue']])
  t.strictSame(await options({ search: 'ada', search_field: 'user_id', search_value: 'lin' }), [])
  const found = await post('user-stories', { search_field: 'original_conversation_id', search_value: 'my-session' })
  t.ok(found.body.conversations.length <= 1, 'an option leads to its conversation')
})

t.test('groups are the same once the store has folded the corrections', async t => {
  const all = async () => (await post('user-stories', BY_TEAM)).body
  const before = await all()
  await node.fold()
  t.strictSame(await all(), before)
})
