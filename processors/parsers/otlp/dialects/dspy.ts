// DSPy by OpenInference: the signature's fields are the whole content, and usage is never reported.
import type { Dialect } from '../dialect.ts'

export const dspy: Dialect = {
  name: 'dspy',
  source: 'openinference-instrumentation-dspy',
  matches: { scopes: ['openinference.instrumentation.dspy'] },
  names: { 'ChatAdapter.__call__': 'other', 'JSONAdapter.__call__': 'other' },
}
