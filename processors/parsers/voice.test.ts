import t from 'tap'
import { uuidV5 } from '#proto/ids.ts'
import { type EventRow, Present, type SessionRow } from '#proto/rows.ts'
import { context, json, telling, unitsOf } from './fixture.ts'
import { parseVoice } from './voice.ts'

const CALL_ID = '7420f27a-30fd-4f49-a995-5549ae7cc00d'
const eventId = (ordinal: number): string => uuidV5(context.organization, `${CALL_ID}/${ordinal}`)
const at = 1_789_999_000_000

const whole = {
  message: {
    type: 'end-of-call-report',
    timestamp: at + 60_000,
    startedAt: '2026-09-21T13:56:40.000Z',
    endedAt: '2026-09-21T13:57:40.000Z',
    endedReason: 'customer-ended-call',
    cost: 0.1234,
    call: {
      id: CALL_ID,
      orgId: 'org-1',
      type: 'inboundPhoneCall',
      customer: { number: '+15550001', name: 'Eve' },
      assistant: { id: 'a-1', name: 'Ada' },
    },
    analysis: { summary: 'Booked a table.', successEvaluation: 'true', structuredData: { seats: 2 } },
    artifact: {
      recordingUrl: 'https://r/1.wav',
      logUrl: 'https://r/1.log',
      messages: [
        { role: 'system', message: 'You book tables.', time: at },
        { role: 'bot', message: 'Hello!', time: at + 1000, endTime: at + 2000 },
        { role: 'user', message: 'A table for two.', time: at + 3000, endTime: at + 4500 },
        {
          role: 'tool_calls',
          time: at + 4600,
          toolCalls: [{ id: 't1', function: { name: 'book', arguments: '{"seats":2}' } }],
        },
        { role: 'tool_call_result', toolCallId: 't1', name: 'book', result: 'Error: full', time: at + 5000 },
        { role: 'bot', message: 'Sorry, we are full.', time: at + 5250, endTime: at + 7000 },
      ],
    },
  },
}

t.test('a call becomes one unit: a session, exchanges, and tool calls below a synthetic event', async t => {
  const [unit, ...others] = unitsOf(parseVoice(json(whole), 'json', context))
  t.same(others, [])
  t.same(unit?.identity, { kind: 'call', id: CALL_ID })
  t.same(
    unit?.sessions.map(session => telling({ ...session, report: '' })),
    [
      {
        conversation_id: CALL_ID,
        source: 'voice',
        user_id: '+15550001',
        user_data: { number: '+15550001', name: 'Eve' },
        metadata: {
          endedReason: 'customer-ended-call',
          startedAt: '2026-09-21T13:56:40.000Z',
          endedAt: '2026-09-21T13:57:40.000Z',
          cost: '0.1234',
          'call.orgId': 'org-1',
          'call.type': 'inboundPhoneCall',
          'assistant.id': 'a-1',
          'assistant.name': 'Ada',
          logUrl: 'https://r/1.log',
          'analysis.summary': 'Booked a table.',
          'analysis.successEvaluation': 'true',
          'analysis.structuredData': '{"seats":2}',
          'parley.transcript_source': 'artifact.messages',
          'parley.duration_ms': '60000',
        },
        started_at: '2026-09-21 13:56:40.000',
        recording_url: 'https://r/1.wav',
      },
    ],
  )
  const usual = { conversation_id: CALL_ID, source: 'voice', user_id: '+15550001' }
  t.same(unit?.events.map(telling), [
    {
      ...usual,
      event_id: eventId(0),
      ts: '2026-09-21 13:56:41.000000000',
      kind: 'agent',
      name: 'Ada',
      cost_nanos: 123_400_000,
      present: 2 | 16,
      output_preview: 'Hello!',
      output_bytes: 6,
      metadata: { 'parley.exchange_ms': '1000', 'parley.audio_from_ms': '1000', 'parley.audio_to_ms': '2000' },
    },
    {
      ...usual,
      event_id: eventId(1),
      ts: '2026-09-21 13:56:43.000000000',
      duration_ns: 750_000_000,
      latency_bucket: 493,
      kind: 'agent',
      name: 'Ada',
      present: 3,
      input_preview: 'A table for two.',
      output_preview: 'Sorry, we are full.',
      input_bytes: 16,
      output_bytes: 19,
      metadata: { 'parley.exchange_ms': '4000', 'parley.audio_from_ms': '3000', 'parley.audio_to_ms': '7000' },
    },
    {
      ...usual,
      event_id: eventId(2),
      parent_id: eventId(1),
      ts: '2026-09-21 13:56:44.600000000',
      duration_ns: 400_000_000,
      latency_bucket: 464,
      kind: 'agent',
      name: 'Ada',
      metadata: { 'parley.synthetic': 'true' },
    },
    {
      ...usual,
      event_id: eventId(3),
      parent_id: eventId(2),
      ts: '2026-09-21 13:56:44.600000001',
      duration_ns: 400_000_000,
      latency_bucket: 464,
      kind: 'tool',
      name: 'book',
      failed: 1,
      error_message: 'Error: full',
      present: 3,
      input_preview: '{"seats":2}',
      output_preview: 'Error: full',
      input_bytes: 11,
      output_bytes: 11,
      metadata: { tool_call_id: 't1' },
    },
  ])
  t.same(
    unit?.texts.map(({ event_id, group_id, input, output }) => [event_id, group_id, input, output]),
    [
      [eventId(0), CALL_ID, '', 'Hello!'],
      [eventId(1), CALL_ID, 'A table for two.', 'Sorry, we are full.'],
      [eventId(2), CALL_ID, '', ''],
      [eventId(3), CALL_ID, '{"seats":2}', 'Error: full'],
    ],
  )
})

