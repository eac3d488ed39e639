// Which conversations a search for identifiers knows: all of the window, also those of which nothing was captured and no user is named.
import t from 'tap'
import { createTenant, eventually } from '#test/rig.ts'
import { id, insertEvents, insertSessions, NOW_MS, startNode, storedEvent, storedSession } from '../../fixture.ts'

const node = await startNode(t)
const { apiKey, organization } = await createTenant(node.buckets)
const post = async (path: string, body: object) =>
  (await node.ask('POST', `/dashboard/api/${path}`, { body, headers: { 'x-api-key': apiKey } })).body
const at = new Date(NOW_MS - 3_600_000).toISOString()
const [NAMELESS, SENT, SEEN, CAPTURED] = [id(9101), id(9102), id(9103), id(9104)]

await insertEvents(node.db.store, [
  storedEvent({ organization, at, event_id: id(1), conversation_id: NAMELESS }),
  storedEvent({ organization, at, event_id: id(2), conversation_id: SENT, session_id: 'trip-of-nobody' }),
  storedEvent({ organization, at, event_id: id(3), conversation_id: SEEN, user_id: 'seen-user' }),
  storedEvent({ organization, at, event_id: id(4), conversation_id: CAPTURED }),
])
await insertSessions(node.db.store, [
  storedSession({ organization, at, conversation_id: CAPTURED, user_id: 'captured-user' }),
])
await eventually('the tenant', async () => Array.isArray((await post('raw-logs', {})).events))

const found = async (search: string): Promise<string[]> => {
  const { options } = await post('user-stories/search-options', { time_range: '1d', search })
  return options.map(({ field, value }: { field: string; value: string }) => `${field} ${value}`).sort()
}

t.test('a conversation without captures and user is found by its id', async t => {
  t.strictSame(await found(NAMELESS), [`conversation_id ${NAMELESS}`])
})

t.test('and by the id under which it was sent', async t => {
  t.strictSame(await found('of-nobody'), ['original_conversation_id trip-of-nobody'])
})

t.test('users are found whether a capture names them or an event', async t => {
  t.strictSame(await found('-user'), ['user_id captured-user', 'user_id seen-user'])
})
