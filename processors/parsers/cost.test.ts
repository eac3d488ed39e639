// What spans and SDK events cost: reported, computed, impossible, or nothing; from both conventions of counting cached tokens.
import t from 'tap'
import { loadPrices } from '#pricing/list.ts'
import { pricingOf } from '#pricing/quote.ts'
import { jsonBytes, request, span } from '#proto/otlp/fixture.ts'
import { type EventRow, Present } from '#proto/rows.ts'
import { context, json, unitsOf } from './fixture.ts'
import { parseTraces } from './otlp.ts'
import { parseEvent } from './sdk.ts'

const priced = { ...context, pricing: pricingOf((await loadPrices('')).list) }

/** The row of a model call with these attributes. */
function spanRow(attributes: Record<string, unknown>): EventRow {
  const body = jsonBytes(request([span(1, 1, {}, { 'gen_ai.operation.name': 'chat', ...attributes })]))
  return unitsOf(parseTraces(body, 'json', priced))[0]?.events[0] as EventRow
}

/** The row of an SDK event with this metadata. */
function eventRow(metadata: Record<string, unknown>): EventRow {
  const event = { event_id: '7b1b2e86-5a2c-4d4b-8f5f-000000000001', session_id: 's', primitive_name: 'a', metadata }
  return unitsOf(parseEvent(json(event), 'json', priced))[0]?.events[0] as EventRow
}

/** How a row tells its cost. */
function told(row: EventRow): Record<string, unknown> {
  const { cost_nanos, present, metadata } = row
  const bits = ['cost', 'costComputed', 'pricingInvalid'] as const
  return {
    ...(cost_nanos === 0 ? {} : { dollars: cost_nanos / 1e9 }),
    bits: bits.filter(bit => (present & Present[bit]) > 0),
    ...Object.fromEntries(Object.entries(metadata).filter(([key]) => /^parley\.(price|unpriced|pricing)/.test(key))),
  }
}

const gpt4o = { 'gen_ai.request.model': 'gpt-4o', 'gen_ai.provider.name': 'openai' }