t.test('a report has the fingerprint of what it says, not of when or how it was sent', t => {
  const fingerprint = (message: object, arrival = context): string => {
    const [unit] = unitsOf(parseVoice(json({ message: { ...whole.message, ...message } }), 'json', arrival))
    const session = unit?.sessions[0]
    if (!session) throw new Error('a report has a session')
    return session.report
  }
  const link = (query: string): object => ({
    artifact: { ...whole.message.artifact, recordingUrl: `https://r/1.wav${query}`, logUrl: `https://r/1.log${query}` },
  })
  const first = fingerprint({})
  t.match(first, /^[0-9a-f]{24}$/)
  const later = { ...context, receivedAtMs: context.receivedAtMs + 3_600_000 }
  t.equal(fingerprint({ timestamp: at + 90_000 }, later), first, 'sent again an hour later')
  const reordered = { structuredData: { seats: 2 }, successEvaluation: 'true', summary: 'Booked a table.' }
  t.equal(fingerprint({ analysis: reordered }), first, 'with the analysis in another order')
  const others = [
    { cost: 0.2 },
    { analysis: { summary: 'Nothing booked.' } },
    { endedReason: 'silence' },
    { call: { ...whole.message.call, customer: { number: '+15550001', name: 'Eva' } } },
    { artifact: { ...whole.message.artifact, messages: whole.message.artifact.messages.slice(0, -1) } },
    { artifact: { ...whole.message.artifact, recordingUrl: 'https://r/2.wav' } },
    link('?signature=a'),
  ].map(other => fingerprint(other))
  t.equal(new Set([first, ...others]).size, 8, 'whatever else it says makes another report')
  t.end()
})

t.test('without times of their own, events keep their order from the start of the call', async t => {
  const [unit] = unitsOf(
    parseVoice(
      json({
        message: {
          type: 'end-of-call-report',
          call: { id: 'call 7' },
          customer: { number: '+1', email: 'e@x.y' },
          startedAt: '2026-09-21T13:56:40.000Z',
          transcript: 'AI: One\nUser: Two\nAI: Three\nUser: Four',
        },
      }),
      'json',
      context,
    ),
  )
  const events = unit?.events as EventRow[]
  t.same(
    events.map(({ ts, input_preview, output_preview }) => [ts.slice(17, 23), input_preview, output_preview]),
    [
      ['40.000', '', 'One'],
      ['40.001', 'Two', 'Three'],
      ['40.002', 'Four', ''],
    ],
  )
  t.ok(events.every(row => row.metadata['parley.time'] === 'derived'))
  t.match(unit?.sessions[0], { session_id: 'call 7', user_email: 'e@x.y', user_id: '+1' })
  t.equal(unit?.identity?.id, uuidV5(context.organization, 'call 7'))
})

t.test('the cost is on exactly one event, also when it is zero or absent', async t => {
  const costs = (cost: unknown): number[][] => {
    const body = structuredClone(whole) as { message: Record<string, unknown> }
    body.message.cost = cost
    return (unitsOf(parseVoice(json(body), 'json', context))[0]?.events ?? []).map(row => [
      row.cost_nanos,
      row.present & 16,
    ])
  }
  t.same(costs(0.5), [
    [500_000_000, 16],
    [0, 0],
    [0, 0],
    [0, 0],
  ])
  t.same(costs(0), [
    [0, 16],
    [0, 0],
    [0, 0],
    [0, 0],
  ])
  t.same(costs(null), [
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
  ])
  t.same(costs('0.25')[0], [250_000_000, 16])
  t.same(costs('free')[0], [0, 0])
})

