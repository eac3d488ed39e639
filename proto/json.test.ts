import t from 'tap'
import { digitsOf, jsonText, parseExactly, readExactJson, readExactJsonText, readJsonText } from './json.ts'

t.test('whole numbers that a double would round are written again as they were sent', async t => {
  const f = (text: string): void => {
    t.equal(jsonText(parseExactly(text)), text)
  }
  f('9007199254740993')
  f('-9007199254740993')
  f('[1,9007199254740992,18446744073709551615,-123456789012345678901234567890]')
  f('{"a":{"b":[9007199254740993]},"__proto__":{"c":9007199254740993},"d":0.1}')
  f('{"text":"a: 9007199254740993","short":1234567890123456,"none":null}')
  t.equal(jsonText(parseExactly('{ "a" :\n\t9007199254740993 }')), '{"a":9007199254740993}')
})

t.test('all other numbers are what JSON.parse makes of them', async t => {
  for (const text of [
    '9007199254740991',
    '-9007199254740991',
    '1234567890123456',
    '12345678901234567.5',
    '1e300',
    '12345678901234567e3',
    '0.1234567890123456789',
  ]) {
    t.equal(parseExactly(text), Number(text))
    t.equal(digitsOf(parseExactly(text)), null)
  }
  t.equal(digitsOf(parseExactly('9007199254740992')), '9007199254740992', 'the first that others are rounded to')
  t.equal(digitsOf({ rawJSON: '1' }), null)
})

t.test('what nests too deeply to be asked for every value is read with rounded numbers', async t => {
  const text = `${'['.repeat(100_000)}9007199254740993${']'.repeat(100_000)}`
  let value = parseExactly(text)
  while (Array.isArray(value)) value = value[0]
  t.equal(value, 9007199254740992)
})

t.test('what is no JSON is told as ever', async t => {
  t.equal(readExactJsonText('{"a":9007199254740993'), undefined)
  t.equal(readJsonText('{'), undefined)
  t.same(readExactJson(Buffer.from('{"a":90071992547409931,}')), { reason: 'no JSON at character 23' })
  t.same(readExactJson(Buffer.from([0xff])), { reason: 'the body is not UTF-8' })
})