t.test('a span', async t => {
  const f = (name: string, attributes: Record<string, unknown>, expected: Record<string, unknown>): void =>
    void t.strictSame(told(spanRow(attributes)), expected, name)
  const usage = { 'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 100 }
  const computed = { bits: ['cost', 'costComputed'], 'parley.price': 'openai gpt-4o 2026-01' }
  f('a reported cost wins', { ...gpt4o, ...usage, 'gen_ai.usage.cost': 0.5 }, { dollars: 0.5, bits: ['cost'] })
  f(
    'a reported 0 is none where the price is known',
    { ...gpt4o, ...usage, 'gen_ai.usage.cost': 0 },
    { dollars: 0.0035, ...computed, 'parley.price': 'openai gpt-4o 2026-01, in place of 0' },
  )
  f(
    'it wins where no price is known',
    { ...gpt4o, 'gen_ai.request.model': 'own', ...usage, 'gen_ai.usage.cost': 0 },
    {
      bits: ['cost'],
    },
  )
  f('and without tokens', { ...gpt4o, 'gen_ai.usage.cost': 0 }, { bits: ['cost'] })
  f('computed', { ...gpt4o, ...usage }, { dollars: 0.0035, ...computed })
  f(
    'cached tokens are part of the input',
    { ...gpt4o, ...usage, 'gen_ai.usage.cache_read.input_tokens': 800 },
    { dollars: 0.0025, ...computed },
  )
  f(
    'reasoning is part of the output',
    { ...gpt4o, ...usage, 'gen_ai.usage.reasoning_tokens': 90 },
    { dollars: 0.0035, ...computed },
  )
  f(
    'the tier that answered counts, not the one that was asked for',
    {
      ...{ ...gpt4o, ...usage, 'gen_ai.openai.request.service_tier': 'auto' },
      'gen_ai.openai.response.service_tier': 'priority',
    },
    { dollars: 0.00595, ...computed, 'parley.price': 'openai gpt-4o 2026-01, priority' },
  )
  f(
    'a long request',
    {
      ...{ 'gen_ai.request.model': 'claude-sonnet-4-5', 'gen_ai.provider.name': 'anthropic' },
      ...{ 'gen_ai.usage.input_tokens': 300_000, 'gen_ai.usage.output_tokens': 0 },
    },
    {
      dollars: 1.8,
      bits: ['cost', 'costComputed'],
      'parley.price': 'anthropic claude-sonnet-4-5 2026-02, above 200000',
    },
  )
  f(
    'a cache written for an hour',
    {
      ...{ 'gen_ai.request.model': 'claude-haiku-4-5', 'gen_ai.provider.name': 'anthropic' },
      ...{ 'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 0 },
      'gen_ai.usage.cache_creation.input_tokens': 600,
      'gen_ai.usage.cache_creation.ephemeral_1h_input_tokens': 500,
    },
    {
      dollars: (400 * 1 + 100 * 1.25 + 500 * 2) / 1e6,
      bits: ['cost', 'costComputed'],
      'parley.price': 'anthropic claude-haiku-4-5 2026-02',
    },
  )
  f(
    'no price for the model',
    { ...usage, 'gen_ai.request.model': 'house-7b', 'gen_ai.provider.name': 'vllm' },
    { bits: [], 'parley.unpriced': 'unknown_model' },
  )
  f('no model', usage, { bits: [], 'parley.unpriced': 'unknown_model' })
  f(
    'no price for the tier',
    { ...gpt4o, ...usage, 'gen_ai.openai.response.service_tier': 'scale' },
    { bits: [], 'parley.unpriced': 'unknown_service' },
  )
  f('no tokens', gpt4o, { bits: [] })
  f(
    'tokens that are none',
    { ...gpt4o, 'gen_ai.usage.input_tokens': 'many', 'gen_ai.usage.output_tokens': 5 },
    { bits: ['pricingInvalid'], 'parley.pricing_invalid': 'gen_ai.usage.input_tokens' },
  )
  f(
    'given elsewhere',
    { ...gpt4o, ...usage, 'gen_ai.usage.input_tokens': 'many', 'llm.token_count.prompt': '1000' },
    { dollars: 0.0035, ...computed },
  )
  f(
    'a cost that is none is computed',
    { ...gpt4o, ...usage, 'gen_ai.usage.cost': '$1' },
    { dollars: 0.0035, ...computed },
  )
  f(
    'a cost that is none without tokens',
    { ...gpt4o, 'gen_ai.usage.cost': '$1' },
    { bits: ['pricingInvalid'], 'parley.pricing_invalid': 'gen_ai.usage.cost' },
  )
  f(
    'words beside amounts',
    { ...gpt4o, ...usage, 'gen_ai.cost.currency': 'USD', 'gen_ai.usage.output_kind': 'text', 'usage.cache': 'warm' },
    { dollars: 0.0035, ...computed },
  )
  f(
    'words instead of amounts',
    { ...gpt4o, 'gen_ai.cost.currency': 'USD', 'gen_ai.usage.prompt_tokens_details': '{"cached_tokens":5}' },
    { bits: [] },
  )
  f('ways to say nothing', { ...gpt4o, 'gen_ai.usage.input_tokens': 'NaN', 'gen_ai.usage.cost': 'null' }, { bits: [] })
  f(
    'an agent without model calls',
    { ...gpt4o, ...usage, 'gen_ai.operation.name': 'invoke_agent' },
    {
      dollars: 0.0035,
      ...computed,
    },
  )
})

t.test('an agent that repeats what its model call used costs nothing itself', async t => {
  const used = { ...gpt4o, 'gen_ai.usage.input_tokens': 1000, 'gen_ai.usage.output_tokens': 100 }
  const body = request([
    span(1, 2, { parentSpanId: '0000000000000001' }, { 'gen_ai.operation.name': 'chat', ...used }),
    span(1, 1, {}, { 'gen_ai.operation.name': 'invoke_agent', ...used }),
  ])
  const rows = unitsOf(parseTraces(jsonBytes(body), 'json', priced)).map(unit => unit.events[0] as EventRow)
  t.strictSame(
    rows.map(row => [row.kind, row.cost_nanos]),
    [
      ['llm', 3_500_000],
      ['agent', 0],
    ],
  )
})

t.test('an SDK event', async t => {
  const f = (name: string, metadata: Record<string, unknown>, expected: Record<string, unknown>): void =>
    void t.strictSame(told(eventRow(metadata)), expected, name)
  const computed = { bits: ['cost', 'costComputed'], 'parley.price': 'openai gpt-4o 2026-01' }
  const usage = { model: 'gpt-4o', input_tokens: '1000', output_tokens: '100' }
  f('reported', { ...usage, cost: '0.25' }, { dollars: 0.25, bits: ['cost'] })
  f(
    'reported as 0 for want of a price',
    { ...usage, cost: 0 },
    { dollars: 0.0035, ...computed, 'parley.price': 'openai gpt-4o 2026-01, in place of 0' },
  )
  f('computed', usage, { dollars: 0.0035, ...computed })
  f('cached, a part of the input', { ...usage, cached_tokens: '800' }, { dollars: 0.0025, ...computed })
  f(
    'batch',
    { ...usage, service_tier: 'batch' },
    {
      dollars: 0.00175,
      ...{ ...computed, 'parley.price': 'openai gpt-4o 2026-01, batch' },
    },
  )
  f(
    'malformed',
    { ...usage, input_tokens: '1k' },
    { bits: ['pricingInvalid'], 'parley.pricing_invalid': 'input_tokens' },
  )
  f(
    'negative',
    { ...usage, cached_tokens: -5 },
    { bits: ['pricingInvalid'], 'parley.pricing_invalid': 'cached_tokens' },
  )
  f('nothing', { topic: 'x' }, { bits: [] })
})

t.test('cached tokens count once, whichever way they were counted', async t => {
  const f = (name: string, metadata: Record<string, unknown>, input: number, dollars: number): void => {
    const row = eventRow({ model: 'claude-haiku-4-5', output_tokens: 0, ...metadata })
    t.equal(row.input_tokens, input, name)
    t.equal(row.cost_nanos / 1e9, dollars, name)
  }
  const all = (800 * 0.1 + 200) / 1e6
  f('part of the input', { input_tokens: 1000, cache_read_tokens: 800 }, 1000, all)
  f('beside the input, more than it', { input_tokens: 200, cache_read_tokens: 800 }, 1000, all)
  f('beside the input by the total', { input_tokens: 900, cache_read_tokens: 800, total_tokens: 1700 }, 1700, 980e-6)
  f('part of it by the total', { input_tokens: 900, cache_read_input_tokens: 800, total_tokens: 900 }, 900, 180e-6)
  f('beside it by the names of the keys', { input_tokens: 900, cache_read_input_tokens: 800 }, 1700, 980e-6)
  f('written', { input_tokens: 200, cache_creation_input_tokens: 800 }, 1000, 1200e-6)
})

t.test('without a price list nothing is computed', async t => {
  const body = jsonBytes(request([span(1, 1, {}, { ...gpt4o, 'gen_ai.usage.input_tokens': 5 })]))
  const row = unitsOf(parseTraces(body, 'json', context))[0]?.events[0] as EventRow
  t.strictSame(told(row), { bits: [] })
})
