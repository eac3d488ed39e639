// The page of user stories on the data set of fixture-data.ts: which conversations it lists, what a row tells, filters and pages. What a
// conversation cost is in costs.test.ts.
import t from 'tap'
import { ParleyError } from '#proto/errors.ts'
import { silentLog } from '#test/rig.ts'
import { KEEP_NOTHING } from '../../days/kept.ts'
import { NOTHING } from '../../filters.ts'
import { id, insertEvents, NOW_MS, readersOver, storedEvent } from '../../fixture.ts'
import { CALL, CHAT, GREW, MCP, SHRUNK, startDataNode, TRACE } from '../../fixture-data.ts'
import type { Reader } from '../../reader.ts'
import { chooseConversations } from '../../reads/conversation-page.ts'
import { readHistories } from '../../reads/histories.ts'
import { createNewest } from '../../reads/newest.ts'
import { windowFrom } from '../../window.ts'
import { userStories } from './list.ts'

const node = await startDataNode(t)
const { post, db, a } = node

/** The conversations of a page. */
async function stories(body?: unknown): Promise<string[]> {
  const answer = await post('user-stories', body)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body.conversations.map((row: { conversation_id: string }) => row.conversation_id)
}

/** The same without what a page only shows: which conversations they are does not depend on it. */
const chosen = (body: object): Promise<string[]> => stories({ exclude_io: true, allow_limited_preview: true, ...body })

/** Reads of an organization without a request; questions in `failing` fail. */
function readerOf(organization: string, failing: ReadonlySet<string> = new Set()): Reader {
  return {
    bounded: () => readerOf(organization, failing),
    read: async <T>(question: string, sql: string, parameters = {}) => {
      if (failing.has(question)) throw new ParleyError('QRY_STORE_FAILED')
      return db.store.read<T>(sql, { parameters: { ...parameters, organization } })
    },
  }
}

t.test('conversations are listed by last activity inside the window', async t => {
  t.strictSame(await stories(), [CHAT, TRACE, GREW, MCP, SHRUNK])
  t.strictSame(await stories({ sort: 'oldest' }), [SHRUNK, MCP, GREW, TRACE, CHAT])
  t.strictSame(await chosen({ time_range: '1h' }), [CHAT])
  t.strictSame(await chosen({ time_range: '1d' }), [CHAT, TRACE])
  t.strictSame(await stories({ time_range: '1m' }), [CHAT, TRACE, GREW, MCP, SHRUNK, CALL])
  t.strictSame(await stories({ time_range: 'all', sort: 'oldest', page_size: 2 }), [CALL, SHRUNK])
})

t.test('a conversation whose last event moved away counts by the event that stayed', async t => {
  const body = { time_range: 'all', search_field: 'conversation_id', search_value: SHRUNK }
  const before = (await post('user-stories', body)).body.conversations[0]
  t.match(before, { message_count: 1, started_at: '2026-06-10T08:00:00.000Z', last_active: '2026-06-10T08:00:00.000Z' })
  t.equal(before.events.length, 1)
  // Of the day on which its last event stands another one was later: the aggregate alone would still say so.
  const taken = await chooseConversations(readerOf(a.organization), {
    window: windowFrom(Date.parse('2026-06-10T12:00:00Z')),
    conditions: NOTHING,
    sort: 'oldest',
    slice: { offset: 0, limit: 10 },
  })
  t.strictSame(
    taken.map(conversation => conversation.conversation_id),
    [MCP, GREW, TRACE, CHAT],
  )
})

t.test('pages follow each other and one row is read ahead', async t => {
  const first = await post('user-stories', { page_size: 2 })
  t.match(first.body, {
    page: 1,
    page_size: 2,
    total_pages: 2,
    has_more: true,
    overlapping: false,
    partial_data: false,
  })
  t.strictSame(await stories({ page_size: 2, page: 2 }), [GREW, MCP])
  const last = await post('user-stories', { page_size: 2, page: 3 })
  t.match(last.body, { total_pages: 3, has_more: false })
  t.equal(last.body.conversations.length, 1)
  t.match((await post('user-stories', { page_size: 2, page: 50 })).body, { conversations: [], total_pages: 3 })
  t.match((await post('user-stories', { agent_name: 'nobody' })).body, {
    conversations: [],
    user_summaries: [],
    total_pages: 0,
    has_more: false,
  })
})

