import t from 'tap'
import { NIL_UUID, uuidV5 } from '#proto/ids.ts'
import { parseExactly } from '#proto/json.ts'
import type { EventRow } from '#proto/rows.ts'
import { context, json, telling, unitsOf } from './fixture.ts'
import { parseEvent, parseSession } from './sdk.ts'

const SESSION = '22222222-2222-4222-8222-222222222222'
const EVENT = '33333333-3333-4333-8333-333333333333'

const event = (fields: object, more: object = {}): EventRow =>
  unitsOf(
    parseEvent(json({ session_id: SESSION, primitive_name: 'agent', ...fields }), 'json', { ...context, ...more }),
  )[0]?.events[0] as EventRow
const session = (fields: object) =>
  unitsOf(parseSession(json({ session_id: SESSION, ...fields }), 'json', context))[0]?.sessions[0]

t.test('texts are what was said in them, whatever the SDK wrote around it', async t => {
  const f = (sent: object, input: string, output: string, as: Partial<EventRow> = {}) => {
    const row = event(sent)
    t.same([row.input_preview, row.output_preview], [input, output], JSON.stringify(sent))
    t.equal(row.input_bytes, Buffer.byteLength(input))
    t.match(row, as)
  }
  // The SDK for Python, then the one for JavaScript.
  f({ args: '"Hello! Gr\\u00fc\\u00dfe \\ud83d\\ude00"', result: '""' }, 'Hello! Grüße 😀', '')
  f(
    { args: '{"input":"Hello! Grüße"}', result: '{"output":"She said \\"ok\\"\\n"}' },
    'Hello! Grüße',
    'She said "ok"\n',
  )
  f({ args: { input: 'as an object' }, result: '{"output":""}' }, 'as an object', '')
  f({ args: '{"input":"Hi"}', result: '"No"', success: false }, 'Hi', 'No', { failed: 1, error_message: 'No' })
  f({ args: '{"input":"its own"}', result: '"said"', primitive_type: 'tool' }, '{"input":"its own"}', 'said')
  for (const same of [
    ...[
      '"open',
      '""open"',
      '{"input":"a","b":1}',
      '{"input": "a"}',
      '{"input":1}',
      '{"output":"x"}',
      '{}',
      '"\\ud83d"',
    ],
    ...['"Gr\\u00FC"', '"a" and "b"', ' "a"', '[]', '5', 'null'],
  ]) {
    f({ args: same, result: 'said' }, same, 'said', { present: 3 })
  }
})

t.test('an agent turn', async t => {
  const [unit, ...others] = unitsOf(
    parseEvent(
      json({
        event_id: EVENT.toUpperCase(),
        session_id: SESSION,
        primitive_name: 'support-agent',
        args: 'Where is my order?',
        result: 'On its way.',
        latency: 12,
        timestamp: 1789999990000,
        metadata: { plan: 'pro', score: 0.5, tags: ['a', { b: 1 }], none: null },
        org_id: 'ignored',
      }),
      'json',
      context,
    ),
  )
  t.same(others, [])
  t.same(unit?.identity, { kind: 'event', id: EVENT })
  t.same(unit?.sessions, [])
  t.same(telling(unit?.events[0] as EventRow), {
    conversation_id: SESSION,
    event_id: EVENT,
    ts: '2026-09-21 14:13:10.000000000',
    duration_ns: 12_000_000,
    latency_bucket: 302,
    source: 'sdk',
    kind: 'agent',
    name: 'support-agent',
    present: 3,
    input_preview: 'Where is my order?',
    output_preview: 'On its way.',
    input_bytes: 18,
    output_bytes: 11,
    metadata: { plan: 'pro', score: '0.5', tags: '["a",{"b":1}]', none: '' },
  })
  t.same(unit?.texts, [
    {
      organization: context.organization,
      group_id: SESSION,
      event_id: EVENT,
      ts: '2026-09-21 14:13:10.000000000',
      input: 'Where is my order?',
      output: 'On its way.',
      content: {},
      retention: 0,
    },
  ])
})

t.test('a primitive call without an id takes the minted one and arrives when it arrives', async t => {
  const row = event({
    primitive_type: 'tool',
    primitive_name: 'search',
    success: false,
    latency: 3.25,
    result: 'no index',
  })
  t.same(telling(row), {
    conversation_id: SESSION,
    event_id: context.mintedId,
    ts: '2026-09-21 14:13:20.000000000',
    duration_ns: 3_250_000,
    latency_bucket: 242,
    source: 'mcp',
    kind: 'tool',
    name: 'search',
    failed: 1,
    error_message: 'no index',
    present: 2,
    output_preview: 'no index',
    output_bytes: 8,
  })
  t.match(parseEvent(json({ session_id: SESSION }), 'json', { ...context, mintedId: NIL_UUID }), { dead: 'DEAD_PARSE' })
})

