// Replies as Gemini sends them; a stream is one event with the whole reply. Its output tokens leave out the thoughts.
import type { Reply } from './conversation.ts'

/** A GenerateContentResponse. */
export function geminiResponse(model: string, { call, text, usage, step }: Reply): Record<string, unknown> {
  const part = call === null ? { text } : { functionCall: { id: call.id, name: call.name, args: call.args } }
  return {
    candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: usage.input,
      cachedContentTokenCount: usage.cached,
      candidatesTokenCount: usage.output - usage.reasoning,
      thoughtsTokenCount: usage.reasoning,
      totalTokenCount: usage.input + usage.output,
    },
    modelVersion: model,
    responseId: `response-${step}`,
  }
}