t.test('a row tells figures, merged traits and the newest events', async t => {
  const { conversations } = (await post('user-stories', { time_range: '1h' })).body
  const { events, ...row } = conversations[0]
  t.strictSame(row, {
    conversation_id: CHAT,
    original_conversation_id: null,
    user_id: 'ada',
    user_email: 'ada@example.org',
    user_data: { plan: 'pro', country: 'uk' },
    metadata: { channel: 'beta' },
    attributes: {},
    connection_type: 'web',
    agent_names: ['billing', 'support'],
    started_at: '2026-06-15T11:58:00.000Z',
    last_active: '2026-06-15T11:59:30.000Z',
    duration_ms: 90_000,
    message_count: 3,
    tool_call_count: 1,
    error_count: 1,
    avg_latency: 500.25,
    intents: [],
    violations: [],
    has_audio: false,
    preview: { first_input: 'Where is my Order?', last_output: '' },
    cost_metadata: [],
  })
  t.strictSame(
    events.map((event: { event_id: string }) => event.event_id),
    [id(3), id(2), id(1)],
  )
  t.match(events[2], { input: 'Where is my Order?', output: 'On its way.', user_id: 'ada' })
  t.equal(events[1].input.length, 4096)
  t.equal(events[1].input_truncated, true)
})

t.test('a conversation is previewed by its turns, by tools only where nothing else speaks', async t => {
  const TALK = id(991)
  const BARE = id(992)
  const at = (second: number): string => new Date(NOW_MS - 50 * 86_400_000 + second * 1000).toISOString()
  const ran = { kind: 'tool', name: 'quiet' } as const
  const of = { organization: a.organization, user_id: 'talker', name: 'talk' }
  const talk = { ...of, conversation_id: TALK }
  const said = { input: 'messages of a model call', output: 'its answer' }
  await insertEvents(db.store, [
    storedEvent({ ...talk, ...ran, event_id: id(981), at: at(0), input: '{"user":7}', output: '{"name":"Ada"}' }),
    storedEvent({ ...talk, event_id: id(982), at: at(1), input: 'Are you open?', output: 'Until six.' }),
    storedEvent({ ...talk, kind: 'llm', event_id: id(983), at: at(2), ...said }),
    storedEvent({ ...talk, ...ran, event_id: id(984), at: at(3), input: '{"day":1}', output: '9-18' }),
    storedEvent({ ...of, ...ran, conversation_id: BARE, event_id: id(985), at: at(4), input: '{"n":1}', output: '1' }),
    storedEvent({ ...of, ...ran, conversation_id: BARE, event_id: id(986), at: at(5), input: '{"n":2}', output: '2' }),
  ])
  const search = { search_field: 'user_id', search_value: 'talker' }
  const { conversations } = (await post('user-stories', { time_range: 'all', ...search })).body
  t.match(conversations, [
    { conversation_id: BARE, preview: { first_input: '{"n":1}', last_output: '2' } },
    { conversation_id: TALK, preview: { first_input: 'Are you open?', last_output: 'Until six.' } },
  ])
})

t.test('exclude_io leaves the texts out altogether', async t => {
  const { conversations } = (await post('user-stories', { time_range: '1h', exclude_io: true })).body
  for (const event of conversations[0].events) {
    t.notOk('input' in event || 'output' in event || 'input_truncated' in event || 'output_truncated' in event)
  }
  t.strictSame(conversations[0].preview, { first_input: null, last_output: null })
})

t.test('a conversation carries its newest twenty events, whatever its length', async t => {
  const LONG = id(190)
  const at = (i: number) => new Date(NOW_MS - 40 * 86_400_000 + i * 1000).toISOString()
  const events = Array.from({ length: 25 }, (_, i) =>
    storedEvent({
      organization: a.organization,
      conversation_id: LONG,
      event_id: id(500 + i),
      at: at(i),
      name: 'long',
    }),
  )
  await insertEvents(db.store, events)
  const { conversations } = (await post('user-stories', { time_range: 'all', agent_name: 'long' })).body
  t.match(conversations[0], { conversation_id: LONG, message_count: 25, started_at: at(0), last_active: at(24) })
  t.strictSame(
    conversations[0].events.map((event: { event_id: string }) => event.event_id),
    Array.from({ length: 20 }, (_, i) => id(524 - i)),
  )
})

