// OpenTelemetry's GenAI conventions up to 1.36: `gen_ai.system`, prompt and completion tokens, and messages as span events
// (many SDKs send those as logs, which a trace endpoint never sees).
import type { Dialect } from '../dialect.ts'

/** From 1.28 to 1.36: an event for each message. */
const promptEvents = {
  'gen_ai.system.message': 'system',
  'gen_ai.user.message': 'user',
  'gen_ai.assistant.message': 'assistant',
  'gen_ai.tool.message': 'tool',
}

export const genaiLegacy: Dialect = {
  name: 'genai-legacy',
  source:
    'open-telemetry/semantic-conventions v1.27.0 docs/gen-ai/gen-ai-spans.md, v1.36.0 docs/gen-ai/gen-ai-events.md',
  matches: { keys: ['gen_ai.system'] },
  fields: {
    provider: ['gen_ai.system'],
    input_tokens: ['gen_ai.usage.prompt_tokens'],
    output_tokens: ['gen_ai.usage.completion_tokens'],
    input: [{ events: promptEvents }, { event: 'gen_ai.content.prompt', key: 'gen_ai.prompt' }],
    output: [
      { events: { 'gen_ai.choice': 'assistant' } },
      { event: 'gen_ai.content.completion', key: 'gen_ai.completion' },
    ],
  },
  modelKeys: ['gen_ai.usage.prompt_tokens', 'gen_ai.usage.completion_tokens'],
}
