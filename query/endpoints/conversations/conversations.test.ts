import t from 'tap'
import { MESSAGES_MAX } from '#proto/dashboard/conversations.ts'
import { conversationIdOf } from '#proto/ids.ts'
import type { EventKind } from '#proto/rows.ts'
import { PREVIEW_CHARS, Present } from '#proto/rows.ts'
import { id, insertEvents, insertSessions, NOW_MS, storedEvent, storedSession } from '../../fixture.ts'
import { CALL, CHAT, GREW, LONG_INPUT, MCP, SHRUNK, STAND_IN, startDataNode, TRACE } from '../../fixture-data.ts'

const node = await startDataNode(t)
const { post, db, a } = node

const numbers = (rows: { event_id: string }[]): number[] => rows.map(row => Number(row.event_id.slice(-12)))

t.test('messages are oldest first, with texts, children and what the conversation is', async t => {
  const { status, body } = await post('conversation-messages', { conversation_id: CHAT.toUpperCase() })
  t.equal(status, 200)
  t.strictSame(numbers(body.messages), [1, 2, 3])
  t.match(body, {
    conversation_id: CHAT,
    original_conversation_id: null,
    user_id: 'ada',
    user_data: { plan: 'pro', country: 'uk' },
    metadata: { channel: 'beta' },
    started_at: '2026-06-15T11:58:00.000Z',
    last_active: '2026-06-15T11:59:30.000Z',
    truncated: false,
  })
  const [turn, tool] = body.messages
  t.match(turn, {
    children_count: 1,
    input: 'Where is my Order?',
    user_id: 'ada',
    intents: [],
    violations: [],
    cost_metadata: null,
  })
  t.match(turn, { session_id: CHAT, conversation_id: CHAT, kind: 'agent', model: null, cost: null })
  t.match(tool, { children_count: 0, parent_id: id(1), input_truncated: true, output: null })
  t.equal(tool.input, LONG_INPUT.slice(0, 65_535))
})

t.test('an original id and the price of an event are shown', async t => {
  t.match((await post('conversation-messages', { conversation_id: MCP })).body, {
    original_conversation_id: 'conv_mcp',
    user_id: null,
    metadata: { region: 'eu' },
  })
  const { messages } = (await post('conversation-messages', { conversation_id: TRACE })).body
  t.match(messages[1].cost_metadata, { model: 'm-1', 'tokens.input': '50', 'tokens.request_input': '50' })
  t.notOk('tokens.aggregated' in messages[1].cost_metadata)
})

t.test('a conversation that was only begun has no messages; an unknown one is not found', async t => {
  const begun = id(180)
  await insertSessions(db.store, [
    storedSession({
      at: '2026-06-15T10:00:00.000Z',
      organization: a.organization,
      conversation_id: begun,
      user_id: 'new',
    }),
  ])
  t.match((await post('conversation-messages', { conversation_id: begun })).body, {
    user_id: 'new',
    started_at: '2026-06-15T10:00:00.000Z',
    last_active: '2026-06-15T10:00:00.000Z',
    messages: [],
  })
  t.match((await post('conversation-spans', { conversation_id: begun })).body, {
    root_ids: [],
    spans: [],
    truncated: false,
  })
  for (const path of ['conversation-messages', 'conversation-spans']) {
    const unknown = await post(path, { conversation_id: id(999) })
    t.equal(unknown.status, 404)
    t.match(unknown.body.error, /no such conversation/)
    t.equal((await post(path, { conversation_id: TRACE }, node.b.apiKey)).status, 404, 'of another organization')
    t.equal((await post(path, { conversation_id: STAND_IN })).status, 404, 'all of it moved away')
    t.equal((await post(path, { conversation_id: 'x' })).status, 400)
    t.match((await post(path)).body.error, /conversation_id is required/)
  }
})