t.test('kinds: primitive types, tool calls by metadata, agent turns', async t => {
  const f = (fields: object, kind: string, source: string) => t.match(event(fields), { kind, source })
  f({ primitive_type: 'resource' }, 'resource', 'mcp')
  f({ primitive_type: 'prompt' }, 'prompt', 'mcp')
  f({ primitive_type: '' }, 'agent', 'sdk')
  f({ metadata: { event_type: 'tool_call' } }, 'tool', 'sdk')
  f({ primitive_type: 'other thing' }, 'other', 'mcp')
})

t.test('ids that are no uuids are mapped, the sent ones kept', async t => {
  const row = event({ session_id: 'conv_1', event_id: 'turn 1', metadata: { parent_id: 'turn 0' } })
  t.match(row, {
    conversation_id: uuidV5(context.organization, 'conv_1'),
    session_id: 'conv_1',
    event_id: uuidV5(context.organization, 'turn 1'),
    parent_id: uuidV5(context.organization, 'turn 0'),
    metadata: { 'parley.sent_event_id': 'turn 1', 'parley.sent_parent_id': 'turn 0', parent_id: 'turn 0' },
  })
  t.match(event({ session_id: SESSION.replaceAll('2', 'A') }), {
    conversation_id: SESSION.replaceAll('2', 'a'),
    session_id: SESSION.replaceAll('2', 'A'),
  })
})

t.test('captured and not captured are told apart from empty', async t => {
  t.equal(event({}).present, 0)
  t.equal(event({ args: '', result: '' }).present, 3)
  t.equal(event({ args: null, result: { a: 1 } }).output_preview, '{"a":1}')
  t.same(unitsOf(parseEvent(json({ session_id: SESSION, args: '' }), 'json', context))[0]?.texts, [])
})

t.test('times far from the arrival are clamped and the sent one noted', async t => {
  t.match(event({ timestamp: 1_700_000 }), {
    ts: '2025-08-17 14:13:20.000000000',
    metadata: { 'parley.sent_timestamp': '1970-01-01T00:28:20.000Z' },
  })
  t.match(event({ timestamp: 9e18 }), {
    ts: '2026-09-22 14:13:20.000000000',
    metadata: { 'parley.sent_timestamp': '9000000000000000000' },
  })
  t.match(event({ timestamp: 1789999990000.25 }), { ts: '2026-09-21 14:13:10.000250000' })
})

t.test('numbers stay within the columns', async t => {
  t.match(event({ latency: 1e300 }), { duration_ns: Number.MAX_SAFE_INTEGER })
  t.match(event({ latency: -5 }), { duration_ns: -1 })
  t.match(event({ metadata: { cost: '1e300', input_tokens: 1e300, output_tokens: 'many', model: 'gpt-4o' } }), {
    model: 'gpt-4o',
    cost_nanos: Number.MAX_SAFE_INTEGER,
    input_tokens: Number.MAX_SAFE_INTEGER,
    output_tokens: 0,
    present: 4 | 16,
  })
  t.match(event({ metadata: { 'gen_ai.usage.input_tokens': '12', tokens: 5, cost: 0 } }), {
    input_tokens: 12,
    present: 4 | 16,
  })
})

t.test('whole numbers keep all their digits, wherever they become text', async t => {
  const long = parseExactly('9007199254740993')
  const metadata = { order: long, deep: { list: [long, -1.5] }, said: '{"password":"t","n":9007199254740993}' }
  const { metadata: stored, duration_ns } = event({
    event_id: EVENT,
    metadata,
    latency: parseExactly('12345678901234567'),
  })
  t.same(
    { ...stored },
    {
      order: '9007199254740993',
      deep: '{"list":[9007199254740993,-1.5]}',
      said: '{"password":"[masked]","n":9007199254740993}',
    },
  )
  t.equal(duration_ns, Number.MAX_SAFE_INTEGER)
  t.match(session({ user_data: { user_id: long, age: [long] }, metadata: { n: long } }), {
    user_id: '9007199254740993',
    user_data: { age: '[9007199254740993]' },
    metadata: { n: '9007199254740993' },
  })
})

t.test('texts are valid Unicode, and previews end between characters', async t => {
  const row = event({ args: `${'a'.repeat(199)}😀`, result: 'x\ud800y\u0000', metadata: { 'k\udc00': '\ud83d' } })
  t.equal(row.input_preview, 'a'.repeat(199))
  t.equal(row.input_bytes, 203)
  t.equal(row.output_preview, 'x\ufffdy\u0000')
  t.same({ ...row.metadata }, { 'k\ufffd': '\ufffd' })
  t.equal(event({ success: false, result: 'ü'.repeat(2000) }).error_message, 'ü'.repeat(1024))
})

