import t from 'tap'
import { createApiKey } from '#control/admin.ts'
import { apiKeyKey } from '#control/records.ts'
import { eventually } from '#test/rig.ts'
import { id, insertSessions, storedSession } from '../../fixture.ts'
import { CALL, CHAT, LONG_INPUT, startDataNode, TRACE } from '../../fixture-data.ts'

const node = await startDataNode(t)
const { post } = node

/** Everything of the last week, newest first; the three of one millisecond by id. */
const ORDER = [3, 2, 1, 34, 33, 32, 31, 30, 41, 10, 11, 12, 42, 40]

/** The last digits of the ids of a page's events. */
async function ids(body?: unknown): Promise<number[]> {
  const answer = await post('raw-logs', body)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body.events.map((event: { event_id: string }) => Number(event.event_id.slice(-12)))
}

/** The same without texts, which are read of the events that were found. */
const found = (body: object): Promise<number[]> => ids({ exclude_io: true, ...body })

t.test('the default window is a week; newest first, ties by event id', async t => {
  t.strictSame(await ids(), ORDER, 'an absent body')
  t.strictSame(await ids({}), ORDER)
  t.strictSame(await ids({ time_range: '1h' }), [3, 2, 1])
  t.strictSame(await ids({ time_range: '1min' }), [3])
  t.strictSame(await ids({ time_range: '1d' }), [3, 2, 1, 34, 33, 32, 31, 30])
  t.strictSame((await ids({ time_range: '1m' })).slice(-2), [21, 20])
  t.equal((await ids({ time_range: 'all', page_size: 200 })).length, 16)
})

t.test('pages do not overlap and the row read ahead says whether more follow', async t => {
  const first = await post('raw-logs', { page_size: 5 })
  t.match(first.body, { page: 1, page_size: 5, total_pages: 2, has_more: true })
  const seen: number[] = []
  for (let page = 1; page <= 3; page++) seen.push(...(await ids({ page_size: 5, page })))
  t.strictSame(seen, ORDER)
  t.match((await post('raw-logs', { page_size: 5, page: 3 })).body, { has_more: false, total_pages: 3 })
  for (const page of [4, 5, 6, 100, 2_147_483_647]) {
    const behind = { events: [], has_more: false, page, total_pages: 3 }
    t.match((await post('raw-logs', { page_size: 5, page })).body, behind, `page ${page} of three`)
  }
  t.match((await post('raw-logs', { page: 9, event_id: id(20) })).body, { events: [], total_pages: 1 })
  t.match((await post('raw-logs', { page: 9, agent_name: 'nobody' })).body, { events: [], total_pages: 0 })
  t.match((await post('errors', { page_size: 1, page: 7 })).body, { errors: [], total_pages: 2 })
  t.match((await post('raw-logs', { agent_name: 'nobody' })).body, { events: [], total_pages: 0, has_more: false })
})

t.test('cursors walk the same pages, whatever the tie', async t => {
  for (const size of [1, 3, 5]) {
    const seen: number[] = []
    let cursor: string | null | undefined
    while (cursor !== null) {
      const { body } = await post('raw-logs', { page_size: size, ...(cursor === undefined ? {} : { cursor }) })
      seen.push(...body.events.map((event: { event_id: string }) => Number(event.event_id.slice(-12))))
      t.equal(body.next_cursor === null, !body.has_more)
      cursor = body.next_cursor as string | null
    }
    t.strictSame(seen, ORDER, `pages of ${size}`)
  }
  const last = await post('raw-logs', { page_size: 13, conversation_id: TRACE })
  t.equal(last.body.next_cursor, null)
  const wrong = await post('raw-logs', { cursor: 'WyJhIl0' })
  t.match(wrong, { status: 400, body: { field: 'cursor' } })
  const noDay = Buffer.from(JSON.stringify(['2026-13-45T00:00:00.000Z', id(1)])).toString('base64url')
  t.match(await post('raw-logs', { cursor: noDay }), { status: 400, body: { field: 'cursor' } })
})

