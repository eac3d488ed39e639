// What the attributes of a span become: kind and name, content, usage, failure.
import t from 'tap'
import { request, span } from '#proto/otlp/fixture.ts'
import type { EventRow } from '#proto/rows.ts'
import { child, contentOf, parse, row } from './fixture.ts'

t.test('kinds and names', async t => {
  const f = (name: string, values: Record<string, unknown>, kind: string, as: string, fields: object = {}) => {
    const { kind: found, name: named } = row(t, values, { name, ...fields })
    t.same([found, named], [kind, as], `${name} ${JSON.stringify(values)}`)
  }
  f('turn', {}, 'agent', 'turn')
  f('step', {}, 'other', 'step', child)
  f('GET /chat', { 'http.request.method': 'GET' }, 'other', 'GET /chat')
  f('turn', { input: 'x', 'gen_ai.request.model': 'gpt-4o' }, 'agent', 'turn')
  f('call', { 'gen_ai.request.model': 'gpt-4o' }, 'llm', 'gpt-4o')
  f('call', { 'gen_ai.usage.input_tokens': 1 }, 'llm', 'call', child)
  f(
    'chat gpt-4o',
    { 'gen_ai.operation.name': 'chat', 'gen_ai.response.model': 'gpt-4o-1', 'gen_ai.request.model': 'x' },
    'llm',
    'gpt-4o-1',
  )
  f('invoke_agent Ada', { 'gen_ai.operation.name': 'invoke_agent' }, 'agent', 'Ada')
  f('invoke_agent x', { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'Ada' }, 'agent', 'Ada', child)
  f('execute_tool find', { 'gen_ai.operation.name': 'execute_tool' }, 'tool', 'find')
  f('tool.find', { 'gen_ai.tool.name': 'other' }, 'tool', 'find')
  f('tool.execution:find', { 'span.type': 'tool' }, 'tool', 'find')
  f('find.tool', { 'traceloop.span.kind': 'tool' }, 'tool', 'find')
  f('x', { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'find' }, 'tool', 'find')
  f('ai.toolCall', { 'ai.operationId': 'ai.toolCall', 'ai.toolCall.name': 'find' }, 'tool', 'find')
  f('FunctionTool', { 'openinference.span.kind': 'TOOL', 'tool.name': 'find' }, 'tool', 'find')
  f('x', { 'gen_ai.tool.call.id': 'call_1', 'gen_ai.tool.name': 'find' }, 'tool', 'find', child)
  f('tools/call find', { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'find' }, 'tool', 'find')
  f('resources/read', { 'mcp.method.name': 'resources/read', 'mcp.resource.uri': 'file:///a' }, 'resource', 'file:///a')
  f('prompts/get p', { 'mcp.method.name': 'prompts/get', 'gen_ai.prompt.name': 'p' }, 'prompt', 'p')
  f('ai.generateText', { 'ai.operationId': 'ai.generateText', 'ai.model.id': 'gpt-4o' }, 'agent', 'ai.generateText')
  f(
    'ai.generateText.doGenerate',
    { 'ai.operationId': 'ai.generateText.doGenerate', 'ai.model.id': 'm' },
    'llm',
    'm',
    child,
  )
  f('LangGraph', { 'openinference.span.kind': 'CHAIN' }, 'agent', 'LangGraph')
  f('node', { 'openinference.span.kind': 'CHAIN' }, 'other', 'node', child)
  f('VectorStore', { 'openinference.span.kind': 'RETRIEVER' }, 'resource', 'VectorStore', child)
  f('embed', { 'openinference.span.kind': 'EMBEDDING', 'embedding.model_name': 'e-3' }, 'llm', 'e-3', child)
  f('gen', { 'langfuse.observation.type': 'generation', 'langfuse.observation.model.name': 'm' }, 'llm', 'm')
  f('rails', { 'langfuse.observation.type': 'guardrail' }, 'other', 'rails')
  f('x', { 'mlflow.spanType': '"LLM"' }, 'llm', 'x')
})

