import t from 'tap'
import { clockOf } from './clock.ts'
import { readMessages } from './messages.ts'
import type { ToolCall } from './tools.ts'

const START = 1_789_999_000_000

/** The calls of all messages, each without the fields that say nothing. */
function calls(messages: readonly Record<string, unknown>[]): Partial<ToolCall>[] {
  const clock = clockOf({ startedAt: START }, messages)
  const groups = readMessages(messages, clock).flatMap(({ group }) => group ?? [])
  return groups.flatMap(group =>
    group.calls.map(call => {
      const said = Object.entries(call).filter(
        ([key, value]) => value !== null && value !== '' && key !== 'startedAtMs',
      )
      return Object.fromEntries(said)
    }),
  )
}

const ask = (id: string, name: string, args: unknown = '{}', time?: number) => ({
  ...{ role: 'tool_calls', toolCalls: [{ id, type: 'function', function: { name, arguments: args } }] },
  ...(time === undefined ? {} : { time: START + time }),
})
const answer = (toolCallId: string, result: unknown, more: object = {}) => ({
  ...{ role: 'tool_call_result', toolCallId, result, ...more },
})

t.test('the same call and result in every shape', async t => {
  const expected = { id: 'a', name: 'w', arguments: '{"x":1}', result: 'sun', success: true }
  const args = '{"x":1}'
  const asks = [
    ask('a', 'w', args),
    ask('a', 'w', { x: 1 }),
    { role: 'tool_calls', toolCallList: [{ id: 'a', name: 'w', parameters: { x: 1 } }] },
    { role: 'assistant', content: null, tool_calls: [{ id: 'a', function: { name: 'w', arguments: args } }] },
    { role: 'agent', message: null, tool_calls: [{ request_id: 'a', tool_name: 'w', params_as_json: args }] },
    { role: 'bot', functionCall: { id: 'a', name: 'w', parameters: { x: 1 } } },
    { role: 'function_call', id: 'a', name: 'w', args: { x: 1 } },
  ]
  const answers = [
    answer('a', 'sun'),
    answer('a', 'sun', { name: 'w' }),
    { role: 'tool', tool_call_id: 'a', content: 'sun' },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'sun' }] },
    { role: 'agent', message: 'x', tool_results: [{ request_id: 'a', result_value: 'sun' }] },
    { role: 'function_result', id: 'a', name: 'w', result: 'sun' },
  ]
  for (const one of asks) for (const other of answers) t.strictSame(calls([one, other]), [expected])
  t.strictSame(calls([answers[0] as object, asks[0] as object] as never), [expected], 'the result before its call')
  t.strictSame(calls([asks[0], asks[3], answers[0], answers[2]] as never), [expected], 'both shapes of one call')
})

t.test('calls without ids find their results by name and order', async t => {
  const bare = (name: string) => ({ role: 'assistant', function_call: { name, arguments: '{}' } })
  const found = calls([
    bare('a'),
    bare('a'),
    bare('b'),
    { role: 'function', name: 'a', content: '1' },
    { role: 'function', name: 'b', content: '2' },
    { role: 'function', name: 'a', content: '3' },
  ])
  t.strictSame(
    found.map(({ name, result }) => [name, result]),
    [
      ['a', '1'],
      ['a', '3'],
      ['b', '2'],
    ],
  )
  t.notOk(found.some(call => 'id' in call))
})

t.test('an id that is used again stands for another call', async t => {
  const found = calls([
    ask('call_0', 'a', '{"n":1}'),
    answer('call_0', '1'),
    ask('call_0', 'a', '{"n":2}'),
    answer('call_0', '2'),
  ])
  t.strictSame(
    found.map(call => [call.arguments, call.result]),
    [
      ['{"n":1}', '1'],
      ['{"n":2}', '2'],
    ],
  )
})

t.test('a result of no call stands for a call of its own; a second result is the later word', async t => {
  t.strictSame(calls([answer('lost', 'x', { name: 'f' })]), [{ id: 'lost', name: 'f', result: 'x', success: true }])
  t.match(calls([ask('a', 'f'), answer('a', 'wait'), answer('a', 'done')]), [{ result: 'done' }])
  t.match(calls([ask('a', 'f'), answer('a', 'done'), answer('a', null)]), [{ result: 'done' }])
  t.match(calls([ask('a', 'f')]), [{ id: 'a', success: true }])
})

t.test('a call takes from its message to its result, or as long as is said', async t => {
  const took = (...messages: object[]) => calls(messages as never)[0]?.durationMs
  t.equal(took(ask('a', 'f', '{}', 1000), answer('a', 'x', { time: START + 1750 })), 750)
  t.equal(took({ ...ask('a', 'f'), secondsFromStart: 1 }, answer('a', 'x', { secondsFromStart: 1.75 })), 750)
  t.equal(took(ask('a', 'f', '{}', 1000), answer('a', 'x', { time: START + 500 })), 0, 'never negative')
  t.equal(took(ask('a', 'f', '{}', 1000), answer('a', 'x', { time: START + 1750, latencyMs: 300 })), 300)
  t.equal(took(ask('a', 'f'), answer('a', 'x', { tool_latency_secs: 0.3 })), 300)
  t.equal(took({ role: 'tool_calls', toolCalls: [{ id: 'a', name: 'f', startTime: START, endTime: START + 40 }] }), 40)
  t.equal(took(ask('a', 'f'), answer('a', 'x')), undefined)
})

t.test('a failure is known by what the result says', async t => {
  const f = (result: unknown, error: string | undefined, more: object = {}) =>
    t.match(
      calls([ask('a', 'f'), answer('a', result, more)]),
      [{ success: error === undefined, error }],
      JSON.stringify(result),
    )
  f('Error: full', 'Error: full')
  f('No result returned for toolCallId: a', 'No result returned for toolCallId: a')
  f('Tool call failed with status 500', 'Tool call failed with status 500')
  f('{"error":"no such box"}', 'no such box')
  f({ error: { message: 'gone', code: 410 } }, 'gone')
  f('{"success":false,"message":"closed"}', 'closed')
  f('{"ok":false,"reason":"late"}', 'late')
  f('{"status":"error"}', '{"status":"error"}')
  f({ isError: true, content: [] }, '{"isError":true,"content":[]}')
  f('x', 'x', { is_error: true })
  f('x', 'timeout', { error: 'timeout' })
  f('booked', undefined)
  f('{"error":null,"success":true}', undefined)
  f('{"errors":0}', undefined)
  f('Errors were found in 0 files', undefined)
})

t.test('many calls and results cost as many steps', async t => {
  const many = Array.from({ length: 20_000 }, (_, i) => [
    ask(`${i % 2}`, 'f', `${i}`),
    answer('none', 'x', { name: 'g' }),
  ]).flat()
  t.equal(calls(many).length, 20_001, 'results of one unknown id are one call')
})
