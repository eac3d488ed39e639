// Figures, charts, keys and words against the data set whose totals are known by heart.
import t from 'tap'
import { organizationKey } from '#control/records.ts'
import { latencyBucket, latencyOfBucket } from '#proto/rows.ts'
import { id, insertEvents, insertSessions, storedEvent, storedSession } from '../../fixture.ts'
import { CHAT, startDataNode } from '../../fixture-data.ts'

const node = await startDataNode(t)
const { post, a, b } = node
const headers = { 'x-api-key': a.apiKey }
const call = (method: string, path: string, body?: unknown, key = a.apiKey) =>
  node.ask(method, `/dashboard/api/${path}`, { body, headers: { 'x-api-key': key } })

const counts = (points: { day: string; count: number }[]): number[] => points.map(point => point.count)
const P95 = latencyOfBucket(latencyBucket(800_000_000))

t.test('the dashboard counts events, conversations and users of a week, by day', async t => {
  const { body } = await post('dashboard')
  const { daily_calls, daily_conversations, daily_users, daily_errors, ...figures } = body
  t.strictSame(figures, {
    total_calls: 14,
    total_conversations: 5,
    active_users: 3,
    success_rate: 1 - 2 / 14,
    error_count: 2,
    avg_latency: 101.1,
    p95_latency: P95,
    previous: { total_calls: 0, total_conversations: 0, active_users: 0, success_rate: null },
    // Of the trace's model call: its agent says the same again.
    ...{ input_tokens: 50, output_tokens: 5, cost: null, unpriced_calls: 1 },
  })
  const days = ['08', '09', '10', '11', '12', '13', '14', '15'].map(day => `2026-06-${day}T00:00:00.000Z`)
  t.strictSame(
    daily_calls.map((point: { day: string }) => point.day),
    days,
  )
  t.strictSame(counts(daily_calls), [0, 0, 2, 0, 3, 0, 6, 3])
  t.strictSame(counts(daily_conversations), [0, 0, 2, 0, 1, 0, 2, 1])
  t.strictSame(counts(daily_users), [0, 0, 1, 0, 0, 0, 2, 1])
  t.strictSame(counts(daily_errors), [0, 0, 0, 0, 0, 0, 1, 1])
})

t.test('filters, windows and time zones choose what is counted', async t => {
  const f = async (body: object, expected: object): Promise<void> =>
    void t.match((await post('dashboard', body)).body, expected, JSON.stringify(body))
  await f({ time_range: 'all' }, { total_calls: 16, total_conversations: 6, active_users: 4, previous: null })
  await f({ time_range: '1h' }, { total_calls: 3, daily_calls: [{ count: 3 }], previous: { total_calls: 0 } })
  await f({ agent_name: ['support', 'scout'] }, { total_calls: 4, total_conversations: 3, active_users: 2 })
  await f({ connection_type: 'web' }, { total_calls: 3, active_users: 1, error_count: 1 })
  await f({ metadata_filters: [{ key: 'plan', value: 'pro' }] }, { total_calls: 6, total_conversations: 2 })
  await f({ agent_name: 'nobody' }, { total_calls: 0, success_rate: null, avg_latency: null, p95_latency: null })
  await f({ from: '2026-06-14', to: '2026-06-15' }, { total_calls: 6, daily_calls: [{ count: 6 }] })
  await f({ from: '2026-06-14', to: '2026-06-15' }, { previous: { total_calls: 0 } })
  await f(
    { from: '2026-06-15', to: '2026-06-16' },
    { total_calls: 3, previous: { total_calls: 5, success_rate: 1 - 1 / 5 } },
  )
  const india = (await post('dashboard', { from: '2026-06-10', to: '2026-06-12', timezone: 'Asia/Kolkata' })).body
  t.strictSame(india.daily_calls, [
    { day: '2026-06-09T18:30:00.000Z', count: 1 },
    { day: '2026-06-10T18:30:00.000Z', count: 1 },
  ])
  t.strictSame(counts(india.daily_conversations), [1, 1])
})

