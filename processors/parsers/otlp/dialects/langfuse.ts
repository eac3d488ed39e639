// Langfuse's SDKs. The parts of `usage_details` are disjoint where they add up to the total: cached tokens stand beside input.
import { type Dialect, emailNames, inside, under } from '../dialect.ts'

const usage = 'langfuse.observation.usage_details'
const cost = 'langfuse.observation.cost_details'

export const langfuse: Dialect = {
  name: 'langfuse',
  source: 'langfuse/langfuse-python langfuse/_client/attributes.py, langfuse-js packages/core/src/constants.ts',
  matches: { scopes: ['langfuse'], keys: ['langfuse.'] },
  fields: {
    kind: ['langfuse.observation.type'],
    session_id: ['langfuse.session.id'],
    user_id: ['langfuse.user.id'],
    user_email: ['langfuse.user.email', ...under('langfuse.trace.metadata.', emailNames)],
    model: ['langfuse.observation.model.name'],
    cost: [
      ...inside(cost, ['total']),
      {
        sum: [
          { json: cost, path: 'input' },
          { json: cost, path: 'output' },
        ],
      },
    ],
    input_tokens: inside(usage, ['input', 'prompt_tokens', 'input_tokens', 'promptTokens', 'inputTokens']),
    output_tokens: inside(usage, ['output', 'completion_tokens', 'output_tokens', 'completionTokens', 'outputTokens']),
    cache_read_tokens: inside(usage, [
      ...['input_cached_tokens', 'cache_read_input_tokens', 'input_cache_read'],
      ...['prompt_tokens_details.cached_tokens', 'input_tokens_details.cached_tokens'],
    ]),
    cache_write_tokens: inside(usage, ['input_cache_creation', 'cache_creation_input_tokens']),
    reasoning_tokens: inside(usage, [
      ...['output_reasoning_tokens', 'output_reasoning', 'completion_tokens_details.reasoning_tokens'],
      'output_tokens_details.reasoning_tokens',
    ]),
    input: ['langfuse.observation.input', 'langfuse.trace.input'],
    output: ['langfuse.observation.output', 'langfuse.trace.output'],
    tool_input: ['langfuse.observation.input'],
    tool_output: ['langfuse.observation.output'],
    error_message: ['langfuse.observation.status_message'],
  },
  types: {
    llm: ['generation'],
    embedding: ['embedding'],
    agent: ['agent'],
    tool: ['tool'],
    resource: ['retriever'],
    other: ['guardrail', 'evaluator', 'event'],
    step: ['chain'],
    span: ['span'],
  },
  repeatsUsage: true,
  inputExcludesCache: 'by total',
  outputExcludesReasoning: 'by total',
  carries: ['langfuse.trace.metadata.', 'langfuse.observation.metadata.'],
  // The SDK for Python writes texts of metadata as JSON.
  carriesJson: true,
  bulky: { input: ['langfuse.trace.input'], output: ['langfuse.trace.output'] },
  wrapsTools: true,
}
