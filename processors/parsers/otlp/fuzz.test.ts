// Spans of every recorded SDK, taken apart and put together in ways that no SDK would: the parser never throws, rows always fit,
// no neighbour changes, and whatever a span says that no dialect knows is kept. Seeds are fixed; the number of cases, and another
// seed, may be given as arguments (a million takes half an hour).
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isObject, type JsonObject } from '#proto/json.ts'
import { decodeTraces } from '#proto/otlp/decode.ts'
import { anyValue, jsonBytes, request, span } from '#proto/otlp/fixture.ts'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { scaled } from '#test/scale.ts'
import type { ParseOutcome } from '../../outcome.ts'
import { context, unitsOf } from '../fixture.ts'
import { faultOf } from '../fixture-faults.ts'
import { bent, eventBody, mutated } from '../fixture-odd.ts'
import { parseTraces } from '../otlp.ts'
import { readBatch } from './batch.ts'
import { explainSpans } from './explain.ts'
import { allRules } from './rules.ts'

const CASES = Number(process.argv[2] ?? scaled({ sample: 200, full: 1_000 }))
const SEED = Number(process.argv[3] ?? 0)

/** Spans of all recordings, with their scopes. */
const corpus: readonly { scope: JsonObject; span: JsonObject }[] = recorded()

function recorded(): { scope: JsonObject; span: JsonObject }[] {
  const folder = join(import.meta.dirname, 'recorded', 'fixtures')
  type Body = { resourceSpans: { scopeSpans: { scope: JsonObject; spans: JsonObject[] }[] }[] }
  return readdirSync(folder).flatMap(name => {
    const body = JSON.parse(readFileSync(join(folder, name, 'traces.json'), 'utf8')) as Body
    return body.resourceSpans.flatMap(resource =>
      resource.scopeSpans.flatMap(({ scope, spans }) => spans.map(each => ({ scope, span: each }))),
    )
  })
}

const pick = <T>(list: readonly T[], random: Random): T => list[random(list.length)] as T

/** An attribute: one that some recording has, or any key that a dialect reads, often with a value of another. */
function oddAttribute(random: Random): JsonObject {
  const other = pick(corpus, random).span.attributes as readonly JsonObject[] | undefined
  const taken = other === undefined || other.length === 0 ? undefined : pick(other, random)
  const key = random(2) === 0 ? pick(allRules, random).key.replace('N', String(random(20))) : String(taken?.key ?? 'k')
  const value = random(3) === 0 ? anyValue(bent(eventBody, random, 5)) : (taken?.value ?? anyValue(random(1000)))
  return { key: key || 'k', value }
}

/** A span of a recording with attributes of others, a few of them bent, and some that nobody knows. */
function oddSpan(random: Random, id: number): { scope: JsonObject; span: JsonObject; unknown: string[] } {
  const chosen = pick(corpus, random)
  const own = (chosen.span.attributes as readonly JsonObject[] | undefined) ?? []
  const kept = own.filter(() => random(8) !== 0).map(each => (random(12) === 0 ? bent(each, random, 6) : each))
  const odd = Array.from({ length: random(4) }, () => oddAttribute(random))
  const unknown = Array.from({ length: 1 + random(3) }, (_, i) => `shop.unknown.${id}.${i}`)
  const strange = unknown.map(key => ({ key, value: anyValue(pick(['x', 5, true, { a: [1] }], random)) }))
  const known = kept.filter(each => isObject(each) && typeof each.key === 'string')
  return {
    scope: random(4) === 0 ? pick(corpus, random).scope : chosen.scope,
    unknown,
    span: {
      ...chosen.span,
      spanId: (id + 1).toString(16).padStart(16, '0'),
      traceId: (1 + random(2)).toString(16).padStart(32, '0'),
      parentSpanId: random(3) === 0 ? '' : random(8).toString(16).padStart(16, '0'),
      attributes: [...known, ...odd, ...strange],
    },
  }
}

/** A request of one to six odd spans. */
function oddRequest(random: Random): { body: JsonObject; unknown: readonly (readonly string[])[] } {
  const spans = Array.from({ length: 1 + random(6) }, (_, i) => oddSpan(random, i))
  const scopeSpans = spans.map(({ scope, span: each }) => ({ scope, spans: [each] }))
  return { body: { resourceSpans: [{ scopeSpans }] }, unknown: spans.map(each => each.unknown) }
}

/** Only nesting beyond the limit refuses a whole batch, and the exporter is told. */
const isTooDeep = (outcome: ParseOutcome): boolean => 'dead' in outcome && outcome.reason.includes('deeper than 64')

