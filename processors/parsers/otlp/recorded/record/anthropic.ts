// Replies as Anthropic sends them. Its input tokens leave out what was read from the cache.
import type { Reply } from './conversation.ts'
import { words } from './openai.ts'

type Body = Record<string, unknown>

function block({ call, text }: Reply): Body {
  return call === null
    ? { type: 'text', text, citations: null }
    : { type: 'tool_use', id: call.id.replace('call_', 'toolu_'), name: call.name, input: call.args }
}

/** A message. */
export function anthropicMessage(model: string, reply: Reply): Body {
  const { input, output, cached } = reply.usage
  return {
    id: `msg_${reply.step}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [block(reply)],
    stop_reason: reply.call === null ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: {
      input_tokens: input - cached,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cached,
      output_tokens: output,
      service_tier: 'standard',
    },
  }
}

/** The events of a streamed message. */
export function anthropicEvents(model: string, reply: Reply): Body[] {
  const { content: _, ...message } = anthropicMessage(model, reply)
  const whole = block(reply)
  const deltas: Body[] =
    reply.call === null
      ? words(reply.text ?? '').map(text => ({ type: 'text_delta', text }))
      : [{ type: 'input_json_delta', partial_json: JSON.stringify(reply.call.args) }]
  const usage = message.usage as Body
  return [
    {
      type: 'message_start',
      message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
    },
    {
      ...{ type: 'content_block_start', index: 0 },
      content_block: { ...whole, ...(reply.call === null ? { text: '' } : { input: {} }) },
    },
    ...deltas.map(delta => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: message.stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
}
