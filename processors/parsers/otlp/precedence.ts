// Which dialect comes first where several write the same field, as data. A field is read in this order, and the first place that
// says something counts:
//
//   1  the contract's own keys
//   2  rules of the organization
//   3  what only the dialects of this span write (`own`)
//   4  what any dialect writes (`fields`)
//   5  whole bodies, bare names and the resource (`late`)
//
// Within a step the dialects come in the order below; those that are not named there follow in the order of dialects.ts.
import type { Field } from './dialect.ts'

/** Ids that a framework may invent for every run come after those that an application sets. */
const identity = [
  ...['contract', 'langfuse', 'opentelemetry', 'traceloop', 'laminar', 'langsmith', 'vercel', 'voltagent'],
  ...['spring-ai', 'openlit', 'mastra', 'adk', 'mlflow', 'spectrum', 'eve', 'livekit', 'genkit', 'litellm', 'genai'],
]

/** What a framework calls a span in its own words is finer than an operation of the conventions. */
const kind = [
  ...['mcp', 'langfuse', 'openinference', 'langsmith', 'traceloop', 'mlflow', 'mastra', 'claude-code', 'voltagent'],
  ...['genkit', 'laminar', 'genai', 'vercel'],
]

/** The conventions, then the numbers that a framework took over from the maker of the model. */
const usage = ['genai', 'genai-legacy', 'openinference', 'vercel', 'langfuse', 'mlflow']

const names = ['contract', 'genai', 'openinference', 'vercel', 'pydantic-ai', 'livekit', 'flue', 'openlit', 'langsmith']

export const precedence: Readonly<Record<Field, readonly string[]>> = {
  kind,
  session_id: identity,
  user_id: identity,
  user_email: identity,
  agent_name: names,
  tool_name: names,
  model: ['genai', 'openinference', 'vercel', 'langfuse', 'mlflow', 'voltagent'],
  provider: ['genai', 'openinference', 'genai-legacy', 'vercel', 'mlflow'],
  cost: ['langfuse', 'openlit', 'openrouter', 'openinference', 'pydantic-ai', 'litellm', 'mlflow'],
  input_tokens: usage,
  output_tokens: usage,
  cache_read_tokens: usage,
  cache_write_tokens: usage,
  reasoning_tokens: usage,
  input: ['contract', 'langfuse', 'genai', 'openinference', 'traceloop', 'vercel', 'adk', 'pydantic-ai', 'livekit'],
  output: ['contract', 'langfuse', 'genai', 'openinference', 'traceloop', 'vercel', 'adk', 'pydantic-ai', 'livekit'],
  tool_input: ['contract', 'langfuse', 'genai', 'vercel', 'openinference', 'adk', 'pydantic-ai', 'openlit', 'livekit'],
  tool_output: ['contract', 'langfuse', 'genai', 'vercel', 'openinference', 'adk', 'pydantic-ai', 'openlit', 'livekit'],
  error_type: ['opentelemetry'],
  error_message: ['opentelemetry', 'langfuse'],
}
