// What is masked before it is stored: by name, by what holds it, by its own looks, and by names that an operator adds.
import t from 'tap'
import { MetadataBuilder } from './metadata.ts'
import { isSecretName, MASK, maskAlso, maskText } from './secrets.ts'

t.test('names are secrets by their last part, whole, or among headers', async t => {
  const f = (key: string, secret: boolean) => t.equal(isSecretName(key), secret, key)
  f('authorization', true)
  f('Proxy_Authorization', true)
  f('http.request.header.authorization', true)
  f('http.request.header.x-shop-token', true)
  f('http.request.header.accept', false)
  f('X-API-Key', true)
  f('db.password', true)
  f('gen_ai.usage.input_tokens', false)
  f('max_tokens', false)
  f('keyboard', false)
  f('author', false)
})

t.test('values that are credentials by their looks', async t => {
  const f = (text: string, masked: boolean) => t.equal(maskText(text), masked ? MASK : text, text.slice(0, 20))
  f('Bearer abcdefgh12345', true)
  f(`eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(20)}.${'c'.repeat(20)}`, true)
  f(`sk-proj-${'a'.repeat(30)}`, true)
  f(`ghp_${'a'.repeat(36)}`, true)
  f('AKIAIOSFODNN7EXAMPLE', true)
  f('a bearer of good news', false)
  f('sk-short', false)
  f('eyJ is how they begin', false)
})

t.test('secrets inside of structures, however they are written', async t => {
  const f = (value: unknown, expected: unknown) => {
    const builder = new MetadataBuilder()
    builder.put('request', value)
    builder.put('text', JSON.stringify(value))
    const { request, text } = builder.finish()
    t.same([JSON.parse(request ?? ''), JSON.parse(text ?? '')], [expected, expected], JSON.stringify(value))
  }
  f({ headers: { Cookie: 'a=b', accept: '*' } }, { headers: { Cookie: MASK, accept: '*' } })
  f({ a: [{ name: 'Authorization', value: 'x' }] }, { a: [{ name: 'Authorization', value: MASK }] })
  f({ headers: [['x-api-key', 'k']] }, { headers: [['x-api-key', MASK]] })
  f({ headers: ['set-cookie', 's', 'accept', '*'] }, { headers: ['set-cookie', MASK, 'accept', '*'] })
  f({ deep: { client_secret: 'x', usage: { tokens: 5 } } }, { deep: { client_secret: MASK, usage: { tokens: 5 } } })
  f({ inner: '{"password":"p","page":1}' }, { inner: `{"password":"${MASK}","page":1}` })
})

t.test("an operator's own names", async t => {
  const holding = '{"customer":{"shop_pin":"1234","name":"Ada"}}'
  t.equal(maskText(holding), holding)
  t.notOk(isSecretName('customer.shop_pin'))
  maskAlso(['Shop-Pin', 'order.iban'])
  t.equal(maskText(holding), `{"customer":{"shop_pin":"${MASK}","name":"Ada"}}`)
  t.ok(isSecretName('customer.shop_pin'))
  t.ok(isSecretName('order.iban'))
  t.notOk(isSecretName('iban'), 'a dotted name is meant whole')
})
