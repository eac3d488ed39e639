// Pydantic AI: agents hold the whole conversation and the sums of their model calls. It invents a conversation id for every run
// when the application passes none, so that one ranks below ids that were set.
import { type Dialect, under } from '../dialect.ts'

export const pydanticAi: Dialect = {
  name: 'pydantic-ai',
  source: 'pydantic/pydantic-ai pydantic_ai_slim/pydantic_ai/{_instrumentation,models/instrumented,_otel_messages}.py',
  matches: { scopes: ['pydantic-ai'], keys: ['pydantic_ai.'] },
  fields: {
    cost: ['operation.cost'],
    cache_read_tokens: under('gen_ai.usage.details.', [
      'cache_read_tokens',
      'cached_tokens',
      'cache_read_input_tokens',
    ]),
    cache_write_tokens: under('gen_ai.usage.details.', ['cache_write_tokens', 'cache_creation_input_tokens']),
    reasoning_tokens: ['gen_ai.usage.details.reasoning_tokens'],
    input: ['pydantic_ai.all_messages', 'all_messages_events'],
    tool_input: ['tool_arguments'],
    tool_output: ['tool_response'],
  },
  own: { agent_name: ['gen_ai.agent.name', 'agent_name'], output: ['final_result'] },
  late: {
    agent_name: ['agent_name'],
    output: ['final_result', { words: 'pydantic_ai.all_messages' }, { words: 'all_messages_events' }],
    input_tokens: ['gen_ai.aggregated_usage.input_tokens'],
    output_tokens: ['gen_ai.aggregated_usage.output_tokens'],
  },
  names: { 'agent run': 'agent', 'running tools': 'other', 'running tool: ': 'tool', 'running tool': 'tool' },
  repeatsUsage: true,
  toolKeys: ['tool_arguments'],
  toolPrefixes: ['running tool: '],
  bulky: { input: ['pydantic_ai.all_messages', 'all_messages_events'] },
  content: ['model_request_parameters'],
}
