// Every known way to count tokens twice, with the right sum: agents and steps that repeat their calls, cached and reasoning tokens
// that are reported beside or within what they belong to.
import t from 'tap'
import { attributes, span } from '#proto/otlp/fixture.ts'
import type { EventRow } from '#proto/rows.ts'
import { at, gen, op, rowsOf, sumOf, type Values } from './fixture.ts'

t.test('agents that repeat the sums of their model calls', async t => {
  const f = (what: string, scope: string, spans: readonly object[], expected: readonly number[]) => {
    t.same(sumOf(rowsOf(t, spans, scope)).slice(0, expected.length), expected, what)
    // An exporter may send every span alone: what is known to repeat is left out there too.
    const alone = spans.flatMap(each => rowsOf(t, [each], scope))
    t.same(sumOf(alone).slice(0, expected.length), expected, `${what}, each span in a batch of its own`)
  }
  const ai = (id: string, values: Values): Values => ({ 'ai.operationId': id, ...values })
  const oldUsage = (input: number, output: number): Values => ({
    'ai.usage.promptTokens': input,
    'ai.usage.completionTokens': output,
  })
  f(
    'AI SDK 4: the outer span repeats the last step',
    'ai',
    [
      at(
        2,
        1,
        'ai.generateText.doGenerate',
        ai('ai.generateText.doGenerate', { ...gen(100, 10), ...oldUsage(100, 10) }),
      ),
      at(
        3,
        1,
        'ai.generateText.doGenerate',
        ai('ai.generateText.doGenerate', { ...gen(150, 20), ...oldUsage(150, 20) }),
      ),
      at(1, 0, 'ai.generateText', ai('ai.generateText', oldUsage(150, 20))),
    ],
    [250, 30],
  )
  f(
    'AI SDK 6: the outer span holds the sum',
    'ai',
    [
      at(2, 1, 'ai.streamText.doStream', ai('ai.streamText.doStream', gen(100, 10))),
      at(3, 1, 'ai.streamText.doStream', ai('ai.streamText.doStream', gen(150, 20))),
      at(1, 0, 'ai.streamText', ai('ai.streamText', { 'ai.usage.inputTokens': 250, 'ai.usage.outputTokens': 30 })),
    ],
    [250, 30],
  )
  f(
    'AI SDK 7: agent and step repeat',
    'gen_ai',
    [
      at(3, 2, 'chat m', { ...op('chat'), ...gen(100, 10) }),
      at(2, 1, 'step 1', { ...op('agent_step'), ...gen(100, 10) }),
      at(1, 0, 'invoke_agent m', { ...op('invoke_agent'), ...gen(100, 10) }),
    ],
    [100, 10],
  )
  f(
    'Pydantic AI: agent runs hold sums',
    'pydantic-ai',
    [
      at(2, 1, 'chat m', { ...op('chat'), ...gen(100, 10) }),
      at(3, 1, 'chat m', { ...op('chat'), ...gen(150, 20) }),
      at(1, 0, 'agent run', { agent_name: 'a', ...gen(250, 30) }),
    ],
    [250, 30],
  )
  f(
    'Pydantic AI: aggregated usage',
    'pydantic-ai',
    [
      at(2, 1, 'chat m', { ...op('chat'), ...gen(100, 10) }),
      at(1, 0, 'invoke_agent a', {
        ...op('invoke_agent'),
        'gen_ai.aggregated_usage.input_tokens': 100,
        'gen_ai.aggregated_usage.output_tokens': 10,
      }),
    ],
    [100, 10],
  )
  f(
    'Agent Framework',
    'agent_framework',
    [
      at(2, 1, 'chat m', { ...op('chat'), ...gen(100, 10) }),
      at(1, 0, 'invoke_agent a', { ...op('invoke_agent'), ...gen(100, 10) }, { kind: 3 }),
    ],
    [100, 10],
  )
  f(
    'Strands: the sum of the life of the agent object grows from turn to turn',
    'strands.telemetry.tracer',
    [
      at(2, 1, 'chat', { ...op('chat'), ...gen(100, 10) }),
      at(1, 0, 'invoke_agent a', { ...op('invoke_agent'), ...gen(100, 10) }),
      at(4, 3, 'chat', { ...op('chat'), ...gen(150, 20) }),
      at(3, 0, 'invoke_agent a', { ...op('invoke_agent'), ...gen(250, 30) }),
    ],
    [250, 30],
  )
  f(
    'Mastra: steps and chunks repeat their generation',
    '@mastra/otel-exporter',
    [
      at(4, 3, 'model_chunk', { 'mastra.span.type': 'model_chunk', ...gen(100, 10) }),
      at(3, 2, 'model_step', { 'mastra.span.type': 'model_step', ...gen(100, 10) }),
      at(2, 1, 'chat m', { 'mastra.span.type': 'model_generation', 'gen_ai.request.model': 'm', ...gen(100, 10) }),
      at(1, 0, 'invoke_agent a', { 'mastra.span.type': 'agent_run', ...gen(100, 10) }),
    ],
    [100, 10],
  )
  f(
    'VoltAgent: one model span holds the last call of the loop, the agent all',
    '@voltagent/core',
    [
      at(2, 1, 'llm:generateText', {
        'span.type': 'llm',
        'llm.usage.prompt_tokens': 150,
        'llm.usage.completion_tokens': 20,
      }),
      at(1, 0, 'a', { 'entity.type': 'agent', 'usage.prompt_tokens': 250, 'usage.completion_tokens': 30 }),
    ],
    [250, 30],
  )
  f(
    'smolagents: agent and steps repeat',
    'openinference.instrumentation.smolagents',
    [
      at(3, 2, 'Model', { 'openinference.span.kind': 'LLM', 'llm.token_count.prompt': 100 }),
      at(2, 1, 'Step 1', { 'openinference.span.kind': 'CHAIN', 'llm.token_count.prompt': 100 }),
      at(1, 0, 'Agent.run', { 'openinference.span.kind': 'AGENT', 'llm.token_count.prompt': 100 }),
    ],
    [100],
  )
  f(
    'LangSmith: chains repeat',
    'langsmith',
    [
      at(2, 1, 'ChatOpenAI', { 'langsmith.span.kind': 'llm', ...op('chat'), ...gen(100, 10) }),
      at(1, 0, 'LangGraph', { 'langsmith.span.kind': 'chain', ...op('chain'), ...gen(100, 10) }),
    ],
    [100, 10],
  )
  f(
    'Gemini CLI',
    'gemini-cli',
    [
      at(2, 1, 'llm_call', { ...op('llm_call'), ...gen(100, 10) }),
      at(1, 0, 'agent_call', { ...op('agent_call'), ...gen(100, 10) }),
    ],
    [100, 10],
  )
})

