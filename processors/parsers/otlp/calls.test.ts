// One call that is told by several spans is one event, counted once, and keeps what only one of them knows.
import t from 'tap'
import { at, gen, op, rowsOf, sumOf, type Values } from './fixture.ts'

t.test('one model call that is told by several spans', async t => {
  const f = (what: string, spans: readonly object[], expected: readonly number[], models = 1, scope = 'shop') => {
    const rows = rowsOf(t, spans, scope)
    t.same(sumOf(rows).slice(0, 2), expected, what)
    t.equal(rows.filter(row => row.kind === 'llm').length, models, `${what}: model calls`)
  }
  const chat = (id: number, parent: number, name: string, values: Values) =>
    at(id, parent, name, { ...op('chat'), ...values })
  f(
    'ADK: call_llm around generate_content',
    [
      at(2, 1, 'generate_content m', { ...op('generate_content'), 'gen_ai.system': 'gemini', ...gen(100, 10) }),
      at(1, 0, 'call_llm', { 'gen_ai.system': 'gcp.vertex.agent', 'gen_ai.request.model': 'm', ...gen(100, 10) }),
    ],
    [100, 10],
    1,
    'gcp.vertex.agent',
  )
  f(
    'a framework around an SDK',
    [chat(2, 1, 'openai.chat', gen(100, 10)), chat(1, 0, 'ChatOpenAI.chat', gen(100, 10))],
    [100, 10],
  )
  f(
    'three deep',
    [chat(3, 2, 'c', gen(100, 10)), chat(2, 1, 'b', gen(100, 10)), chat(1, 0, 'a', gen(100, 10))],
    [100, 10],
  )
  f(
    'SDK and platform of Anthropic',
    [chat(2, 1, 'anthropic.messages', gen(100, 10)), chat(1, 0, 'anthropic.messages.create', gen(100, 10))],
    [100, 10],
    1,
    'com.anthropic.sdk.python',
  )
  f(
    'LiteLLM: the raw request repeats',
    [
      at(2, 1, 'raw_gen_ai_request', { 'gen_ai.request.model': 'm', ...gen(100, 10) }),
      at(1, 0, 'litellm_request', { 'gen_ai.request.model': 'm', ...gen(100, 10) }),
    ],
    [100, 10],
    1,
    'litellm',
  )
  f(
    'LiveKit: one request span, one span for each try',
    [
      at(2, 1, 'llm_request_run', {}),
      at(3, 1, 'llm_request_run', gen(100, 10)),
      at(1, 0, 'llm_request', { 'gen_ai.request.model': 'm', ...gen(100, 10) }),
    ],
    [100, 10],
    1,
    'livekit-agents',
  )
  f(
    'the usage stands on the inner span only',
    [chat(2, 1, 'b', gen(100, 10)), chat(1, 0, 'a', { 'gen_ai.request.model': 'm' })],
    [100, 10],
  )
  f(
    'a span around the calls of a loop',
    [chat(2, 1, 'b', gen(100, 10)), chat(3, 1, 'c', gen(150, 20)), chat(1, 0, 'a', gen(250, 30))],
    [250, 30],
    2,
  )
  f(
    'a loop whose calls stream without usage',
    [chat(2, 1, 'b', {}), chat(3, 1, 'c', {}), chat(1, 0, 'a', gen(250, 30))],
    [250, 30],
    3,
  )
})

t.test('joined spans keep what only one of them knows', async t => {
  const [inner, outer] = rowsOf(t, [
    at(2, 1, 'chat m', {
      ...op('chat'),
      'gen_ai.response.model': 'm-1',
      'gen_ai.provider.name': 'openai',
      ...gen(100, 10),
    }),
    at(1, 0, 'Chat', {
      'openinference.span.kind': 'LLM',
      'llm.token_count.prompt': 100,
      'llm.input_messages.0.message.content': 'Hi',
    }),
  ])
  t.match(inner, { kind: 'other', input_tokens: 0, metadata: { 'parley.same_call_as': '0000000000000001' } })
  t.match(outer, { kind: 'llm', model: 'm-1', provider: 'openai', input_tokens: 100, input_preview: 'Hi' })
})

t.test('one call of a tool that is told by agent, client and server', async t => {
  const call = (id: number, parent: number, kind: number, values: Values) =>
    at(
      id,
      parent,
      'tools/call find',
      { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'find', ...values },
      { kind },
    )
  const rows = rowsOf(t, [
    call(3, 2, 2, { 'gen_ai.tool.call.result': 'r', 'error.type': 'tool_error' }),
    call(2, 1, 3, {}),
    at(1, 0, 'execute_tool find', {
      ...op('execute_tool'),
      'gen_ai.tool.name': 'find',
      'gen_ai.tool.call.arguments': '{"a":1}',
    }),
  ])
  t.same(
    rows.map(row => row.kind),
    ['other', 'other', 'tool'],
  )
  t.match(rows[2], { name: 'find', input_preview: '{"a":1}' })
  t.match(
    rows[0],
    { failed: 0, error_type: 'tool_error' },
    'what the server says stays its own, and counts no second time',
  )
  const [inside, execution] = rowsOf(
    t,
    [
      at(2, 1, 'claude_code.tool.execution', { success: 'false', error: 'no such file' }, { status: { code: 2 } }),
      at(1, 0, 'claude_code.tool', { tool_name: 'Read', 'span.type': 'tool' }),
    ],
    'com.anthropic.claude_code',
  )
  t.match(
    [inside?.kind, execution?.kind, execution?.name, execution?.failed, execution?.error_message],
    ['other', 'tool', 'Read', 1, 'no such file'],
  )
})

t.test('a failed try below does not make its request fail', async t => {
  const [tried, requested] = rowsOf(
    t,
    [
      at(2, 1, 'llm_request_run', {}, { status: { code: 2, message: 'timeout' } }),
      at(1, 0, 'llm_request', { 'gen_ai.request.model': 'm' }),
    ],
    'livekit-agents',
  )
  t.same([tried?.failed, requested?.failed], [1, 0])
})
