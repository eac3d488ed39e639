// Mastra's exporter. Four spans nest around a model call; only the generation counts, steps and chunks repeat it.
import { type Dialect, emailNames, under } from '../dialect.ts'

const kinds = ['agent_run', 'model_generation', 'workflow_run', 'workflow_step', 'model_step', 'generic']
const tools = ['tool_call', 'mcp_tool_call']

export const mastra: Dialect = {
  name: 'mastra',
  source: 'mastra-ai/mastra observability/otel-exporter/src/{gen-ai-semantics,span-converter}.ts',
  matches: { scopes: ['@mastra/', 'mastra'], keys: ['mastra.'] },
  fields: {
    kind: ['mastra.span.type'],
    session_id: under('mastra.metadata.', ['sessionId', 'threadId', 'session_id', 'thread_id']),
    user_id: under('mastra.metadata.', ['userId', 'user_id', 'resourceId']),
    user_email: under('mastra.metadata.', emailNames),
    cache_read_tokens: ['gen_ai.usage.cached_input_tokens'],
    input: kinds.map(kind => `mastra.${kind}.input`),
    output: kinds.map(kind => `mastra.${kind}.output`),
    tool_input: [...tools.map(kind => `mastra.${kind}.input`), 'gen_ai.tool.input', 'gen_ai.tool.args'],
    tool_output: [...tools.map(kind => `mastra.${kind}.output`), 'gen_ai.tool.output'],
  },
  // Exporters up to late 2025 wrote ids without any prefix.
  late: { session_id: ['threadId'], user_id: ['userId', 'resourceId'] },
  types: {
    llm: ['model_generation', 'model_inference', 'llm_generation'],
    embedding: ['rag_embedding', 'embedding'],
    agent: ['agent_run'],
    tool: tools,
    step: ['workflow_run', 'workflow_step', 'generic'],
    other: ['model_step', 'model_chunk', 'llm_chunk', 'processor_run', 'scorer_run'],
    resource: ['rag_query', 'vector_query'],
  },
  names: { model_step: 'other', model_chunk: 'other', 'agent.': 'agent', 'workflow.': 'step' },
  // A generation that leaves model and usage to the inferences below it.
  namesCalls: ['gen_ai.request.model', 'gen_ai.response.model', 'gen_ai.usage.input_tokens'],
  repeatsUsage: true,
  toolKeys: ['gen_ai.tool.input'],
  toolPrefixes: ['tool.execute:', 'tool.execute '],
  carries: ['mastra.metadata.'],
  ofSpan: under('mastra.metadata.', [
    ...['runId', 'headers', 'body', 'modelMetadata', 'providerMetadata', 'toolCallId', 'toolName'],
    ...['resumedFromSpanId', 'isContinued', 'warnings', 'request', 'response'],
  ]),
  content: ['mastra.model_chunk.output', ...under('mastra.metadata.', ['body', 'request', 'response'])],
}
