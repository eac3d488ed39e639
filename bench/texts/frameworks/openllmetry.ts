// OpenLLMetry: its instrumentation of the OpenAI client for Python under decorated functions. Workflow, agent and tool say what the
// function took and gave; every span carries the workflow, the agent and what the application attached.
import type { Answered, Turn } from '../turns.ts'
import { type Form, PYTHON, pythonResource, spaced, spansOf } from './form.ts'

type Values = Record<string, unknown>

const made = spansOf({ name: 'opentelemetry.instrumentation.openai.v1', version: '0.62.4' }, PYTHON)
const own = spansOf({ name: 'traceloop.tracer' }, PYTHON)

const text = (role: string, content: string) => ({ role, parts: [{ content, type: 'text' }] })
const used = ({ call }: Turn) => ({ type: 'tool_call', name: call.name, id: call.id, arguments: JSON.parse(call.args) })
const workflow = ({ agent }: Turn): string => `${agent}-chat`
const attached = (turn: Turn): Values => ({
  'traceloop.association.properties.session_id': turn.conversation,
  'traceloop.association.properties.user_id': turn.user,
  'traceloop.association.properties.plan': turn.plan,
})
const within = (turn: Turn): Values => ({
  ...{ 'traceloop.workflow.name': workflow(turn), 'gen_ai.agent.name': turn.agent, ...attached(turn) },
})
const entity = (kind: string, name: string, input: unknown, output: string): Values => ({
  ...{ 'traceloop.span.kind': kind, 'traceloop.entity.name': name },
  ...{ 'traceloop.entity.input': spaced(input), 'traceloop.entity.output': spaced(output) },
})

function inputOf(turn: Turn, again: boolean): unknown[] {
  const { system, history, question, call } = turn
  return [
    text('system', system),
    ...history.flatMap(said => [text('user', said.question), text('assistant', said.answer)]),
    text('user', question),
    ...(again
      ? [
          { role: 'assistant', parts: [used(turn)] },
          { role: 'tool', parts: [{ type: 'tool_call_response', id: call.id, response: call.result }] },
        ]
      : []),
  ]
}

function callOf(turn: Turn, { id, fingerprint, input, cached, output }: Answered, again: boolean): Values {
  const finish = again ? 'stop' : 'tool_call'
  const answer = again ? text('assistant', turn.answer) : { role: 'assistant', parts: [used(turn)] }
  return {
    ...{ 'gen_ai.operation.name': 'chat', ...within(turn), 'gen_ai.provider.name': 'openai' },
    ...{ 'gen_ai.request.model': turn.model, 'gen_ai.is_streaming': false },
    'gen_ai.openai.api_base': 'https://api.openai.com/v1/',
    'gen_ai.input.messages': spaced(inputOf(turn, again)),
    'gen_ai.tool.definitions': spaced(turn.tools.map(tool => ({ type: 'function', ...tool }))),
    ...{ 'gen_ai.response.model': turn.model, 'gen_ai.response.id': id, 'gen_ai.response.finish_reasons': [finish] },
    ...{ 'gen_ai.openai.response.system_fingerprint': fingerprint, 'openai.response.service_tier': 'default' },
    ...{ 'gen_ai.usage.total_tokens': input + output, 'gen_ai.usage.output_tokens': output },
    ...{ 'gen_ai.usage.input_tokens': input, 'gen_ai.usage.cache_read.input_tokens': cached },
    ...{ 'gen_ai.usage.reasoning_tokens': 0, 'gen_ai.output.messages': spaced([{ ...answer, finish_reason: finish }]) },
  }
}

/** Five spans a turn. */
export const openllmetry: Form = {
  name: 'OpenLLMetry',
  size: 5,
  resource: pythonResource,
  spans: turn => {
    const { call, agent, question, answer, first, second, whole } = turn
    const name = 'openai.chat'
    const asked = { args: [question], kwargs: {} }
    const args = { args: [], kwargs: JSON.parse(call.args) as unknown }
    const tool = { ...entity('tool', call.name, args, call.result), 'gen_ai.tool.name': call.name }
    return [
      made(turn, { name, at: 2, under: 1, during: first, kind: 3 }, callOf(turn, turn.calls[0], false)),
      own(turn, { name: `${call.name}.tool`, at: 3, under: 1, during: turn.used }, { ...within(turn), ...tool }),
      made(turn, { name, at: 4, under: 1, during: second, kind: 3 }, callOf(turn, turn.calls[1], true)),
      own(
        turn,
        { name: `${agent}.agent`, at: 1, under: 0, during: whole },
        { ...within(turn), ...entity('agent', agent, asked, answer) },
      ),
      own(
        turn,
        { name: `${workflow(turn)}.workflow`, at: 0, during: whole },
        {
          ...{ 'traceloop.workflow.name': workflow(turn), ...attached(turn) },
          ...entity('workflow', workflow(turn), asked, answer),
        },
      ),
    ]
  },
}
