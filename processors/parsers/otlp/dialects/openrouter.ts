// OpenRouter's broadcast: GenAI keys with costs.
import type { Dialect } from '../dialect.ts'

export const openrouter: Dialect = {
  name: 'openrouter',
  source: 'OpenRouter broadcast as read by MapleTechLabs/maple apps/ingest/src/ai_session',
  matches: { scopes: ['openrouter'], keys: ['openrouter.', 'trace.metadata.openrouter.'] },
  fields: {
    cost: [
      ...['gen_ai.usage.total_cost', 'openrouter.cost'],
      { sum: ['gen_ai.usage.input_cost', 'gen_ai.usage.output_cost'] },
    ],
    cache_read_tokens: ['gen_ai.usage.input_tokens.cached'],
    cache_write_tokens: ['gen_ai.usage.input_tokens.cache_write'],
    reasoning_tokens: ['gen_ai.usage.output_tokens.reasoning'],
  },
  carries: ['trace.metadata.'],
}