t.test('a conversation is found by what was sent as well, by the rule by which it was stored', async t => {
  const SENT = 'call 77/Ü'
  const conversation_id = conversationIdOf(a.organization, SENT)
  const place = { conversation_id, session_id: SENT }
  await insertEvents(db.store, [
    storedEvent({
      ...{ ...place, organization: a.organization, event_id: id(770), kind: 'llm', name: 'chat', model: 'm-2' },
      ...{ input_tokens: 12, output_tokens: 0, cost_nanos: 1_500_000, input: 'the delayed parcel' },
      present: Present.inputTokens | Present.outputTokens | Present.cost,
      at: '2026-06-15T08:00:00.000Z',
    }),
  ])
  const usage = { kind: 'llm', primitive_type: '', model: 'm-2', input_tokens: 12, output_tokens: 0, cost: 0.0015 }
  for (const by of [{ session_id: SENT }, { conversation_id }, place]) {
    const messages = await post('conversation-messages', by)
    t.match(messages.body, { conversation_id, messages: [{ ...place, ...usage }] }, JSON.stringify(by))
    const spans = await post('conversation-spans', by)
    t.match(spans.body.spans, [
      { ...usage, primitive_type: undefined, preview: { first_input: 'the delayed parcel', last_output: null } },
    ])
    t.match((await post('conversation-spans', { ...by, format: 'columns' })).body.columns.event_id, [id(770)])
    t.equal((await post('conversation-detail', by)).body.messages.messages.length, 1)
    t.match((await post('raw-logs', by)).body.events, [{ ...place, ...usage }])
    t.equal((await post('raw-logs', { ...by, event_id: id(770) })).body.events.length, 1)
    t.equal((await post('raw-logs/count', { ...by, event_id: id(770) })).body.total_count, 1)
    t.equal((await post('raw-logs/export', by)).body.split('\r\n').length, 3)
    const query = new URLSearchParams(by as Record<string, string>).toString()
    const audio = await node.ask('GET', `/dashboard/api/conversation-audio?${query}`, {
      headers: { 'x-api-key': a.apiKey },
    })
    t.match(audio.body, { error: /no recording/ }, 'it is there, and has none')
  }
  t.match((await post('event-io', { event_id: id(770) })).body, place)
  const [story] = (await post('user-stories', { search_field: 'original_conversation_id', search_value: SENT })).body
    .conversations
  t.match(story.events, [{ ...place, ...usage }])
  t.equal((await post('raw-logs', { session_id: 'never sent' })).body.events.length, 0)
  t.equal((await post('conversation-messages', { session_id: 'never sent' })).status, 404)
  t.equal((await post('conversation-messages', { session_id: SENT }, node.b.apiKey)).status, 404)
  const two = { status: 400, body: { field: 'session_id' } }
  t.match(await post('conversation-messages', { conversation_id: CHAT, session_id: SENT }), two)
  t.match(await post('raw-logs', { conversation_id: CHAT, session_id: SENT }), two)
  t.equal((await post('conversation-messages', { session_id: CHAT.toUpperCase() })).body.messages.length, 3)
})

t.test('an event that moved is a message of its new conversation only', async t => {
  t.strictSame(numbers((await post('conversation-messages', { conversation_id: SHRUNK })).body.messages), [40])
  t.strictSame(numbers((await post('conversation-messages', { conversation_id: GREW })).body.messages), [42, 41])
})

t.test('spans are a forest: orphans are roots, a cycle is cut at its earliest span', async t => {
  const { body } = await post('conversation-spans', { conversation_id: TRACE })
  const hex = (n: number): string => n.toString(16).padStart(16, '0')
  t.strictSame(body.root_ids, [hex(30), hex(32), hex(33)])
  t.strictSame(
    body.spans.map((span: Record<string, unknown>) => [span.span_id, span.parent_span_id, span.depth]),
    [
      [hex(30), null, 0],
      [hex(31), hex(30), 1],
      [hex(32), null, 0],
      [hex(33), null, 0],
      [hex(34), hex(33), 1],
    ],
  )
  t.match(body.spans[1], {
    event_id: id(31),
    trace_id: 'aaaaaaaabbbb4ccc8dddeeeeeeeeeeee',
    kind: 'llm',
    start_time: '2026-06-14T20:00:00.000000001Z',
    end_time: '2026-06-14T20:00:00.001500002Z',
    duration_ms: 1.500001,
    model: 'm-1',
    input_tokens: 50,
    output_tokens: 5,
  })
  t.match(body.spans[2], { model: null, input_tokens: null, output_tokens: null, error_message: null })
})

