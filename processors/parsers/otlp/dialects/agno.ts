// Agno by OpenInference: node ids are opaque, and native Anthropic counts leave out cached tokens.
import type { Dialect } from '../dialect.ts'

export const agno: Dialect = {
  name: 'agno',
  source: 'openinference-instrumentation-agno',
  matches: { scopes: ['openinference.instrumentation.agno'], keys: ['agno.'] },
  repeatsUsage: true,
  inputExcludesCache: 'anthropic models',
}
