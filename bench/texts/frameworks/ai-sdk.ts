// The AI SDK 6 over the responses API: an outer span for the turn with the prompt as the application gave it, an inner one for each call of
// the model with the prompt as the provider got it, tokens and finish in two vocabularies, and an event at the first and last chunk.
import type { Answered, Period, Turn } from '../turns.ts'
import { type Form, NODE, nodeResource, spansOf } from './form.ts'

type Values = Record<string, unknown>

const made = spansOf({ name: 'ai' }, NODE)
const SCHEMA = 'http://json-schema.org/draft-07/schema#'

const named = (operation: string, { agent }: Turn): Values => ({
  ...{ 'operation.name': `${operation} ${agent}`, 'resource.name': agent, 'ai.operationId': operation },
  'ai.telemetry.functionId': agent,
})
const attached = (turn: Turn): Values => ({
  'ai.telemetry.metadata.sessionId': turn.conversation,
  'ai.telemetry.metadata.userId': turn.user,
  'ai.telemetry.metadata.plan': turn.plan,
})
const model = (turn: Turn): Values => ({
  ...{ 'ai.model.provider': 'openai.responses', 'ai.model.id': turn.model, 'ai.settings.maxRetries': 2 },
})
const usage = ({ input, cached, output }: Omit<Answered, 'id' | 'fingerprint'>): Values => ({
  ...{ 'ai.usage.inputTokens': input, 'ai.usage.inputTokenDetails.noCacheTokens': input - cached },
  ...{ 'ai.usage.inputTokenDetails.cacheReadTokens': cached, 'ai.usage.outputTokens': output },
  ...{ 'ai.usage.outputTokenDetails.textTokens': output, 'ai.usage.outputTokenDetails.reasoningTokens': 0 },
  ...{ 'ai.usage.totalTokens': input + output, 'ai.usage.reasoningTokens': 0, 'ai.usage.cachedInputTokens': cached },
})
/** Ids of the responses API: the same random digits under other names. */
const responseId = ({ id }: Answered): string => id.replace('chatcmpl-', 'resp_')
const itemId = ({ id }: Answered): string => id.replace('chatcmpl-', 'fc_')
const provider = (answered: Answered): string => JSON.stringify({ openai: { responseId: responseId(answered) } })

function promptOf(turn: Turn, again: boolean): unknown[] {
  const text = (role: string, said: string) => ({ role, content: [{ type: 'text', text: said }] })
  const { id: toolCallId, name: toolName, args, result } = turn.call
  const providerOptions = { openai: { itemId: itemId(turn.calls[0]) } }
  const call = { type: 'tool-call', toolCallId, toolName, input: JSON.parse(args) as unknown, providerOptions }
  const output = { type: 'json', value: JSON.parse(result) as unknown }
  return [
    { role: 'system', content: turn.system },
    ...turn.history.flatMap(said => [text('user', said.question), text('assistant', said.answer)]),
    text('user', turn.question),
    ...(again
      ? [
          { role: 'assistant', content: [call] },
          { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output, providerOptions }] },
        ]
      : []),
  ]
}

/** The application's own messages. */
function askedOf({ system, history, question }: Turn): string {
  const messages = [
    ...history.flatMap(said => [
      { role: 'user', content: said.question },
      { role: 'assistant', content: said.answer },
    ]),
    { role: 'user', content: question },
  ]
  return JSON.stringify({ system, messages })
}

