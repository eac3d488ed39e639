// What is called harmless is what masking leaves as it is: texts that speak of keys and tokens, whatever JSON holds what, and texts that
// are made of pieces of secrets. Another number of these may be given as an argument.
import t from 'tap'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { scaled } from '#test/scale.ts'
import { maskAlso, maskText } from '../parsers/secrets.ts'
import { isHarmless } from './harmless.ts'

const TEXTS = Number(process.argv[2] ?? scaled({ sample: 20_000, full: 300_000 }))

/** What is said of a text that stands among others. */
function judged(text: string): boolean {
  const [before, after] = ['"?api_key=', '":"sk-1"}']
  const bytes = Buffer.from(before + text + after)
  return isHarmless(bytes, before.length, bytes.length - after.length)
}

const SK = `sk-${'a'.repeat(30)}`

t.test('texts that only speak of secrets', async t => {
  const f = (text: string) => t.ok(judged(text) && maskText(text) === text, text)
  f('the key to the token is the author')
  f('{"key":"value","max_tokens":7,"usage":{"input_tokens":3}}')
  f('{"api_key":null,"password":"","token_count":[1,2]}')
  f('{"name":"get_weather","parameters":{"key":{"type":"string"}}}')
  f('[{"role":"user","content":"What is my \\"token\\"?\\nTell me the key"}]')
  f('{"arguments":"{\\"city\\": \\"Paris\\", \\"keyword\\": \\"a\\"}"}')
  f('{"name":"a key","text":"\\u001b[1m caf\\u00e9 token"}')
  f('https://example.com/?key=1&token=2&page=3')
  f('{"url":"https://example.com/?token=abc&unit=key"}')
  f('a bear beside a token')
  f('{"a": "token", broken')
  f('[token]')
})

t.test('texts that hold some', async t => {
  const f = (text: string) => t.ok(!judged(text) && maskText(text) !== text, text)
  f('Bearer abcdefgh12345')
  f(SK)
  f(`{"a":"${SK}","b":"key"}`)
  f('{"password":"p"}')
  f('{"Api_Key" : 7}')
  f('{"headers":{"x-shop-token":"t"}}')
  f('{"headers":["x-api-key","k"]}')
  f('[{"name":"Authorization","value":"x"}]')
  f('[{"value":"x","key":"shop-token"}]')
  f('{"inner":"{\\"password\\":\\"p\\"}"}')
  f('{"inner":"\\n {\\"password\\":\\"p\\"}"}')
  f('{"inner":"\\u007b\\"password\\":\\"p\\"}"}')
  f('{"pass\\u0077ord":"p","b":"key"}')
  f('see https://example.com/?api_key=abc')
  f('{"url":"https://example.com/?page=1&access-token=abc"}')
  f('{"url":"https://example.com/\\u003fAPIKEY=abc","b":"key"}')
  f('{"url":"\\?password=1" broken')
  f(`${'['.repeat(70)}"token"${']'.repeat(70)}`)
})

const PIECES = [
  ...['{', '}', '[', ']', ':', ',', '"', '"', '"', '\\"', '\\', '\\n', '\\u0022', '\\u007b', '\\u2028', ' ', '\n', 'é'],
  ...[
    'null',
    '""',
    '7',
    '"name":',
    '"key":',
    '"value":',
    '"headers":',
    '"a":',
    'api_key',
    'api-key',
    'token',
    'x-token',
  ],
  ...['password', 'passphrase', 'Authorization', 'Bearer abcdefgh1', SK, '?', '&', '=', '?apikey=', '&Client_Secret=x'],
]

/** A value as nobody would send it, and as text within it. */
function oddValue(random: Random, level: number): unknown {
  switch (random(level > 4 ? 3 : 6)) {
    case 0:
      return [null, '', 7, true, 12345678901234567890n.toString()][random(5)]
    case 1:
      return PIECES[random(PIECES.length)]
    case 2:
      return `${PIECES[random(PIECES.length)]}${PIECES[random(PIECES.length)]}`
    case 3:
      return JSON.stringify(oddValue(random, level + 1))
    case 4:
      return Array.from({ length: random(4) }, () => oddValue(random, level + 1))
    default:
      return Object.fromEntries(
        Array.from({ length: random(4) }, () => [NAMES[random(NAMES.length)], oddValue(random, level + 1)]),
      )
  }
}

const NAMES = [
  'name',
  'key',
  'value',
  'a',
  'text',
  'headers',
  'Cookies',
  'api_key',
  'x-shop-token',
  'tokens',
  'é',
  'a"b',
]

t.test('whatever is called harmless stays as it is', async t => {
  const random = randomOf(11)
  let harmless = 0
  let masked = 0
  for (let i = 0; i < TEXTS; i++) {
    let text = JSON.stringify(oddValue(random, 0))
    if (random(3) === 0) text = Array.from({ length: random(12) }, () => PIECES[random(PIECES.length)]).join('')
    else if (random(2) === 0) {
      const at = random(text.length)
      text = `${text.slice(0, at)}${PIECES[random(PIECES.length)]}${text.slice(at + random(3))}`
    }
    text = text.toWellFormed()
    const calm = judged(text)
    const same = maskText(text) === text
    if (calm && !same) return t.fail(text)
    if (calm) harmless++
    if (!same) masked++
  }
  t.ok(harmless > TEXTS / 5, `${harmless} were harmless`)
  t.ok(masked > TEXTS / 50, `${masked} were masked`)
})

t.test("an operator's own names", async t => {
  const holding = '{"customer":{"shop_pin":"1234","key":"Ada"}}'
  t.ok(judged(holding))
  maskAlso(['Shop-Pin'])
  t.notOk(judged(holding))
})