t.test('original ids, callers, recordings and prices are shown', async t => {
  const rows = (await post('user-stories', { time_range: '1m' })).body.conversations
  const byId = new Map(rows.map((row: { conversation_id: string }) => [row.conversation_id, row]))
  t.match(byId.get(MCP), {
    original_conversation_id: 'conv_mcp',
    user_id: null,
    connection_type: 'mcp',
    tool_call_count: 3,
  })
  t.match(byId.get(CALL), {
    user_id: '+15550001',
    has_audio: true,
    cost_metadata: [{ cost: '1.2345', 'tokens.aggregated': 'true' }],
  })
  t.match(byId.get(TRACE), {
    user_id: 'grace',
    original_conversation_id: 'my-session',
    agent_names: ['planner'],
    message_count: 5,
    error_count: 1,
  })
})

t.test('search fields are exact', async t => {
  const f = async (search_field: string, search_value: string, expected: string[]): Promise<void> =>
    void t.strictSame(await chosen({ time_range: '1m', search_field, search_value }), expected, search_field)
  await f('user_id', 'ada', [CHAT])
  await f('user_id', 'grace', [TRACE])
  await f('user_id', 'lin', [GREW, SHRUNK])
  await f('user_id', 'guest', [])
  await f('user_email', 'guest@example.org', [])
  await f('user_id', 'ad', [])
  await f('user_id', 'Ada', [])
  await f('user_email', 'ada@example.org', [CHAT])
  await f('user_email', 'example', [])
  await f('conversation_id', MCP.toUpperCase(), [MCP])
  await f('conversation_id', 'no uuid', [])
  await f('original_conversation_id', CHAT, [CHAT])
  await f('original_conversation_id', 'unheard of', [])
  t.strictSame(await stories({ search: 'only loads options', time_range: '1h' }), [CHAT])
})

t.test('filters hold for a conversation', async t => {
  const f = async (body: object, expected: string[]): Promise<void> =>
    void t.strictSame(await chosen(body), expected, JSON.stringify(body))
  await f({ agent_name: ['billing', 'planner'] }, [CHAT, TRACE])
  await f({ agent_name: 'scout' }, [GREW, SHRUNK])
  await f({ agent_name: 'find_order' }, [])
  await f({ connection_type: ['web', 'mcp'] }, [CHAT, MCP])
  await f({ connection_type: 'web', agent_name: 'planner' }, [])
  await f({ metadata_filters: [{ key: 'plan', value: 'pro' }] }, [CHAT, MCP])
  await f({ metadata_filters: [{ key: 'plan', value: 'free' }] }, [])
  await f({ metadata_filters: [{ key: 'topic', value: 'delivery' }] }, [CHAT])
  await f(
    {
      metadata_filters: [
        { key: 'plan', value: 'pro' },
        { key: 'region', value: 'eu' },
      ],
    },
    [MCP],
  )
  await f({ sentiment_ids: [id(1)] }, [])
  await f({ sop_ids: [id(1)] }, [])
  await f({ sop_ids: [], time_range: '1h' }, [CHAT])
})

t.test('user summaries count the whole history of the users of the page', async t => {
  const graces = [
    {
      ...{ model: 'm-1', provider: 'acme', 'tokens.input': '50', 'tokens.output': '5' },
      ...{ 'tokens.aggregated': 'true', 'tokens.request_input': '50' },
    },
  ]
  const summary = (key: string, conversation_count: number, message_count: number) => ({
    key,
    conversation_count,
    message_count,
    intent_count: 0,
    violation_count: 0,
    intent_labels: [],
    violation_labels: [],
    cost_metadata: key === 'user:grace' ? graces : [],
  })
  const { user_summaries } = (await post('user-stories')).body
  t.strictSame(
    user_summaries.sort((x: { key: string }, y: { key: string }) => (x.key < y.key ? -1 : 1)),
    [
      summary(`conversation:${MCP}`, 1, 3),
      summary('user:ada', 1, 3),
      summary('user:grace', 1, 5),
      summary('user:lin', 2, 3),
    ],
  )
  const filtered = await post('user-stories', { agent_name: 'scout', page_size: 1 })
  t.strictSame(filtered.body.user_summaries, [summary('user:lin', 2, 3)], 'beyond the page')
  t.strictSame((await post('user-stories', { allow_limited_preview: true })).body.user_summaries, [])
})