t.test('input and output by the words that a person said', async t => {
  const parts = JSON.stringify([
    { role: 'system', parts: [{ type: 'text', content: 'Be kind.' }] },
    { role: 'user', parts: [{ type: 'text', content: 'First' }] },
    { role: 'assistant', parts: [{ type: 'text', content: 'Yes?' }] },
    {
      role: 'user',
      parts: [
        { type: 'text', content: 'Second' },
        { type: 'uri', modality: 'image', uri: 'x' },
      ],
    },
  ])
  const f = (values: Record<string, unknown>, input: string, output: string, fields: object = child) => {
    const found = row(t, values, fields)
    t.same([found.input_preview, found.output_preview], [input, output], JSON.stringify(values).slice(0, 80))
    return found
  }
  f(
    { input: '{"messages":[{"role":"user","content":"as sent"}]}' },
    '{"messages":[{"role":"user","content":"as sent"}]}',
    '',
  )
  const genai = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.input.messages': parts,
    'gen_ai.output.messages':
      '[{"role":"assistant","parts":[{"type":"text","content":"Done"}],"finish_reason":"stop"}]',
  }
  f(genai, 'Second\n[image]', 'Done')
  t.equal(contentOf(t, genai, child)['gen_ai.input.messages'], parts, 'the history stays with the texts')
  f(
    {
      'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"tool_call","name":"f","arguments":{"a":1}}]}]',
    },
    '',
    '[tool_call f({"a":1})]',
  )
  f({ 'gen_ai.input.messages': [{ role: 'user', parts: [{ type: 'text', content: 'real array' }] }] }, 'real array', '')
  const open = {
    'openinference.span.kind': 'LLM',
    'llm.input_messages.10.message.role': 'user',
    'llm.input_messages.10.message.contents.0.message_content.type': 'text',
    'llm.input_messages.10.message.contents.0.message_content.text': 'Tenth',
    'llm.input_messages.9.message.role': 'user',
    'llm.input_messages.9.message.content': 'Ninth',
    'llm.output_messages.0.message.role': 'assistant',
    'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'f',
    'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{}',
    'input.value': '{"the whole":"request"}',
  }
  t.match(f(open, 'Tenth', '[tool_call f({})]').metadata, { 'parley.omitted': 'input.value' })
  t.match(contentOf(t, open, child), {
    'llm.input_messages':
      '[{"role":"user","content":"Ninth"},{"role":"user","content":[{"type":"text","text":"Tenth"}]}]',
  })
  f(
    {
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': 'Old form',
      'gen_ai.completion.0.role': 'assistant',
      'gen_ai.completion.0.content': 'Answer',
      'gen_ai.prompt.prompt_filter_results': 'x',
    },
    'Old form',
    'Answer',
  )
  f(
    {
      'ai.prompt': '{"system":"s","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}',
      'ai.response.text': '[not json',
    },
    'Hi',
    '[not json',
  )
  f({ 'traceloop.entity.input': '{"args":["Hi"],"kwargs":{}}', 'traceloop.entity.output': '"Ho"' }, 'Hi', 'Ho')
  f({ 'traceloop.entity.input': '{"args":[],"kwargs":{"question":"Why?"}}' }, 'Why?', '')
  f({ 'traceloop.entity.input': '{"args":[1,2],"kwargs":{"a":3}}' }, '{"args":[1,2],"kwargs":{"a":3}}', '')
  f(
    { 'input.value': '{"messages":[[{"lc":1,"type":"constructor","id":["HumanMessage"],"kwargs":{"content":"LC"}}]]}' },
    'LC',
    '',
  )
  f({ 'output.value': '{"generations":[[{"text":"G","message":{"kwargs":{"content":"G"}}}]]}' }, '', 'G')
  f({ 'output.value': '{"choices":[{"message":{"role":"assistant","content":"C"}}]}' }, '', 'C')
  f({ 'output.value': '{"name":"Bob","text":"a form"}' }, '', '{"name":"Bob","text":"a form"}')
  f({ 'input.value': '{"cut":"mid' }, '{"cut":"mid', '')
  f({ 'input.value': '__REDACTED__', 'output.value': 'null' }, '', '')
  f(
    { 'gcp.vertex.agent.llm_request': '{"model":"m","contents":[{"role":"user","parts":[{"text":"Gem"}]}]}' },
    'Gem',
    '',
  )
  f({ 'gcp.vertex.agent.llm_response': '{"content":{"role":"model","parts":[{"text":"Ini"}]}}' }, '', 'Ini')
})