t.test('series of a window that begins long ago begin with the data', async t => {
  const from = '1971-01-01'
  const { body } = await post('dashboard', { from })
  t.match(body, { total_calls: 16, daily_calls: [{ day: '2026-05-26T00:00:00.000Z', count: 2 }] })
  for (const name of ['daily_calls', 'daily_users', 'daily_conversations', 'daily_errors']) {
    t.equal(body[name].length, 21, name)
  }
  const past = (await post('dashboard', { from, to: '2001-01-01' })).body
  t.match(past, { total_calls: 0, daily_calls: [{ day: '2000-12-31T00:00:00.000Z', count: 0 }] })
  t.equal(past.daily_calls.length, 1)
  const year = (await post('dashboard', { from: '2025-06-15', to: '2026-06-15' })).body
  t.equal(year.daily_calls.length, 365, 'a year has all of its days')
  const { series, bucket_seconds } = (await post('charts/query', { metric: 'events', filters: { from } })).body
  t.strictSame([bucket_seconds, series[0].points.length, series[0].total], [86_400, 21, 16])
  const tools = (await post('tool-time-series', { from })).body
  t.strictSame([tools.bucket_seconds, tools.series[0].points.length], [86_400, 21])
})

t.test('the dashboard says what was used, what that cost, and of how much nobody knows it', async t => {
  const spending = async (body: object, key = a.apiKey) => {
    const { input_tokens, output_tokens, cost, unpriced_calls } = (await post('dashboard', body, key)).body
    return [input_tokens, output_tokens, cost, unpriced_calls]
  }
  t.strictSame(await spending({ time_range: 'all' }), [50, 5, 1.2345, 1], 'with the call, which has a price')
  t.strictSame(await spending({ time_range: 'all', agent_name: 'planner' }), [0, 0, 0, 0], 'it says it again')
  t.strictSame(await spending({ time_range: '1h' }), [0, 0, 0, 0], 'nothing used is nothing spent')
  const metrics = (await post('command-center-summary', { time_range: 'all' })).body.metrics
  t.match(metrics, { input_tokens: 50, output_tokens: 5, cost: 1.2345, unpriced_calls: 1 })
})

t.test('another organization has figures of its own', async t => {
  const { body } = await post('dashboard', { time_range: 'all' }, b.apiKey)
  t.match(body, { total_calls: 1, total_conversations: 1, active_users: 1, error_count: 0 })
})

t.test('an event from a clock that runs ahead is in the total and in its day', async t => {
  await insertEvents(node.db.store, [
    storedEvent({
      organization: b.organization,
      conversation_id: CHAT,
      event_id: id(900),
      at: '2026-06-16T01:00:00.000Z',
    }),
  ])
  const { body } = await post('dashboard', { time_range: '1d' }, b.apiKey)
  t.equal(body.total_calls, 2)
  t.strictSame(counts(body.daily_calls), [0, 1, 1])
})

t.test('the command center is its four parts', async t => {
  const bare = { exclude_io: true }
  const { body } = await post('command-center-summary', bare)
  t.strictSame(body.metrics, (await post('dashboard')).body)
  t.strictSame(body.user_stories, (await post('user-stories', { exclude_io: true, page_size: 20 })).body)
  t.strictSame(body.errors, (await post('errors', bare)).body)
  const whole = (await post('command-center-summary')).body
  t.strictSame(whole.errors, (await post('errors')).body)
  t.match(whole.user_stories.conversations[0].preview, { first_input: 'Where is my Order?' }, 'with beginnings unless')
  t.strictSame(body.tool_stats, (await post('tool-stats')).body)
  t.match(body, { partial_data: false, failed_parts: [] })
  const nowhere = { timezone: 'Nowhere/Here' }
  const wrong = { status: 400, body: { code: 'REQ_BODY_INVALID', field: 'timezone' } }
  t.match(await post('command-center-summary', nowhere), wrong, 'said once, and nothing is left under way')
  t.match(await post('errors/export', nowhere), wrong, 'no file is begun')
})

