// LiteLLM: a request span with costs, and below it the raw request of the provider, which repeats it.
import { type Dialect, inside, under } from '../dialect.ts'

export const litellm: Dialect = {
  name: 'litellm',
  source: 'BerriAI/litellm litellm/integrations/opentelemetry.py',
  matches: {
    scopes: ['litellm'],
    names: ['litellm_request', 'raw_gen_ai_request', 'litellm_proxy'],
    keys: ['hidden_params'],
  },
  fields: {
    user_id: ['llm.user', 'metadata.user_api_key_end_user_id'],
    cost: [
      'gen_ai.cost.total_cost',
      'litellm.cost.total',
      { sum: ['gen_ai.cost.input_cost', 'gen_ai.cost.output_cost'] },
    ],
  },
  late: {
    cache_read_tokens: inside('metadata.usage_object', ['prompt_tokens_details.cached_tokens']),
    reasoning_tokens: inside('metadata.usage_object', ['completion_tokens_details.reasoning_tokens']),
  },
  // The proxy writes down what it knows of the key and of the call, most of it empty.
  ofSpan: under('metadata.', [
    ...['user_api_key_*', 'requester_*', 'spend_logs_metadata', 'usage_object', 'applied_guardrails', 'team_*'],
    ...['mcp_tool_call_metadata', 'prompt_management_metadata', 'vector_store_request_metadata', 'routing_decision'],
    ...['cold_storage_object_key', 'used_client_oauth_token', 'user_agent', 'hidden_params'],
  ]),
  names: { litellm_request: 'llm', raw_gen_ai_request: 'other' },
  // The body of the call, below the name of its provider.
  content: ['openai', 'azure', 'anthropic', 'gemini', 'vertex_ai', 'bedrock', 'mistral', 'cohere', 'groq'].flatMap(
    provider => under(`llm.${provider}.`, ['messages', 'choices', 'tools', 'functions', 'prompt', 'input']),
  ),
}