t.test('messages that are span events', async t => {
  const event = (name: string, values: Record<string, string>) => ({
    timeUnixNano: '1789999990000000007',
    name,
    attributes: Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } })),
  })
  const found = row(
    t,
    {},
    {
      ...child,
      events: [
        event('gen_ai.system.message', { content: 'sys' }),
        event('gen_ai.user.message', { content: '[{"text":"Bedrock"}]' }),
        event('gen_ai.choice', { message: '[{"text":"Answer"}]', finish_reason: 'end_turn' }),
      ],
    },
  )
  t.same([found.input_preview, found.output_preview], ['Bedrock', 'Answer'])
  const older = row(t, {}, { ...child, events: [event('gen_ai.content.prompt', { 'gen_ai.prompt': 'P' })] })
  t.equal(older.input_preview, 'P')
})

t.test('what was said is a text wherever it was sent, and never metadata', async t => {
  const event = (name: string, values: Record<string, string>) => ({
    timeUnixNano: '1789999990000000007',
    name,
    attributes: Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } })),
  })
  const f = (values: Record<string, unknown>, fields: object = {}): [metadata: string[], content: string[]] => {
    const { metadata } = row(t, values, { ...child, ...fields })
    const own = Object.keys(metadata).filter(key => !/^(resource|otel)\./.test(key))
    return [own, Object.keys(contentOf(t, values, { ...child, ...fields }))]
  }
  t.same(
    f({ input: 'shown', 'input.value': 'not shown', 'customer.tier': 'gold', 'gen_ai.system_instructions': 'x' }),
    [['customer.tier', 'parley.omitted'], ['gen_ai.system_instructions']],
  )
  t.same(f({ 'gen_ai.system_instructions': 'x' }), [[], ['gen_ai.system_instructions']], 'without input and output')
  const said = [event('gen_ai.user.message', { content: 'hello' }), event('exception', { 'exception.type': 'E' })]
  t.same(f({}, { events: said }), [[], ['gen_ai.system.message', 'parley.events']])
  t.same(f({}, { events: [event('exception', { 'exception.type': 'E' })] }), [['parley.events'], []])
  t.same(f({ response: 'ok' }), [['response'], []], 'a word that one framework uses so is the application’s elsewhere')
  const long = contentOf(t, { 'gen_ai.system_instructions': 'x'.repeat(70_000) })
  t.equal(long['gen_ai.system_instructions']?.length, 65_536)
  t.equal(long['parley.metadata_cut'], 'gen_ai.system_instructions', 'what is cut is told beside it')
})

t.test('tools keep arguments and results as they were sent', async t => {
  const f = (values: Record<string, unknown>, input: string, output: string) => {
    const found = row(t, { 'gen_ai.tool.name': 'f', ...values }, child)
    t.same([found.input_preview, found.output_preview], [input, output])
  }
  f({ 'gen_ai.tool.call.arguments': '{"text":"x"}', 'gen_ai.tool.call.result': 'ok' }, '{"text":"x"}', 'ok')
  f({ 'gen_ai.tool.call.arguments': { a: [1] } }, '{"a":[1]}', '')
  f({ 'ai.toolCall.args': '{}', 'ai.toolCall.result': '"r"' }, '', '"r"')
  f({ input: '{}', output: 'o', 'gen_ai.tool.call.arguments': 'other' }, '{}', 'o')
})

t.test('what a framework wraps around arguments and results is left out, and kept beside', async t => {
  const f = (values: Record<string, unknown>, input: string, output: string): void => {
    const all = { 'openinference.span.kind': 'TOOL', ...values }
    const { input_preview, output_preview } = row(t, all, child)
    const content = contentOf(t, all, child)
    t.same([input_preview, output_preview], [input, output])
    for (const [key, value] of Object.entries(values)) {
      if (value !== input && value !== output) t.equal(content[key], value, `${key} is kept`)
    }
  }
  f(
    { 'input.value': '{"args": [], "kwargs": {"city": "Paris"}}', 'output.value': 'sunny' },
    '{"city":"Paris"}',
    'sunny',
  )
  f(
    { 'input.value': 'a', 'output.value': '{"type":"tool","data":{"tool_call_id":"1","content":"sunny"}}' },
    'a',
    'sunny',
  )
  f({ 'input.value': 'a', 'output.value': '[{"text":"sunny"},{"text":"warm"}]' }, 'a', 'sunny\nwarm')
  // Numbers that JavaScript cannot hold would be written as others.
  const own = '{"kwargs":{"id":12345678901234567890}}'
  f({ 'input.value': own, 'output.value': own }, own, own)
})

