// Replies as Gemini sends them; a stream is an event for every few words. Its output tokens leave out the thoughts.
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

/** The same in pieces: what is not the last says neither why it ended nor what was used. */
export function geminiChunks(model: string, reply: Reply): Record<string, unknown>[] {
  const pieces = reply.call === null ? (reply.text?.match(/\S+\s*\S*\s*/g) ?? []) : [reply.text]
  return pieces.map((text, i) => {
    const whole = geminiResponse(model, { ...reply, text })
    if (i === pieces.length - 1) return whole
    const { modelVersion, responseId } = whole
    return { candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }], modelVersion, responseId }
  })
}