t.test('under filters, too, and its parts read the edges of their windows once', async t => {
  const asked = async (question: string): Promise<number> => {
    const text = await node.metrics.registry.getSingleMetricAsString('parley_query_store_seconds')
    const count = new RegExp(`^parley_query_store_seconds_count\\{.*question="${question}"\\} (\\d+)`, 'm').exec(text)
    return Number(count?.[1] ?? 0)
  }
  // The newest day is read each time; rows of others are kept.
  const endsOnTheNewest = { from: '2026-06-13T10:00:00Z', to: '2026-06-15T10:00:00Z' }
  const ends = { from: '2026-06-12T10:00:00Z', to: '2026-06-14T13:00:00Z' }
  const plan = { key: 'plan', value: 'pro' }
  for (const metadata_filters of [[plan], [plan, { key: 'region', value: 'eu' }]]) {
    for (const window of [{}, { time_range: '1d' }, ends, endsOnTheNewest]) {
      const request = { ...window, metadata_filters }
      const said = JSON.stringify(request)
      const before = { ragged: await asked('ragged_said'), values: await asked('ragged_values') }
      const { body } = await post('command-center-summary', { ...request, exclude_io: true })
      t.equal(await asked('ragged_said'), before.ragged + (window === endsOnTheNewest ? 1 : 0), said)
      t.equal(await asked('ragged_values'), before.values, said)
      const rows = await asked('day_rows')
      await post('command-center-summary', { ...request, exclude_io: true })
      t.equal(await asked('day_rows'), rows, said)
      t.strictSame(body.metrics, (await post('dashboard', request)).body, said)
      const stories = await post('user-stories', { ...request, exclude_io: true, page_size: 20 })
      t.strictSame(body.user_stories, stories.body, said)
      t.strictSame(body.tool_stats, (await post('tool-stats', request)).body, said)
    }
  }
})

t.test('metadata is counted by the events that carry it, or whose conversation or user does', async t => {
  const { body } = await post('metadata-distribution')
  const key = (key: string, source: string, events: number, ...values: [string, number][]) => ({
    key,
    source,
    event_count: events,
    distinct_values: values.length,
    values: values.map(([value, count]) => ({ value, count })),
    other_count: 0,
  })
  t.strictSame(body, {
    total_events: 14,
    keys: [
      key('event_type', 'event_metadata', 5, ['tool_call', 4], ['turn', 1]),
      key('channel', 'conversation_metadata', 3, ['beta', 3]),
      key('region', 'conversation_metadata', 3, ['eu', 3]),
      key('plan', 'event_metadata', 3, ['pro', 3]),
      key('country', 'user_metadata', 3, ['uk', 3]),
      key('plan', 'user_metadata', 3, ['pro', 3]),
      key('topic', 'event_metadata', 1, ['delivery', 1]),
    ],
  })
  t.match((await post('metadata-distribution', { agent_name: 'nobody' })).body, { total_events: 0, keys: [] })
})

t.test('metadata keys are offered as configured, beside those that were seen', async t => {
  t.strictSame((await call('GET', 'organization/event-keys')).body, {
    keys: [],
    include_keys: [],
    updated_at: null,
    available_keys: ['event_type', 'plan', 'topic'],
    available: [
      { key: 'event_type', type: 'text', count: 5, distinct_values: 2 },
      { key: 'plan', type: 'text', count: 3, distinct_values: 1 },
      { key: 'topic', type: 'text', count: 1, distinct_values: 1 },
    ],
  })
  const put = await call('PUT', 'organization/event-keys', { keys: ['topic', 'plan', 'topic'] })
  t.match(put.body, { keys: ['topic', 'plan'], include_keys: [], updated_at: '2026-06-15T12:00:00.000Z' })
  await call('PUT', 'organization/event-keys', { include_keys: ['plan'] })
  const read = (await call('GET', 'organization/event-keys')).body
  t.match(read, { keys: ['topic', 'plan'], include_keys: ['plan'] })
  const conversation = (await call('GET', 'organization/conversation-keys')).body
  t.match(conversation, { keys: [], available_keys: ['channel', 'country', 'plan', 'region'] })
  t.match(
    conversation.available.find(({ key }: { key: string }) => key === 'region'),
    { type: 'text', count: 1 },
  )
  t.match((await call('GET', 'organization/event-keys', undefined, b.apiKey)).body, { keys: [], available_keys: [] })
  const many = Array.from({ length: 101 }, (_, i) => `k${i}`)
  const refused = [{ keys: [''] }, { keys: ['x'.repeat(129)] }, { include_keys: many }, { keys: 'a' }]
  for (const body of refused) t.equal((await call('PUT', 'organization/event-keys', body)).status, 400)
  const full = many.slice(1)
  for (const holder of ['event', 'conversation']) {
    const twice = await call('PUT', `organization/${holder}-keys`, {
      keys: [...full, ...full],
      include_keys: Array(101).fill('a'),
    })
    t.match(twice, { status: 200, body: { keys: full, include_keys: ['a'] } }, 'a key that comes again counts once')
  }
})

