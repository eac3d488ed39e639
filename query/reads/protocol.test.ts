// What a protocol says around calls is of no conversation: raw logs show every span of it, no list or count of conversations does.
import t from 'tap'
import { NIL_UUID } from '#proto/ids.ts'
import { createTenant, eventually } from '#test/rig.ts'
import { id, insertEvents, startNode, storedEvent } from '../fixture.ts'

const node = await startNode(t)
const { apiKey, organization } = await createTenant(node.buckets)
const post = async (path: string, body: object) =>
  (await node.ask('POST', `/dashboard/api/${path}`, { body, headers: { 'x-api-key': apiKey } })).body

/** An event so many minutes after eleven on a day of June. */
const event = (n: number, day: number, fields: object) =>
  storedEvent({
    ...{ organization, event_id: id(n), trace_id: id(n + 500), source: 'otlp', duration_ns: 1_000_000 },
    ...{ at: `2026-06-${day}T11:${String(n % 60).padStart(2, '0')}:00.000000000Z`, ...fields },
  })
const protocol = { conversation_id: NIL_UUID, kind: 'other', name: 'initialize' }

await insertEvents(node.db.store, [
  event(1, 14, { conversation_id: id(9001), name: 'planner', input: 'Hi' }),
  event(2, 14, protocol),
  event(3, 15, protocol),
  event(4, 15, { conversation_id: id(9002), kind: 'tool', name: 'get_weather' }),
  event(5, 15, protocol),
])
await eventually('the tenant', async () => Array.isArray((await post('raw-logs', {})).events))

for (const window of [
  { time_range: 'all' },
  // Ends on days that it does not hold whole.
  { time_range: 'all', from: '2026-06-14T11:00:30.000Z', to: '2026-06-15T11:05:30.000Z' },
]) {
  t.test(JSON.stringify(window), async t => {
    const { events } = await post('raw-logs', { ...window, page_size: 50 })
    t.equal(events.length, 5, 'every span is there')
    const { conversations } = await post('user-stories', window)
    t.same(
      conversations.map((one: { conversation_id: string }) => one.conversation_id),
      [id(9002), id(9001)],
    )
    const metrics = await post('dashboard', window)
    t.equal(metrics.total_conversations, 2)
    t.same(
      metrics.daily_conversations.map((point: { count: number }) => point.count).filter((count: number) => count > 0),
      [1, 1],
    )
    const { options = [] } = await post('user-stories/search-options', { ...window, search: '0000' })
    t.notMatch(JSON.stringify(options), NIL_UUID)
  })
}