function callOf(turn: Turn, answered: Answered, during: Period, again: boolean): Values {
  const tools = turn.tools.map(({ name, description, parameters }) =>
    JSON.stringify({
      ...{ type: 'function', name, description },
      inputSchema: { ...parameters, additionalProperties: false, $schema: SCHEMA },
    }),
  )
  const finish = again ? 'stop' : 'tool-calls'
  const { id: toolCallId, name: toolName, args } = turn.call
  const providerMetadata = { openai: { itemId: itemId(answered) } }
  const call = { type: 'tool-call', toolCallId, toolName, input: JSON.parse(args) as unknown, providerMetadata }
  const tookMs = Number(during.to - during.from) / 1e6
  return {
    ...{ ...named('ai.streamText.doStream', turn), ...model(turn), ...attached(turn) },
    'ai.prompt.messages': JSON.stringify(promptOf(turn, again)),
    ...{ 'ai.prompt.tools': tools, 'ai.prompt.toolChoice': JSON.stringify({ type: 'auto' }) },
    ...{ 'gen_ai.system': 'openai.responses', 'gen_ai.request.model': turn.model },
    ...{ 'ai.response.msToFirstChunk': firstChunkMs(tookMs), 'ai.response.msToFinish': tookMs },
    'ai.response.avgOutputTokensPerSecond': (1000 * answered.output) / tookMs,
    ...{ 'ai.response.finishReason': finish, ...(again ? {} : { 'ai.response.toolCalls': JSON.stringify([call]) }) },
    ...{ 'ai.response.id': responseId(answered), 'ai.response.model': turn.model },
    'ai.response.timestamp': new Date(Number(during.from / 1_000_000n)).toISOString(),
    ...{ ...usage(answered), 'gen_ai.response.finish_reasons': [finish] },
    ...{ 'gen_ai.response.id': responseId(answered), 'gen_ai.response.model': turn.model },
    ...{ 'gen_ai.usage.input_tokens': answered.input, 'gen_ai.usage.output_tokens': answered.output },
    ...{ 'ai.response.text': again ? turn.answer : '', 'ai.response.providerMetadata': provider(answered) },
  }
}

const firstChunkMs = (tookMs: number): number => tookMs * 0.375

function chunks({ from, to }: Period): { events: unknown[] } {
  const ms = firstChunkMs(Number(to - from) / 1e6)
  const value = { doubleValue: ms }
  const at = String(from + BigInt(Math.round(ms * 1e6)))
  const first = { name: 'ai.stream.firstChunk', attributes: [{ key: 'ai.response.msToFirstChunk', value }] }
  return {
    events: [
      { timeUnixNano: at, ...first, droppedAttributesCount: 0 },
      { timeUnixNano: String(to - 20_000n), name: 'ai.stream.finish', attributes: [], droppedAttributesCount: 0 },
    ],
  }
}

/** Four spans a turn. */
export const aiSdk: Form = {
  name: 'AI SDK',
  size: 4,
  resource: nodeResource,
  spans: turn => {
    const { call, calls, first, used, second, whole } = turn
    const [one, other] = calls
    const sum = { input: one.input + other.input, cached: one.cached + other.cached, output: one.output + other.output }
    const name = 'ai.streamText.doStream'
    // The tool runs within the call that asked for it.
    const asking = { from: first.from, to: used.to + 50_000n }
    return [
      made(
        turn,
        { name: 'ai.toolCall', at: 2, under: 1, during: used },
        {
          ...{ ...named('ai.toolCall', turn), ...attached(turn), 'ai.toolCall.name': call.name },
          ...{ 'ai.toolCall.id': call.id, 'ai.toolCall.args': call.args, 'ai.toolCall.result': call.result },
        },
      ),
      made(turn, { name, at: 1, under: 0, during: asking }, callOf(turn, one, asking, false), chunks(asking)),
      made(turn, { name, at: 3, under: 0, during: second }, callOf(turn, other, second, true), chunks(second)),
      made(
        turn,
        { name: 'ai.streamText', at: 0, during: whole },
        {
          ...{ ...named('ai.streamText', turn), ...model(turn), ...attached(turn), 'ai.prompt': askedOf(turn) },
          ...{ 'ai.response.finishReason': 'stop', 'ai.response.text': turn.answer },
          ...{ 'ai.response.providerMetadata': provider(other), ...usage(sum) },
        },
      ),
    ]
  },
}