t.test('models, providers, tokens and cost', async t => {
  const f = (values: Record<string, unknown>, expected: Partial<EventRow>) =>
    t.match(row(t, { 'gen_ai.operation.name': 'chat', ...values }, child), expected)
  f(
    {
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024',
      'gen_ai.system': 'openai.chat',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 60,
      'gen_ai.usage.reasoning_tokens': 50,
      'gen_ai.usage.cost': 0.0012,
    },
    {
      model: 'gpt-4o-2024',
      provider: 'openai',
      input_tokens: 100,
      output_tokens: 20,
      cache_read_tokens: 60,
      reasoning_tokens: 20,
      cost_nanos: 1_200_000,
      present: 4 | 8 | 16 | 32 | 128,
      metadata: { 'gen_ai.request.model': 'gpt-4o', 'gen_ai.response.model': 'gpt-4o-2024' },
    },
  )
  f(
    { 'llm.token_count.prompt': 5, 'llm.token_count.completion': 6, 'llm.system': 'anthropic' },
    { input_tokens: 5, output_tokens: 6, provider: 'anthropic' },
  )
  f({ 'ai.usage.promptTokens': 5, 'ai.usage.completionTokens': 6 }, { input_tokens: 5, output_tokens: 6 })
  f(
    { 'langfuse.observation.usage_details': '{"input":5,"output":6}' },
    { input_tokens: 5, output_tokens: 6, present: 12 },
  )
  f({ 'gen_ai.usage.input_tokens': '7', 'gen_ai.usage.output_tokens': 8.5 }, { input_tokens: 7, output_tokens: 9 })
  f({ 'gen_ai.usage.input_tokens': -1, 'gen_ai.usage.prompt_tokens': 3 }, { input_tokens: 3 })
  f({ 'gen_ai.system': 'langchain', 'gen_ai.request.model': 'claude-sonnet' }, { provider: 'anthropic' })
  f({ 'gen_ai.provider.name': 'AWS.Bedrock' }, { provider: 'aws.bedrock' })
  f({ 'gen_ai.system': 'vertex_ai' }, { provider: 'gcp.vertex_ai' })
  const hosts = {
    'api.openai.com': 'openai',
    'api.x.ai:443': 'x_ai',
    'generativelanguage.googleapis.com': 'gcp.gemini',
    'bedrock-runtime.us-east-1.amazonaws.com': 'aws.bedrock',
    'openai.chat': 'openai',
    '127.0.0.1:8080': '',
    'localhost:11434': '',
    'models:8000': '',
  }
  for (const [host, provider] of Object.entries(hosts)) f({ 'gen_ai.provider.name': host }, { provider })
  // More cached than input tokens: the reporter counts them apart.
  f(
    { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.cache_read.input_tokens': 90 },
    { input_tokens: 100, cache_read_tokens: 90 },
  )
})

t.test('an agent that nothing counts below counts itself; what does not count stays metadata', async t => {
  const usage = { 'gen_ai.usage.input_tokens': 100, 'gen_ai.usage.output_tokens': 20, 'gen_ai.usage.cost': 1 }
  const own = row(t, { 'gen_ai.operation.name': 'invoke_agent', ...usage })
  t.match(own, { kind: 'agent', input_tokens: 100, cost_nanos: 1e9, metadata: { 'parley.usage': 'own' } })
  t.match(row(t, { input: 'x', ...usage }), { kind: 'agent', input_tokens: 100 }, 'a turn written by hand')
  const outer = row(t, { 'ai.operationId': 'ai.generateText', ...usage })
  t.match(outer, { kind: 'agent', input_tokens: 0, output_tokens: 0, cost_nanos: 0, present: 0 })
  t.match(outer.metadata, {
    'gen_ai.usage.input_tokens': '100',
    'gen_ai.usage.output_tokens': '20',
    'gen_ai.usage.cost': '1',
    'parley.usage': 'repeated always',
  })
})

t.test('Claude Code names people by mail and counts cached tokens apart', async t => {
  const scope = { name: 'com.anthropic.claude_code.tracing' }
  const values = { 'session.id': 's', 'user.id': 'device', 'user.email': 'p@x.y', model: 'claude-x' }
  const tokens = { input_tokens: 10, cache_read_tokens: 5, cache_creation_tokens: 2 }
  const [unit] = parse(
    t,
    request(
      [span(1, 1, { ...child, name: 'claude_code.llm_request' }, { 'span.type': 'llm_request', ...values, ...tokens })],
      {},
      scope,
    ),
  )
  t.match(unit?.events[0], {
    kind: 'llm',
    user_id: 'p@x.y',
    input_tokens: 17,
    cache_read_tokens: 5,
    cache_write_tokens: 2,
    model: 'claude-x',
  })
})

t.test('failures', async t => {
  const exception = (values: Record<string, string>) => ({
    events: [
      {
        timeUnixNano: '1',
        name: 'exception',
        attributes: Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } })),
      },
    ],
  })
  const f = (values: Record<string, unknown>, fields: object, failed: number, type: string, message: string) => {
    const found = row(t, values, { ...fields })
    t.same(
      [found.failed, found.error_type, found.error_message],
      [failed, type, message],
      JSON.stringify([values, fields]),
    )
  }
  f({}, { status: { code: 1 } }, 0, '', '')
  f({}, { status: { code: 2 } }, 1, '', '')
  f({}, { status: { code: 2, message: 'm' } }, 1, '', 'm')
  f({}, { status: { code: 1 }, ...exception({ 'exception.type': 'E', 'exception.message': 'm' }) }, 1, 'E', 'm')
  const status = { code: 2, message: 'the agent failed' }
  const thrown = exception({ 'exception.type': 'E', 'exception.message': 'no such order' })
  f({}, { status, ...thrown }, 1, 'E', 'no such order')
  f({ 'error.message': 'no such order' }, { status }, 1, '', 'no such order')
  f({}, { status, ...exception({ 'exception.type': 'E', 'exception.message': ' ' }) }, 1, 'E', 'the agent failed')
  f({}, { status: { code: 2, message: 'GraphInterrupt(1)' }, ...thrown }, 0, '', '')
  f({ 'error.type': 'timeout' }, {}, 1, 'timeout', 'timeout')
  f({ 'langfuse.observation.level': 'ERROR', 'langfuse.observation.status_message': 'm' }, {}, 1, '', 'm')
  f({ 'langfuse.observation.level': 'WARNING' }, {}, 0, '', '')
  f({ error: true, 'error.message': 'm' }, {}, 1, '', 'm')
  f({ error: 'false' }, {}, 0, '', '')
  f({ success: 'false' }, {}, 1, '', '')
  f({}, exception({ 'exception.type': 'langgraph.errors.GraphInterrupt', 'exception.message': 'x' }), 0, '', '')
  f(
    {},
    {
      status: { code: 2 },
      ...exception({ 'exception.type': 'Exception', 'exception.message': "GraphInterrupt('x')" }),
    },
    0,
    '',
    '',
  )
})

t.test('JSON text of any depth inside attributes is harmless', async t => {
  const deep = (open: string, close: string, core: string): string => open.repeat(20_000) + core + close.repeat(20_000)
  const cases = [
    deep('[', ']', '"x"'),
    deep('{"message":', '}', '{"role":"user","content":"x"}'),
    deep('{"input":', '}', '"x"'),
    deep('[{"type":"text","text":', '}]', '"x"'),
    deep('{"authorization":{"a":', '}}', '"x"'),
  ]
  for (const text of cases) {
    const found = row(
      t,
      { 'gen_ai.input.messages': text, metadata: text, 'tool.x': text, 'service.session_id': 's' },
      child,
    )
    t.ok(found.input_bytes > 0, text.slice(0, 30))
  }
})
