import t from 'tap'
import { checkProtobuf } from '#proto/otlp/check-protobuf.ts'
import { anyValue, attributes, protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { scaled } from '#test/scale.ts'
import { fuzzOtlpProtobuf } from './fuzz/otlp-protobuf.ts'
import { createRandom } from './fuzz/random.ts'
import { OtlpProtobufScanner } from './otlp-protobuf.ts'

const SEED = 20_250_120
const BODIES = scaled({ sample: 1_500, full: 40_000 })
// Seconds of work, and many times that on a machine with other work.
t.setTimeout(1_200_000)

t.test('what exporters send is decided by the walk alone', async t => {
  const scanner = new OtlpProtobufScanner()
  const f = (body: ReturnType<typeof request>, spans: number, rejected: number): void => {
    const bytes = protobufBytes(body)
    t.ok(scanner.scan(bytes))
    t.same([scanner.spans, scanner.rejected], [spans, rejected])
    t.same(scanner.verdict(bytes), checkProtobuf(bytes))
  }
  f({}, 0, 0)
  f(request([]), 0, 0)
  f(request([span(1, 1, { parentSpanId: '00000000000000ff', flags: 257, status: { code: 2, message: 'no' } })]), 1, 0)
  f(request([span(0, 1, {}), span(1, 2, { parentSpanId: '0000000000000000' }), {}]), 3, 2)
  const values = {
    text: 'é'.repeat(5000),
    whole: 7,
    negative: -7n,
    fraction: 0.5,
    truth: true,
    long: 'x'.repeat(20_000),
  }
  const nested = { list: ['a', 1, [true], {}], map: { a: { b: [1.5, 'c'] } }, nothing: null, bytes: new Uint8Array(3) }
  const events = [{ timeUnixNano: '1', name: 'e', attributes: attributes(values) }]
  const links = [{ traceId: '0f'.repeat(16), spanId: '0e'.repeat(8), attributes: attributes(nested) }]
  f(request(Array.from({ length: 3 }, (_, i) => span(1, 1 + i, { events, links }, { ...values, ...nested }))), 3, 0)
})

t.test('what is unusual is decided by the check', async t => {
  const scanner = new OtlpProtobufScanner()
  const f = (bytes: Uint8Array, ok: boolean): void => {
    t.notOk(scanner.scan(bytes))
    t.equal(scanner.verdict(bytes).ok, ok)
    t.same(scanner.verdict(bytes), checkProtobuf(bytes))
  }
  // Lengths and tags written with more bytes than they need.
  f(Buffer.from('0a8080808000', 'hex'), true)
  f(Buffer.from('8a8080800000', 'hex'), true)
  f(protobufBytes(request([span(0, 1, {})])), true)
  f(protobufBytes(request([span(1, 1, {}), span(1, 2, { parentSpanId: 'abcd' })])), true)
  f(protobufBytes(request([{ name: 'neither ids nor times' }])), false)
  // Fields of an entry that no message has: one is refused.
  f(Buffer.from('0a03c23e00', 'hex'), false)
  f(Buffer.from('0a03ca3e00', 'hex'), true)
})

t.test('nesting is bounded as in the check', async t => {
  const scanner = new OtlpProtobufScanner()
  let value: unknown = 'leaf'
  for (let levels = 0; levels < 40; levels++) {
    const bytes = protobufBytes(request([span(1, 1, { attributes: [{ key: 'deep', value: anyValue(value) }] })]))
    t.equal(scanner.scan(bytes), checkProtobuf(bytes).ok, `${levels} levels`)
    value = levels % 3 === 0 ? { k: value } : [value]
  }
})

t.test('bytes behind the end are not read as a part of the body', async t => {
  const scanner = new OtlpProtobufScanner()
  const whole = protobufBytes(request([span(1, 1, {}, { a: 1, b: 'text' })]))
  // The memory still holds what was cut off.
  for (let length = whole.length; length >= 0; length--) {
    scanner.scan(whole)
    t.same(scanner.verdict(whole.slice(0, length)), checkProtobuf(whole.slice(0, length)), `${length} bytes`)
  }
})

t.test('a body larger than the memory makes it grow, and a small one behind it is as good', async t => {
  const scanner = new OtlpProtobufScanner()
  const small = protobufBytes(request([span(1, 1, {})]))
  for (const bytes of [protobufBytes(request([span(1, 1, {}, { text: 'x'.repeat(300_000) })])), small]) {
    t.ok(scanner.scan(bytes))
    t.same(scanner.verdict(bytes), checkProtobuf(bytes))
  }
})

t.test(`${BODIES} mutated bodies are judged as by the check and by protobufjs, seed ${SEED}`, async t => {
  const tally = fuzzOtlpProtobuf(createRandom(SEED), BODIES)
  t.comment(JSON.stringify(tally))
  t.ok(tally.taken > BODIES / 4 && tally.refused > BODIES / 4, 'good and bad bodies')
  t.ok(tally.unusual < tally.taken / 2, 'the walk decides most of the good ones')
})