t.test('a cursor that no page gave is refused, whatever time it says', async t => {
  const ask = (path: string, at: string) =>
    post(path, { cursor: Buffer.from(JSON.stringify([at, id(1)])).toString('base64url') })
  for (const path of ['raw-logs', 'errors', 'user-stories']) {
    for (const day of ['9999-01-01', '0001-01-01', '2262-01-01', '1969-12-31', '2026-02-30', '2026-13-01']) {
      t.match(await ask(path, `${day}T00:00:00.000Z`), { status: 400, body: { field: 'cursor' } }, `${path} ${day}`)
    }
    t.equal((await ask(path, '2026-06-15T24:00:00.000Z')).status, 400)
    for (const day of ['1970-01-01', '2261-12-31']) {
      t.equal((await ask(path, `${day}T23:59:59.999999999Z`)).status, 200, `${path} ${day}`)
    }
  }
})

t.test('from and to fix the window; from belongs to it, to does not', async t => {
  const f = async (body: object, expected: number[]): Promise<void> => {
    t.strictSame(await found(body), expected, JSON.stringify(body))
    const { total_count } = (await post('raw-logs/count', body)).body
    t.equal(total_count, expected.length, `count ${JSON.stringify(body)}`)
  }
  await f({ from: '2026-06-14', to: '2026-06-15' }, [34, 33, 32, 31, 30, 41])
  await f({ from: '2026-06-14T20:00:00Z', to: '2026-06-14T20:00:02Z' }, [32, 31, 30])
  await f({ from: '2026-06-10T08:00:00Z', to: '2026-06-14T20:00:00Z' }, [41, 10, 11, 12, 42, 40])
  await f({ from: '2026-06-10T08:00:00.001Z', to: '2026-06-14T08:00:00Z' }, [10, 11, 12, 42])
  await f({ from: '2026-06-14T22:00', to: '2026-06-14T22:00:02', timezone: 'Europe/Berlin' }, [32, 31, 30])
  await f({ from: '2026-06-14T22:00+02:00', timezone: 'America/New_York' }, [3, 2, 1, 34, 33, 32, 31, 30])
  await f({ time_range: '1d', to: '2026-06-15T00:00:00Z' }, [34, 33, 32, 31, 30, 41])
  await f({ time_range: 'all', to: '2026-06-10T09:00:00Z' }, [40, 21, 20])
  const refused = async (body: object, field: string): Promise<void> => {
    t.match(await post('raw-logs', body), { status: 400, body: { field } }, JSON.stringify(body))
  }
  await refused({ from: '2026-06-14', to: '2026-06-14' }, 'to')
  await refused({ from: 'yesterday' }, 'from')
  const said = (await post('raw-logs', { from: 'yesterday' })).body.error
  t.match(said, /from must be a date or time of ISO 8601, such as/, 'in words, not as a pattern')
  await refused({ from: '2026-13-01' }, 'from')
  await refused({ from: '2026-02-29' }, 'from')
  await refused({ to: '2026-06-31T12:00:00+02:00' }, 'to')
  await refused({ to: '2300-01-01' }, 'to')
  await refused({ timezone: 'Mars/Base' }, 'timezone')
})

t.test('filters: OR inside an array, AND between filters', async t => {
  t.strictSame(await found({ agent_name: 'support' }), [1])
  t.strictSame(await found({ agent_name: ['support', 'billing'] }), [3, 1])
  t.strictSame(await found({ agent_name: [], time_range: '1min' }), [3], 'an empty list filters nothing')
  t.strictSame(await found({ success: false }), [2, 34])
  t.strictSame(await found({ success: true, time_range: '1h' }), [3, 1])
  t.strictSame(await found({ connection_type: 'web' }), [3, 2, 1])
  t.strictSame(await found({ connection_type: 'kiosk' }), [], 'an earlier capture')
  t.strictSame(await found({ connection_type: ['web', 'mcp'], success: true }), [3, 1, 10, 11, 12])
  t.strictSame(await found({ conversation_id: TRACE }), [34, 33, 32, 31, 30])
  t.strictSame(await found({ conversation_id: TRACE.toUpperCase(), time_range: '1h' }), [])
  t.strictSame(await found({ conversation_id: id(999_999) }), [])
})

