// Logfire's wrappers (OpenAI, Anthropic, OpenAI Agents, MCP): requests and responses as JSON, or one list of events for both sides.
import { type Dialect, inside } from '../dialect.ts'

export const logfire: Dialect = {
  name: 'logfire',
  source: 'pydantic/logfire logfire/_internal/{constants.py,integrations/*}',
  matches: { scopes: ['logfire'], keys: ['logfire.'] },
  fields: {
    input: ['request_data', 'raw_input'],
    output: ['response_data'],
  },
  own: {
    input: [{ words: 'events' }],
    output: [{ words: 'events' }],
    tool_input: ['request'],
    tool_output: ['response'],
    agent_name: ['agent_name'],
  },
  late: {
    cache_read_tokens: inside('gen_ai.usage.raw', [
      ...['prompt_tokens_details.cached_tokens', 'input_tokens_details.cached_tokens', 'cache_read_input_tokens'],
    ]),
    reasoning_tokens: inside('gen_ai.usage.raw', [
      ...['completion_tokens_details.reasoning_tokens', 'output_tokens_details.reasoning_tokens'],
    ]),
    input: [{ words: 'events' }],
    output: [{ words: 'events' }],
  },
  repeatsUsage: true,
  bulky: { input: ['request_data', 'raw_input'], output: ['response_data'], always: ['logfire.json_schema'] },
  wrapsTools: true,
  content: ['logfire.msg'],
}
