// Dialects that no recording covers, or not in this generation: what their formats say becomes which fields. The sources stand in
// the dialects' files. Whose a span is (sessions and users) is in dialects-owners.test.ts.
import t from 'tap'
import type { EventRow } from '#proto/rows.ts'
import { type Given, given } from './fixture.ts'

const event = (name: string, values: Record<string, string>): object => ({
  timeUnixNano: '1789999990000000007',
  name,
  attributes: Object.entries(values).map(([key, stringValue]) => ({ key, value: { stringValue } })),
})

t.test('what each dialect says', async t => {
  const f = (what: string, from: Given, expected: Partial<EventRow>) => t.match(given(t, from), expected, what)
  f(
    'Spring AI tool',
    {
      values: {
        'spring.ai.kind': 'tool_call',
        'spring.ai.tool.definition.name': 'find',
        'spring.ai.tool.call.arguments': '{"q":1}',
        'spring.ai.tool.call.result': 'r',
      },
    },
    { kind: 'tool', name: 'find', input_preview: '{"q":1}', output_preview: 'r' },
  )
  f(
    'Spring AI session',
    { values: { 'spring.ai.chat.client.conversation.id': 'c', 'spring.ai.kind': 'chat_client' }, root: true },
    { kind: 'agent', session_id: 'c' },
  )
  f(
    'LiveKit tool, both spellings',
    {
      scope: 'livekit-agents',
      name: 'function_tool',
      values: {
        'lk.function_tool.name': 'find',
        'lk.pii.function_tool.arguments': '{"a":1}',
        'lk.function_tool.output': 'no',
        'lk.function_tool.is_error': true,
      },
    },
    { kind: 'tool', name: 'find', input_preview: '{"a":1}', output_preview: 'no', failed: 1 },
  )
  f(
    'LiveKit turn',
    {
      scope: 'livekit-agents',
      name: 'agent_turn',
      values: {
        'lk.user_input': 'Hi',
        'lk.pii.response.text': 'Ho',
        'lk.room_name': 'room',
        'lk.pii.participant_identity': 'p',
        'lk.agent_name': 'ada',
      },
    },
    { kind: 'agent', name: 'ada', input_preview: 'Hi', output_preview: 'Ho', session_id: 'room', user_id: 'p' },
  )
  f(
    'LiveKit speech is a step',
    { scope: 'livekit-agents', name: 'tts_request', values: { 'gen_ai.request.model': 'tts-1' } },
    { kind: 'other' },
  )
  f(
    'Claude Code turn',
    {
      scope: 'com.anthropic.claude_code.tracing',
      name: 'claude_code.interaction',
      values: { user_prompt: 'Fix it', 'session.id': 's', 'user.account_uuid': 'u', 'user.id': 'device' },
      root: true,
    },
    { kind: 'agent', input_preview: 'Fix it', session_id: 's', user_id: 'u' },
  )
  f(
    'Claude Code tool',
    {
      scope: 'com.anthropic.claude_code',
      name: 'claude_code.tool',
      values: { tool_name: 'Bash', full_command: 'ls' },
      fields: { events: [event('tool.output', { output: 'a.txt' })] },
    },
    { kind: 'tool', name: 'Bash', input_preview: 'ls', output_preview: 'a.txt' },
  )
  f(
    'Claude Code hook',
    { scope: 'com.anthropic.claude_code', name: 'claude_code.hook', values: { tool_name: 'Bash' } },
    { kind: 'other' },
  )
  f(
    'redacted prompt',
    { scope: 'com.anthropic.claude_code', name: 'claude_code.interaction', values: { user_prompt: '<REDACTED>' } },
    { kind: 'agent', present: 0 },
  )
  f(
    'MCP toolbox call',
    { scope: 'toolbox', name: 'toolbox/server/tool/invoke', values: { tool_name: 'query' } },
    { kind: 'tool', name: 'query' },
  )
  f(
    'MCP toolbox inner work',
    { scope: 'toolbox', name: 'toolbox/server/db', values: { tool_name: 'query' } },
    { kind: 'other' },
  )
  f('MCP listing', { name: 'tools/list', values: { 'mcp.method.name': 'tools/list' }, root: true }, { kind: 'other' })
  f(
    'the same words without a scope are an attribute',
    { values: { tool_name: 'x', 'gen_ai.operation.name': 'chat' } },
    { kind: 'llm' },
  )
  f('opencode', { name: 'opencode.tool edit', values: { 'tool.name': 'edit' } }, { kind: 'tool', name: 'edit' })
  f(
    'Anthropic SDK tool',
    { scope: 'com.anthropic.sdk.python', name: 'anthropic.tool_use find' },
    { kind: 'tool', name: 'find' },
  )
  f(
    'Flue',
    { values: { 'flue.tool.name': 'find', 'flue.tool.arguments': '[1]', 'flue.tool.result': '2' } },
    { kind: 'tool', name: 'find', input_preview: '[1]', output_preview: '2' },
  )
  f(
    'Effect AI',
    { scope: '@effect/ai', values: { tool: 'find', parameters: 'undefined', 'gen_ai.tool.name': 'find' } },
    { kind: 'tool', name: 'find', present: 0 },
  )
  f(
    'Laminar',
    {
      values: {
        'lmnr.span.type': 'TOOL',
        'lmnr.span.input': '{"a":1}',
        'lmnr.association.properties.session_id': 's',
        'lmnr.association.properties.user_id': 'u',
      },
    },
    { kind: 'tool', input_preview: '{"a":1}', session_id: 's', user_id: 'u' },
  )
  f(
    'Gemini CLI',
    {
      scope: 'gemini-cli',
      name: 'llm_call',
      values: {
        'gen_ai.operation.name': 'llm_call',
        'gen_ai.input.messages': '[{"role":"user","parts":[{"text":"Hi"}]}]',
      },
    },
    { kind: 'llm', input_preview: 'Hi' },
  )
  f(
    'Spectrum',
    {
      name: 'spectrum.message.receive',
      values: { 'spectrum.space.id': 'sp', 'spectrum.message.sender.id': 'me', 'spectrum.provider': 'imessage' },
    },
    { session_id: 'sp', user_id: 'me', provider: '' },
  )
  f('eve', { values: { 'eve.session.id': 'e' } }, { session_id: 'e' })
  f(
    'LlamaIndex of its own',
    {
      scope: 'llamaindex.opentelemetry.tracer',
      name: 'OpenAI.chat',
      fields: { events: [event('LLMChatEndEvent', { response: 'assistant: Hi' })] },
    },
    { output_preview: 'assistant: Hi' },
  )
  f(
    'Haystack',
    {
      scope: 'haystack',
      name: 'haystack.component.run',
      values: { 'haystack.component.output': '{"replies":["Hi"]}' },
    },
    { kind: 'other', output_preview: '{"replies":["Hi"]}' },
  )
  f(
    'Semantic Kernel',
    { scope: 'semantic_kernel', name: 'chat.completions gpt-5', values: { 'gen_ai.system': 'openai' } },
    { kind: 'llm', provider: 'openai' },
  )
  f('AutoGen messages are noise', { scope: 'autogen-core', name: 'autogen process a', root: true }, { kind: 'other' })
  f(
    "CrewAI's product telemetry is noise",
    { scope: 'crewai.telemetry', name: 'Crew Created', values: { crew_key: 'k' }, root: true },
    { kind: 'other' },
  )
  f(
    'a merged tool of ADK is none',
    {
      scope: 'gcp.vertex.agent',
      name: 'execute_tool (merged tools)',
      values: { 'gen_ai.operation.name': 'execute_tool', 'gcp.vertex.agent.tool_call_args': 'N/A' },
    },
    { kind: 'other' },
  )
  f(
    'Pydantic AI of the first generation',
    {
      scope: 'pydantic-ai',
      name: 'running tool: find',
      values: { 'gen_ai.tool.name': 'find', tool_arguments: '{"a":1}', tool_response: 'r' },
    },
    { kind: 'tool', name: 'find', input_preview: '{"a":1}', output_preview: 'r' },
  )
  f(
    'Pydantic AI events',
    {
      scope: 'pydantic-ai',
      name: 'agent run',
      values: {
        agent_name: 'ada',
        all_messages_events: '[{"event.name":"gen_ai.user.message","role":"user","content":"Hi"}]',
        final_result: 'Ho',
      },
      root: true,
    },
    { kind: 'agent', name: 'ada', input_preview: 'Hi', output_preview: 'Ho' },
  )
  f(
    'Logfire events hold both sides',
    {
      scope: 'logfire.openai',
      values: {
        'gen_ai.request.model': 'gpt-4o',
        events:
          '[{"event.name":"gen_ai.user.message","role":"user","content":"Hi"},{"event.name":"gen_ai.choice","message":{"role":"assistant","content":"Ho"}}]',
      },
    },
    { kind: 'llm', input_preview: 'Hi', output_preview: 'Ho' },
  )
  f(
    'Mastra to 2025',
    {
      scope: 'mastra',
      name: 'tool.execute find',
      values: {
        threadId: 't',
        userId: 'u',
        'gen_ai.tool.input': '{"a":1}',
        'gen_ai.tool.output': 'r',
        'gen_ai.tool.success': 'false',
      },
    },
    {
      kind: 'tool',
      name: 'find',
      session_id: 't',
      user_id: 'u',
      failed: 1,
      input_preview: '{"a":1}',
      output_preview: 'r',
    },
  )
  f(
    'Strands tool: its events mean the opposite',
    {
      scope: 'strands.telemetry.tracer',
      name: 'execute_tool find',
      values: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'find', 'gen_ai.tool.status': 'error' },
      fields: {
        events: [
          event('gen_ai.tool.message', { content: '{"a":1}' }),
          event('gen_ai.choice', { message: '[{"text":"r"}]' }),
        ],
      },
    },
    { kind: 'tool', input_preview: '{"a":1}', output_preview: 'r', failed: 1 },
  )
  f(
    'GenAI details in several events',
    {
      fields: {
        events: [
          event('gen_ai.client.inference.operation.details', {
            'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
          }),
          event('gen_ai.client.inference.operation.details', {
            'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"Ho"}]}]',
          }),
        ],
      },
    },
    { input_preview: 'Hi', output_preview: 'Ho' },
  )
  f(
    'MLflow: every value is JSON',
    {
      values: {
        'mlflow.spanType': '"CHAT_MODEL"',
        'mlflow.llm.model': '"gpt-4o"',
        'mlflow.spanInputs': '{"messages":[{"role":"user","content":"Hi"}]}',
        'mlflow.spanOutputs': '"Ho"',
        'mlflow.trace.session': '"s"',
        'mlflow.trace.user': 'null',
      },
    },
    { kind: 'llm', model: 'gpt-4o', input_preview: 'Hi', output_preview: 'Ho', session_id: 's', user_id: '' },
  )
  f(
    'VoltAgent',
    {
      scope: '@voltagent/core',
      name: 'tool.execution:find',
      values: {
        'span.type': 'tool',
        'entity.type': 'agent',
        'tool.name': 'find',
        'tool.parameters': '{"type":"object","properties":{}}',
        'conversation.id': 'c',
      },
    },
    { kind: 'tool', name: 'find', session_id: 'c', present: 0 },
  )
  f(
    'OpenRouter',
    {
      scope: 'openrouter',
      values: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.usage.input_tokens': 9,
        'gen_ai.usage.input_tokens.cached': 4,
        'gen_ai.usage.total_cost': '0.5',
      },
    },
    { input_tokens: 9, cache_read_tokens: 4, cost_nanos: 500_000_000 },
  )
})

t.test('documents that were found are what a retriever or a reranker gave', async t => {
  const f = (kind: string, family: string, values: Record<string, unknown>, expected: Partial<EventRow>) => {
    const documents = {
      [`${family}.1.document.content`]: 'second',
      [`${family}.0.document.id`]: 'd-0',
      [`${family}.0.document.content`]: 'first',
      [`${family}.0.document.score`]: 0.5,
      [`${family}.0.document.metadata`]: '{"page":1}',
    }
    t.match(given(t, { values: { 'openinference.span.kind': kind, ...documents, ...values } }), expected, kind)
  }
  const found = { input_preview: 'q', output_preview: 'first\nsecond' }
  f('RETRIEVER', 'retrieval.documents', { 'input.value': 'q' }, { kind: 'resource', ...found })
  f('RERANKER', 'reranker.output_documents', { 'reranker.query': 'q' }, found)
  f('RETRIEVER', 'retrieval.documents', { 'output.value': 'told' }, { output_preview: 'told' })
})
