// Semantic Kernel: model calls by GenAI keys under operations of its own, tools as PLUGIN-FUNCTION.
import type { Dialect } from '../dialect.ts'

export const semanticKernel: Dialect = {
  name: 'semantic-kernel',
  source: 'microsoft/semantic-kernel python/semantic_kernel/utils/telemetry/',
  matches: {
    scopes: ['semantic_kernel', 'Microsoft.SemanticKernel'],
    values: { 'gen_ai.system': ['semantic_kernel'] },
  },
  fields: { agent_name: ['agent_name'] },
  names: { 'chat.completions ': 'llm', 'chat.streaming_completions ': 'llm', 'text.completions ': 'llm' },
}
