import t from 'tap'
import { checkJson } from '#proto/otlp/check-json.ts'
import { scaled } from '#test/scale.ts'
import { fuzzOtlpJson } from './fuzz/otlp-json.ts'
import { createRandom } from './fuzz/random.ts'
import { OtlpJsonScanner } from './otlp-json.ts'

const SEED = 20_250_119
const BODIES = scaled({ sample: 8_000, full: 250_000 })
// Seconds of work, and many times that on a machine with other work.
t.setTimeout(1_200_000)
const TRACE = '5b8efff798038103d269b633813fc60c'
const SPAN = 'eee19b7ec3c1b174'

t.test('what exporters send is decided by the scan alone', async t => {
  const scanner = new OtlpJsonScanner()
  const span = { traceId: TRACE, spanId: SPAN, name: 'chat', attributes: [{ key: 'a', value: { doubleValue: null } }] }
  const f = (body: object, spans: number, rejected: number): void => {
    const bytes = Buffer.from(JSON.stringify(body))
    t.equal(scanner.scan(bytes), 'traces')
    t.same([scanner.spans, scanner.rejected], [spans, rejected])
    t.same(scanner.verdict(bytes), checkJson(bytes))
  }
  f({}, 0, 0)
  f(
    {
      resourceSpans: [
        { resource: {}, scopeSpans: [{ scope: { name: 's' }, spans: [span, { ...span, parentSpanId: SPAN }] }] },
      ],
    },
    2,
    0,
  )
  f({ resource_spans: [{ scope_spans: [{ spans: [{ trace_id: TRACE, span_id: SPAN, parent_span_id: '' }] }] }] }, 1, 0)
  f({ resourceSpans: [{ scopeSpans: [{ spans: [{ ...span, spanId: '0'.repeat(16) }, span, {}] }] }] }, 3, 2)
})

t.test('what is unusual is decided by the check', async t => {
  const scanner = new OtlpJsonScanner()
  const f = (body: string): void => {
    t.equal(scanner.scan(Buffer.from(body)), 'unusual', body)
    t.same(scanner.verdict(Buffer.from(body)), checkJson(Buffer.from(body)), body)
  }
  f('[]')
  f('{"resourceSpans":{}}')
  f('{"resourceSpans":[],"resource_spans":[]}')
  f('{"resourceSpans":[{"scopeSpans":[{"spans":[5]}]}]}')
  f('{"resourceLogs":[]}')
  f('{"resourceSpans":[{"scopeMetrics":[]}]}')
  f('{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[{}]}]}]}')
  f('{"resourceSpans":[{"scopeSpans":[{"instrumentationLibrary":5,"spans":[]}]}]}')
  f(`{"resourceSpans":[],"x":${'['.repeat(70)}${']'.repeat(70)}}`)
})

t.test('what is no JSON is refused with the byte', async t => {
  const verdict = new OtlpJsonScanner().verdict(Buffer.from('{"resourceSpans":[}'))
  t.match(verdict, { ok: false, code: 'ING_OTLP_INVALID', reason: 'unexpected character at byte 18' })
})

t.test(`${BODIES} mutated bodies are judged as by the check, seed ${SEED}`, async t => {
  const tally = fuzzOtlpJson(createRandom(SEED), BODIES)
  t.comment(JSON.stringify(tally))
  t.ok(tally.traces > BODIES / 5 && tally.noJson > BODIES / 5, 'the scan decides most of them')
})
