// Bodies that nobody would write: parsers never throw, rows always fit their columns, and one strange span harms no other.
// Voice reports have voice-reports.test.ts. Seeds are fixed, so a failure can be repeated; the number of cases may be given as an argument.
import t, { type Test } from 'tap'
import { checkTraces } from '#proto/otlp/check.ts'
import { anyValue, jsonBytes, protobufBytes, request } from '#proto/otlp/fixture.ts'
import { randomOf } from '#runtime/seeded.ts'
import { scaled } from '#test/scale.ts'
import type { FrameParser, ParseOutcome } from '../outcome.ts'
import { context, json, unitsOf } from './fixture.ts'
import { faultOf } from './fixture-faults.ts'
import { bent, eventBody, mutated, sessionBody, spans, traces } from './fixture-odd.ts'
import { parseTraces } from './otlp.ts'
import { parseEvent, parseSession } from './sdk.ts'

const CASES = Number(process.argv[2] ?? scaled({ sample: 500, full: 5_000 }))

/** The outcome of one body; a throw or a row that fits no column fails the test. */
function survive(
  t: Test,
  parse: FrameParser,
  content: 'json' | 'protobuf',
  body: Uint8Array,
  name: string,
): ParseOutcome | null {
  const show = (): object => ({ body: Buffer.from(body).toString('latin1').slice(0, 4000) })
  try {
    const outcome = parse(body, content, context)
    const fault = 'dead' in outcome ? '' : (outcome.units.map(faultOf).find(each => each !== '') ?? '')
    if (fault !== '') t.fail(`${name}: ${fault}`, show())
    return outcome
  } catch (error) {
    t.fail(`${name}: ${String(error)}`, show())
    return null
  }
}

/** How many of these bodies became rows. */
function surviveAll(t: Test, parse: FrameParser, bodies: () => Uint8Array, cases: number): number {
  let parsed = 0
  for (let i = 0; i < cases; i++) {
    const outcome = survive(t, parse, 'json', bodies(), `case ${i}`)
    if (outcome !== null && 'units' in outcome) parsed++
  }
  return parsed
}

t.test('SDK bodies', async t => {
  for (const [parse, body] of [[parseEvent, eventBody] as const, [parseSession, sessionBody] as const]) {
    const random = randomOf(1)
    const some = surviveAll(t, parse, () => mutated([json(body)], random), CASES / 2)
    const most = surviveAll(t, parse, () => json(bent(body, random, 12)), CASES / 2)
    t.ok(some > CASES / 50 && most > CASES / 10, `${some} and ${most} became rows`)
  }
})

t.test('trace exports: check and parser agree on every body', async t => {
  const random = randomOf(3)
  const seeds = { json: jsonBytes(traces), protobuf: protobufBytes(traces) }
  for (const content of ['json', 'protobuf'] as const) {
    let accepted = 0
    const bodies = (): Uint8Array => {
      const odd = random(3) === 0
      if (content === 'json') return odd ? json(bent(traces, random, 40)) : mutated([seeds.json], random)
      return odd
        ? Buffer.from(Array.from({ length: random(60) }, () => random(256)))
        : mutated([seeds.protobuf], random)
    }
    for (let i = 0; i < CASES; i++) {
      const body = bodies()
      const verdict = checkTraces(body, content)
      const name = `${content} case ${i}`
      const outcome = survive(t, parseTraces, content, body, name)
      if (outcome === null) continue
      if (verdict.ok === 'dead' in outcome) t.fail(`${name} is judged in two ways`, { verdict })
      else if (verdict.ok && unitsOf(outcome).length !== verdict.spans - verdict.rejected)
        t.fail(`${name} counts in two ways`)
      else if (verdict.ok) accepted++
    }
    t.ok(accepted > CASES / 50, `${accepted} ${content} bodies were accepted`)
  }
})

t.test('a strange span changes nothing about its neighbours', async t => {
  const random = randomOf(4)
  const [first, , last] = spans
  const alone = unitsOf(parseTraces(jsonBytes(request([first, last] as never)), 'json', context))
  const expected = JSON.stringify(alone)
  let survived = 0
  for (let i = 0; i < CASES / 4; i++) {
    const odd = Array.from({ length: 3 }, (_, k) => [`k${k}`, anyValue(bent(eventBody, random, 6))] as const)
    const strange = {
      ...(bent(spans[1], random, 8) as object),
      attributes: odd.map(([key, value]) => ({ key, value })),
      ...{ traceId: '0a'.repeat(16), spanId: '0b'.repeat(8) },
    }
    const outcome = parseTraces(jsonBytes(request([first, strange, last] as never)), 'json', context)
    // Only nesting beyond the limit refuses a whole batch, and the exporter is told.
    if ('dead' in outcome && /deeper than 64/.test(outcome.reason)) continue
    const ids = new Set(alone.map(unit => unit.identity?.id))
    const neighbours = unitsOf(outcome).filter(unit => ids.has(unit.identity?.id))
    if (JSON.stringify(neighbours) !== expected) return t.same(neighbours, alone)
    survived++
  }
  t.ok(survived > CASES / 8, `${survived} strange spans`)
})
