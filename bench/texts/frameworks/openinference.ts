// OpenInference: every message stands in the request or answer of `input.value` and `output.value`, and in attributes of its own.
// One form is its instrumentation of the OpenAI client for Node under spans of the application, the other that of the OpenAI Agents of Python.
import type { Answered, Turn } from '../turns.ts'
import { type Form, NODE, nodeResource, PYTHON, pythonResource, spaced, spansOf } from './form.ts'

type Values = Record<string, unknown>
interface Message {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly { id: string; type: string; function: { name: string; arguments: string } }[]
  readonly tool_call_id?: string
}

const OK = { status: { code: 1 } }

const calling = ({ call }: Turn): Message => ({
  ...{ role: 'assistant', content: null },
  tool_calls: [{ id: call.id, type: 'function', function: { name: call.name, arguments: call.args } }],
})

function inputOf(turn: Turn, again: boolean): Message[] {
  const { system, history, question, call } = turn
  return [
    { role: 'system', content: system },
    ...history.flatMap(said => [
      { role: 'user', content: said.question },
      { role: 'assistant', content: said.answer },
    ]),
    { role: 'user', content: question },
    ...(again ? [calling(turn), { role: 'tool', content: call.result, tool_call_id: call.id }] : []),
  ]
}

const outputOf = (turn: Turn, again: boolean): Message =>
  again ? { role: 'assistant', content: turn.answer } : calling(turn)

/** Each message in attributes of its own. */
function messages(prefix: string, list: readonly Message[]): Values {
  const values: Values = {}
  for (const [i, { role, content, tool_calls: calls = [], tool_call_id: id }] of list.entries()) {
    const at = `${prefix}.${i}.message`
    values[`${at}.role`] = role
    if (content !== null) values[`${at}.content`] = content
    for (const [j, call] of calls.entries()) {
      values[`${at}.tool_calls.${j}.tool_call.id`] = call.id
      values[`${at}.tool_calls.${j}.tool_call.function.name`] = call.function.name
      values[`${at}.tool_calls.${j}.tool_call.function.arguments`] = call.function.arguments
    }
    if (id !== undefined) values[`${at}.tool_call_id`] = id
  }
  return values
}

const who = (turn: Turn): Values => ({ 'session.id': turn.conversation, 'user.id': turn.user })
const mime = (side: string, type: string): Values => ({ [`${side}.mime_type`]: type })
const JSON_TYPE = 'application/json'