t.test('metadata filters look at the event, its conversation and the traits of its user, as captured last', async t => {
  const f = async (filters: [string, string][], expected: number[]): Promise<void> => {
    const metadata_filters = filters.map(([key, value]) => ({ key, value }))
    t.strictSame(await found({ metadata_filters }), expected, JSON.stringify(filters))
  }
  await f([['topic', 'delivery']], [1])
  await f([['region', 'eu']], [10, 11, 12])
  await f([['plan', 'pro']], [3, 2, 1, 10, 11, 12])
  await f([['plan', 'free']], [])
  await f([['country', 'uk']], [3, 2, 1])
  await f(
    [
      ['event_type', 'turn'],
      ['event_type', 'tool_call'],
    ],
    [2, 1, 10, 11, 12],
  )
  await f(
    [
      ['event_type', 'tool_call'],
      ['plan', 'pro'],
      ['region', 'eu'],
    ],
    [10, 11, 12],
  )
  await f([['topic', '']], [])
})

t.test('an event id is found whatever the time range, and the other filters still hold', async t => {
  t.strictSame(await found({ event_id: id(20), time_range: '1min' }), [20])
  t.strictSame(await found({ event_id: id(20), agent_name: 'receptionist' }), [20])
  t.strictSame(await found({ event_id: id(20), success: false }), [])
  t.strictSame(await found({ event_id: id(20), conversation_id: CHAT }), [])
  t.strictSame(await found({ event_id: id(20), page: 2 }), [])
  t.strictSame(await found({ event_id: id(777) }), [])
})

t.test('search ignores case and looks into names, ids, previews and whole texts', async t => {
  const f = async (search_query: string, expected: number[]): Promise<void> =>
    void t.strictSame(await found({ search_query }), expected, search_query)
  const sent = { organization: node.a.organization, conversation_id: CALL, session_id: 'call_of_26th_may' }
  const named = { ...sent, session_id: `${sent.session_id}_0001` }
  await insertSessions(node.db.store, [storedSession({ ...named, at: '2026-05-26T10:04:00.000Z' })])
  await f('my ORDER', [1])
  await f('on its WAY', [1])
  await f('THE NEEDLE', [2])
  await f('FIND_', [2])
  await f(id(31), [31])
  await f(id(20).toUpperCase(), [20])
  await f(CALL, [21, 20])
  await f(id(777), [])
  t.strictSame(await found({ search_query: CALL, page_size: 1, page: 2 }), [20], 'an id is found whatever its time')
  t.strictSame(await found({ search_query: CALL, success: false }), [])
  t.strictSame(await found({ search_query: id(20), conversation_id: CHAT }), [])
  const ancient = (search_query: string) => found({ search_query, time_range: '1min' })
  t.strictSame(await ancient('AAAAAAAABBBB4CCC8DDDEEEEEEEEEEEE'), [34, 33, 32, 31, 30], 'a trace')
  t.strictSame(await ancient('aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'), [34, 33, 32, 31, 30])
  t.strictSame(await ancient(named.session_id), [21, 20], 'an id as it was sent')
  t.strictSame(await ancient(sent.session_id), [], 'and nothing that it begins with')
  await f('MY-session', [34, 33, 32, 31, 30])
  await f('GRACE', [34, 33, 32, 31, 30])
  await f('aaaaaaaabbbb4ccc', [34, 33, 32, 31, 30])
  await f(`quote's "and" \\ \n\t % _`, [])
  await f('', ORDER)
})

t.test('an event carries what was captured, cut at 64 KiB on a character, and null where nothing was', async t => {
  const { body } = await post('raw-logs', { time_range: '1h' })
  const [third, second, first] = body.events
  t.match(first, {
    session_id: CHAT,
    timestamp: '2026-06-15T11:58:00.000Z',
    primitive_name: 'support',
    primitive_type: '',
    success: true,
    latency: 800,
    user_id: 'ada',
    metadata: { topic: 'delivery', event_type: 'turn' },
    parent_id: null,
    input: 'Where is my Order?',
    output: 'On its way.',
    input_truncated: false,
    output_truncated: false,
  })
  t.match(second, { primitive_type: 'tool', success: false, latency: 200.5, parent_id: id(1), output: null })
  t.equal(second.input, LONG_INPUT.slice(0, 65_535), 'the character across the cut is left out')
  t.equal(second.input_truncated, true)
  t.match(third, { latency: null, input: null, output: '', output_truncated: false })
  const without = (await post('raw-logs', { time_range: '1h', exclude_io: true })).body.events
  for (const event of without) {
    t.match(event, { input: null, output: null, input_truncated: false, output_truncated: false })
  }
})

