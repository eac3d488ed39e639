// For tests: bodies that senders write, and what becomes of them when something goes wrong on the way.
import { parseExactly } from '#proto/json.ts'
import { request, span } from '#proto/otlp/fixture.ts'
import type { Random } from '#runtime/seeded.ts'

/** A few bytes flipped, overwritten, inserted, removed, copied elsewhere, or the end cut off. */
export function mutated(seeds: readonly Uint8Array[], random: Random): Uint8Array {
  let bytes = Buffer.from(seeds[random(seeds.length)] as Uint8Array)
  for (let i = random(4); i >= 0; i--) {
    const at = random(bytes.length + 1)
    const head = bytes.subarray(0, at)
    const tail = bytes.subarray(at)
    const choice = random(6)
    if (choice === 0 && at < bytes.length) bytes[at] = (bytes[at] as number) ^ (1 << random(8))
    else if (choice === 1 && at < bytes.length) bytes[at] = random(256)
    else if (choice === 2) bytes = Buffer.concat([head, Buffer.from([random(256)]), tail])
    else if (choice === 3) bytes = Buffer.concat([head, tail.subarray(random(8))])
    else if (choice === 4) bytes = Buffer.concat([head, bytes.subarray(at, at + random(40)), tail])
    else if (random(4) === 0) bytes = Buffer.from(head)
  }
  return bytes
}

const oddValues: readonly ((random: Random) => unknown)[] = [
  () => null,
  () => '',
  () => true,
  () => [],
  () => ({}),
  random => random(2 ** 31) - 2 ** 30,
  random => 10 ** (random(600) - 300),
  () => -1,
  () => '\ud800 lone \udfff',
  () => 'a\u0000b',
  random => 'x'.repeat(random(3000)),
  random => '😀'.repeat(random(150)),
  () => '{"role":"user","content":[{"type":"text","text":"hi"}]}',
  () => '[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]}]',
  () => '[[[[[[[[["{\\"a\\":[}"',
  () => ({ __proto__: null, constructor: 1, toString: [2], length: -5 }),
  random => nested(random(200)),
  () => [{ role: 7 }, { role: 'user' }, null, ['x']],
  () => '2026-13-45T99:99:99Z',
  random => parseExactly(String(random(2) === 0 ? -(2n ** 53n) - 1n : 10n ** BigInt(15 + random(8)) + 1n)),
  () => 'ffffffffffffffff',
]

function nested(levels: number): unknown {
  let value: unknown = 'deep'
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { k: value }
  return value
}

/** A copy in which a few values anywhere are replaced by odd ones, or removed. */
export function bent(value: unknown, random: Random, chance: number): unknown {
  if (random(chance) === 0) return (oddValues[random(oddValues.length)] as (random: Random) => unknown)(random)
  if (Array.isArray(value)) return value.map(inner => bent(inner, random, chance))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(() => random(chance) !== 0)
  return Object.fromEntries(kept.map(([key, inner]) => [key, bent(inner, random, chance)]))
}

const SESSION = '22222222-2222-4222-8222-222222222222'
export const eventBody = {
  event_id: '33333333-3333-4333-8333-333333333333',
  session_id: SESSION,
  primitive_name: 'agent',
  args: 'Where is it?',
  result: '{"a":[1,2]}',
  success: false,
  latency: 12.5,
  timestamp: 1789999990000,
  parent_id: SESSION,
  metadata: { a: '1', headers: { authorization: 'x' }, model: 'gpt-4o', cost: '0.1', input_tokens: '5' },
  checkpoints: [{ name: 'a', timestamp: 1, metadata: { b: 'c' } }],
}
export const sessionBody = {
  session_id: SESSION,
  user_data: { user_id: 'u', email: 'e@x.y' },
  metadata: { a: 'b' },
  client_config: 'c',
  tools: ['a'],
  timestamp: 1789999990000,
}
export const voiceBody = {
  message: {
    type: 'end-of-call-report',
    startedAt: '2026-09-21T13:56:40.000Z',
    cost: 0.5,
    call: { id: 'call', customer: { number: '+1' }, assistant: { name: 'Ada' } },
    analysis: { summary: 's' },
    artifact: {
      transcript: 'AI: Hello\nUser: Hi: there\nAda: Bye',
      messages: [
        { role: 'bot', message: 'Hello', time: 1789999990000, endTime: 1789999991000, duration: 1000 },
        { role: 'user', message: 'Hi', time: 1789999992000, secondsFromStart: 2 },
        { role: 'tool_calls', time: 1789999992500, toolCalls: [{ id: 't', function: { name: 'f', arguments: '{}' } }] },
        { role: 'tool_call_result', toolCallId: 't', name: 'f', result: '{"error":"x"}', time: 1789999992700 },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'Bye' }],
          tool_calls: [{ id: 'u', function: { name: 'g' } }],
        },
      ],
    },
  },
}
export const spans = [
  span(
    1,
    1,
    { name: 'turn', kind: 2, status: { code: 2, message: 'm' } },
    { 'service.session_id': 's', input: 'i', 'user.id': 5 },
  ),
  span(
    1,
    2,
    {
      parentSpanId: '0000000000000001',
      events: [
        { timeUnixNano: '1', name: 'exception', attributes: [{ key: 'exception.type', value: { stringValue: 'E' } }] },
      ],
      links: [{ traceId: '0f'.repeat(16), spanId: '0e'.repeat(8) }],
    },
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"x"}]}]',
      'llm.output_messages.0.message.content': 'y',
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.cost': 0.5,
      metadata: '{"thread_id":"t"}',
      list: [1, 'a', { b: [true] }],
    },
  ),
  span(2, 3, { name: 'tool.x' }, { 'gen_ai.tool.call.arguments': { a: 1 }, 'output.value': '{"a":1}' }),
]
export const traces = request(spans)
