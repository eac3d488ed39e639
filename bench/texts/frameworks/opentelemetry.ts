// OpenTelemetry's GenAI conventions: calls of the model by the instrumentation of the OpenAI client for Python, with content in attributes,
// under spans of the application for agent and tool. The conversation is named on every span, as a processor of baggage does it.
import type { Answered, Turn } from '../turns.ts'
import { type Form, PYTHON, pythonResource, spansOf } from './form.ts'

const made = spansOf({ name: 'opentelemetry.instrumentation.genai.openai', version: '1.3b0' }, PYTHON)
const own = spansOf({ name: 'agents', version: '1.4.0' }, PYTHON)

const text = (role: string, content: string) => ({ role, parts: [{ content, type: 'text' }], name: null })
const used = ({ call }: Turn) => ({ arguments: JSON.parse(call.args), name: call.name, id: call.id, type: 'tool_call' })

function inputOf(turn: Turn, again: boolean): unknown[] {
  const { system, history, question, call } = turn
  return [
    text('system', system),
    ...history.flatMap(said => [text('user', said.question), text('assistant', said.answer)]),
    text('user', question),
    ...(again
      ? [
          { role: 'assistant', parts: [used(turn)], name: null },
          { role: 'tool', parts: [{ response: call.result, id: call.id, type: 'tool_call_response' }], name: null },
        ]
      : []),
  ]
}

function callOf(
  turn: Turn,
  { id, fingerprint, input, cached, output }: Answered,
  again: boolean,
): Record<string, unknown> {
  const finish = again ? 'stop' : 'tool_call'
  const answer = again ? text('assistant', turn.answer) : { role: 'assistant', parts: [used(turn)] }
  return {
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': turn.model },
    ...{ 'server.address': 'api.openai.com', 'server.port': 443, 'gen_ai.conversation.id': turn.conversation },
    ...{ 'gen_ai.response.finish_reasons': [again ? 'stop' : 'tool_calls'], 'gen_ai.response.model': turn.model },
    ...{ 'gen_ai.response.id': id, 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.output_tokens': output },
    ...{ 'gen_ai.usage.cache_read.input_tokens': cached, 'gen_ai.usage.reasoning.output_tokens': 0 },
    'gen_ai.input.messages': JSON.stringify(inputOf(turn, again)),
    'gen_ai.output.messages': JSON.stringify([{ ...answer, finish_reason: finish, name: null }]),
    'gen_ai.tool.definitions': JSON.stringify(turn.tools.map(tool => ({ ...tool, type: 'function' }))),
    ...{ 'openai.response.service_tier': 'default', 'openai.response.system_fingerprint': fingerprint },
  }
}

/** Four spans a turn. */
export const opentelemetry: Form = {
  name: 'OpenTelemetry GenAI',
  size: 4,
  resource: pythonResource,
  spans: turn => {
    const { call, agent, model, whole, first, second } = turn
    return [
      made(
        turn,
        { name: `chat ${model}`, at: 1, under: 0, during: first, kind: 3 },
        callOf(turn, turn.calls[0], false),
      ),
      own(
        turn,
        { name: `execute_tool ${call.name}`, at: 2, under: 0, during: turn.used },
        {
          ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.conversation.id': turn.conversation },
          ...{ 'gen_ai.tool.name': call.name, 'gen_ai.tool.type': 'function', 'gen_ai.tool.call.id': call.id },
          ...{ 'gen_ai.tool.call.arguments': call.args, 'gen_ai.tool.call.result': call.result },
        },
      ),
      made(
        turn,
        { name: `chat ${model}`, at: 3, under: 0, during: second, kind: 3 },
        callOf(turn, turn.calls[1], true),
      ),
      own(
        turn,
        { name: `invoke_agent ${agent}`, at: 0, during: whole },
        {
          ...{ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.provider.name': 'openai', 'gen_ai.agent.name': agent },
          ...{ 'gen_ai.conversation.id': turn.conversation, 'enduser.id': turn.user, 'customer.tier': turn.plan },
        },
      ),
    ]
  },
}