t.test('event-io gives the whole texts of one event', async t => {
  const whole = await post('event-io', { event_id: id(2).toUpperCase(), session_id: 'a hint' })
  t.strictSame(whole.body, {
    event_id: id(2),
    conversation_id: CHAT,
    session_id: CHAT,
    input: LONG_INPUT,
    output: null,
    input_bytes: Buffer.byteLength(LONG_INPUT),
    output_bytes: 0,
    content: {},
  })
  t.match((await post('event-io', { event_id: id(3) })).body, { input: null, output: '' })
  const unknown = await post('event-io', { event_id: id(777) })
  t.equal(unknown.status, 404)
  t.match(unknown.body.error, /no such event/)
})

t.test('the count is that of the list, or null where the aggregates cannot tell', async t => {
  const f = async (body: object, expected: number | null): Promise<void> => {
    const answer = await post('raw-logs/count', body)
    t.strictSame(answer.body, { total_count: expected }, JSON.stringify(body))
    if (expected !== null) t.equal((await found({ ...body, page_size: 200, page: 1 })).length, expected, 'as the list')
  }
  const type = (value: string) => ({ metadata_filters: [{ key: 'event_type', value }] })
  await f({}, 14)
  await f({ time_range: '1min' }, 1)
  await f({ time_range: '1h' }, 3)
  await f({ time_range: '1d' }, 8)
  await f({ time_range: '1m' }, 16)
  await f({ time_range: 'all', page: 7 }, 16)
  await f({ success: false }, 2)
  await f({ agent_name: ['support', 'planner'] }, 2)
  await f({ agent_name: 'planner', success: false }, 0)
  await f(type('tool_call'), 4)
  await f({ ...type('tool_call'), success: false }, 1)
  await f({ event_id: id(20), time_range: '1h' }, 1)
  await f({ event_id: id(777) }, 0)
  await f({ search_query: '' }, 14)
  await f({ search_query: 'x' }, null)
  await f({ connection_type: 'web' }, null)
  await f({ conversation_id: CHAT }, null)
  await f({ metadata_filters: [{ key: 'topic', value: 'delivery' }] }, null)
  await f({ metadata_filters: [...type('turn').metadata_filters, { key: 'topic', value: 'delivery' }] }, null)
})

t.test('an export that was ordered is downloaded once, by its address alone', async t => {
  const order = (body: object, apiKey?: string) => post('exports', body, apiKey)
  const lines = (csv: string): string[] => csv.split('\r\n').slice(1, -1)
  const ordered = await order({ kind: 'raw-logs', filters: { time_range: '1h', exclude_io: true } })
  t.equal(ordered.status, 201)
  t.equal(ordered.body.expires_at, '2026-06-15T12:15:00.000Z')
  const { url } = ordered.body
  t.equal((await node.ask('HEAD', url)).status, 405, 'a look does not use it up')
  const both = await Promise.all([node.ask('GET', url), node.ask('GET', url)])
  t.strictSame(new Set(both.map(answer => answer.status)), new Set([200, 404]))
  const file = both.find(answer => answer.status === 200)
  t.match(file?.headers.get('content-type'), 'text/csv')
  t.match(file?.headers.get('content-disposition'), 'attachment')
  t.strictSame(
    lines(file?.body).map(line => line.slice(0, 36)),
    [id(3), id(2), id(1)],
  )
  t.equal((await node.ask('GET', url)).status, 404)
  const errors = (await order({ kind: 'errors', filters: { time_range: 'all', search_query: 'no filter of errors' } }))
    .body
  const foreign = { 'x-api-key': node.b.apiKey, 'x-org-id': node.b.organization }
  const failures = await node.ask('GET', errors.url, { headers: foreign })
  t.equal(lines(failures.body).length, 2, 'of the organization that ordered it')
  t.equal((await node.ask('GET', `${errors.url.slice(0, -64)}${'0'.repeat(64)}`)).status, 404)
  t.equal((await node.ask('GET', '/dashboard/api/exports/x')).status, 404)
  t.equal((await node.ask('POST', '/dashboard/api/exports', { body: { kind: 'raw-logs' } })).status, 401)
  const f = async (body: object, field: string): Promise<void> =>
    void t.match(await order(body), { status: 400, body: { field } }, JSON.stringify(body))
  await f({}, 'kind')
  await f({ kind: 'texts' }, 'kind')
  await f({ kind: 'errors', filters: { time_range: 'x' } }, 'filters.time_range')
  await f({ kind: 'errors', filters: { timezone: 'Mars/Base' } }, 'timezone')
  await f({ kind: 'raw-logs', filters: { metadata_filters: [{ key: 'k', value: 'v'.repeat(4096) }] } }, 'filters')
  const waiting = () => order({ kind: 'errors' }, node.b.apiKey)
  for (let n = 0; n < 20; n++) t.equal((await waiting()).status, 201)
  t.match(await waiting(), { status: 400, body: { error: /20 downloads wait/ } })
})

