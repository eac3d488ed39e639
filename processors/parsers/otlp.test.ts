import t from 'tap'
import { conversationIdOf, spanEventId } from '#proto/ids.ts'
import { request, span } from '#proto/otlp/fixture.ts'
import type { EventRow } from '#proto/rows.ts'
import { context, telling, unitsOf } from './fixture.ts'
import { parse, row } from './otlp/fixture.ts'
import { parseTraces } from './otlp.ts'

const { organization } = context
const hexOf = (trace: number): string => trace.toString(16).padStart(32, '0')
const idOf = (trace: number, id: number): string =>
  spanEventId(organization, hexOf(trace), id.toString(16).padStart(16, '0'))

t.test('the contract: a turn with a tool call below it', async t => {
  const units = parse(
    t,
    request([
      span(1, 2, {
        name: 'tool.search',
        parentSpanId: '0000000000000001',
        status: { code: 2, message: 'timeout' },
        events: [
          {
            timeUnixNano: '1789999990000000007',
            name: 'exception',
            attributes: [{ key: 'exception.type', value: { stringValue: 'TimeoutError' } }],
          },
        ],
        attributes: [{ key: 'input', value: { stringValue: '{"q":"shoes"}' } }],
      }),
      span(
        1,
        1,
        { name: 'shop-agent' },
        {
          'service.session_id': 'chat 5',
          'service.user_id': 'u-7',
          'user.email': 'u@x.y',
          input: 'Find shoes',
          output: 'None found.',
          'customer.tier': 'gold',
          'feature.count': 3,
        },
      ),
    ]),
  )
  t.same(
    units.map(unit => unit.identity),
    [2, 1].map(id => ({ kind: 'event', id: idOf(1, id) })),
  )
  const [tool, turn] = units.map(unit => telling(unit.events[0] as EventRow))
  const trace = '00000000-0000-0000-0000-000000000001'
  const resource = { 'resource.service.name': 'shop', 'otel.scope.name': 'shop-tracer', 'otel.scope.version': '1.2.3' }
  t.same(tool, {
    conversation_id: conversationIdOf(organization, hexOf(1)),
    session_id: hexOf(1),
    event_id: idOf(1, 2),
    parent_id: idOf(1, 1),
    trace_id: trace,
    span_id: '2',
    parent_span_id: '1',
    ts: '2026-09-21 14:13:10.000000001',
    duration_ns: 500_000_002,
    latency_bucket: 477,
    source: 'otlp',
    kind: 'tool',
    name: 'search',
    failed: 1,
    error_type: 'TimeoutError',
    error_message: 'timeout',
    provisional: 1,
    present: 1,
    input_preview: '{"q":"shoes"}',
    input_bytes: 13,
    metadata: {
      ...resource,
      'parley.span_name': 'tool.search',
      'parley.events':
        '[{"name":"exception","time_unix_nano":"1789999990000000007","attributes":{"exception.type":"TimeoutError"}}]',
    },
  })
  t.same(turn, {
    conversation_id: conversationIdOf(organization, 'chat 5'),
    session_id: 'chat 5',
    event_id: idOf(1, 1),
    trace_id: trace,
    span_id: '1',
    ts: '2026-09-21 14:13:10.000000001',
    duration_ns: 500_000_002,
    latency_bucket: 477,
    source: 'otlp',
    kind: 'agent',
    name: 'shop-agent',
    user_id: 'u-7',
    present: 3,
    input_preview: 'Find shoes',
    output_preview: 'None found.',
    input_bytes: 10,
    output_bytes: 11,
    metadata: { 'user.email': 'u@x.y', 'customer.tier': 'gold', 'feature.count': '3', ...resource },
  })
  t.same(units[0]?.sessions, [])
  t.same(units[1]?.sessions.map(telling), [
    {
      conversation_id: conversationIdOf(organization, 'chat 5'),
      session_id: 'chat 5',
      source: 'otlp',
      user_id: 'u-7',
      user_email: 'u@x.y',
      user_data: { email: 'u@x.y' },
      metadata: { 'service.name': 'shop' },
      started_at: '2026-09-21 14:13:10.000',
    },
  ])
  t.same(
    units.flatMap(unit =>
      unit.texts.map(({ group_id, event_id, input, output }) => [group_id, event_id, input, output]),
    ),
    [
      [trace, idOf(1, 2), '{"q":"shoes"}', ''],
      [trace, idOf(1, 1), 'Find shoes', 'None found.'],
    ],
  )
})

t.test('session and user: the order of precedence, and ids that are none', async t => {
  const f = (values: Record<string, unknown>, session: string, user: string) => {
    const { session_id, user_id, provisional } = row(t, values)
    t.same([session_id, user_id, provisional], [session, user, session === hexOf(1) ? 1 : 0], JSON.stringify(values))
  }
  f({}, hexOf(1), '')
  f({ 'gen_ai.conversation.id': 'g', 'session.id': 's', 'service.session_id': 'c' }, 'c', '')
  f({ 'gen_ai.conversation.id': 'g', 'session.id': 's', 'user.id': 'u', 'service.user_id': 'c' }, 's', 'c')
  f({ 'gen_ai.conversation.id': 'g', 'enduser.id': 5 }, 'g', '5')
  f({ 'ai.telemetry.metadata.sessionId': 'a', 'ai.telemetry.metadata.userId': 'b' }, 'a', 'b')
  f({ 'traceloop.association.properties.session_id': 'a', 'traceloop.association.properties.user_id': 'b' }, 'a', 'b')
  f({ 'langsmith.metadata.thread_id': 'a', 'langsmith.metadata.user_id': 'b' }, 'a', 'b')
  f({ metadata: '{"thread_id":"a","user_id":"b"}' }, 'a', 'b')
  f({ metadata: { threadId: 'a', userId: 7 } }, 'a', '7')
  f({ 'ai.settings.context.app.session.id': 'a' }, 'a', '')
  f({ 'session.id': ' ', 'user.id': 'unknown', 'langsmith.metadata.session_id': 'default' }, hexOf(1), '')
  f({ 'service.session_id': 'default', 'service.user_id': 'unknown' }, 'default', 'unknown')
  f({ 'langsmith.trace.session_id': 'project', 'service.instance.id': 'y' }, hexOf(1), '')
  const onResource = parse(t, request([span(1, 1, {})], { 'service.session_id': 'r', 'service.user_id': 'ru' }))
  t.match(onResource[0]?.events[0], { session_id: 'r', user_id: 'ru', provisional: 0 })
})

