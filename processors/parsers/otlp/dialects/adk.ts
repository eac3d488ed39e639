// Google ADK: requests and responses as JSON on the model's span. It nests `call_llm` around `generate_content` with the same
// figures.
import { type Dialect, inside } from '../dialect.ts'

const response = 'gcp.vertex.agent.llm_response'

export const adk: Dialect = {
  name: 'adk',
  source: 'google/adk-python src/google/adk/telemetry/{tracing,node_tracing}.py',
  matches: {
    scopes: ['gcp.vertex.agent'],
    keys: ['gcp.vertex.agent.'],
    values: { 'gen_ai.system': ['gcp.vertex.agent'] },
  },
  fields: {
    session_id: ['gcp.vertex.agent.session_id'],
    input: ['gcp.vertex.agent.llm_request'],
    output: ['gcp.vertex.agent.llm_response'],
    tool_input: ['gcp.vertex.agent.tool_call_args'],
    tool_output: ['gcp.vertex.agent.tool_response'],
  },
  // The candidates' tokens leave thoughts out in every version; `gen_ai.usage.output_tokens` does so only in older ones.
  own: { output_tokens: inside(response, ['usage_metadata.candidates_token_count']) },
  late: {
    model: inside('gcp.vertex.agent.llm_request', ['model']),
    input_tokens: inside(response, ['usage_metadata.prompt_token_count']),
    cache_read_tokens: inside(response, ['usage_metadata.cached_content_token_count']),
    reasoning_tokens: inside(response, ['usage_metadata.thoughts_token_count']),
    error_message: inside(response, ['error_message']),
  },
  names: {
    ...{ call_llm: 'llm', 'execute_tool (merged tools)': 'other', send_data: 'other' },
    // Around the agents of a turn.
    ...{ invocation: 'around', 'invoke_workflow ': 'around' },
  },
  // Of the first schema: `call_llm` is around it.
  innerCalls: ['gen_ai.agent.name', 'gen_ai.system'],
  inputExcludesCache: 'anthropic models',
  outputExcludesReasoning: 'always',
  bulky: { input: ['gcp.vertex.agent.llm_request'], output: [response] },
  wrapsTools: true,
  content: ['gcp.vertex.agent.data'],
  // Its guide has functions return {status, error_message}.
  resultStatus: true,
}