t.test('an address dies with the key that ordered it', async t => {
  const made = await createApiKey(node.buckets.control, {
    ...{ organization: node.a.organization, name: 'passing', createdBy: 'test', scopes: ['read'] },
  })
  const order = () => post('exports', { kind: 'raw-logs', filters: { time_range: '1h' } }, made.key)
  const ordered = await eventually('the key', async () => {
    const answer = await order()
    return answer.status === 201 ? answer : undefined
  })
  const [one] = node.view.apiKeysOf(node.a.organization).filter(({ record }) => record.name === 'passing')
  await node.buckets.control.delete(apiKeyKey(one?.hash ?? ''))
  await eventually('its end', async () => (await order()).status === 401)
  t.equal((await node.ask('GET', ordered.body.url)).status, 404)
})

t.test('exports hold the metadata that the organization lets out', async t => {
  const metadata = async (): Promise<string[]> => {
    const { body } = await post('raw-logs/export', { event_id: id(1) })
    return body.split('\r\n').slice(1, -1)
  }
  t.match(await metadata(), [/"\{""topic"":""delivery"",""event_type"":""turn""\}",/])
  const headers = { 'x-api-key': node.a.apiKey }
  const keys = (include_keys: string[]) =>
    node.ask('PUT', '/dashboard/api/organization/event-keys', { body: { include_keys }, headers })
  await keys(['event_type'])
  t.match(await metadata(), [/,"\{""event_type"":""turn""\}",/])
  await keys([])
  t.match(await metadata(), [/topic/])
})

t.test('another organization sees its own row under the same ids, and nothing else', async t => {
  const { apiKey } = node.b
  const logs = await post('raw-logs', { time_range: 'all' }, apiKey)
  t.equal(logs.body.events.length, 1)
  t.match(logs.body.events[0], { event_id: id(1), primitive_name: 'spy', input: 'secret', user_id: 'mallory' })
  t.match((await post('event-io', { event_id: id(1) }, apiKey)).body, { input: 'secret' })
  t.equal((await post('event-io', { event_id: id(2) }, apiKey)).status, 404)
  t.strictSame((await post('raw-logs/count', { time_range: 'all' }, apiKey)).body, { total_count: 1 })
  t.match((await post('raw-logs', { search_query: 'needle', time_range: 'all' }, apiKey)).body, { events: [] })
})

t.test('every answer is the same once the store has folded the corrections', async t => {
  const bodies = [{ time_range: 'all' }, { search_query: 'planner' }, { agent_name: 'planner' }, { event_id: id(41) }]
  const all = () => Promise.all(bodies.flatMap(body => [post('raw-logs', body), post('raw-logs/count', body)]))
  const before = await all()
  await node.fold()
  const after = await all()
  t.strictSame(
    after.map(answer => answer.body),
    before.map(answer => answer.body),
  )
})