t.test('fields that do not go together are refused by name', async t => {
  const f = async (body: object, field: RegExp): Promise<void> => {
    const answer = await post('user-stories', body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.body.error, field)
  }
  await f({ search_field: 'user_id' }, /search_value/)
  await f({ search_value: 'x' }, /search_field/)
  await f({ search_field: 'group_value', search_value: 'x' }, /search_field/)
  await f({ search_field: 'name', search_value: 'x' }, /search_field must be one of "user_id"/)
  await f({ page_size: 101 }, /page_size/)
  await f({ page: 0 }, /page /)
  await f({ sort: 'random' }, /sort must be one of "newest", "oldest"/)
  await f({ sentiment_ids: ['x'] }, /sentiment_ids\.0 must be a uuid/)
  await f({ group_by: { source: 'user_metadata' } }, /group_by\.key is required/)
})

t.test('another organization sees only its own conversation under the same id', async t => {
  const { conversations } = (await post('user-stories', { time_range: 'all' }, node.b.apiKey)).body
  t.equal(conversations.length, 1)
  t.match(conversations[0], { conversation_id: CHAT, user_id: 'mallory', user_data: {}, message_count: 1 })
})

t.test('a conversation lasts until the last of its events has ended', async t => {
  const SLOW = id(992)
  const at = { organization: node.b.organization, conversation_id: SLOW, at: '2026-06-15T10:00:00.000Z' }
  await insertEvents(db.store, [
    storedEvent({ ...at, event_id: id(9921), duration_ns: 60_000_999_999 }),
    storedEvent({ ...at, event_id: id(9922), at: '2026-06-15T10:00:30.000Z', duration_ns: 10_000_000_000 }),
    storedEvent({ ...at, event_id: id(9923), at: '2026-06-15T10:00:50.000Z' }),
  ])
  const { body } = await post('user-stories', { search_field: 'conversation_id', search_value: SLOW }, node.b.apiKey)
  t.match(body.conversations, [{ duration_ms: 60_000, last_active: '2026-06-15T10:00:50.000Z' }])
})

t.test('what enriches a page may fail: the page is partial then, and no error', async t => {
  const organization = node.a.organization
  const failing = new Set(['captures', 'texts', 'costs', 'histories'])
  const reader = readerOf(organization, failing)
  const record = {
    id: organization,
    name: '',
    display_id: 'x',
    subscription: '',
    active: true,
    retention: 0,
    created_at: '',
  }
  const request = {
    time_range: '1h',
    page: 1,
    page_size: 50,
    sort: 'newest',
    exclude_io: false,
    allow_limited_preview: false,
  }
  const call = {
    organization: record,
    principal: { kind: 'key', organization, key: undefined as never } as const,
    visitor: { headers: {}, address: '' },
    role: 'viewer' as const,
    control: { records: node.buckets.control, view: node.view },
    signIn: undefined as never,
    reader,
    kept: KEEP_NOTHING,
    newest: createNewest(),
    records: node.buckets.control,
    rejects: node.buckets.rejects,
    cursors: node.buckets.cursors,
    stored: node.stored,
    prices: { version: 'none', entries: [] },
    payloads: async () => null,
    ...{ journal: undefined as never, outgoing: undefined as never },
    params: {},
    nowMs: NOW_MS,
    log: silentLog,
    signal: AbortSignal.timeout(60_000),
  }
  const answer = await userStories.work(call, request)
  t.match(answer, { partial_data: true, has_more: false })
  t.match(answer, { conversations: [{ conversation_id: CHAT, message_count: 3, user_id: null, cost_metadata: [] }] })
  failing.add('conversation_facts')
  await t.rejects(userStories.work(call, request), {
    code: 'QRY_STORE_FAILED',
  })
})

t.test('histories are the same where candidates are too many to be handed back', async t => {
  const open = readersOver(node.db.reader)
  const reader = open(node.a.organization, new AbortController().signal)
  const users = ['ada', 'guest', 'nobody']
  const found = await readHistories(reader, users, NOTHING)
  t.ok(found.figures.size > 0)
  t.strictSame(await readHistories(reader, users, NOTHING, 0), found)
})

t.test('every answer is the same once the store has folded the corrections', async t => {
  const bodies = [
    { time_range: 'all' },
    { sort: 'oldest', page_size: 3 },
    { time_range: 'all', search_field: 'user_id', search_value: 'lin' },
    { agent_name: 'scout' },
  ]
  const all = async () => (await Promise.all(bodies.map(body => post('user-stories', body)))).map(answer => answer.body)
  const before = await all()
  await node.fold()
  t.strictSame(await all(), before)
})
