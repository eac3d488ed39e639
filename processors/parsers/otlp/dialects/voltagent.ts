// VoltAgent: `span.type` says what a span is; children inherit `entity.type` from their parent, so that it comes after. One model
// span covers the whole loop of calls and holds the usage of the last; the agent has the sum.
import { type Dialect, under } from '../dialect.ts'

export const voltagent: Dialect = {
  name: 'voltagent',
  source: 'VoltAgent/voltagent packages/core/src/agent/agent.ts, open-telemetry/trace-context.ts',
  matches: { scopes: ['@voltagent/', 'voltagent'], keys: ['voltagent.', 'entity.type'] },
  fields: {
    kind: ['span.type', 'entity.type'],
    session_id: ['conversation.id', 'voltagent.conversation_id'],
    model: ['ai.model.name', 'llm.model'],
    cost: ['usage.cost'],
    input_tokens: ['usage.prompt_tokens'],
    output_tokens: ['usage.completion_tokens'],
    cache_read_tokens: ['usage.cached_tokens', 'llm.usage.cached_tokens'],
    reasoning_tokens: ['usage.reasoning_tokens'],
    input: ['agent.messages', 'llm.messages'],
  },
  own: { agent_name: ['entity.name'], tool_name: ['tool.name'] },
  late: { agent_name: under('entity.', ['name']) },
  types: {
    llm: ['llm'],
    embedding: ['embedding'],
    agent: ['agent', 'workflow'],
    tool: ['tool'],
    resource: ['retriever'],
    other: ['memory', 'guardrail', 'middleware', 'summary'],
    step: ['workflow-step', 'workflow_step'],
  },
  names: { 'tool.execution:': 'tool' },
  usageOnAgents: true,
  toolPrefixes: ['tool.execution:'],
  content: ['agent.instructions', 'agent.messages.ui', 'agent.stateSnapshot'],
}