t.test('an agent of an unknown framework counts itself only when nothing below it does', async t => {
  const f = (what: string, spans: readonly object[], expected: readonly number[]) =>
    t.same(sumOf(rowsOf(t, spans)).slice(0, 2), expected, what)
  const chat = (id: number, parent: number, values: Values) => at(id, parent, 'chat m', { ...op('chat'), ...values })
  const agent = (id: number, parent: number, values: Values) =>
    at(id, parent, 'a', { ...op('invoke_agent'), ...values })
  f('a call below', [chat(2, 1, gen(100, 10)), agent(1, 0, gen(100, 10))], [100, 10])
  f(
    'a call far below',
    [chat(4, 3, gen(100, 10)), agent(3, 2, {}), at(2, 1, 's', {}), agent(1, 0, gen(100, 10))],
    [100, 10],
  )
  f('calls without usage, as streams have', [chat(2, 1, {}), agent(1, 0, gen(100, 10))], [100, 10])
  f('nothing below', [agent(1, 0, gen(100, 10))], [100, 10])
  f('agents within agents', [agent(2, 1, gen(100, 10)), agent(1, 0, gen(100, 10))], [100, 10])
  f(
    'calls of another trace',
    [
      span(2, 2, { parentSpanId: '0000000000000001', name: 'chat' }, { ...op('chat'), ...gen(1, 1) }),
      agent(1, 0, gen(100, 10)),
    ],
    [101, 11],
  )
  f('parents before children', [agent(1, 0, gen(100, 10)), chat(2, 1, gen(100, 10))], [100, 10])
  f(
    'an embedding below says nothing about what was generated',
    [at(2, 1, 'e', { ...op('embeddings'), 'gen_ai.usage.input_tokens': 5 }), agent(1, 0, gen(100, 10))],
    [105, 10],
  )
  f("spans that are each other's parents", [agent(1, 2, gen(100, 10)), agent(2, 1, gen(100, 10))], [100, 10])
  f(
    'a turn written by hand around a call',
    [chat(2, 1, gen(100, 10)), at(1, 0, 'turn', { input: 'Hi', ...gen(100, 10) })],
    [100, 10],
  )
  f(
    'a tool with a call of its own inside of a call',
    [chat(3, 2, gen(30, 3)), at(2, 1, 'tool.ask', {}), chat(1, 0, gen(100, 10))],
    [130, 13],
  )
})