function completion(turn: Turn, { id, fingerprint, input, cached, output }: Answered, again: boolean): unknown {
  return {
    ...{ id, object: 'chat.completion', created: Number(turn.whole.from / 1_000_000_000n), model: turn.model },
    choices: [
      {
        ...{ index: 0, message: { ...outputOf(turn, again), refusal: null }, logprobs: null },
        finish_reason: again ? 'stop' : 'tool_calls',
      },
    ],
    usage: {
      ...{ prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
      prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
    ...{ service_tier: 'default', system_fingerprint: fingerprint },
  }
}

function callOfClient(turn: Turn, answered: Answered, again: boolean): Values {
  const { model } = turn
  const { input, cached, output } = answered
  const tools = turn.tools.map(each => ({ type: 'function', function: each }))
  return {
    ...{ ...who(turn), 'openinference.span.kind': 'LLM', 'llm.model_name': model },
    'input.value': JSON.stringify({ model, messages: inputOf(turn, again), tools }),
    ...mime('input', JSON_TYPE),
    ...{ 'llm.invocation_parameters': JSON.stringify({ model, tools }), 'llm.system': 'openai' },
    ...messages('llm.input_messages', inputOf(turn, again)),
    ...Object.fromEntries(tools.map((each, i) => [`llm.tools.${i}.tool.json_schema`, JSON.stringify(each)])),
    'output.value': JSON.stringify(completion(turn, answered, again)),
    ...mime('output', JSON_TYPE),
    ...messages('llm.output_messages', [outputOf(turn, again)]),
    ...{ 'llm.finish_reason': again ? 'stop' : 'tool_calls', 'llm.token_count.completion': output },
    ...{ 'llm.token_count.prompt': input, 'llm.token_count.total': input + output },
    ...{ 'llm.token_count.prompt_details.cache_read': cached, 'llm.token_count.prompt_details.audio': 0 },
    ...{ 'llm.token_count.completion_details.audio': 0, 'llm.token_count.completion_details.reasoning': 0 },
  }
}

const ofClient = spansOf(
  { name: '@arizeai/openinference-instrumentation-openai', version: '4.2.7' },
  { ...NODE, ...OK },
)
const ofCore = spansOf({ name: 'openinference-core' }, { ...NODE, ...OK })

/** Four spans a turn. */
export const openinferenceOpenai: Form = {
  name: 'OpenInference, OpenAI client',
  size: 4,
  resource: nodeResource,
  spans: turn => {
    const name = 'OpenAI Chat Completions'
    const sides = (input: string, output: string, type: string): Values => ({
      ...{ 'input.value': input, ...mime('input', type), 'output.value': output, ...mime('output', 'text/plain') },
    })
    const { call, agent, first, second, whole, calls } = turn
    const ofKind = (kind: string): Values => ({ ...who(turn), 'openinference.span.kind': kind })
    const tool = { ...ofKind('TOOL'), ...sides(call.args, call.result, JSON_TYPE) }
    return [
      ofClient(turn, { name, at: 1, under: 0, during: first }, callOfClient(turn, calls[0], false)),
      ofCore(turn, { name: call.name, at: 2, under: 0, during: turn.used }, tool),
      ofClient(turn, { name, at: 3, under: 0, during: second }, callOfClient(turn, calls[1], true)),
      ofCore(
        turn,
        { name: agent, at: 0, during: whole },
        { ...ofKind('AGENT'), ...sides(turn.question, turn.answer, 'text/plain') },
      ),
    ]
  },
}

const PARAMETERS = spaced({ base_url: 'https://api.openai.com/v1/' })
const REST = { annotations: null, audio: null, function_call: null }

function callOfAgents(turn: Turn, { input, output }: Answered, again: boolean): Values {
  const { role, content, tool_calls = null } = outputOf(turn, again)
  return {
    ...{ 'llm.system': 'openai', ...who(turn), 'llm.model_name': turn.model, 'llm.invocation_parameters': PARAMETERS },
    ...{ 'input.value': spaced(inputOf(turn, again)), ...mime('input', JSON_TYPE) },
    ...messages('llm.input_messages', inputOf(turn, again)),
    'output.value': spaced([{ content, refusal: null, role, ...REST, tool_calls }]),
    ...{ ...mime('output', JSON_TYPE), ...messages('llm.output_messages', [outputOf(turn, again)]) },
    ...{ 'llm.token_count.prompt': input, 'llm.token_count.completion': output, 'openinference.span.kind': 'LLM' },
  }
}

const ofAgents = spansOf(
  { name: 'openinference.instrumentation.openai_agents', version: '2.6.0' },
  { ...PYTHON, ...OK },
)

/** Eight spans a turn, half of which say nothing but where they stand. */
export const openinferenceAgents: Form = {
  name: 'OpenInference, OpenAI Agents',
  size: 8,
  resource: pythonResource,
  spans: turn => {
    const { call, agent, first, used, second, whole, calls } = turn
    const ofKind = (kind: string, more: Values = {}): Values => ({
      ...who(turn),
      ...more,
      'openinference.span.kind': kind,
    })
    const schema = turn.tools.find(({ name }) => name === call.name)
    const parameters = { properties: schema?.parameters.properties, required: ['id'], title: `${call.name}_args` }
    const tool = {
      ...{ 'tool.name': call.name, 'input.value': call.args, ...mime('input', JSON_TYPE), 'output.value': call.result },
      'tool.description': schema?.description ?? '',
      'tool.parameters': spaced({ ...parameters, type: 'object', additionalProperties: false }),
    }
    const node = { 'graph.node.id': agent, 'agent.name': agent }
    const [one, other] = [
      { from: first.from, to: used.to },
      { from: second.from, to: second.to },
    ]
    return [
      ofAgents(turn, { name: 'generation', at: 4, under: 3, during: first }, callOfAgents(turn, calls[0], false)),
      ofAgents(turn, { name: call.name, at: 5, under: 3, during: used }, ofKind('TOOL', tool)),
      ofAgents(turn, { name: 'turn', at: 3, under: 2, during: one }, ofKind('CHAIN')),
      ofAgents(turn, { name: 'generation', at: 7, under: 6, during: second }, callOfAgents(turn, calls[1], true)),
      ofAgents(turn, { name: 'turn', at: 6, under: 2, during: other }, ofKind('CHAIN')),
      ofAgents(turn, { name: agent, at: 2, under: 1, during: whole }, ofKind('AGENT', node)),
      ofAgents(turn, { name: 'Agent workflow', at: 1, under: 0, during: whole }, ofKind('CHAIN')),
      ofAgents(turn, { name: 'Agent workflow', at: 0, during: whole }, ofKind('AGENT')),
    ]
  },
}