t.test('what is kept for how long is a setting, and texts never outlive their events', async t => {
  const path = 'organization/retention'
  const f = async (body: object, expected: object): Promise<void> =>
    void t.match(await call('PUT', path, body), expected, JSON.stringify(body))
  t.strictSame((await call('GET', path)).body, { events_days: null, texts_days: null })
  await f({ events_days: 90 }, { status: 200, body: { events_days: 90, texts_days: null } })
  await f({ texts_days: 30 }, { status: 200, body: { events_days: 90, texts_days: 30 } })
  await f({ texts_days: 91 }, { status: 400, body: { code: 'REQ_BODY_INVALID', field: 'texts_days' } })
  await f({ events_days: 6 }, { status: 400, body: { field: 'events_days' } })
  t.strictSame((await call('GET', path)).body, { events_days: 90, texts_days: 30 })
  const entry = await node.buckets.control.get(organizationKey(a.organization))
  t.match(entry?.json(), { retention: 1, keep: { events_days: 90, texts_days: 30 } }, 'new rows get a class')
  await f({ events_days: null, texts_days: null }, { status: 200, body: { events_days: null, texts_days: null } })
  t.match((await node.buckets.control.get(organizationKey(a.organization)))?.json(), { retention: 0 })
})

t.test('saved charts are kept in their order, and changed one by one', async t => {
  const path = 'dashboard/charts'
  const make = (title: string) => call('POST', path, { title, chart_type: 'line', metric: 'events' })
  t.strictSame((await call('GET', path)).body, [])
  const [first, second] = [(await make('one')).body, (await make('two')).body]
  t.match(first, { title: 'one', position: 0, group_by: null, filters: { time_range: '1w' }, created_by: 'api-key' })
  t.match(second, { position: 1 })
  t.equal((await make(' ')).status, 400)
  t.equal((await call('POST', path, { title: 'x', chart_type: 'line', metric: 'SELECT 1' })).status, 400)
  t.equal((await call('POST', path, { title: 'x', chart_type: 'line', metric: 'cost', group_by: 'x) --' })).status, 400)

  const changed = await call('PUT', `${path}/${second.id}`, { metric: 'cost', group_by: 'model' })
  t.match(changed, { status: 200, body: { id: second.id, title: 'two', metric: 'cost', group_by: 'model' } })
  t.equal((await call('PUT', `${path}/${second.id}`, { group_by: null })).body.group_by, null)

  const reorder = (chart_ids: unknown) => call('PUT', `${path}/reorder`, { chart_ids })
  const order = await reorder([second.id.toUpperCase(), first.id])
  t.match(order.body, [
    { id: second.id, position: 0 },
    { id: first.id, position: 1 },
  ])
  t.equal(order.body.length, 2)
  for (const wrong of [[first.id], [first.id, first.id], [first.id, id(1)], 'x', []]) {
    t.equal((await reorder(wrong)).status, 400, JSON.stringify(wrong))
  }
  t.strictSame((await call('GET', path)).body, order.body)
  t.strictSame((await call('GET', path, undefined, b.apiKey)).body, [], 'another organization')
  t.equal((await call('DELETE', `${path}/${first.id}`, undefined, b.apiKey)).status, 404)

  const gone = await call('DELETE', `${path}/${second.id}`)
  t.strictSame([gone.status, gone.body], [204, ''])
  t.match((await call('GET', path)).body, [{ id: first.id, position: 0 }])
  t.match(await call('DELETE', `${path}/${second.id}`), { status: 404, body: { code: 'QRY_NOT_FOUND', field: 'id' } })
  t.match(await call('PUT', `${path}/${second.id}`, {}), { status: 404 })
  t.match(await call('DELETE', `${path}/nonsense`), { status: 400, body: { field: 'id' } })
  const allow = await call('DELETE', `${path}/reorder`)
  t.equal(allow.status, 405, 'the fixed path wins over the id')
})

t.test('charts that are saved at the same time are all kept, up to fifty', async t => {
  const path = 'dashboard/charts'
  const make = () => call('POST', path, { title: 'x', chart_type: 'bar', metric: 'errors' }, b.apiKey)
  const made = await Promise.all(Array.from({ length: 6 }, make))
  t.strictSame(new Set(made.map(answer => answer.status)), new Set([201]))
  const kept = (await call('GET', path, undefined, b.apiKey)).body
  t.strictSame(
    kept.map((chart: { position: number }) => chart.position),
    [0, 1, 2, 3, 4, 5],
  )
  for (let n = kept.length; n < 50; n++) await make()
  t.match(await make(), { status: 400, body: { error: /50 charts/ } })
})

