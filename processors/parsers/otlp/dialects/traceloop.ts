// OpenLLMetry (Traceloop): numbered prompts and completions up to 0.4x, messages with parts from 0.5x on, and whatever a
// decorated function took and gave in `traceloop.entity.*`.
import { type Dialect, emailNames, sessionNames, under, userNames } from '../dialect.ts'

const attached = 'traceloop.association.properties.'

export const traceloop: Dialect = {
  name: 'traceloop',
  source: 'traceloop/openllmetry packages/opentelemetry-semantic-conventions-ai, traceloop-sdk/…/decorators/base.py',
  matches: {
    scopes: ['traceloop', '@traceloop/'],
    keys: ['traceloop.', 'llm.request.type'],
  },
  fields: {
    kind: ['traceloop.span.kind', 'llm.request.type'],
    session_id: under(attached, ['session_id', 'conversation_id', 'thread_id', 'chat_id', ...sessionNames]),
    user_id: under(attached, [...userNames.toReversed(), 'customer_id']),
    user_email: under(attached, emailNames),
    agent_name: ['traceloop.entity.name'],
    tool_name: ['traceloop.entity.name'],
    input_tokens: ['llm.usage.prompt_tokens'],
    output_tokens: ['llm.usage.completion_tokens'],
    reasoning_tokens: ['llm.usage.reasoning_tokens'],
    input: [{ family: 'gen_ai.prompt.' }],
    output: [{ family: 'gen_ai.completion.' }],
    tool_input: ['traceloop.entity.input', 'mcp.request.argument'],
    tool_output: ['traceloop.entity.output', 'mcp.response.value'],
  },
  late: {
    input: ['traceloop.entity.input', 'gen_ai.task.input'],
    output: ['traceloop.entity.output', 'gen_ai.task.output'],
  },
  types: {
    llm: ['chat', 'completion', 'text_completion', 'generate_content', 'llm_request'],
    embedding: ['embedding', 'rerank'],
    agent: ['agent', 'workflow'],
    tool: ['tool'],
    resource: ['vector_db_retrieve'],
    other: ['handoff', 'session', 'guardrail', 'guardrail.run', 'guard'],
    step: ['task'],
    span: ['unknown'],
  },
  // Requests of MCP other than calls of tools.
  names: { '*.mcp': 'protocol' },
  innerAgents: { turn: 'traceloop.workflow.name', own: 'traceloop.entity.name', scopes: ['@traceloop/'] },
  repeatsUsage: true,
  carries: [attached],
  bulky: {
    input: ['gen_ai.prompt.', 'traceloop.entity.input'],
    output: ['gen_ai.completion.', 'traceloop.entity.output'],
    always: ['llm.request.functions.'],
  },
  wrapsTools: true,
  content: ['llm.prompts', 'llm.completions', 'traceloop.prompt.template', 'traceloop.prompt.template_variables'],
}
