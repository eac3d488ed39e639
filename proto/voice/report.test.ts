import t from 'tap'
import { type Exchange, readVoiceReport, type VoiceReport } from './report.ts'

const CALL = { id: 'call-1', customer: { number: '+15550001' } }

function read(message: object): VoiceReport {
  const verdict = readVoiceReport({ message: { type: 'end-of-call-report', call: CALL, ...message } })
  if (!verdict.ok) throw new Error(`${verdict.code} ${verdict.field}`)
  return verdict.report
}

/** The words of a call: [caller, assistant] for each exchange. */
const words = (report: { exchanges: readonly Exchange[] }): string[][] =>
  report.exchanges.map(({ caller, assistant }) => [caller, assistant])

t.test('the first thing that is wrong is told, in the order of the checks', async t => {
  const f = (body: unknown, code: string) => t.match(readVoiceReport(body), { ok: false, code })
  const of = (message: object) => ({ message: { type: 'end-of-call-report', ...message } })
  f(null, 'REQ_BODY_INVALID')
  f([], 'REQ_BODY_INVALID')
  f({ message: 'x' }, 'REQ_BODY_INVALID')
  f({ message: { call: CALL, transcript: 'AI: hi' } }, 'ING_VOICE_TYPE')
  f({ message: { type: 'status-update' } }, 'ING_VOICE_TYPE')
  f(of({}), 'ING_VOICE_CALL_ID')
  f(of({ call: { id: 7 } }), 'ING_VOICE_CALL_ID')
  f(of({ call: { id: ' ' } }), 'ING_VOICE_CALL_ID')
  f(of({ call: { id: 'c' } }), 'ING_VOICE_NUMBER')
  f(of({ call: CALL, transcript: 'x'.repeat(2_000_000) }), 'ING_VOICE_TRANSCRIPT_TOO_LARGE')
  f(of({ call: CALL }), 'ING_VOICE_TRANSCRIPT_MISSING')
  f(of({ call: CALL, transcript: ' \n', artifact: { messages: [], transcript: 7 } }), 'ING_VOICE_TRANSCRIPT_MISSING')
})

t.test('the number may stand in either place', async t => {
  const verdict = readVoiceReport({
    message: { type: 'end-of-call-report', call: { id: 'c' }, customer: { number: ' +4930 ' }, transcript: 'AI: hi' },
  })
  t.match(verdict, { ok: true, report: { number: '+4930' } })
})

t.test('the limit counts UTF-8 bytes of the transcript that is used', async t => {
  const f = (message: object) => readVoiceReport({ message: { type: 'end-of-call-report', call: CALL, ...message } })
  t.match(f({ transcript: 'x'.repeat(1_048_576) }), { ok: true })
  t.match(f({ transcript: 'x'.repeat(1_048_577) }), { code: 'ING_VOICE_TRANSCRIPT_TOO_LARGE' })
  t.match(f({ transcript: 'ü'.repeat(524_289) }), { code: 'ING_VOICE_TRANSCRIPT_TOO_LARGE' })
  const long = { role: 'bot', message: 'x'.repeat(600_000) }
  t.match(f({ artifact: { messages: [long, long] } }), { code: 'ING_VOICE_TRANSCRIPT_TOO_LARGE' })
  t.match(
    f({ artifact: { messages: [long] }, transcript: 'x'.repeat(2_000_000) }),
    { ok: true },
    'the unused one is free',
  )
})

t.test('messages of the platform become exchanges with times and latency', async t => {
  const at = 1789999000000
  const report = read({
    artifact: {
      messages: [
        { role: 'system', message: 'You are Ada.', time: at },
        { role: 'bot', message: 'Hello, this is Ada.', time: at + 100, endTime: at + 2100, duration: 2000 },
        { role: 'user', message: 'Hi.', time: at + 2500, endTime: at + 2900 },
        { role: 'user', message: 'What time is it?', time: at + 3000, endTime: at + 4000 },
        { role: 'bot', message: 'Noon.', time: at + 4750, duration: 500 },
        { role: 'user', message: 'Bye', time: at + 6000, endTime: at + 6200 },
      ],
      transcript: 'AI: not used',
    },
  })
  t.equal(report.transcriptSource, 'artifact.messages')
  t.same(words(report), [
    ['', 'Hello, this is Ada.'],
    ['Hi.\nWhat time is it?', 'Noon.'],
    ['Bye', ''],
  ])
  t.match(report.exchanges, [
    { startedAtMs: at + 100, endedAtMs: at + 2100, latencyMs: null },
    { startedAtMs: at + 2500, endedAtMs: at + 5250, latencyMs: 750 },
    { startedAtMs: at + 6000, endedAtMs: at + 6200, latencyMs: null },
  ])
  t.equal(report.eventCount, 3)
})

t.test('secondsFromStart counts from the start of the call', async t => {
  const report = read({
    startedAt: '2026-09-21T12:00:00.000Z',
    artifact: { messages: [{ role: 'user', message: 'a', secondsFromStart: 1.5 }] },
  })
  t.equal(report.exchanges[0]?.startedAtMs, Date.parse('2026-09-21T12:00:01.500Z'))
})