t.test('events sent over REST are spans under their event id', async t => {
  const { body } = await post('conversation-spans', { conversation_id: CHAT })
  t.strictSame(body.root_ids, [id(1), id(3)])
  t.match(body.spans[1], {
    span_id: id(2),
    parent_span_id: id(1),
    trace_id: null,
    kind: 'tool',
    success: false,
    error_message: 'too slow',
    depth: 1,
    attributes: { event_type: 'tool_call' },
    checkpoints: [{ name: 'db', timestamp: 12.5, metadata: { rows: '3' } }],
    end_time: '2026-06-15T11:58:00.700500000Z',
  })
})

t.test('an event narrows the forest to its ancestors and descendants', async t => {
  const around = async (event_id: string) =>
    numbers((await post('conversation-spans', { conversation_id: TRACE, event_id })).body.spans)
  t.strictSame(await around(id(31)), [30, 31])
  t.strictSame(await around(id(30)), [30, 31])
  t.strictSame(await around(id(32)), [32])
  const elsewhere = await post('conversation-spans', { conversation_id: TRACE, event_id: id(1) })
  t.equal(elsewhere.status, 404)
})

t.test('columns say the same as rows, one array a field', async t => {
  for (const conversation_id of [TRACE, CHAT]) {
    const rows = (await post('conversation-spans', { conversation_id })).body
    const { columns, ...rest } = (await post('conversation-spans', { conversation_id, format: 'columns' })).body
    t.strictSame(rest, { conversation_id, root_ids: rows.root_ids, truncated: false })
    for (const [field, column] of Object.entries(columns)) {
      const expected = rows.spans.map((span: Record<string, unknown>) => span[field])
      t.strictSame(column, expected, field)
    }
  }
  const line = await post('conversation-spans', { conversation_id: TRACE, format: 'columns', event_id: id(31) })
  t.strictSame(line.body.columns.event_id, [id(30), id(31)])
})

t.test('detail is both bodies in one', async t => {
  const of = { conversation_id: CHAT }
  t.strictSame((await post('conversation-detail', of)).body, {
    messages: (await post('conversation-messages', of)).body,
    spans: (await post('conversation-spans', of)).body,
  })
  t.equal((await post('conversation-detail', { conversation_id: id(999_999) })).status, 404)
})

