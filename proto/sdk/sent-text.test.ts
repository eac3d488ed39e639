// What is taken off a text is put back to the byte, whatever the text.
import t from 'tap'
import { randomOf } from '#runtime/seeded.ts'
import { saidText, sentText } from './sent-text.ts'

const CASES = Number(process.argv[2] ?? 50_000)
const SEED = Number(process.argv[3] ?? 1)
const PIECES = [
  ...[
    '"',
    '\\',
    '{',
    '}',
    ':',
    'input',
    'output',
    '{"input":"',
    '{"output":"',
    '"}',
    '\\u00fc',
    '\\u00FC',
    '\\n',
    '\n',
    ' ',
  ],
  ...['ü', '😀', '\u2028', '\u007f', '\u0000', '\\ud83d\\ude00', '\\ud83d', '\\/', 'a', '1'],
]

t.test('what was sent comes back', async t => {
  const random = randomOf(SEED)
  let taken = 0
  for (let i = 0; i < CASES; i++) {
    const inner = Array.from({ length: random(6) }, () => PIECES[random(PIECES.length)]).join('')
    const side = random(2) === 0 ? 'input' : 'output'
    const forms = [
      inner,
      `"${inner}"`,
      JSON.stringify(inner),
      JSON.stringify({ [side]: inner }),
      JSON.stringify(inner).replace(/[^ -~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ]
    for (const sent of forms) {
      const { text, form } = saidText(sent, side, random(2) === 0)
      if (form !== 'plain') taken++
      if (sentText(text, side, form) !== sent) return t.fail(JSON.stringify({ sent, text, form }))
    }
  }
  t.ok(taken > CASES, `${taken} were taken off`)
})

t.test('what was said in it', async t => {
  const f = (sent: string, text: string, inObjects = true) =>
    t.equal(saidText(sent, 'input', inObjects).text, text, sent)
  f('"Gr\\u00fc\\u00dfe"', 'Grüße')
  f('"Grüße"', 'Grüße')
  f('{"input":"Grüße"}', 'Grüße')
  f('{"input":"Grüße"}', '{"input":"Grüße"}', false)
  f('{"output":"x"}', '{"output":"x"}')
  f('"{\\"a\\":1}"', '{"a":1}')
})
