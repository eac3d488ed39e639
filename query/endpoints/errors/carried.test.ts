// One failure is one error in every list and count; whatever passes it on did not succeed either, as raw logs, spans and conversations show.
import t from 'tap'
import { NIL_UUID } from '#proto/ids.ts'
import { Present } from '#proto/rows.ts'
import { createTenant, eventually } from '#test/rig.ts'
import { id, insertEvents, startNode, storedEvent } from '../../fixture.ts'

const node = await startNode(t)
const { apiKey, organization } = await createTenant(node.buckets)
const post = async (path: string, body: object) =>
  (await node.ask('POST', `/dashboard/api/${path}`, { body, headers: { 'x-api-key': apiKey } })).body

const event = (n: number, fields: object) =>
  storedEvent({
    ...{ organization, conversation_id: id(9000), event_id: id(n), trace_id: id(8000), source: 'otlp' },
    ...{ at: `2026-06-15T11:00:0${n}.000000000Z`, parent_id: n > 1 ? id(n - 1) : NIL_UUID, ...fields },
  })
const passed = { present: Present.carried, error_type: 'ValueError', error_message: 'boom' }

await insertEvents(node.db.store, [
  event(1, { name: 'agent', ...passed }),
  event(2, { kind: 'other', name: 'tools', ...passed }),
  event(3, { kind: 'tool', name: 'get_weather', failed: 1, error_type: 'ValueError', error_message: 'boom' }),
  event(4, { kind: 'llm', name: 'chat' }),
])
await eventually('the tenant', async () => Array.isArray((await post('raw-logs', {})).events))

const ids = (events: readonly { event_id: string }[]): string[] => events.map(one => one.event_id).sort()

t.test('is counted once', async t => {
  t.same(ids((await post('errors', {})).errors), [id(3)])
  t.same(ids((await post('errors', { agent_name: 'agent' })).errors), [], 'read from rows')
  t.equal((await post('dashboard', {})).error_count, 1)
  const [story] = (await post('user-stories', {})).conversations
  t.equal(story.error_count, 1)
  const file = String(await post('errors/export', {}))
  t.match(file, id(3))
  t.notMatch(file, id(1))
})

t.test('and whatever passes it on did not succeed', async t => {
  t.same(ids((await post('raw-logs', { success: false })).events), [id(1), id(2), id(3)])
  t.same(ids((await post('raw-logs', { success: true })).events), [id(4)])
  t.equal((await post('raw-logs/count', { success: false })).total_count, 3)
  t.equal((await post('raw-logs/count', { success: true })).total_count, 1)
  const { events } = await post('raw-logs', {})
  t.same(
    events.map((one: { success: boolean }) => one.success),
    [true, false, false, false],
  )
  const { spans } = await post('conversation-spans', { conversation_id: id(9000) })
  t.same(
    spans.map((one: { success: boolean }) => one.success),
    [false, false, false, true],
  )
})