t.test('views are kept private or shared, and what is private is unknown to others', async t => {
  const as = async (credential: object, method: string, path: string, body?: unknown) =>
    node.ask(method, `/dashboard/api/${path}`, { body, headers: { ...credential } })
  const user = { authorization: `Bearer ${a.bearer}` }
  const key = { 'x-api-key': a.apiKey }
  const other = { 'x-api-key': b.apiKey }
  const names = async (credential: object, query = '') =>
    (await as(credential, 'GET', `views${query}`)).body.map((view: { name: string }) => view.name)
  const mine = (await as(user, 'POST', 'views', { name: ' Slow ', page: 'raw-logs', filters: { success: false } })).body
  t.match(mine, { name: 'Slow', page: 'raw-logs', shared: false, created_by: a.owner.id })
  t.strictSame(mine.filters, { time_range: '1w', success: false })
  const ours = (await as(key, 'POST', 'views', { name: 'EU', page: 'user-stories', filters: { agent_name: 'x' } })).body
  t.match(ours, { shared: true, created_by: 'api-key', created_at: '2026-06-15T12:00:00.000Z' })
  t.strictSame(await names(user), ['EU', 'Slow'])
  t.strictSame(await names(user, '?page=raw-logs'), ['Slow'])
  t.strictSame(await names(key), ['EU'])
  t.strictSame(await names(other), [])
  for (const credential of [key, other]) {
    t.equal((await as(credential, 'PUT', `views/${mine.id}`, { name: 'x' })).status, 404)
    t.equal((await as(credential, 'DELETE', `views/${mine.id}`)).status, 404)
  }
  t.match(await as(user, 'PUT', `views/${mine.id}`, { shared: true }), { body: { name: 'Slow', shared: true } })
  t.match(await as(key, 'PUT', `views/${mine.id}`, { name: 'Slowest' }), { body: { name: 'Slowest' } })
  for (const credential of [key, other]) {
    const refused = await as(credential, 'PUT', `views/${mine.id}`, { shared: false })
    t.equal(refused.status, credential === key ? 400 : 404)
  }
  t.equal((await as(user, 'PUT', `views/${mine.id}`, { shared: false })).body.shared, false, 'its author may')
  const f = async (body: object, field: string): Promise<void> =>
    void t.match(await as(key, 'POST', 'views', body), { status: 400, body: { field } }, JSON.stringify(body))
  await f({ page: 'x' }, 'name')
  await f({ name: ' ', page: 'x' }, 'name')
  await f({ name: 'x', page: 'A page' }, 'page')
  await f({ name: 'x', page: 'x', shared: false }, 'shared')
  await f({ name: 'x', page: 'x', filters: { time_range: '2w' } }, 'filters.time_range')
  await f({ name: 'x', page: 'x', filters: { more: 'x'.repeat(4096) } }, 'filters')
  t.equal((await as(key, 'GET', 'views?page=A')).status, 400)
  t.equal((await as(key, 'PUT', 'views/nonsense', {})).status, 400)
  t.equal((await as(key, 'DELETE', `views/${ours.id}`)).status, 204)
  t.equal((await as(key, 'DELETE', `views/${ours.id}`)).status, 404)
  t.strictSame(await names(user), ['Slowest'])
})

