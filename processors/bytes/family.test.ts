// Messages that are spread over numbered attributes become what the way of objects makes of them: as frameworks write them, with other
// names and texts among them, and those of which one is not what it seems. The number of cases, and another seed, may be given as arguments.
import t from 'tap'
import type { JsonObject } from '#proto/json.ts'
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { scaled } from '#test/scale.ts'
import { parsers } from '../registry.ts'
import { become, objects } from './fixture-become.ts'

const CASES = Number(process.argv[2] ?? scaled({ sample: 600, full: 4_000 }))
const SEED = Number(process.argv[3] ?? 0)

/** Names below a message as frameworks use them, and as nobody would. */
const LEAVES = [
  ...['name', 'tool_call_id', 'tool_calls.0.tool_call.id', 'tool_calls.0.tool_call.function.name'],
  ...['tool_calls.0.tool_call.function.arguments', 'tool_calls.1.tool_call.function.name'],
  ...['contents.0.message_content.type', 'contents.0.message_content.text', 'contents.1.message_content.text'],
]
const ODD_LEAVES = [
  ...['text', 'type', 'data.content', 'content.text', 'message.role', '7', 'toolCalls.0.name', 'tool_calls.0.name'],
  ...[
    'tool_calls.0.tool_call.type',
    'tool_calls.0.type',
    'contents.0.tool_call.id',
    'contents.1.message_content.thought',
  ],
]
const ROLES = ['user', 'assistant', 'assistant', 'tool', 'system', 'Human', 'nobody', '']
const WORDS = ['hello', 'It is 18 °C', 'get_weather', '{"city": "Paris", "n": 1.0}', 'text', '']
const ODD_WORDS = [
  ...[
    'image',
    'output',
    ' ',
    '\n hello',
    'é\u2028',
    '[{"type":"text","text":"in a list"}]',
    '[[ ## question ## ]]',
    '[',
  ],
  ...['\u00a0[{"text":"a"}]', 'StopEvent(result=1)', 'a "quoted" \\ text\u0007\u{1f600}', 'the api_key token'],
  ...[`x${'long '.repeat(700)}`, 'Bearer abcdefgh1', '{"password":"p"}'],
]

/** The attributes of messages that are spread over them. */
function spreadOver(prefix: string, random: Random): JsonObject {
  const values: Record<string, unknown> = {}
  const one = (usual: readonly string[], odd: readonly unknown[]): unknown =>
    random(5) === 0 ? odd[random(odd.length)] : usual[random(usual.length)]
  for (let i = random(4); i >= 0; i--) {
    const at = `${prefix}.${random(20) === 0 ? random(12) : i}.${prefix.startsWith('llm') ? 'message.' : ''}`
    if (random(12) > 0) values[`${at}role`] = one(ROLES, ODD_WORDS)
    if (random(3) > 0) values[`${at}content`] = one(WORDS, [...ODD_WORDS, 7, true, ['x']])
    for (let k = random(8) - 4; k > 0; k--) {
      const leaf = random(15) === 0 ? ODD_LEAVES[random(ODD_LEAVES.length)] : LEAVES[random(LEAVES.length)]
      values[`${at}${leaf}`] = one(WORDS, [...ODD_WORDS, 0.5])
    }
  }
  return values as JsonObject
}

/** Messages of which one is not what it seems. */
const seeming: readonly JsonObject[] = [
  { '0.role': 'assistant', '0.tool_call_id': 'c1', '0.content': 'a result', '1.role': 'assistant', '1.content': 'yes' },
  { '0.role': 'user', '0.content': 'asked', '1.role': 'user', '1.tool_call_id': 'c1', '1.content': 'a result' },
  { '0.role': 'assistant', '0.tool_calls.0.function.name': 'f', '0.tool_calls.0.type': 'function_call_output' },
  { '0.name': 'f', '0.arguments': '{}', '1.role': 'assistant', '1.tool_calls.0.function.name': 'g' },
  { '0.role': 'assistant', '0.tool_calls.0.function.name': '', '0.content': '' },
  { '0.role': 'assistant', '0.type': 'reasoning', '0.content': 'hm' },
  { '0.role': 'user', '0.contents.0.text': 'to itself', '0.contents.0.thought': true },
  { '0.role': 'assistant', '0.contents.0.type': 'text', '0.contents.0.text': '', '0.contents.1.name': 'f' },
  { '0.role': 'user', '0.contents.0.type': 'image', '0.contents.0.text': 'x', '0.contents.1.text': 'what is it?' },
  { '0.role': 'user', '0.contents.0.text': 'one', '0.contents.1.text': 'two' },
  { '0.role': 7, '0.content': 'x' },
  { '0.role': 'USER', '0.content': 'x', '1.role': 'user', '1.content': 7 },
  { '0.role': 'user', '0.content': ['x'], '0.list': ['y'] },
]

t.test('messages of which one is not what it seems', async t => {
  for (const messages of seeming) {
    const under = (prefix: string): JsonObject =>
      Object.fromEntries(Object.entries(messages).map(([key, value]) => [`${prefix}.${key}`, value]))
    const values = { 'llm.request.type': 'chat', ...under('gen_ai.prompt'), ...under('gen_ai.completion') }
    const body = protobufBytes(request([1, 2, 3].map(i => span(1, i, { name: 'x' }, values))))
    const expected = become(body, objects).all
    for (const round of [1, 2])
      t.ok(become(body, parsers).all === expected, `round ${round}: ${JSON.stringify(messages)}`)
  }
})

t.test('messages that are spread over attributes', async t => {
  const random = randomOf(SEED + 1)
  const [input, output] = [
    ['llm.input_messages', 'gen_ai.prompt'],
    ['llm.output_messages', 'gen_ai.completion'],
  ]
  let planned = 0
  for (let i = 0; i < CASES; i++) {
    const which = random(2)
    const kind = which === 0 ? { 'openinference.span.kind': 'LLM' } : { 'llm.request.type': 'chat' }
    const keys = { ...spreadOver(input[which] as string, random), ...spreadOver(output[which] as string, random) }
    const other = (): JsonObject =>
      Object.fromEntries(
        Object.entries(keys).map(([key, value]) => [
          key,
          random(3) > 0
            ? value
            : [...WORDS, ...ROLES, ...ODD_WORDS][random(WORDS.length + ROLES.length + ODD_WORDS.length)],
        ]),
      )
    const spans = [keys, keys, other(), other(), other()].map((values, k) =>
      span(1, k + 1, { name: 'x' }, { ...kind, ...values }),
    )
    const body = protobufBytes(request(spans))
    const made = become(body, parsers)
    if (made.all !== become(body, objects).all) return t.fail(`case ${i}: ${JSON.stringify(keys)}`)
    planned += made.spans - made.objects
  }
  t.ok(planned > CASES * 2, `${planned} spans were read by plans`)
})
