// smolagents by OpenInference: every tool's span is called SimpleTool; agents and steps repeat the tokens of the model calls.
import type { Dialect } from '../dialect.ts'

export const smolagents: Dialect = {
  name: 'smolagents',
  source: 'openinference-instrumentation-smolagents',
  matches: { scopes: ['openinference.instrumentation.smolagents'] },
  names: { 'Step ': 'step' },
  repeatsUsage: true,
}
