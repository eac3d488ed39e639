// What is shown of messages that are read from bytes is what is shown of the same messages as objects; another number of cases, and another
// seed, may be given as arguments.
import t from 'tap'
import { randomOf } from '#runtime/seeded.ts'
import { TextColumn } from '../columns/text.ts'
import { displayText } from '../parsers/otlp/messages.ts'
import { isPrintedObject } from '../parsers/otlp/python.ts'
import { messagesOf } from './fixture-messages.ts'
import { shownIn } from './messages.ts'
import { Quoted } from './quoted.ts'

const CASES = Number(process.argv[2] ?? 20_000)
const SEED = Number(process.argv[3] ?? 1)
const SIDES = ['input', 'output'] as const

/** The text that is shown of messages within other bytes; null = they are left to the way of objects. */
function shown(text: string, side: 'input' | 'output'): { text: string; written: string } | null {
  const body = Buffer.from(`"}] ${text}"}]`)
  const runs = shownIn(body, 4, body.length - 3, side)
  if (runs === null) return null
  const quoted = new Quoted(body, runs, 'somewhere', null)
  const column = new TextColumn()
  quoted.addTo(column)
  return { text: quoted.text, written: column.data.toString('utf8', column.lastAt, column.end) }
}

t.test('what is shown is what objects show', async t => {
  const random = randomOf(SEED)
  let [read, left, wrong] = [0, 0, 0]
  for (let i = 0; i < CASES && wrong < 5; i++) {
    const text = messagesOf(random)
    for (const side of SIDES) {
      const found = shown(text, side)
      const expected = displayText(Buffer.from(text).toString(), side)
      if (found === null) {
        left++
        continue
      }
      read++
      const right =
        expected?.words === true &&
        expected.text === found.text &&
        expected.text.toWellFormed() === found.written &&
        !isPrintedObject(found.text) &&
        found.text !== ''
      if (right) continue
      wrong++
      t.same(found, expected, `${side} of ${text}`)
    }
  }
  t.ok(read > CASES / 4, `${read} were read`)
  t.ok(left > CASES / 4, `${left} were left`)
})

t.test('what most senders write is read', async t => {
  const f = (messages: unknown, side: 'input' | 'output', expected: string | null) =>
    t.equal(shown(JSON.stringify(messages), side)?.text ?? null, expected, JSON.stringify(messages).slice(0, 120))
  const user = { role: 'user', parts: [{ type: 'text', content: 'Where is "it"?\n' }] }
  const called = { role: 'assistant', parts: [{ type: 'tool_call', id: 'c', name: 'f', arguments: { a: 1 } }] }
  const result = { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: 'there' }] }
  const said = { role: 'assistant', parts: [{ type: 'text', content: 'Here.' }], finish_reason: 'stop' }
  f([user], 'input', 'Where is "it"?\n')
  f([user, called, result], 'input', 'Where is "it"?\n')
  f([said], 'output', 'Here.')
  f([user, said, said], 'output', 'Here.\nHere.')
  f([said, user], 'output', null)
  f([called], 'output', null)
  f(
    [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
    'input',
    'Hi',
  )
  f(
    [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c' }] },
    ],
    'input',
    'Hi',
  )
  f(
    [
      { role: 'user', content: 'Hi' },
      { role: 'tool', tool_call_id: 'c', content: '{}' },
    ],
    'input',
    'Hi',
  )
  f([{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }], 'input', 'Hi')
  f([{ role: 'user', content: '[{"type":"text","text":"inner"}]' }], 'input', null)
  f([{ role: 'user', content: 'Event(result=1)' }], 'input', null)
  f([{ role: 'user', content: 'x'.repeat(200_000) }], 'input', null)
  f([], 'input', null)
})