t.test('a chart shows a metric over time, by group', async t => {
  const query = async (body: object) => (await post('charts/query', body)).body
  const plain = await query({ metric: 'events', filters: { time_range: '1h' } })
  t.match(plain, { metric: 'events', group_by: null, bucket_seconds: 60, series: [{ group: null, total: 3 }] })
  const points = plain.series[0].points.filter((point: { value: number }) => point.value > 0)
  t.strictSame(points, [
    { timestamp: '2026-06-15T11:58:00.000Z', value: 2 },
    { timestamp: '2026-06-15T11:59:00.000Z', value: 1 },
  ])
  const f = async (body: object, expected: [string, number | null][]): Promise<void> => {
    const { series } = await query(body)
    const shown = series.map(({ group, total }: { group: string; total: number }) => [group, total])
    t.strictSame(shown, expected, JSON.stringify(body))
  }
  const all = { filters: { time_range: 'all' } }
  await f({ metric: 'events', group_by: 'agent_name', ...all }, [
    ['scout', 3],
    ['receptionist', 2],
    ['billing', 1],
    ['planner', 1],
    ['support', 1],
  ])
  await f({ metric: 'conversations', group_by: 'connection_type', ...all }, [
    ['otlp', 3],
    ['mcp', 1],
    ['web', 1],
    ['voice', 1],
  ])
  await f({ metric: 'input_tokens', group_by: 'model', ...all }, [['m-1', 50]])
  await f({ metric: 'output_tokens', ...all }, [[null, 12] as unknown as [string, number]])
  await f({ metric: 'cost', group_by: 'source', ...all }, [
    // Tokens that nobody has priced are not free.
    ['otlp', null],
    ['mcp', 0],
    ['sdk', 0],
    ['voice', 1.2345],
  ])
  await f({ metric: 'errors', group_by: 'error_type', ...all }, [
    ['', 1],
    ['Timeout', 1],
  ])
  await f({ metric: 'error_rate', group_by: 'metadata.event_type' }, [
    ['tool_call', 0.25],
    ['turn', 0],
  ])
  await f({ metric: 'p95_latency', group_by: 'tool_name', filters: { connection_type: 'web' } }, [
    ['find_order', latencyOfBucket(latencyBucket(200_500_000))],
  ])
  await f({ metric: 'avg_latency', filters: { agent_name: 'nobody' } }, [[null, null] as unknown as [string, null]])
  t.equal((await post('charts/query', { metric: 'events', group_by: 'name; DROP' })).status, 400)
  t.equal((await post('charts/query', {})).status, 400)
})

t.test('words of users are told when two of them write it', async t => {
  const organization = b.organization
  const ask = (n: number, conversation_id: string, at: string, input: string, session_id = '') =>
    storedEvent({ organization, conversation_id, event_id: id(n), at, input, session_id })
  const conversations = [id(801), id(802)]
  await insertSessions(
    node.db.store,
    conversations.map((conversation_id, i) =>
      storedSession({ at: '2026-06-15T11:00:00.000Z', organization, conversation_id, user_id: `u${i}` }),
    ),
  )
  await insertEvents(node.db.store, [
    ask(801, id(801), '2026-06-15T11:10:00.000Z', 'Where is my REFUND? The refund is late, 4711'),
    ask(802, id(802), '2026-06-15T11:20:00.000Z', 'refund for Grüße please', 'sent 802'),
    ask(803, id(802), '2026-06-14T13:30:00.000Z', 'refund'),
    ask(804, id(802), '2026-06-14T13:30:00.000Z', 'secret'),
  ])
  const { body } = await post('intent-keywords', { from: '2026-06-15T11:00:00Z', to: '2026-06-15T11:25:00Z' }, b.apiKey)
  t.strictSame(body, {
    total_analyzed: 2,
    keywords: [
      {
        ...{ keyword: 'refund', count: 2, share: 1, change: null, sample_event_ids: [id(802), id(801)] },
        samples: [
          { event_id: id(802), conversation_id: id(802), session_id: 'sent 802' },
          { event_id: id(801), conversation_id: id(801), session_id: id(801) },
        ],
      },
    ],
  })
  const day = (await post('intent-keywords', { from: '2026-06-15', to: '2026-06-16' }, b.apiKey)).body
  // Two of three inputs of the day, one of two the day before.
  t.match(day, { total_analyzed: 3, keywords: [{ keyword: 'refund', share: 2 / 3 }] })
  t.ok(Math.abs(day.keywords[0].change - 1 / 3) < 1e-9)
})

t.test('every figure is the same once the store has folded the corrections', async t => {
  const all = async () =>
    Promise.all([
      post('dashboard', { time_range: 'all' }),
      post('metadata-distribution', { time_range: 'all' }),
      post('charts/query', { metric: 'conversations', group_by: 'agent_name', filters: { time_range: 'all' } }),
      node.ask('GET', '/dashboard/api/organization/summary', { headers }),
    ]).then(answers => answers.map(answer => answer.body))
  const before = await all()
  t.match(before[3], { first_event_at: '2026-05-26T10:00:00.000Z', last_event_at: '2026-06-15T11:59:30.000Z' })
  await node.fold()
  t.strictSame(await all(), before)
})