t.test('a total that is missing is that of the breakdown, else of the items; one that is none is told', async t => {
  const first = (message: object): EventRow => {
    const body = { message: { ...whole.message, cost: undefined, ...message } }
    return unitsOf(parseVoice(json(body), 'json', context))[0]?.events[0] as EventRow
  }
  const costs = [{ cost: 0.1 }, { cost: 0.2 }]
  t.equal(first({ costBreakdown: { total: 0.4 }, costs }).cost_nanos, 400_000_000)
  t.equal(first({ costBreakdown: { llm: 0.4 }, costs }).cost_nanos, 300_000_000)
  t.equal(first({ cost: 0.7, costBreakdown: { total: 0.4 }, costs }).cost_nanos, 700_000_000)
  t.equal(first({ call: { ...whole.message.call, costs } }).cost_nanos, 300_000_000)
  t.match(first({ costs: [] }), { cost_nanos: 0, present: Present.output })
  for (const odd of [{ cost: 'free' }, { cost: -1 }, { costs: [{ cost: 1 }, { cost: 'x' }] }]) {
    t.match(first(odd), { cost_nanos: 0, present: Present.output | Present.pricingInvalid })
    t.equal(first(odd).metadata['parley.pricing_invalid'], 'cost')
  }
  t.match(first({ cost: 'free', costBreakdown: { total: 0.4 } }), { cost_nanos: 400_000_000 })
})

t.test('what a report has besides is kept, except what says the call again or opens it', async t => {
  const message = {
    ...whole.message,
    assistant: { name: 'Ada', model: { messages: ['the whole prompt'] } },
    campaign: { id: 7 },
    call: { ...whole.message.call, monitor: { listenUrl: 'wss://x' }, phoneCallProvider: 'twilio', updatedAt: 'now' },
    artifact: { ...whole.message.artifact, transcript: 'AI: Hello!', nodes: [], pcapUrl: 'https://r/1.pcap' },
  }
  const [unit] = unitsOf(parseVoice(json({ message, region: 'eu' }), 'json', context))
  const metadata = unit?.sessions[0]?.metadata
  t.match(metadata, {
    campaign: '{"id":7}',
    'call.phoneCallProvider': 'twilio',
    pcapUrl: 'https://r/1.pcap',
    region: 'eu',
  })
  t.match(metadata, { 'artifact.nodes': '[]' })
  t.notMatch(JSON.stringify(metadata), /wss|prompt|updatedAt|Hello/)
})

t.test('timed words are kept as long as a value may be, and what is left out is told', async t => {
  const words = Array.from({ length: 2000 }, (_, i) => ({ word: `word${i}`, start: i / 2, end: i / 2 + 0.3 }))
  const messages = [{ role: 'user', message: 'many words', time: at, metadata: { wordLevelConfidence: words } }]
  const body = { message: { ...whole.message, artifact: { messages } } }
  const [unit] = unitsOf(parseVoice(json(body), 'json', context))
  const { content = {} } = unit?.texts[0] ?? {}
  t.notMatch(JSON.stringify(unit?.events[0]?.metadata), /word1/, 'what was said is no metadata')
  const kept = JSON.parse(content['parley.caller_words'] ?? '') as unknown[]
  t.strictSame(kept[1], ['word1', 500, 800])
  t.equal(content['parley.caller_words_cut'], String(2000 - kept.length))
  t.ok(kept.length > 100)
})

t.test('the same report gives the same rows', async t => {
  t.same(parseVoice(json(whole), 'json', context), parseVoice(json(whole), 'json', context))
})

t.test('times outside the allowed range are clamped, in the session too', async t => {
  const [unit] = unitsOf(
    parseVoice(
      json({
        message: {
          type: 'end-of-call-report',
          call: { id: 'c', customer: { number: '1' } },
          startedAt: '1999-01-01T00:00:00Z',
          transcript: 'AI: a',
        },
      }),
      'json',
      context,
    ),
  )
  t.match(unit?.sessions[0] as SessionRow, {
    started_at: '2025-08-17 14:13:20.000',
    metadata: { 'parley.sent_timestamp': '1999-01-01T00:00:00.000Z' },
  })
  t.match(unit?.events[0], { ts: '2025-08-17 14:13:20.000000000' })
})

t.test('what is no report is dead, with the code the receiver would have answered', async t => {
  const f = (body: unknown, reason: RegExp) =>
    t.match(parseVoice(json(body), 'json', context), { dead: 'DEAD_PARSE', reason })
  f({ message: { type: 'x' } }, /^ING_VOICE_TYPE message\.type$/)
  f([], /^REQ_BODY_INVALID/)
  t.match(parseVoice(new Uint8Array([123]), 'json', context), { dead: 'DEAD_PARSE' })
  t.match(parseVoice(new Uint8Array(0), 'protobuf', context), { dead: 'DEAD_PARSE' })
})