t.test('spans put together from those of different SDKs', async t => {
  const random = randomOf(11 + SEED)
  let rows = 0
  for (let i = 0; i < CASES; i++) {
    const { body, unknown } = oddRequest(random)
    const outcome = parseTraces(jsonBytes(body), 'json', context)
    if (isTooDeep(outcome)) continue
    const units = unitsOf(outcome)
    const fault = units.map(faultOf).find(each => each !== '')
    if (fault !== undefined) t.fail(`case ${i}: ${fault}`, { body })
    for (const [k, unit] of units.entries()) {
      rows++
      const metadata = unit.events[0]?.metadata ?? {}
      const lost = unknown[k]?.find(key => !Object.hasOwn(metadata, key)) ?? ''
      if (lost !== '' && metadata['parley.metadata_dropped'] === undefined) t.fail(`case ${i} lost ${lost}`, { body })
    }
  }
  t.ok(rows > CASES, `${rows} rows`)
})

t.test('bytes of recordings, changed', async t => {
  const folder = join(import.meta.dirname, 'recorded', 'fixtures')
  const random = randomOf(12 + SEED)
  for (const content of ['json', 'protobuf'] as const) {
    const bodies = readdirSync(folder).map(name =>
      readFileSync(join(folder, name, content === 'json' ? 'traces.json' : 'traces.bin')),
    )
    let parsed = 0
    for (let i = 0; i < CASES / 20; i++) {
      const outcome = parseTraces(mutated(bodies, random), content, context)
      if ('dead' in outcome) continue
      parsed++
      const fault = outcome.units.map(faultOf).find(each => each !== '')
      if (fault !== undefined) t.fail(`${content} case ${i}: ${fault}`)
    }
    t.ok(parsed > 0, `${parsed} ${content} bodies became rows`)
  }
})

t.test('every attribute is a field, or metadata, or content, or named as left out', async t => {
  const random = randomOf(13 + SEED)
  let seen = 0
  for (let i = 0; i < CASES / 10; i++) {
    const { body } = oddRequest(random)
    const decoded = decodeTraces(jsonBytes(body), 'json')
    if (!decoded.ok) continue
    const rows = readBatch(decoded.spans, context)
    for (const [k, { attributes }] of explainSpans(decoded.spans, context).entries()) {
      const { event, texts, kept } = rows[k] as (typeof rows)[number]
      const content = texts[0]?.content ?? {}
      if ([event.metadata, content].some(map => map['parley.metadata_dropped'] !== undefined)) continue
      for (const { attribute, became } of attributes) {
        seen++
        const [, renamed] = /\bmetadata(?: ([^,]+))?/.exec(became) ?? []
        const map = became.includes('content') ? content : event.metadata
        const there = Object.hasOwn(map, renamed ?? attribute.toWellFormed().slice(0, 256))
        const whole = attribute === 'metadata' || became.includes('field') || became.includes('part of a field')
        if (!there && !whole && !kept.omitted.includes(attribute)) t.fail(`case ${i}: ${attribute} is lost`, { became })
      }
    }
  }
  t.ok(seen > CASES, `${seen} attributes`)
})

t.test('a strange span changes nothing about the spans of another trace', async t => {
  const random = randomOf(14 + SEED)
  const neighbours = [
    span(77, 1, { name: 'turn' }, { 'service.session_id': 's', 'gen_ai.operation.name': 'invoke_agent' }),
    span(
      77,
      2,
      { name: 'chat', parentSpanId: '0000000000000001' },
      { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 5 },
    ),
  ]
  const expected = JSON.stringify(unitsOf(parseTraces(jsonBytes(request(neighbours)), 'json', context)))
  for (let i = 0; i < CASES / 4; i++) {
    const strange = oddSpan(random, 1)
    const { resourceSpans: near } = request(neighbours) as { resourceSpans: readonly JsonObject[] }
    const far = { scopeSpans: [{ scope: strange.scope, spans: [{ ...strange.span, traceId: '0a'.repeat(16) }] }] }
    const outcome = parseTraces(jsonBytes({ resourceSpans: [far, ...near] }), 'json', context)
    if (isTooDeep(outcome)) continue
    const units = unitsOf(outcome)
    const others = units.filter(unit => unit.events[0]?.trace_id.endsWith('4d') === true)
    if (JSON.stringify(others) !== expected) return t.same(others, JSON.parse(expected))
  }
  t.pass('unchanged')
})
