// LangChain and LangGraph by OpenInference: on chains and agents it spreads the first message of the state alone into numbered
// attributes, and the whole of it stands in the body. On model calls all messages are spread.
import type { Dialect } from '../dialect.ts'

export const langchain: Dialect = {
  name: 'langchain',
  source: 'openinference-instrumentation-langchain _tracer.py (_input_messages), js src/utils.ts',
  matches: { scopes: ['openinference.instrumentation.langchain', '@arizeai/openinference-instrumentation-langchain'] },
  own: { input: [{ words: 'input.value', ofTurns: true }] },
}
