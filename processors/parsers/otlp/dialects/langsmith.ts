// LangSmith's OpenTelemetry mode (LangChain, LangGraph): the inputs and outputs of every run as JSON in two attributes.
import { type Dialect, emailNames, inside, type Source, under } from '../dialect.ts'

const metadata = 'langsmith.metadata.'
/** JSON of the JavaScript SDK, run metadata, and a printed dictionary of the Python SDK. */
const usage = (path: string): Source[] => [
  ...inside('langsmith.usage_metadata', [path]),
  ...inside('langsmith.metadata.usage_metadata', [path]),
]

export const langsmith: Dialect = {
  name: 'langsmith',
  source: 'langchain-ai/langsmith-sdk python/langsmith/_internal/otel/_otel_exporter.py, js/src/experimental/otel',
  matches: { scopes: ['langsmith'], keys: ['langsmith.'] },
  fields: {
    kind: ['langsmith.span.kind'],
    session_id: under(metadata, [
      ...['session_id', 'conversation_id', 'thread_id', 'sessionId', 'conversationId', 'threadId'],
      'langfuse_session_id',
    ]),
    user_id: under(metadata, ['user_id', 'userId', 'langfuse_user_id']),
    user_email: under(metadata, emailNames),
    tool_name: ['langsmith.trace.name', 'gen_ai.serialized.name'],
    input: ['gen_ai.prompt'],
    output: ['gen_ai.completion'],
    tool_input: ['gen_ai.prompt'],
    tool_output: ['gen_ai.completion'],
    cache_read_tokens: [
      ...usage('input_token_details.cache_read'),
      ...inside('gen_ai.usage.input_token_details', ['cache_read']),
    ],
    cache_write_tokens: [
      ...usage('input_token_details.cache_creation'),
      ...inside('gen_ai.usage.input_token_details', ['cache_creation']),
    ],
    reasoning_tokens: [
      ...usage('output_token_details.reasoning'),
      ...inside('gen_ai.usage.output_token_details', ['reasoning']),
    ],
  },
  // The model's maker is guessed from its name and else "langchain": what the run's metadata says is better.
  own: { provider: ['langsmith.metadata.ls_provider'] },
  late: { model: ['langsmith.metadata.ls_model_name'] },
  types: {
    llm: ['llm'],
    embedding: ['embedding'],
    tool: ['tool'],
    resource: ['retriever'],
    other: ['parser'],
    step: ['chain', 'prompt'],
  },
  repeatsUsage: true,
  carries: [metadata],
  ofSpan: under(metadata, [
    ...['LANGSMITH_*', 'LANGCHAIN_*', 'ls_*', 'lc_*', 'langgraph_*', 'checkpoint_*', 'usage_metadata', '_type'],
    ...['model', 'model_name', 'stream', 'temperature', 'run_id', 'revision_id', 'runtime'],
  ]),
  bulky: { input: ['gen_ai.prompt'], output: ['gen_ai.completion'] },
  wrapsTools: true,
}
