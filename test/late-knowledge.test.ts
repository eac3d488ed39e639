// What becomes known later, through real processes: a session captured again, an event before its session, a trace whose root names the
// session last. Lists, groups, filters and look-ups say what is known now, and no conversation is listed twice.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { ConversationRow, UserStoriesResponse } from '#proto/dashboard/user-stories.ts'
import { conversationIdOf } from '#proto/ids.ts'
import { post } from '#test/http.ts'
import { eventually, startSystem } from '#test/rig.ts'

const system = await startSystem(t, { processors: 2, env: { PARLEY_UNKNOWN_SESSION: 'create' } })
const org = { 'x-org-id': system.organization }

async function stories(body: object): Promise<UserStoriesResponse> {
  const url = `${system.queryUrl}/dashboard/api/user-stories`
  const answer = await post<UserStoriesResponse>(url, body, { 'x-api-key': system.apiKey })
  if (answer.status !== 200) throw new Error(`answered ${answer.status}`)
  return answer.body
}

const list = async (body: object = {}): Promise<readonly ConversationRow[]> => (await stories(body)).conversations ?? []
const idsOf = async (body: object): Promise<string[]> =>
  (await list(body)).map(({ conversation_id }) => conversation_id).sort()

async function capture(path: 'session' | 'event', body: object): Promise<void> {
  const { status } = await post(`${system.baseUrl}/api/v1/capture-${path}`, body, org)
  if (status !== 200) throw new Error(`answered ${status}`)
}

const event = (session_id: string) => ({
  ...{ event_id: randomUUID(), session_id, primitive_name: 'support' },
  ...{ args: 'a question', result: 'an answer' },
})

t.test('a session that is captured again: the latest value of each field stands, everywhere', async t => {
  const [session_id, other] = [randomUUID(), randomUUID()]
  const first = { user_id: 'ada', email: 'ada@example.com', plan: 'pro' }
  await capture('session', { session_id, user_data: first, metadata: { channel: 'web', shop: 'north' } })
  await capture('session', { session_id: other, user_data: { user_id: 'ada', plan: 'pro' } })
  for (const one of [session_id, session_id, other]) await capture('event', event(one))
  const byPlan = { group_by: { source: 'user_metadata', key: 'plan' } }
  const both = [session_id, other].sort()
  await eventually('both are listed', async () => (await idsOf({})).length === 2)
  t.strictSame(await idsOf({ metadata_filters: [{ key: 'plan', value: 'pro' }] }), both)
  t.strictSame(await idsOf({ search_field: 'user_id', search_value: 'ada' }), both)

  await capture('session', { session_id, user_data: { user_id: 'grace', plan: 'team' }, metadata: { shop: 'south' } })
  await eventually('the new user', async () => (await list()).some(({ user_id }) => user_id === 'grace'))
  const row = (await list()).find(({ conversation_id }) => conversation_id === session_id)
  t.match(row, { user_id: 'grace', metadata: { channel: 'web', shop: 'south' }, message_count: 2 })
  t.match(row?.user_data, { plan: 'team' })
  t.strictSame(await idsOf({ search_field: 'user_id', search_value: 'grace' }), [session_id])
  t.strictSame(await idsOf({ search_field: 'user_id', search_value: 'ada' }), [other])
  t.strictSame(await idsOf({ metadata_filters: [{ key: 'plan', value: 'team' }] }), [session_id])
  t.strictSame(await idsOf({ metadata_filters: [{ key: 'plan', value: 'pro' }] }), [other])
  t.strictSame(await idsOf({ metadata_filters: [{ key: 'shop', value: 'north' }] }), [])
  const { groups = [] } = await stories(byPlan)
  const found = groups.map(({ value, conversation_count, user_count }) => [value, conversation_count, user_count])
  t.strictSame(
    found.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    [
      ['pro', 1, 1],
      ['team', 1, 1],
    ],
  )
  const [rows] = await system.store.read<{ n: string; low: number }>(
    'SELECT count() AS n, min(sign) AS low FROM events WHERE organization = {organization:UUID}',
    { parameters: { organization: system.organization } },
  )
  t.match(rows, { n: '3', low: 1 }, 'no event was written again')
})

t.test('events that come before their session belong to it', async t => {
  const session_id = randomUUID()
  await capture('event', event(session_id))
  const listed = async () => (await list()).find(({ conversation_id }) => conversation_id === session_id)
  t.match(await eventually('the event is shown', listed), { user_id: null, message_count: 1 })
  await capture('session', { session_id, user_data: { user_id: 'lin' } })
  await eventually('its user is known', async () => (await listed())?.user_id === 'lin')
  t.strictSame(await idsOf({ search_field: 'user_id', search_value: 'lin' }), [session_id])
})

t.test('a trace whose root comes last and names the session: shown at once, then at home, once', async t => {
  const [traceId, session] = [randomUUID().replaceAll('-', ''), `trip ${randomUUID()}`]
  const [standIn, home] = [traceId, session].map(name => conversationIdOf(system.organization, name))
  const startMs = Date.now() - 10_000
  const send = async (spanId: string, fields: object, values: Record<string, string>): Promise<void> => {
    const attributes = Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } }))
    const times = { startTimeUnixNano: `${startMs}000000`, endTimeUnixNano: `${startMs + 900}000000` }
    const span = { traceId, spanId, name: 'invoke_agent planner', ...times, ...fields, attributes }
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }
    const { status } = await post(`${system.otelUrl}/v1/traces`, body, { 'X-Service-Org-ID': system.organization })
    if (status !== 200) throw new Error(`answered ${status}`)
  }
  const root = '00000000000000aa'
  const child = { parentSpanId: root }
  await send('00000000000000ab', child, {
    'user.id': 'emmy',
    'user.plan': 'solo',
    input: 'plan a trip',
    output: 'done',
  })
  const listed = async (id: string | undefined) => (await list()).find(({ conversation_id }) => conversation_id === id)
  t.match(await eventually('the trace is shown', () => listed(standIn)), {
    ...{ provisional: true, user_id: 'emmy', message_count: 1, original_conversation_id: traceId },
  })
  const before = (await list()).length
  await send(root, {}, { 'session.id': session, input: 'from the root', output: 'all done' })
  const settled = async () => {
    const row = await listed(home)
    return row?.message_count === 2 && row.user_id === 'emmy' && row.user_data.plan === 'solo' ? row : undefined
  }
  const row = await eventually('the trace is at home', settled, 30_000)
  t.notOk('provisional' in row)
  // Until its last span has ended.
  t.match(row, { original_conversation_id: session, duration_ms: 900 })
  t.equal((await list()).length, before, 'the stand-in is gone')
  await send('00000000000000ac', child, { input: 'late', output: 'too' })
  await eventually('what comes later goes there too', async () => (await listed(home))?.message_count === 3, 30_000)
  await eventually('and stands nowhere else', async () => (await listed(standIn)) === undefined, 30_000)
  t.strictSame(await idsOf({ metadata_filters: [{ key: 'plan', value: 'solo' }] }), [home])
  const { body } = await post<{ messages: { input: string }[] }>(
    `${system.queryUrl}/dashboard/api/conversation-messages`,
    { conversation_id: home },
    { 'x-api-key': system.apiKey },
  )
  const inputs = body.messages.map(({ input }) => input).sort()
  t.strictSame(inputs, ['from the root', 'late', 'plan a trip'], 'texts stayed readable')
})
