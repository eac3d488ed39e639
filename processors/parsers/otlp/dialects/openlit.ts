// OpenLIT, also the documented way for CrewAI: GenAI keys with costs, users and sessions of its own names.
import { type Dialect, under } from '../dialect.ts'

export const openlit: Dialect = {
  name: 'openlit',
  source: 'openlit/openlit sdk/python/src/openlit/semcov',
  matches: { scopes: ['openlit'], keys: ['gen_ai.sdk.version'] },
  fields: {
    session_id: ['gen_ai.session.id'],
    user_id: ['gen_ai.user.id', 'gen_ai.request.user', 'gen_ai.user'],
    cost: ['gen_ai.usage.cost'],
    cache_read_tokens: ['gen_ai.usage.prompt_tokens_details.cached_tokens'],
    cache_write_tokens: ['gen_ai.usage.prompt_tokens_details.cache_creation_tokens'],
    reasoning_tokens: ['gen_ai.usage.completion_tokens_details.reasoning_tokens'],
    tool_name: ['mcp.tool.name'],
    tool_input: ['gen_ai.tool.args', 'gen_ai.tool.input', 'mcp.tool.arguments'],
    tool_output: ['gen_ai.tool.output', 'mcp.tool.result'],
    error_message: ['mcp.error.message'],
  },
  late: {
    input: under('gen_ai.', ['workflow.input', 'agent.input']),
    output: under('gen_ai.', ['workflow.output', 'agent.output']),
  },
  // It marks every step of a flow inside CrewAI as an agent; agents have a name.
  namesAgents: ['gen_ai.agent.name', 'gen_ai.workflow.name'],
  repeatsUsage: true,
  bulky: { input: ['gen_ai.workflow.input'], output: ['gen_ai.workflow.output'] },
}
