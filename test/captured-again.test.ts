// A session that is captured for one user and then for another: each event is of whoever was named when it was sent, wherever it is shown, and the
// conversation of the latest; an erasure goes by the same.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { eventually, startSystem } from '#test/rig.ts'

t.setTimeout(120_000)
const system = await startSystem(t, { env: { PARLEY_QUERY_CHECK_RESPONSES: 'on' } })
const { organization, apiKey, queryUrl } = system

async function send(path: string, body: object): Promise<void> {
  const headers = { 'x-org-id': organization, 'content-type': 'application/json' }
  const response = await fetch(`${system.baseUrl}/api/v1/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  t.equal(response.status, 200)
  await response.arrayBuffer()
}

async function ask<T>(path: string, body: object): Promise<T> {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const response = await fetch(`${queryUrl}/dashboard/api/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  const answer = (await response.json()) as T
  if (!response.ok) throw new Error(JSON.stringify(answer))
  return answer
}

interface Shown {
  readonly event_id: string
  readonly user_id: string | null
}
const session_id = randomUUID()
const events = Array.from({ length: 5 }, () => randomUUID())
const eventOf = (i: number): object => ({
  ...{ event_id: events[i], session_id, primitive_name: 'agent', args: `question ${i}`, result: 'answer' },
  ...{ success: i % 2 === 0, timestamp: Date.now() },
})
const capture = (user_id: string): Promise<void> =>
  send('capture-session', { session_id, user_data: { user_id }, metadata: {} })

/** Who an event is of, by its place in `events`. */
const usersAmong = (rows: readonly Shown[]): (string | null | undefined)[] =>
  events.map(id => rows.find(row => row.event_id === id)?.user_id)
const EXPECTED = ['ada', 'ada', 'grace', 'grace', 'ada']

t.test('each event is of who was named when it was sent', async t => {
  await capture('ada')
  await send('capture-event', eventOf(0))
  await send('capture-event', eventOf(1))
  await capture('grace')
  await send('capture-event', eventOf(2))
  // Traits alone name nobody.
  await send('capture-session', { session_id, user_data: { email: 'x@example.org' }, client_config: 'later' })
  await send('capture-event', eventOf(3))
  await capture('ada')
  await send('capture-event', eventOf(4))
  await capture('grace')
  await eventually('all are stored', async () => {
    const { events: rows } = await ask<{ events: Shown[] }>('raw-logs', {})
    return rows.length === events.length
  })
  const logs = await ask<{ events: Shown[] }>('raw-logs', {})
  t.strictSame(usersAmong(logs.events), EXPECTED, 'raw logs')
  const one = await ask<{ events: Shown[] }>('raw-logs', { event_id: events[1] })
  t.match(one.events, [{ user_id: 'ada' }], 'one event')
  const stories = await ask<{ conversations: { user_id: string; events: Shown[] }[] }>('user-stories', {})
  t.match(stories.conversations, [{ user_id: 'grace' }], 'the conversation is of the latest')
  t.strictSame(usersAmong(stories.conversations[0]?.events ?? []), EXPECTED, 'user stories')
  const messages = await ask<{ user_id: string; messages: Shown[] }>('conversation-messages', { session_id })
  t.equal(messages.user_id, 'grace')
  t.strictSame(usersAmong(messages.messages), EXPECTED, 'messages')
  const errors = await ask<{ errors: Shown[] }>('errors', {})
  t.strictSame(usersAmong(errors.errors).filter(Boolean), ['ada', 'grace'], 'errors')
})