t.test('a batch captures what its spans reveal once for each conversation and user', async t => {
  const units = parse(
    t,
    request([
      span(1, 1, {}, { 'session.id': 'a' }),
      span(1, 2, {}, { 'session.id': 'a' }),
      span(1, 3, {}, { 'session.id': 'a', 'user.id': 'u' }),
      span(2, 4, {}, { 'user.id': 'u' }),
      span(2, 5, {}, {}),
      span(3, 6, {}, { 'session.id': 'a', 'ai.telemetry.metadata.plan': 'pro' }),
    ]),
  )
  t.same(
    units.map(unit =>
      unit.sessions.map(({ session_id, user_id, metadata }) => [session_id, user_id, metadata.plan ?? '']),
    ),
    [[['a', '', '']], [], [['a', 'u', '']], [[hexOf(2), 'u', '']], [], [['a', '', 'pro']]],
  )
})

t.test('what went into no column is metadata', async t => {
  const found = row(
    t,
    {
      plain: 'x',
      nested: { a: [1, true] },
      'langfuse.trace.metadata.plan': 'pro',
      'metadata.tier': 'gold',
      tier: 'own',
      metadata: '{"region":"eu","tier":"json"}',
      'http.request.header.authorization': ['Bearer x'],
      request: { headers: { 'x-api-key': 'k', accept: 'a' } },
      'gen_ai.tool.definitions': 'long',
    },
    {
      traceState: 'a=b',
      kind: 2,
      status: { code: 1 },
      droppedAttributesCount: 4,
      links: [{ traceId: '0f'.repeat(16), spanId: '0e'.repeat(8) }],
    },
  )
  t.same(
    { ...found.metadata },
    {
      plain: 'x',
      nested: '{"a":[1,true]}',
      plan: 'pro',
      'metadata.tier': 'gold',
      tier: 'own',
      region: 'eu',
      'http.request.header.authorization': '[masked]',
      request: '{"headers":{"x-api-key":"[masked]","accept":"a"}}',
      'resource.service.name': 'shop',
      'otel.scope.name': 'shop-tracer',
      'otel.scope.version': '1.2.3',
      'parley.span_kind': 'server',
      'parley.status': 'ok',
      'parley.trace_state': 'a=b',
      'parley.links': `[{"trace_id":"${'0f'.repeat(16)}","span_id":"${'0e'.repeat(8)}"}]`,
      'parley.dropped_attributes': '4',
      'parley.omitted': 'gen_ai.tool.definitions',
    },
  )
})

t.test('times: to the nanosecond, missing, backwards, far away', async t => {
  const f = (start: string, end: string, expected: Partial<EventRow>) =>
    t.match(row(t, {}, { startTimeUnixNano: start, endTimeUnixNano: end }), expected, `${start} ${end}`)
  f('1789999990123456789', '1789999990123456790', {
    ts: '2026-09-21 14:13:10.123456789',
    duration_ns: 1,
    latency_bucket: 0,
  })
  f('1789999990000000000', '1789999989000000000', {
    duration_ns: 0,
    metadata: { 'parley.sent_end_unix_nano': '1789999989000000000' },
  })
  f('1789999990000000000', '0', { ts: '2026-09-21 14:13:10.000000000', duration_ns: -1, latency_bucket: -1 })
  f('0', '1789999990000000005', { ts: '2026-09-21 14:13:10.000000005', duration_ns: -1 })
  f('0', '0', { ts: '2026-09-21 14:13:20.000000000', duration_ns: -1 })
  f('1', '2', {
    ts: '2025-08-17 14:13:20.000000000',
    duration_ns: 1,
    metadata: { 'parley.sent_timestamp': '1970-01-01T00:00:00.000Z' },
  })
  f('9223372036854775807', '9223372036854775807', { ts: '2026-09-22 14:13:20.000000000', duration_ns: 0 })
})

t.test('span ids keep all their 64 bits', async t => {
  const [unit] = parse(t, request([span(1, 1, { spanId: 'ffffffffffffffff', parentSpanId: '8000000000000001' })]))
  t.match(unit?.events[0], { span_id: '18446744073709551615', parent_span_id: '9223372036854775809' })
})

t.test('a refused span is left out and its neighbours stand', async t => {
  const units = parse(t, request([span(1, 1, {}), span(0, 2, {}), span(1, 3, {})]))
  t.same(
    units.map(unit => unit.identity?.id),
    [idOf(1, 1), idOf(1, 3)],
  )
})

t.test('what is no trace export is dead', async t => {
  t.match(parseTraces(Buffer.from('{"resourceLogs":[]}'), 'json', context), {
    dead: 'DEAD_PARSE',
    reason: /^ING_OTLP_NOT_TRACES/,
  })
  t.match(parseTraces(Buffer.from([10, 5]), 'protobuf', context), { dead: 'DEAD_PARSE', reason: /^ING_OTLP_INVALID/ })
  t.same(unitsOf(parseTraces(new Uint8Array(0), 'protobuf', context)), [])
})