t.test('tool calls of the platform carry arguments, result, timing and failure', async t => {
  const report = read({
    artifact: {
      messages: [
        { role: 'user', message: 'Book it', time: 1000, endTime: 2000 },
        {
          role: 'tool_calls',
          time: 2100,
          toolCalls: [
            { id: 't1', type: 'function', function: { name: 'book', arguments: '{"day":"mon"}' } },
            { id: 't2', type: 'function', function: { name: 'mail', arguments: { to: 'a' } } },
            { id: 't3', type: 'function', function: { name: 'lost' } },
          ],
        },
        { role: 'tool_call_result', toolCallId: 't2', name: 'mail', result: '{"error":"no such box"}', time: 2900 },
        { role: 'tool_call_result', toolCallId: 't1', name: 'book', result: 'booked', time: 2600 },
        { role: 'bot', message: 'Done', time: 3000 },
      ],
    },
  })
  t.equal(report.eventCount, 1 + 1 + 3)
  t.same(report.exchanges[0]?.toolGroups[0]?.calls, [
    {
      ...{ id: 't1', name: 'book', arguments: '{"day":"mon"}', result: 'booked' },
      ...{ startedAtMs: 2100, durationMs: 500, success: true, error: '' },
    },
    {
      ...{ id: 't2', name: 'mail', arguments: '{"to":"a"}', result: '{"error":"no such box"}' },
      ...{ startedAtMs: 2100, durationMs: 800, success: false, error: 'no such box' },
    },
    {
      ...{ id: 't3', name: 'lost', arguments: null, result: null },
      ...{ startedAtMs: 2100, durationMs: null, success: true, error: '' },
    },
  ])
})

t.test('messages in the OpenAI format are understood, also beside a text transcript', async t => {
  const messages = [
    { role: 'system', content: 'x' },
    { role: 'assistant', content: 'Hello' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Weather' },
        { type: 'text', text: 'please' },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'w', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'sun' },
    { role: 'assistant', content: 'Sunny.' },
  ]
  const report = read({ artifact: { messagesOpenAIFormatted: messages } })
  t.same(words(report), [
    ['', 'Hello'],
    ['Weather\nplease', 'Sunny.'],
  ])
  t.match(report.exchanges[1]?.toolGroups, [{ calls: [{ id: 'a', name: 'w', result: 'sun', success: true }] }])
  const silent = read({ artifact: { messages: [messages[3], messages[4]], transcript: 'AI: Hi\nUser: yo' } })
  t.equal(silent.transcriptSource, 'artifact.transcript')
  t.equal(silent.eventCount, 2 + 1 + 1, 'calls are kept though the words are elsewhere')
})

t.test('a text transcript is cut at its speakers only', async t => {
  const f = (transcript: string, expected: string[][], more = {}) =>
    t.same(words(read({ transcript, ...more })), expected, JSON.stringify(transcript))
  f('AI: Hi: how are you?\nStill there?\n\nUser: Note: call me at 5:30\nAI: https://a.b\r\nUser: ok', [
    ['', 'Hi: how are you?\nStill there?'],
    ['Note: call me at 5:30', 'https://a.b'],
    ['ok', ''],
  ])
  f('Assistant: Hello\nCaller: Hi', [
    ['', 'Hello'],
    ['Hi', ''],
  ])
  f('user: hi\nai: hello', [['hi', 'hello']])
  f('KI: Guten Tag\nKunde: Hallo', [
    ['', 'Guten Tag'],
    ['Hallo', ''],
  ])
  f('助手：你好\n用户：天气：怎样？', [
    ['', '你好'],
    ['天气：怎样？', ''],
  ])
  f('Ada: Hello\nBob: Hi\nAda: Bye', [
    ['', 'Hello'],
    ['Hi', 'Bye'],
  ])
  f(
    'Ada: Hello\nUser: Hi\nAda: Bye',
    [['Hi', 'Bye']].map(([a, b]) => [a as string, b as string]),
    {
      assistant: { name: 'Ada' },
      transcript: 'User: Hi\nAda: Bye',
    },
  )
  f('just some words\nand more: of them', [['just some words\nand more: of them', '']])
})

t.test('fields are found at the top, in the call, in artifact', async t => {
  const report = read({
    transcript: 'AI: hi',
    artifact: { recordingUrl: 'https://r/mono.wav', stereoRecordingUrl: 'https://r/stereo.wav' },
    assistant: { name: 'Ada' },
    startedAt: '2026-09-21T12:00:00Z',
    endedAt: 1790000000000,
    cost: 0.25,
  })
  t.match(report, {
    recordingUrl: 'https://r/mono.wav',
    assistantName: 'Ada',
    startedAtMs: Date.parse('2026-09-21T12:00:00Z'),
    endedAtMs: 1790000000000,
    cost: 0.25,
  })
  t.match(read({ transcript: 'AI: hi', call: { ...CALL, cost: 0 }, recordingUrl: 's3://u' }), {
    cost: 0,
    recordingUrl: 's3://u',
  })
  t.match(read({ transcript: 'AI: hi', cost: -1 }), { cost: null, assistantName: 'assistant', recordingUrl: '' })
})

t.test('hostile messages are read without harm', async t => {
  let deep: unknown = 'x'
  for (let i = 0; i < 20_000; i++) deep = [deep]
  const report = read({
    artifact: {
      messages: [
        null,
        7,
        { role: 7 },
        { role: 'user', message: 'a', time: 'soon', duration: 'x' },
        { role: 'tool_calls', toolCalls: [{ function: { name: 'f', arguments: deep } }, 'x'] },
        { role: 'bot', message: { a: 1 } },
      ],
    },
  })
  t.same(words(report), [['a', '']])
  t.equal(report.exchanges[0]?.toolGroups[0]?.calls[0]?.arguments, '[nested too deeply]')
})
