// Every filter of every filter body against the data set whose totals are known by heart. One table says what each filter lets through;
// every endpoint that takes it must come to these totals. Errors are in contract-errors.test.ts.
import t from 'tap'
import { createTenant } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'
import { clipWords } from './endpoints/dashboard/login-summary.ts'
import { id } from './fixture.ts'
import { CHAT, GREW, startDataNode, TRACE } from './fixture-data.ts'

const node = await startDataNode(t)
const { a, b, post } = node
const nobody = await createTenant(node.buckets, { name: 'nobody' })

/** Answers of every shape. */
type Body = Awaited<ReturnType<typeof post>>['body']

async function answerOf(path: string, body: object): Promise<Body> {
  const { status, body: answer } = await post(path, body)
  if (status !== 200) throw new Error(`${path} ${JSON.stringify(body)}: ${status} ${JSON.stringify(answer)}`)
  return answer
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
const callsOf = (tools: readonly { calls: number }[]): number => sum(tools.map(tool => tool.calls))
/** Lines of a CSV without its header; no cell of the data set holds a line break. */
const linesOf = (text: string): number => text.trimEnd().split('\r\n').length - 1

/** What a filter lets through; `tools`: calls below the turns that it asks for. */
interface Totals {
  readonly events: number
  readonly errors: number
  readonly conversations: number
  readonly tools: number
  readonly toolErrors: number
}
type Row = readonly [
  filter: object,
  events: number,
  errors: number,
  conversations: number,
  tools: number,
  failed: number,
]

const is = (...pairs: [string, string][]): object => ({
  metadata_filters: pairs.map(([key, value]) => ({ key, value })),
})

/** Hand-checked against fixture-data.ts. */
const FILTERS: readonly Row[] = [
  [{}, 14, 2, 5, 6, 2],
  [{ time_range: '1min' }, 1, 0, 1, 0, 0],
  [{ time_range: '1h' }, 3, 1, 1, 1, 1],
  [{ time_range: '1d' }, 8, 2, 2, 3, 2],
  [{ time_range: '1w' }, 14, 2, 5, 6, 2],
  [{ time_range: '1m' }, 16, 2, 6, 6, 2],
  [{ time_range: 'all' }, 16, 2, 6, 6, 2],
  [{ from: '2026-06-14', to: '2026-06-15' }, 6, 1, 2, 2, 1],
  [{ from: '2026-06-14T22:00', to: '2026-06-14T22:00:02', timezone: 'Europe/Berlin' }, 3, 0, 1, 0, 0],
  [{ to: '2026-06-10T12:00:00Z', time_range: '1d' }, 1, 0, 1, 0, 0],
  [{ agent_name: 'support' }, 1, 0, 1, 1, 1],
  [{ agent_name: ['support', 'billing'] }, 2, 0, 1, 1, 1],
  [{ agent_name: 'nobody' }, 0, 0, 0, 0, 0],
  [{ agent_name: [] }, 14, 2, 5, 6, 2],
  [{ connection_type: 'web' }, 3, 1, 1, 1, 1],
  [{ connection_type: ['web', 'mcp'] }, 6, 1, 2, 4, 1],
  [{ connection_type: 'kiosk' }, 0, 0, 0, 0, 0],
  [{ connection_type: 'otlp' }, 8, 1, 3, 2, 1],
  [{ connection_type: 'sdk' }, 0, 0, 0, 0, 0],
  [is(['topic', 'delivery']), 1, 0, 1, 0, 0],
  [is(['region', 'eu']), 3, 0, 1, 3, 0],
  [is(['country', 'uk']), 3, 1, 1, 1, 1],
  [is(['plan', 'pro']), 6, 1, 2, 4, 1],
  [is(['plan', 'free']), 0, 0, 0, 0, 0],
  [is(['event_type', 'turn'], ['event_type', 'tool_call']), 5, 1, 2, 4, 1],
  [is(['event_type', 'tool_call'], ['region', 'eu']), 3, 0, 1, 3, 0],
  [{ time_range: '1h', connection_type: 'web', ...is(['plan', 'pro']) }, 3, 1, 1, 1, 1],
]

/** What an endpoint's answer comes to, and which total that has to be. */
type Check = readonly [path: string, which: keyof Totals, value: (answer: Body) => number | null, more?: object]

const CHECKS: readonly Check[] = [
  ['dashboard', 'events', answer => answer.total_calls],
  ['dashboard', 'conversations', answer => answer.total_conversations],
  ['dashboard', 'errors', answer => answer.error_count],
  ['dashboard', 'events', answer => sum(answer.daily_calls.map((point: Body) => point.count))],
  ['command-center-summary', 'events', answer => answer.metrics.total_calls],
  ['command-center-summary', 'conversations', answer => answer.user_stories.conversations.length],
  ['command-center-summary', 'errors', answer => answer.errors.errors.length],
  ['command-center-summary', 'tools', answer => callsOf(answer.tool_stats)],
  ['metadata-distribution', 'events', answer => answer.total_events],
  ['user-stories', 'conversations', answer => answer.conversations.length],
  [
    'user-stories/search-options',
    'conversations',
    answer => answer.options.filter((option: Body) => option.field === 'conversation_id').length,
    { search: '00000000-0000' },
  ],
  ['tool-stats', 'tools', callsOf],
  ['tool-stats', 'toolErrors', answer => sum(answer.map((tool: Body) => tool.error_count))],
  ['tool-time-series', 'tools', answer => sum(answer.series.map((one: Body) => callsOf(one.points)))],
  ['tool-error-distribution', 'toolErrors', answer => answer.total_errors],
  ['tools-dashboard', 'tools', answer => callsOf(answer.tool_stats)],
  ['charts/query', 'events', answer => answer.series[0].total, { metric: 'events' }],
  ['errors', 'errors', answer => answer.errors.length],
  ['errors/groups', 'errors', answer => answer.total_errors],
  ['errors/export', 'errors', linesOf],
  ['raw-logs', 'events', answer => answer.events.length],
  ['raw-logs', 'errors', answer => answer.events.length, { success: false, exclude_io: true }],
  ['raw-logs/export', 'events', linesOf],
]

const totalsOf = ([, events, errors, conversations, tools, toolErrors]: Row): Totals => ({
  ...{ events, errors, conversations, tools, toolErrors },
})

const bodyOf = (path: string, filter: object, more: object): object =>
  path === 'charts/query' ? { ...more, filters: filter } : { ...filter, ...more }

/** Filters of these numbers, or all of them when there is time. */
const filters = (...sample: number[]): Row[] =>
  FILTERS.filter((_, i) => scaled({ sample: sample.includes(i) ? 1 : 0, full: 1 }) === 1)
/** What every endpoint is asked with, because each of them reads a filter in a way of its own. */
const EVERYWHERE = new Set(filters(0, 24))
/** A sample asks the raw logs and their count besides for what raw-logs.test.ts does not: that asks for the others event by event. */
const ASKED = filters(0, 4, 9, 15, 23, 24)
const LOGS = CHECKS.filter(([path, which]) => path === 'raw-logs' && which === 'events')

for (const row of ASKED) {
  const [filter] = row
  const totals = totalsOf(row)
  const checks = EVERYWHERE.has(row) ? CHECKS : LOGS
  t.test(`what ${JSON.stringify(filter)} lets through`, async t => {
    const answers = new Map<string, Body>()
    for (const [path, which, value, more = {}] of checks) {
      const asked = `${path} ${JSON.stringify(more)}`
      if (!answers.has(asked)) answers.set(asked, await answerOf(path, bodyOf(path, filter, more)))
      t.equal(value(answers.get(asked)), totals[which], `${asked}: ${which}`)
    }
    const { total_count } = await answerOf('raw-logs/count', filter)
    if (total_count !== null) t.equal(total_count, totals.events, 'raw-logs/count')
  })
}

t.test('counts are given where the contract says that they can be, and only there', async t => {
  const f = async (body: object, expected: number | null): Promise<void> =>
    void t.equal((await answerOf('raw-logs/count', body)).total_count, expected, JSON.stringify(body))
  await f({ agent_name: 'support' }, 1)
  await f({ success: false }, 2)
  await f(is(['event_type', 'turn']), 1)
  await f({ event_id: id(20), time_range: '1min' }, 1)
  await f({ event_id: id(777) }, 0)
  await f({ search_query: 'needle' }, null)
  await f({ connection_type: 'web' }, null)
  await f({ conversation_id: CHAT }, null)
  await f(is(['topic', 'delivery']), null)
})

t.test('filters of one endpoint alone', async t => {
  const f = async (path: string, field: string, body: object, expected: number): Promise<void> =>
    void t.equal((await answerOf(path, body))[field].length, expected, `${path} ${JSON.stringify(body)}`)
  const logs = (body: object, expected: number) => f('raw-logs', 'events', body, expected)
  await logs({ success: true }, 12)
  await logs({ conversation_id: TRACE }, 5)
  await logs({ event_id: id(20), time_range: '1h' }, 1)
  await logs({ search_query: 'the NEEDLE' }, 1)
  await logs({ search_query: '' }, 14)
  await logs({ page_size: 5 }, 5)
  await logs({ page_size: 5, page: 3 }, 4)
  const stories = (body: object, expected: number) => f('user-stories', 'conversations', body, expected)
  const found = (search_field: string, search_value: string) => ({ search_field, search_value, time_range: 'all' })
  await stories(found('user_id', 'ada'), 1)
  await stories(found('user_id', 'guest'), 0)
  await stories(found('user_email', 'ada@example.org'), 1)
  await stories(found('conversation_id', GREW), 1)
  await stories(found('original_conversation_id', 'never sent'), 0)
  await stories({ page_size: 2, page: 3 }, 1)
  await stories({ allow_limited_preview: true }, 5)
  await stories({ exclude_io: true, sort: 'oldest' }, 5)
  await stories({ sentiment_ids: [id(1)] }, 0)
  await stories({ sop_ids: [id(1)] }, 0)
  const plan = { group_by: { source: 'user_metadata', key: 'plan' } }
  await f('user-stories', 'groups', plan, 1)
  await f('user-stories', 'groups', { ...plan, ...{ search_field: 'group_value', search_value: 'free' } }, 0)
  await f('user-stories', 'groups', { group_by: { source: 'conversation_metadata', key: 'region' } }, 1)
  const pro = { ...plan, group_value: 'pro' }
  const { users } = await answerOf('user-stories', { ...pro, group_level: 'users' })
  t.match(users, [{ conversation_count: 1 }])
  await stories({ ...pro, group_level: 'conversations', group_user_key: users[0].key }, 1)
  const marks = await answerOf('tool-checkpoint-stats', { time_range: '1h' })
  t.match(marks, [{ tool_name: 'find_order', checkpoints: [{ name: 'db', count: 1, avg_ms: 12.5 }] }])
  t.equal((await answerOf('tool-checkpoint-stats', is(['region', 'eu']))).length, 0)
  const words = await answerOf('intent-keywords', { time_range: 'all' })
  t.strictSame([words.total_analyzed, words.keywords], [3, []], 'what only one user says is no keyword')
})

t.test('the login summary is about 48 hours, in figures that other endpoints answer as well', async t => {
  const ask = (query = '', headers: Record<string, string> = { 'x-api-key': a.apiKey }) =>
    node.ask('GET', `/dashboard/api/login-summary${query}`, { headers })
  const { status, body } = await ask()
  t.equal(status, 200)
  const window = { from: '2026-06-13T12:00:00.000Z', to: '2026-06-15T12:00:00.000Z' }
  t.match(body, { org_id: a.organization, window_start: window.from, window_end: window.to, generated_at: window.to })
  t.not((await ask()).body.id, body.id, 'nothing is kept')
  t.equal(
    body.summary_text,
    'In the last 48 hours there were 9 events in 3 conversations with 3 known users; events: 200 % more than in the 48 hours before. ' +
      '2 failed, which is 22.2 %; it was 0 % in the 48 hours before. Most often: Failure in pong (1). ' +
      'Of the events with a latency, 95 % took no more than 795 ms.',
  )
  const { total_calls, total_conversations, active_users } = await answerOf('dashboard', window)
  const { groups } = await answerOf('errors/groups', window)
  const [errors, usage] = body.sections
  t.match([errors.key, usage.key, body.sections.length], ['errors', 'usage', 2])
  t.strictSame(
    usage.items.map((item: Body) => item.count),
    [total_calls, total_conversations, active_users],
  )
  t.strictSame(
    errors.items.map((item: Body) => [item.count, item.href]),
    groups.map((group: Body) => [group.count, `/raw-logs?event_id=${group.sample_event_id}`]),
  )
  const filters = new URL(usage.items[0].href, 'http://dashboard').searchParams
  t.equal(
    (await answerOf('raw-logs', Object.fromEntries(filters))).events.length,
    total_calls,
    'a link leads to what was counted',
  )

  const asked = async (query: string, headers: Record<string, string>, ...expected: unknown[]): Promise<void> => {
    const { status, body } = await ask(query, { 'x-api-key': a.apiKey, ...headers })
    t.strictSame([status, body.code ?? body.org_id], expected, query)
  }
  await asked(`?org_id=${a.organization.toUpperCase()}`, {}, 200, a.organization)
  await asked(`?org_id=${b.organization}`, {}, 403, 'AUTH_FORBIDDEN')
  await asked(`?org_id=${b.organization}`, { 'x-org-id': a.organization }, 400, 'AUTH_ORG_AMBIGUOUS')
  await asked('?org_id=x', {}, 400, 'REQ_BODY_INVALID')
  await asked(`?org_id=${a.organization}&org_id=${a.organization}`, {}, 400, 'REQ_BODY_INVALID')
  const { body: empty } = await node.ask('GET', '/dashboard/api/login-summary', {
    headers: { 'x-api-key': nobody.apiKey },
  })
  t.match(empty, { summary_text: /^Nothing was captured/, sections: [] })
  t.equal(empty.sections.length, 0)
})

t.test('a summary has at most 90 words, whatever names senders choose', async t => {
  const text = 'word '.repeat(200)
  t.equal(clipWords(text).split(' ').length, 90)
  t.equal(clipWords('as it is'), 'as it is')
})
