// The audit log over HTTP: what is noted, by whom it is read, and that a cut-off entry counts once.
import t from 'tap'
import { eventually } from '#test/rig.ts'
import { id } from '../../fixture.ts'
import { CHAT, startDataNode } from '../../fixture-data.ts'

const node = await startDataNode(t)
const { a, b, ask, post } = node
const PATH = '/dashboard/api/organization/audit'
const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const read = async (token: string, query = '') => (await ask('GET', PATH + query, as(token))).body.entries
const actionsOf = (entries: { action: string }[]) =>
  entries.map(({ action }) => action).toSorted((x, y) => x.localeCompare(y))
await eventually('the tenants in the view', async () => (await ask('GET', PATH, as(b.bearer))).status === 200)

t.test('reads of conversations, exports and changes are noted, with who did them; lists are not', async t => {
  t.equal((await post('conversation-messages', { conversation_id: CHAT })).status, 200)
  t.equal((await post('event-io', { event_id: id(1) })).status, 200)
  t.equal((await post('raw-logs/export')).status, 200)
  t.equal((await post('raw-logs')).status, 200)
  t.equal((await post('conversation-messages', { conversation_id: id(999) })).status, 404)
  const made = await ask('POST', '/dashboard/api/organization/api-keys', { ...as(a.bearer), body: { name: '=k' } })
  t.equal(made.status, 201)
  const expected = ['conversation.read', 'event.read', 'events.export', 'organization.api-keys.create']
  const entries = await eventually('all entries', async () => {
    const all: { action: string }[] = await read(a.bearer)
    const found = all.filter(({ action }) => action !== 'audit.read')
    return found.length >= expected.length && found
  })
  t.strictSame(actionsOf(entries), expected)
  const of = (action: string) => entries.find((entry: { action: string }) => entry.action === action)
  t.match(of('conversation.read'), { actor_kind: 'key', actor_name: 'test', target: CHAT, address: '127.0.0.1' })
  t.match(of('event.read'), { target: id(1) })
  t.match(of('organization.api-keys.create'), {
    actor_kind: 'user',
    actor: a.owner.id,
    actor_name: a.owner.email,
    target: made.body.id,
  })
  t.notMatch(JSON.stringify(entries), made.body.api_key)
})

t.test('it is filtered, paged, exported, and read by admins of its organization alone', async t => {
  const only = await read(a.bearer, '?action=event.read')
  t.strictSame(actionsOf(only), ['event.read'])
  t.strictSame(actionsOf(await read(a.bearer, `?actor=${a.owner.id}&action=events.export`)), [])
  t.notMatch(actionsOf(await read(b.bearer)), ['conversation.read'])
  t.equal((await ask('GET', PATH, { headers: { 'x-api-key': a.apiKey } })).status, 401)
  t.equal((await ask('GET', `${PATH}?cursor=x`, as(a.bearer))).status, 400)
  const csv = await ask('GET', `${PATH}/export?action=conversation.read`, as(a.bearer))
  t.match(csv.headers.get('content-type'), 'text/csv')
  const [head, row, ...rest] = csv.body.split('\r\n')
  t.equal(head, 'at,actor_kind,actor,actor_name,action,target,address,request')
  t.match(row, new RegExp(`^20.*,key,.*,test,conversation.read,${CHAT},127.0.0.1,`))
  t.strictSame(rest, [''])
})

t.test('pages go on where the one before ended, and an entry that was stored twice is one', async t => {
  const organization = b.organization
  const entries = Array.from({ length: 150 }, (_, i) => ({
    ...{ organization, actor_kind: 'user', actor: 'u', action: 'paged', target: String(i), address: '', request: '' },
    // Several at the same instant.
    ...{ id: id(i), at: new Date(Date.UTC(2026, 0, 1, 0, 0, Math.floor(i / 40))).toISOString() },
  }))
  const clickhouse_settings = { async_insert: 0, date_time_input_format: 'best_effort' } as const
  const full = Array.from({ length: 100 }, (_, i) => ({ ...entries[0], id: id(1000 + i), action: 'full' }))
  for (const values of [entries, entries.slice(0, 50), full]) {
    await node.db.store.client.insert({ table: 'audit', format: 'JSONEachRow', values, clickhouse_settings })
  }
  const first = (await ask('GET', `${PATH}?action=paged`, as(b.bearer))).body
  t.equal(first.entries.length, 100)
  const second = (await ask('GET', `${PATH}?action=paged&cursor=${first.next_cursor}`, as(b.bearer))).body
  t.equal(second.next_cursor, null)
  const exactly = (await ask('GET', `${PATH}?action=full`, as(b.bearer))).body
  t.equal(exactly.entries.length, 100)
  t.equal(exactly.next_cursor, null, 'a full page that nothing follows is the last')
  const targets = [...first.entries, ...second.entries].map((entry: { target: string }) => Number(entry.target))
  t.strictSame(
    targets,
    Array.from({ length: 150 }, (_, i) => 149 - i),
  )
})
