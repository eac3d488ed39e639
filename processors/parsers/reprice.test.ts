// A stored row priced again is the row that its payload becomes by the other prices, or it is left alone: over what SDKs really send,
// over odd bodies, and over what prices depend on.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadPrices } from '#pricing/list.ts'
import { createPricing, indexPrices, type Pricing, pricingOf } from '#pricing/quote.ts'
import { jsonBytes, request, span } from '#proto/otlp/fixture.ts'
import type { PriceOverride } from '#proto/prices.ts'
import type { EventRow } from '#proto/rows.ts'
import { randomOf } from '#runtime/seeded.ts'
import type { FrameContext, ParseOutcome } from '../outcome.ts'
import { context, json } from './fixture.ts'
import { bent, eventBody, traces } from './fixture-odd.ts'
import { FIXTURES, fixtureNames } from './otlp/recorded/golden.ts'
import { parseTraces } from './otlp.ts'
import { COST_NOTES, repriced } from './reprice.ts'
import { parseEvent } from './sdk.ts'

const { list } = await loadPrices('')
const own: PriceOverride[] = [
  { model: 'gpt-4o', prices: { input: 7, output: 9, cache_write_1h: 11 }, services: { batch: 0.5 } },
  { model: 'house-7b', prices: { input: 1, output: 1 } },
]
const lists: Readonly<Record<string, Pricing>> = {
  'the list': pricingOf(list),
  'prices of its own': createPricing(indexPrices(list.entries), own),
  nothing: pricingOf({ version: 'none', entries: [] }),
}

/** The row with a change applied, as the owner applies it. */
function changed(row: EventRow, pricing: Pricing): EventRow | 'unsure' {
  const now = repriced(row, pricing)
  if (now.is !== 'priced') return now.is === 'same' ? row : 'unsure'
  const kept = Object.entries(row.metadata).filter(([key]) => !COST_NOTES.includes(key))
  const metadata = Object.fromEntries([...kept, ...Object.entries(now.notes)])
  return { ...row, cost_nanos: now.cost, present: now.present, metadata }
}

/** Prices a body by every list from every other one; returns how many rows were changed, and how many left in doubt. */
function agree(
  t: Test,
  name: string,
  parse: (context: FrameContext) => ParseOutcome,
): { rows: number; unsure: number } {
  const rowsBy = Object.entries(lists).map(([by, pricing]) => {
    const outcome = parse({ ...context, pricing })
    return { by, pricing, rows: 'dead' in outcome ? [] : outcome.units.flatMap(({ events }) => events) }
  })
  const counts = { rows: 0, unsure: 0 }
  for (const from of rowsBy) {
    for (const to of rowsBy) {
      for (const [i, row] of from.rows.entries()) {
        const found = changed(row, to.pricing)
        counts.rows++
        if (found === 'unsure') counts.unsure++
        else if (!same(found, to.rows[i] as EventRow)) t.same(found, to.rows[i], `${name}: from ${from.by} to ${to.by}`)
      }
    }
  }
  return counts
}

const same = (a: EventRow, b: EventRow): boolean => textOf(a) === textOf(b)
const textOf = ({ metadata, ...row }: EventRow): string =>
  JSON.stringify([row, Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1))])

t.test('what SDKs send is priced again as if it were read again', async t => {
  let [rows, unsure] = [0, 0]
  for (const name of fixtureNames()) {
    const body = readFileSync(join(FIXTURES, name, 'traces.bin'))
    const counts = agree(t, name, by => parseTraces(body, 'protobuf', by))
    rows += counts.rows
    unsure += counts.unsure
  }
  t.ok(rows > 1_000, `${rows} rows`)
  t.equal(unsure, 0, 'nothing of it is in doubt')
})

t.test('odd bodies too', async t => {
  const random = randomOf(23)
  for (let i = 0; i < 200; i++) {
    const event = {
      ...eventBody,
      metadata: { model: 'gpt-4o', input_tokens: 10, output_tokens: '7', cost: bent(0.5, random, 60) },
    }
    const sent = json(bent(event, random, 25))
    agree(t, `event ${i}`, by => parseEvent(sent, 'json', by))
    const body = json(bent(traces, random, 25))
    agree(t, `traces ${i}`, by => parseTraces(body, 'json', by))
  }
  t.pass('all of them')
})

t.test('what a price depends on', async t => {
  const f = (attributes: Record<string, unknown>, unsure: number): void => {
    const values = { 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai', ...attributes }
    const usage = { 'gen_ai.usage.input_tokens': 900, 'gen_ai.usage.output_tokens': 90, ...values }
    const body = jsonBytes(request([span(1, 1, {}, { 'gen_ai.operation.name': 'chat', ...usage })]))
    const name = JSON.stringify(attributes)
    t.equal(agree(t, name, by => parseTraces(body, 'json', by)).unsure, unsure, name)
  }
  f({}, 0)
  f({ 'gen_ai.openai.response.service_tier': 'batch' }, 0)
  f({ 'gen_ai.openai.response.service_tier': 'scale' }, 0)
  f({ 'gen_ai.usage.audio.input_tokens': 300 }, 0)
  f(
    { 'gen_ai.usage.cache_creation.input_tokens': 500, 'gen_ai.usage.cache_creation.ephemeral_1h_input_tokens': 400 },
    0,
  )
  f({ 'gen_ai.request.model': 'house-7b', 'gen_ai.provider.name': 'vllm' }, 0)
  f({ 'gen_ai.usage.cost': 0.25 }, 0)
  // That it is no amount is told only where nothing else gives a price.
  f({ 'gen_ai.usage.cost': '$1' }, 2)
  f({ 'gen_ai.usage.input_tokens': 'many' }, 0)
  f({ 'gen_ai.request.model': 'x'.repeat(400) }, 0)
  // Below the prefix of a framework it is the application's, and stands in the metadata without it.
  f({ 'traceloop.association.properties.service_tier': 'batch' }, 9)
})
