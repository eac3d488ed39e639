// Replies as OpenAI sends them: chat completions and responses, whole and as streams.
import type { Reply } from './conversation.ts'

type Body = Record<string, unknown>

const CREATED = 1_789_999_990

function usage({ usage: { input, output, cached, reasoning } }: Reply): Body {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0, accepted_prediction_tokens: 0 },
  }
}

function toolCall({ call }: Reply): Body[] | undefined {
  if (call === null) return undefined
  return [{ id: call.id, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } }]
}

/** A chat completion. */
export function chatCompletion(model: string, reply: Reply): Body {
  const calls = toolCall(reply)
  const message = {
    role: 'assistant',
    content: reply.text,
    refusal: null,
    ...(calls === undefined ? {} : { tool_calls: calls }),
  }
  return {
    id: `chatcmpl-${reply.step}`,
    object: 'chat.completion',
    created: CREATED + reply.step,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: calls === undefined ? 'stop' : 'tool_calls' }],
    usage: usage(reply),
    service_tier: 'default',
    system_fingerprint: 'fp_stub',
  }
}

/** The chunks of a chat completion; the last holds the usage when it was asked for. */
export function chatChunks(model: string, reply: Reply, wantsUsage: boolean): Body[] {
  const chunk = (delta: Body | null, finish: string | null): Body => ({
    id: `chatcmpl-${reply.step}`,
    object: 'chat.completion.chunk',
    created: CREATED + reply.step,
    model,
    service_tier: 'default',
    system_fingerprint: 'fp_stub',
    choices: delta === null ? [] : [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(wantsUsage ? { usage: delta === null ? usage(reply) : null } : {}),
  })
  const calls = toolCall(reply)
  const said =
    calls === undefined
      ? words(reply.text ?? '').map(content => chunk({ content }, null))
      : [chunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) }, null)]
  return [
    chunk({ role: 'assistant', content: calls === undefined ? '' : null, refusal: null }, null),
    ...said,
    chunk({}, calls === undefined ? 'stop' : 'tool_calls'),
    ...(wantsUsage ? [chunk(null, null)] : []),
  ]
}

/** A text in the pieces a stream brings. */
export function words(text: string): string[] {
  return text.match(/\S+\s*/g) ?? []
}

function outputItem(reply: Reply): Body {
  const { call, step } = reply
  if (call !== null) {
    const args = JSON.stringify(call.args)
    return {
      ...{ id: `fc_${step}`, type: 'function_call', status: 'completed' },
      ...{ call_id: call.id, name: call.name, arguments: args },
    }
  }
  return {
    id: `msg_${step}`,
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: reply.text, annotations: [], logprobs: [] }],
  }
}

/** A response; `asked` is the request. */
export function response(model: string, reply: Reply, asked: Body): Body {
  const { input, output, cached, reasoning } = reply.usage
  return {
    id: `resp_${reply.step}`,
    object: 'response',
    created_at: CREATED + reply.step,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: asked.instructions ?? null,
    max_output_tokens: null,
    model,
    output: [outputItem(reply)],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: true,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: asked.tools ?? [],
    top_p: 1,
    truncation: 'disabled',
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
      total_tokens: input + output,
    },
    user: null,
    metadata: {},
  }
}

/** The events of a streamed response. */
export function responseEvents(model: string, reply: Reply, asked: Body): Body[] {
  const whole = response(model, reply, asked)
  const item = outputItem(reply)
  const begun = { ...whole, status: 'in_progress', output: [], usage: null }
  const at = { item_id: item.id, output_index: 0 }
  const said: Body[] =
    reply.call === null
      ? [
          {
            type: 'response.content_part.added',
            ...at,
            content_index: 0,
            part: { type: 'output_text', text: '', annotations: [] },
          },
          ...words(reply.text ?? '').map(delta => ({
            ...{ type: 'response.output_text.delta', ...at, content_index: 0, delta, logprobs: [] },
          })),
          { type: 'response.output_text.done', ...at, content_index: 0, text: reply.text, logprobs: [] },
          { type: 'response.content_part.done', ...at, content_index: 0, part: (item.content as Body[])[0] },
        ]
      : [
          { type: 'response.function_call_arguments.delta', ...at, delta: item.arguments },
          { type: 'response.function_call_arguments.done', ...at, name: item.name, arguments: item.arguments },
        ]
  const empty = reply.call === null ? { content: [] } : { arguments: '' }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress', ...empty } },
    ...said,
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ].map((event, index) => ({ ...event, sequence_number: index }))
}