t.test('cached, written and reasoning tokens are part of the sum once', async t => {
  const f = (what: string, values: Values, expected: readonly number[], scope = 'shop', name = 'chat m') =>
    t.same(sumOf(rowsOf(t, [at(1, 9, name, { ...op('chat'), ...values })], scope)), expected, what)
  const cached = (read: number, written: number): Values => ({
    'gen_ai.usage.cache_read.input_tokens': read,
    'gen_ai.usage.cache_creation.input_tokens': written,
  })
  f(
    'subsets, as the conventions say',
    gen(100, 20, { ...cached(60, 10), 'gen_ai.usage.reasoning.output_tokens': 5 }),
    [100, 20, 60, 10, 5],
  )
  f(
    'Pydantic AI: the details repeat what input holds',
    gen(100, 20, { 'gen_ai.usage.details.cache_read_tokens': 60 }),
    [100, 20, 60, 0, 0],
    'pydantic-ai',
  )
  f('more cached than sent: counted apart', gen(10, 20, cached(60, 30)), [100, 20, 60, 30, 0])
  f(
    'Claude Code: its own counts leave out the cache',
    {
      'span.type': 'llm_request',
      model: 'claude-x',
      input_tokens: 100,
      output_tokens: 20,
      cache_read_tokens: 60,
      cache_creation_tokens: 10,
    },
    [170, 20, 60, 10, 0],
    'com.anthropic.claude_code',
    'claude_code.llm_request',
  )
  const native = { 'gen_ai.request.model': 'us.anthropic.claude-sonnet-4-5' }
  f(
    'Strands on Bedrock',
    gen(100, 20, { ...native, ...cached(60, 10) }),
    [170, 20, 60, 10, 0],
    'strands.telemetry.tracer',
  )
  f(
    'Agent Framework on Anthropic',
    gen(100, 20, { 'gen_ai.request.model': 'claude-opus-5', ...cached(60, 10) }),
    [170, 20, 60, 10, 0],
    'agent_framework',
  )
  f(
    'Strands on OpenAI',
    gen(100, 20, { 'gen_ai.request.model': 'gpt-5', ...cached(60, 0) }),
    [100, 20, 60, 0, 0],
    'strands.telemetry.tracer',
  )
  f(
    'a gateway in between counts by the conventions',
    gen(100, 20, { 'gen_ai.request.model': 'anthropic/claude-opus-5', ...cached(60, 0) }),
    [100, 20, 60, 0, 0],
    'agent_framework',
  )
  f(
    'ADK: thoughts stand beside the output',
    gen(100, 20, {
      'gen_ai.system': 'gcp.vertex.agent',
      'gcp.vertex.agent.llm_response': '{"usage_metadata":{"candidates_token_count":20,"thoughts_token_count":7}}',
    }),
    [100, 27, 0, 0, 7],
    'gcp.vertex.agent',
    'call_llm',
  )
  f(
    'ADK: all counts from the response',
    {
      'gen_ai.system': 'gcp.vertex.agent',
      'gcp.vertex.agent.llm_response':
        '{"usage_metadata":{"prompt_token_count":100,"candidates_token_count":20,"cached_content_token_count":60,"thoughts_token_count":7}}',
    },
    [100, 27, 60, 0, 7],
    'gcp.vertex.agent',
    'call_llm',
  )
  const details = (usage: object): Values => ({
    'langfuse.observation.type': 'generation',
    'langfuse.observation.usage_details': JSON.stringify(usage),
  })
  f(
    'Langfuse: parts that add up to the total',
    details({ input: 40, output: 12, total: 120, input_cached_tokens: 60, output_reasoning_tokens: 8 }),
    [100, 20, 60, 0, 8],
  )
  f(
    'Langfuse: parts without a total are disjoint',
    details({ input: 40, output: 20, input_cached_tokens: 60 }),
    [100, 20, 60, 0, 0],
  )
  f(
    'Langfuse: input and output are the total',
    details({ input: 100, output: 20, total: 120, input_cached_tokens: 60 }),
    [100, 20, 60, 0, 0],
  )
  f(
    "Langfuse: OpenAI's own names",
    details({ prompt_tokens: 100, completion_tokens: 20, input_cached_tokens: 60 }),
    [100, 20, 60, 0, 0],
  )
  f(
    'reasoning is never more than the output',
    gen(100, 20, { 'gen_ai.usage.reasoning_tokens': 50 }),
    [100, 20, 0, 0, 20],
  )
  f(
    'several names for one count',
    gen(100, 20, {
      'gen_ai.usage.prompt_tokens': 100,
      'llm.token_count.prompt': 100,
      'ai.usage.inputTokens': 100,
      'ai.usage.promptTokens': 100,
    }),
    [100, 20, 0, 0, 0],
  )
  f(
    'AI SDK: cached tokens only in what the provider said',
    gen(100, 20, { 'ai.response.providerMetadata': '{"anthropic":{"usage":{"cache_read_input_tokens":60}}}' }),
    [100, 20, 60, 0, 0],
    'ai',
  )
})