t.test('a turn that came after its model calls shows what was said in them', async t => {
  const conversation_id = id(182)
  const span = (
    n: number,
    parent: number,
    kind: EventKind,
    said: { input?: string; output?: string } = {},
    more = {},
  ) =>
    storedEvent({
      ...{ organization: a.organization, conversation_id, event_id: id(n), parent_id: id(parent), kind, ...said },
      ...{ trace_id: '11111111-2222-4333-8444-555555555555', span_id: String(n), parent_span_id: String(parent) },
      ...{ source: 'otlp', name: kind, at: `2026-06-15T09:00:00.${n}Z`, ...more },
    })
  const question = `Where is my parcel? ${'x'.repeat(PREVIEW_CHARS)}`
  const early = '2026-06-15T09:00:00.100Z'
  const sameTime = { at: '2026-06-15T09:00:00.590Z' }
  const call = '[tool_call f({})]'
  await insertEvents(db.store, [
    // Below 510: two calls with words between others without; what a tool asked or an embedding read is none of the turn's.
    span(511, 510, 'llm', { input: 'embedded' }, { at: early, name: 'e-3' }),
    span(512, 510, 'llm', { input: 'embedded', output: '[[0.5]]' }, { at: early, name: 'text-embedding-3-small' }),
    span(513, 510, 'llm', { input: question, output: call }),
    span(514, 510, 'tool', { output: 'from the tool' }),
    span(515, 514, 'llm', { input: 'within the tool', output: 'within the tool' }, { at: early }),
    span(516, 514, 'llm', { input: 'within the tool', output: 'within the tool' }),
    span(517, 510, 'other'),
    span(518, 517, 'llm', { input: 'later', output: 'On its way.' }, { ...sameTime, span_id: '9' }),
    span(519, 517, 'llm', { input: 'earlier', output: 'Let me see.' }, { ...sameTime, span_id: '8' }),
    span(520, 510, 'llm', { input: '[tool_result 1]', output: call }, { at: '2026-06-15T09:00:00.900Z' }),
    // Agents inside an agent, of which one has an input of its own.
    span(532, 531, 'llm', { input: 'inner', output: 'First.' }),
    span(534, 533, 'llm', { input: 'other', output: 'Second.' }),
    // Calls of tools alone, a call that failed, and none at all.
    span(541, 540, 'llm', { input: '[tool_result 1]', output: call }),
    span(551, 550, 'llm', { input: 'Anyone?' }, { failed: 1 }),
    storedEvent({
      ...{ organization: a.organization, conversation_id: id(183), event_id: id(561), parent_id: id(560), kind: 'llm' },
      ...{ trace_id: '11111111-2222-4333-8444-555555555555', span_id: '561', source: 'otlp' },
      at: early,
      ...{ input: 'elsewhere', output: 'elsewhere' },
    }),
  ])
  await insertEvents(db.store, [
    span(510, 0, 'agent'),
    span(530, 0, 'agent'),
    span(531, 530, 'agent', { input: 'asked', output: '' }),
    span(533, 530, 'agent'),
    span(540, 0, 'agent'),
    span(550, 0, 'agent'),
    span(560, 0, 'agent'),
  ])
  const expected = new Map<number, [string | null, string | null]>([
    [510, [question, 'On its way.']],
    [530, ['inner', 'Second.']],
    [531, ['asked', 'First.']],
    [533, ['other', 'Second.']],
    [540, [null, null]],
    [550, ['Anyone?', null]],
    [560, [null, null]],
    [513, [question, call]],
    [517, [null, null]],
  ])
  const { messages } = (await post('conversation-detail', { conversation_id })).body.messages
  const stories = { time_range: 'all', search_field: 'conversation_id', search_value: conversation_id }
  const { events } = (await post('user-stories', stories)).body.conversations[0]
  for (const [n, [input, output]] of expected) {
    const row = messages.find((message: { event_id: string }) => message.event_id === id(n))
    t.match(row, { input, output, input_truncated: false, output_truncated: false }, `message ${n}`)
    t.strictSame(
      row.preview,
      { first_input: input?.slice(0, PREVIEW_CHARS) ?? null, last_output: output },
      `preview ${n}`,
    )
    const whole = (await post('event-io', { event_id: id(n) })).body
    t.match(whole, { input, output, input_bytes: input?.length ?? 0, output_bytes: output?.length ?? 0 }, `texts ${n}`)
    const listed = events.find((event: { event_id: string }) => event.event_id === id(n))
    if (listed !== undefined) t.match(listed, { input, output }, `listed ${n}`)
  }
  t.ok(
    events.some((event: { event_id: string }) => event.event_id === id(530)),
    'turns are listed',
  )
})

