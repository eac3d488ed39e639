// LlamaIndex's own tracer: nearly everything it says stands in the attributes of span events.
import type { Dialect } from '../dialect.ts'

export const llamaindex: Dialect = {
  name: 'llamaindex',
  source: 'run-llama/llama_index llama-index-observability-otel as read by MapleTechLabs/maple ai_vendors.rs',
  matches: { scopes: ['llamaindex.', 'openinference.instrumentation.llama_index'] },
  // It prepares the call that follows.
  names: { '*._prepare_chat_with_tools': 'other' },
  own: {
    input: [
      { event: 'LLMChatStartEvent', key: 'messages' },
      { event: 'LLMCompletionStartEvent', key: 'prompt' },
      { event: 'AgentRunStepStartEvent', key: 'input' },
      { event: 'QueryStartEvent', key: 'query' },
      { event: 'RetrievalStartEvent', key: 'str_or_query_bundle' },
    ],
    output: [
      { event: 'LLMChatEndEvent', key: 'response' },
      { event: 'LLMCompletionEndEvent', key: 'response' },
      { event: 'AgentRunStepEndEvent', key: 'step_output' },
      { event: 'QueryEndEvent', key: 'response' },
      { event: 'RetrievalEndEvent', key: 'nodes' },
    ],
    tool_input: [{ event: 'AgentToolCallEvent', key: 'arguments' }],
  },
}
