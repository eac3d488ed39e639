// Turns without texts: those of their first and last model call, in the order in which these began.
import t from 'tap'
import { request, span } from '#proto/otlp/fixture.ts'
import type { EventRow } from '#proto/rows.ts'
import { parse } from './fixture.ts'

t.test('a turn without text says what its model calls say', async t => {
  const say = (id: number, parent: number, start: number, input: string, output: string, name = 'chat') =>
    span(
      1,
      id,
      { name, parentSpanId: parent.toString(16).padStart(16, '0'), startTimeUnixNano: `17899999${start}000000000` },
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: input }] }]),
        'gen_ai.output.messages': JSON.stringify([
          {
            role: 'assistant',
            parts:
              output === '' ? [{ type: 'tool_call', name: 'f', arguments: {} }] : [{ type: 'text', content: output }],
          },
        ]),
      },
    )
  const agent = (id: number, fields: object, values: Record<string, unknown> = {}) =>
    span(1, id, { name: 'a', ...fields }, { 'gen_ai.operation.name': 'invoke_agent', ...values })
  const turn = (spans: readonly object[]): readonly unknown[] => {
    const rows = parse(t, request(spans as never)).map(unit => unit.events[0] as EventRow)
    const row = rows.find(each => each.parent_span_id === '0')
    return [row?.input_preview, row?.output_preview]
  }
  t.same(
    turn([say(3, 1, 92, 'later', 'Done'), say(2, 1, 91, 'Hi', ''), agent(1, {})]),
    ['Hi', 'Done'],
    'by start, whatever the order',
  )
  t.same(turn([say(2, 1, 91, 'Hi', 'Ho'), agent(1, {}, { input: 'own' })]), ['own', 'Ho'], 'its own text stays')
  t.same(
    turn([
      say(2, 1, 91, 'Hi', 'Ho'),
      say(4, 3, 92, 'inner', 'inner'),
      span(1, 3, { name: 'tool.ask', parentSpanId: '0000000000000001' }),
      agent(1, {}),
    ]),
    ['Hi', 'Ho'],
    'what a tool asked is not said',
  )
  t.same(
    turn([agent(2, { parentSpanId: '0000000000000001' }, { input: 'Hi', output: 'Ho' }), agent(1, {})]),
    ['Hi', 'Ho'],
    'a run around an agent',
  )
  t.same(turn([agent(1, {})]), ['', ''], 'nothing is guessed')
})
