// Firebase Genkit.
import { type Dialect, inside } from '../dialect.ts'

export const genkit: Dialect = {
  name: 'genkit',
  source:
    'langfuse/langfuse packages/shared/src/server/otel/ObservationTypeMapper.ts; firebase/genkit js/core/src/tracing',
  matches: { scopes: ['genkit'], keys: ['genkit:'] },
  fields: {
    kind: ['genkit:metadata:subtype', 'genkit:type'],
    agent_name: ['genkit:name'],
    tool_name: ['genkit:name'],
    tool_input: ['genkit:input'],
    tool_output: ['genkit:output'],
    session_id: ['genkit:metadata:sessionId'],
  },
  own: { model: ['genkit:name'], provider: ['genkit:name'] },
  late: {
    input: ['genkit:input'],
    output: ['genkit:output'],
    input_tokens: inside('genkit:output', ['usage.inputTokens']),
    output_tokens: inside('genkit:output', ['usage.outputTokens']),
  },
  types: {
    llm: ['model'],
    embedding: ['embedder', 'reranker'],
    agent: ['agent', 'flow'],
    tool: ['tool'],
    resource: ['retriever'],
    other: ['evaluator', 'indexer'],
    step: ['util', 'helper', 'prompt', 'executable-prompt'],
  },
  repeatsUsage: true,
  modelsWithProvider: true,
  bulky: { input: ['genkit:input'], output: ['genkit:output'] },
}