t.test('counts beyond all measure stay numbers that the store takes', async t => {
  const huge = 9e15
  const [found] = rowsOf(t, [
    at(1, 9, 'chat', { ...op('chat'), ...gen(huge, 1), 'gen_ai.usage.cache_read.input_tokens': huge + 10 }),
  ])
  t.equal(found?.input_tokens, Number.MAX_SAFE_INTEGER)
})

t.test('cost is counted where tokens are', async t => {
  const costs = (rows: readonly EventRow[]): number => rows.reduce((sum, row) => sum + row.cost_nanos, 0)
  const rows = rowsOf(
    t,
    [
      at(2, 1, 'chat m', { ...op('chat'), ...gen(100, 10), 'operation.cost': 0.25 }),
      at(1, 0, 'agent run', { agent_name: 'a', ...gen(100, 10), 'operation.cost': 0.25 }),
    ],
    'pydantic-ai',
  )
  t.equal(costs(rows), 250_000_000)
  const parts = rowsOf(t, [at(1, 9, 'x', { ...op('chat'), 'llm.cost.prompt': 0.1, 'llm.cost.completion': '0.2' })])
  t.equal(costs(parts), 300_000_000, 'the parts are added where no total is said')
})

t.test('attributes that do not count stay in the metadata', async t => {
  const [, agent] = rowsOf(t, [
    at(2, 1, 'chat m', { ...op('chat'), ...gen(100, 10) }),
    span(1, 1, { name: 'a', attributes: attributes({ ...op('invoke_agent'), ...gen(100, 10) }) }),
  ])
  t.match(agent?.metadata, {
    'gen_ai.usage.input_tokens': '100',
    'gen_ai.usage.output_tokens': '10',
    'parley.usage': 'repeated below',
  })
})