t.test('the recording of a call has an address of ours for ten minutes', async t => {
  const audio = (query: string, apiKey = a.apiKey) =>
    node.ask('GET', `/dashboard/api/conversation-audio${query}`, { headers: { 'x-api-key': apiKey } })
  const { body } = await audio(`?conversation_id=${CALL}`)
  t.match(body.url, /^http:\/\/localhost\/dashboard\/api\/conversation-audio\/[\w.-]+$/)
  t.equal(body.expires_at, '2026-06-15T12:10:00.000Z')
  t.match(await audio(`?conversation_id=${CHAT}`), { status: 404, body: { field: 'conversation_id' } })
  t.equal((await audio(`?conversation_id=${CALL}`, node.b.apiKey)).status, 404, 'another organization')
  t.match(await audio(''), { status: 400, body: { field: 'conversation_id' } })
  t.equal((await audio('?conversation_id=x')).status, 400)
  const odd = id(190)
  const session = { organization: a.organization, conversation_id: odd, at: '2026-06-15T11:00:00.000Z' }
  await insertSessions(db.store, [storedSession({ ...session, recording_url: 'javascript:alert(1)' })])
  t.equal((await audio(`?conversation_id=${odd}`)).status, 404, 'an address that a page must not follow')
})

t.test('events of one instant stand as they arrived, parents before their children', async t => {
  const AT_ONCE = id(9_100)
  const turn = (n: number, parent?: number, at = '2026-06-15T10:30:00.000Z') =>
    storedEvent({
      ...{ organization: a.organization, conversation_id: AT_ONCE, event_id: id(n), at },
      ...(parent === undefined ? {} : { parent_id: id(parent) }),
    })
  const later = '2026-06-15T10:30:00.001Z'
  await insertEvents(db.store, [
    turn(9_107),
    turn(9_103),
    turn(9_109, 9_101),
    turn(9_101),
    turn(9_100, undefined, later),
  ])
  const { messages } = (await post('conversation-messages', { conversation_id: AT_ONCE })).body
  t.strictSame(numbers(messages), [9_107, 9_103, 9_101, 9_109, 9_100])
  const { spans } = (await post('conversation-spans', { conversation_id: AT_ONCE })).body
  t.strictSame(numbers(spans), [9_107, 9_103, 9_101, 9_109, 9_100])
  const found = { search_field: 'conversation_id', search_value: AT_ONCE }
  const [{ events }] = (await post('user-stories', found)).body.conversations
  t.strictSame(numbers(events), [9_100, 9_101, 9_109, 9_103, 9_107], 'the newest first')
})

t.test('a long conversation is cut and says so', async t => {
  const LONG = id(181)
  const events = Array.from({ length: MESSAGES_MAX + 1 }, (_, i) =>
    storedEvent({
      organization: a.organization,
      conversation_id: LONG,
      event_id: id(10_000 + i),
      parent_id: id(10_000 + (i % 3)),
      session_id: 'sent',
      // The store's largest name is that of the last event, which is cut off; UTF-16 has another order than bytes.
      user_id: i === MESSAGES_MAX ? '😀' : i % 2 === 0 ? '\uff5e' : 'u',
      at: new Date(NOW_MS - 3_600_000 + i).toISOString(),
    }),
  )
  await insertEvents(db.store, events)
  const { body } = await post('conversation-messages', { conversation_id: LONG })
  t.match(body, {
    truncated: true,
    user_id: '😀',
    original_conversation_id: 'sent',
    last_active: events.at(-1)?.event.ts.replace(' ', 'T'),
  })
  t.equal(body.messages.length, MESSAGES_MAX)
  const children = body.messages.map((message: { children_count: number }) => message.children_count)
  t.strictSame(children.slice(0, 4), [334, 334, 333, 0], 'children are counted beyond the cut')
  const spans = await post('conversation-spans', { conversation_id: LONG })
  t.equal(spans.body.spans.length, MESSAGES_MAX + 1)
  t.equal(spans.body.truncated, false)
  // The detail has all of its rows before it, where the messages alone ask the store for what is beyond the cut.
  const detail = await post('conversation-detail', { conversation_id: LONG })
  t.strictSame(detail.body, { messages: body, spans: spans.body })
})