t.test('secrets are masked wherever metadata hides them', async t => {
  const { metadata } = event({
    metadata: {
      Authorization: 'Bearer abc.def',
      headers: { 'X-Api-Key': 'k', accept: '*/*', 'x-corp-token': 't', cookie: null },
      raw: '{"request":{"headers":[["Cookie","a=b"],["accept","x"]],"password":"p"}}',
      list: [
        { name: 'authorization', value: 'Basic xyz' },
        { name: 'accept', value: 'x' },
      ],
      said: 'Bearer eyJhbGciOi.J9.sig',
      max_tokens: 5,
      'http.request.header.x_session_token': ['s'],
      'x-org-id': SESSION,
      plain: '{"token_count": 5}',
      url: 'https://x.y/mcp?api_key=k1&page=2',
    },
  })
  t.same(
    { ...metadata },
    {
      Authorization: '[masked]',
      headers: '{"X-Api-Key":"[masked]","accept":"*/*","x-corp-token":"[masked]","cookie":null}',
      raw: '{"request":{"headers":[["Cookie","[masked]"],["accept","x"]],"password":"[masked]"}}',
      list: '[{"name":"authorization","value":"[masked]"},{"name":"accept","value":"x"}]',
      said: '[masked]',
      max_tokens: '5',
      'http.request.header.x_session_token': '[masked]',
      'x-org-id': '[masked]',
      plain: '{"token_count": 5}',
      url: 'https://x.y/mcp?api_key=[masked]&page=2',
    },
  )
})

t.test('too much metadata is bounded, and says so', async t => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, 'v']))
  const row = event({ metadata: { long: 'x'.repeat(20_000), ...many } })
  t.equal(Object.keys(row.metadata).length, 512 + 2)
  t.equal(row.metadata.long?.length, 16_384)
  t.match(row.metadata, { 'parley.metadata_cut': 'long', 'parley.metadata_dropped': '89' })
})

t.test('a prototype cannot be reached through keys', async t => {
  const body = Buffer.from(`{"session_id":"${SESSION}","metadata":{"__proto__":{"a":1},"constructor":"c"}}`)
  const row = unitsOf(parseEvent(body, 'json', context))[0]?.events[0]
  t.equal(JSON.stringify(row?.metadata), '{"__proto__":"{\\"a\\":1}","constructor":"c"}')
  t.equal(({} as { a?: unknown }).a, undefined)
})

t.test('checkpoints are kept with name, time and metadata', async t => {
  const { checkpoints } = event({
    checkpoints: [{ name: 'a', timestamp: 1.5, metadata: { n: 1 } }, { name: 'b' }, 'x', { name: 'c', timestamp: '7' }],
  })
  t.equal(checkpoints, '[{"name":"a","timestamp":1.5,"metadata":{"n":"1"}},{"name":"c","timestamp":7,"metadata":{}}]')
  t.equal(event({ checkpoints: {} }).checkpoints, '')
})

t.test('a session of the conversation shape', async t => {
  const [unit] = unitsOf(
    parseSession(
      json({
        session_id: 'conv_9',
        user_data: { user_id: 'u-1', email: 'a@b.c', age: 30, tags: ['x'] },
        metadata: { channel: 'web' },
        timestamp: 1789999990000,
      }),
      'json',
      context,
    ),
  )
  t.equal(unit?.identity, null)
  t.same(unit?.sessions.map(telling), [
    {
      conversation_id: uuidV5(context.organization, 'conv_9'),
      session_id: 'conv_9',
      source: 'sdk',
      user_id: 'u-1',
      user_email: 'a@b.c',
      user_data: { user_id: 'u-1', email: 'a@b.c', age: '30', tags: '["x"]' },
      metadata: { channel: 'web' },
      started_at: '2026-09-21 14:13:10.000',
    },
  ])
})

t.test('a session of the server-primitive shape', async t => {
  t.same(
    telling(
      session({
        client_config: 'my server 1.0',
        connection_type: 'http',
        ip: '10.0.0.1',
        tools: ['a', { name: 'b' }, 7],
        user_data: { user_id: '', userId: 'tok_1' },
      }) as NonNullable<ReturnType<typeof session>>,
    ),
    {
      conversation_id: SESSION,
      source: 'mcp',
      user_id: 'tok_1',
      user_data: { user_id: '', userId: 'tok_1' },
      client_config: 'my server 1.0',
      connection_type: 'http',
      ip: '10.0.0.1',
      tools: ['a', 'b', '7'],
      started_at: '2026-09-21 14:13:20.000',
    },
  )
  const emailOf = (user_data: object) => session({ user_data })?.user_email
  t.equal(emailOf({ user_id: 'u', userEmail: 'c', user_email: 'b', email: 'a' }), 'a')
  t.equal(emailOf({ user_id: 'u', userEmail: 'c', user_email: 'b', email: '' }), 'b')
  t.equal(emailOf({ user_id: 'u', userEmail: 'c' }), 'c')
  t.match(session({ user_data: 'nobody' }), { user_id: '', user_data: { value: 'nobody' } })
})

t.test('what is no such body is dead, with a reason', async t => {
  for (const parse of [parseSession, parseEvent]) {
    const f = (body: string, reason: RegExp) =>
      t.match(parse(Buffer.from(body), 'json', context), { dead: 'DEAD_PARSE', reason })
    f('', /empty/)
    f('{', /JSON/)
    f('[]', /no object/)
    f('{}', /session_id is missing/)
    t.match(parse(new Uint8Array([0xff, 0xfe]), 'json', context), { reason: /UTF-8/ })
    t.match(parse(new Uint8Array([1]), 'protobuf', context), { dead: 'DEAD_PARSE' })
  }
})
