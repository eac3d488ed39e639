// The recorded SDKs by the name of their folder: a title for readers, and what changes from run to run beyond the usual.

export interface Entry {
  readonly title: string
  /** NAME=value for the program; $OTLP_URL and $MODEL_URL are replaced. */
  readonly env?: readonly string[]
  readonly volatile?: readonly RegExp[]
  readonly measured?: readonly string[]
}

/** LangSmith takes the endpoint variable for the whole URL. */
const langsmith = [
  ...['LANGSMITH_TRACING=true', 'LANGSMITH_OTEL_ENABLED=true', 'LANGSMITH_OTEL_ONLY=true', 'LANGSMITH_API_KEY=stub'],
  ...['OTEL_EXPORTER_OTLP_ENDPOINT=$OTLP_URL/v1/traces', 'LANGSMITH_ENDPOINT=$OTLP_URL'],
]

export const catalogue: Readonly<Record<string, Entry>> = {
  'ai-sdk-4': { title: 'Vercel AI SDK 4, generateText' },
  'ai-sdk-5': { title: 'Vercel AI SDK 5, streamText' },
  'ai-sdk-6': { title: 'Vercel AI SDK 6, streamText over the responses API' },
  'ai-sdk-7': { title: 'Vercel AI SDK 7, generateText with its OpenTelemetry integration' },
  langfuse: { title: 'Langfuse JS 5 around the OpenAI client' },
  mastra: { title: 'Mastra with its OpenTelemetry exporter' },
  'openai-agents': { title: 'OpenAI Agents JS, exported by OpenInference' },
  'openinference-anthropic': { title: 'Anthropic client, instrumented by OpenInference' },
  'openinference-openai': { title: 'OpenAI client, instrumented by OpenInference' },
  opentelemetry: { title: 'OpenTelemetry SDK 3, spans by hand after the GenAI conventions' },
  traceloop: { title: 'Traceloop SDK around the OpenAI client' },
  voltagent: { title: 'VoltAgent', volatile: [/(?<="id":")[A-Za-z0-9]{16}(?=")/] },
  'opentelemetry-openai': {
    title: 'OpenAI client, instrumented by OpenTelemetry',
    env: [
      'OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental',
      'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY',
    ],
  },
  'opentelemetry-openai-legacy': {
    title: 'OpenAI client, instrumented by OpenTelemetry, older form',
    env: ['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true'],
  },
  'google-adk': {
    title: 'Google Agent Development Kit',
    env: [
      'OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental',
      'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY',
    ],
  },
  'google-adk-streaming': {
    title: 'Google Agent Development Kit, answers in pieces',
    env: [
      'OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental',
      'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY',
    ],
  },
  'google-adk-legacy': {
    title: 'Google Agent Development Kit, spans of its first schema',
    env: ['ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN=1'],
  },
  langsmith: { title: 'LangSmith around the OpenAI client in OpenTelemetry mode', env: langsmith },
  'langsmith-python': { title: 'LangChain agent, traced by LangSmith in OpenTelemetry mode', env: langsmith },
  'agent-framework': { title: 'Microsoft Agent Framework' },
  genkit: { title: 'Genkit, a flow', volatile: [/(?<="latencyMs":)[\d.]+/] },
  'langfuse-python': { title: 'Langfuse Python 5 around the OpenAI client' },
  litellm: { title: 'LiteLLM with its OpenTelemetry callback', volatile: [/(?<=_ms": )[\d.]+/] },
  'openai-agents-python': { title: 'OpenAI Agents Python, exported by OpenInference' },
  'openinference-agno': {
    title: 'Agno, instrumented by OpenInference',
    volatile: [/(?<="duration": )\d+\.\d+(?:e-\d+)?/, /(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])/],
  },
  'openinference-crewai': { title: 'CrewAI, instrumented by OpenInference' },
  'openinference-dspy': { title: 'DSPy ReAct, instrumented by OpenInference' },
  'openinference-langchain': { title: 'LangChain agent, instrumented by OpenInference' },
  'openinference-langgraph': { title: 'LangChain agent (LangGraph), instrumented by OpenInference' },
  'openinference-langgraph-history': {
    title: 'LangChain agent (LangGraph) given the whole history, whose tool fails, instrumented by OpenInference',
  },
  'openinference-llama-index': {
    title: 'LlamaIndex function agent, instrumented by OpenInference',
    volatile: [/(?<=run_id": ")[A-Za-z0-9_-]{10}(?=")/],
  },
  'openinference-smolagents': { title: 'smolagents, instrumented by OpenInference' },
  'pydantic-ai': { title: 'Pydantic AI' },
  strands: { title: 'Strands Agents' },
  'traceloop-python': { title: 'Traceloop SDK around the OpenAI client' },
  anthropic: { title: 'Anthropic client, its own spans' },
  autogen: { title: 'AutoGen' },
  haystack: { title: 'Haystack agent, instrumented by OpenInference' },
  laminar: { title: 'Laminar around the OpenAI client' },
  livekit: {
    title: 'LiveKit Agents, a session in writing',
    volatile: [/(?<=\b(?:item|speech)_)[0-9a-f]{12}/, /(?<="\w+":)(?:\d+\.\d+(?:e-\d+)?|\d+e-\d+)/],
    measured: ['lk.speech.queue_wait'],
  },
  logfire: { title: 'Logfire around the OpenAI client' },
  mcp: { title: 'MCP client, instrumented by Traceloop' },
  mlflow: { title: 'MLflow tracing around the OpenAI client' },
  'openlit-crewai': { title: 'CrewAI, instrumented by OpenLIT' },
  'semantic-kernel': {
    title: 'Semantic Kernel',
    env: ['SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true'],
  },
}
