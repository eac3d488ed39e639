// The price list, the spellings of models' names, and what calls cost.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { PriceEntry, PriceOverride } from '#proto/prices.ts'
import { tempDir } from '#test/rig.ts'
import { findTwice, loadPrices } from './list.ts'
import {
  type CallTokens,
  createPricing,
  indexPrices,
  type PricedCall,
  picoDollars,
  pricingOf,
  type Quote,
} from './quote.ts'

const { list } = await loadPrices('')
const pricing = pricingOf(list)
const M = 1_000_000

/** The quote of a call that must have one. */
function quoted(call: PricedCall, by = pricing): Quote {
  const quote = by.quote(call)
  if (typeof quote === 'string') throw new Error(`${call.model} of ${call.provider}: ${quote}`)
  return quote
}

const dollars = (call: PricedCall, by = pricing): number => quoted(call, by).costNanos / 1e9

t.test('the list that comes with parley', async t => {
  t.equal(findTwice(list.entries), null)
  const bare = (name: string): CallTokens => ({ input: name === '' ? 0 : 1000, output: 0 })
  for (const entry of list.entries) {
    t.match(entry.source, /^https:\/\/.+ as known in 20\d\d-\d\d$/, entry.model)
    t.ok(entry.source.endsWith(entry.version), entry.model)
    const { input = 0, cache_read = 0, cache_write = input, cache_write_1h = cache_write } = entry.prices
    t.ok(
      cache_read <= input && input <= cache_write && cache_write <= cache_write_1h,
      `${entry.model}: order of prices`,
    )
    for (const name of [entry.model, ...(entry.aliases ?? [])]) {
      const quote = pricing.quote({ model: name, provider: entry.provider, tokens: bare(name) })
      t.match(quote, { model: entry.model, provider: entry.provider }, `${name} is found under its own name`)
    }
  }
  for (const provider of ['openai', 'anthropic', 'google', 'mistral', 'cohere', 'deepseek', 'xai', 'bedrock', 'groq']) {
    t.ok(
      list.entries.some(entry => entry.provider === provider),
      provider,
    )
  }
})

t.test('a model is found by every spelling that cannot change its price, and by no other', async t => {
  const f = (model: string, provider: string, expected: string | null): void => {
    const quote = pricing.quote({ model, provider, tokens: { input: 1, output: 0 } })
    const found = typeof quote === 'string' ? null : `${quote.provider} ${quote.model}`
    t.equal(found, expected, `${model} of ${provider || 'nobody'}`)
  }
  f('gpt-4o', 'openai', 'openai gpt-4o')
  f('GPT-4o', '', 'openai gpt-4o')
  f('"gpt-4o"', 'openai', 'openai gpt-4o')
  f('openai/gpt-4o', 'openrouter', 'openai gpt-4o')
  f('openrouter/openai/gpt-4o', '', 'openai gpt-4o')
  f('gpt-4o-2024-11-20', 'azure.ai.openai', 'openai gpt-4o')
  f('gpt-4o-2024-05-13', 'openai', 'openai gpt-4o-2024-05-13')
  f('gpt-4o-mini-2024-07-18', 'openai', 'openai gpt-4o-mini')
  f('gpt-35-turbo', 'azure', 'openai gpt-3.5-turbo')
  f('chatgpt-4o-latest', 'openai', 'openai chatgpt-4o-latest')
  f('claude-3-5-sonnet-20241022', 'anthropic', 'anthropic claude-3-5-sonnet')
  f('claude-3-5-sonnet-latest', 'anthropic', 'anthropic claude-3-5-sonnet')
  f('anthropic/claude-3.5-sonnet', 'openrouter', 'anthropic claude-3-5-sonnet')
  f('claude-3-5-sonnet-v2@20241022', 'gcp.vertex_ai', 'anthropic claude-3-5-sonnet')
  f('claude-sonnet-4-5@20250929', 'vertex_ai', 'anthropic claude-sonnet-4-5')
  f('bedrock/us.anthropic.claude-sonnet-4-20250514-v1:0', '', 'anthropic claude-sonnet-4')
  f('anthropic.claude-3-haiku-20240307-v1:0:200k', 'aws.bedrock', 'anthropic claude-3-haiku')
  f('us.anthropic.claude-opus-4-6-v1', 'aws.bedrock', 'anthropic claude-opus-4-6')
  f('arn:aws:bedrock:us-east-1:1:inference-profile/eu.amazon.nova-pro-v1:0', 'aws.bedrock', 'bedrock nova-pro')
  f('amazon.titan-embed-text-v2:0', 'aws.bedrock', 'bedrock titan-embed-text-v2')
  f('amazon.titan-embed-text-v1', 'aws.bedrock', 'bedrock titan-embed-text-v1')
  f('models/gemini-2.5-pro', 'gcp.gemini', 'google gemini-2.5-pro')
  f('publishers/google/models/gemini-2.0-flash-001', 'gcp.vertex_ai', 'google gemini-2.0-flash')
  f('gemini-2.5-flash-preview-09-2025', 'google', 'google gemini-2.5-flash')
  f('x-ai/grok-4', 'openrouter', 'xai grok-4')
  f('mistral-large-latest', 'mistral_ai', 'mistral mistral-large-2512')
  f('mistral-large-2411', 'mistral_ai', 'mistral mistral-large-2411')
  f('ft:gpt-4o-mini-2024-07-18:acme::abc', 'openai', 'openai ft:gpt-4o-mini')
  f('groq/llama-3.3-70b-versatile', '', 'groq llama-3.3-70b-versatile')
  f('openai/gpt-oss-120b', 'groq', 'groq gpt-oss-120b')
  f('gpt-oss-120b', 'cerebras', 'cerebras gpt-oss-120b')
  f('meta.llama3-1-70b-instruct-v1:0', 'aws.bedrock', 'bedrock llama3-1-70b-instruct')
  f('accounts/fireworks/models/llama-v3p3-70b-instruct', 'openai', 'fireworks llama-v3p3-70b-instruct')
  f('meta-llama/Llama-3.3-70B-Instruct-Turbo', 'together_ai', 'together llama-3.3-70b-instruct-turbo')
  f('deepseek/deepseek-chat', '', 'deepseek deepseek-chat')
  // What is another model, another price, or nobody's.
  f('gpt-4o-new', 'openai', null)
  f('gpt-6', 'openai', null)
  f('claude-opus-4-99', 'anthropic', null)
  f('claude-opus-4-preview', 'anthropic', null)
  f('gemini-2.5-flash-preview-04-17', 'google', null)
  f('deepseek/deepseek-chat:free', 'openrouter', null)
  f('deepseek/deepseek-chat', 'openrouter', null)
  f('llama-3.3-70b-versatile', '', null)
  f('llama-3.3-70b-versatile', 'together', null)
  f('openai/gpt-oss-120b', 'openai', null)
  f('gpt-4o', 'ollama', null)
  f('ollama/gpt-4o', '', null)
  f('ft:davinci:acme', 'openai', null)
  f('arn:aws:bedrock:us-east-1:1:application-inference-profile/abc', 'aws.bedrock', null)
  f('', 'openai', null)
  f('constructor', 'openai', null)
  f('__proto__', '', null)
})

t.test('cached tokens, long requests and tiers of service', async t => {
  const tokens = { input: M, output: M }
  t.equal(dollars({ model: 'gpt-4o', provider: 'openai', tokens }), 12.5)
  t.equal(dollars({ model: 'gpt-4o', provider: 'openai', tokens: { ...tokens, cacheRead: M } }), 11.25)
  t.equal(dollars({ model: 'gpt-4o', provider: 'openai', tokens: { input: M, output: null } }), 2.5)
  t.equal(dollars({ model: 'gpt-4o', provider: 'openai', service: 'batch', tokens }), 6.25)
  t.equal(dollars({ model: 'gpt-4o', provider: 'openai', service: 'Priority', tokens }), 21.25)
  for (const service of ['default', 'auto', 'standard']) {
    t.equal(dollars({ model: 'gpt-4o', provider: 'openai', service, tokens }), 12.5, service)
  }
  t.equal(pricing.quote({ model: 'gpt-4o', provider: 'openai', service: 'flex', tokens }), 'unknown_service')
  t.equal(pricing.quote({ model: 'gpt-4o', provider: 'openai', tokens: { input: null, output: 5 } }), 'no_input_tokens')
  t.equal(
    pricing.quote({ model: 'text-embedding-3-small', provider: 'openai', tokens: { input: 5, output: 5 } }),
    'no_price',
  )
  t.equal(dollars({ model: 'text-embedding-3-small', provider: 'openai', tokens: { input: M, output: 0 } }), 0.02)

  const sonnet = (input: number, more: Partial<CallTokens> = {}): Quote =>
    quoted({ model: 'claude-sonnet-4-5', provider: 'anthropic', tokens: { input, output: 1000, ...more } })
  t.match(sonnet(200_000), { above: 0, costNanos: 615_000_000 }, 'up to the limit')
  t.match(sonnet(200_001), { above: 200_000, costNanos: 1_222_506_000 }, 'the whole request costs more above it')
  t.match(sonnet(200_001, { cacheRead: 200_000 }), { above: 200_000 }, 'cached input counts for the size')
  t.match(
    sonnet(100_000, { cacheRead: 50_000, cacheWrite: 30_000, cacheWriteHour: 10_000 }).lines.map(
      ({ kind, tokens: count, price }) => [kind, count, price],
    ),
    [
      ['input', 20_000, 3],
      ['cache_read', 50_000, 0.3],
      ['cache_write', 20_000, 3.75],
      ['cache_write_1h', 10_000, 6],
      ['output', 1000, 15],
    ],
  )
  const audio = quoted({
    model: 'gpt-4o-audio-preview',
    provider: 'openai',
    tokens: { input: 100, output: 50, audioInput: 80, audioOutput: 40 },
  })
  t.equal(audio.costNanos, (20 * 2.5 + 80 * 40 + 10 * 10 + 40 * 80) * 1000)
})

t.test('whatever the tokens: every one in one line, none charged twice, never less than nothing', async t => {
  const entry: PriceEntry = {
    model: 'm',
    provider: 'p',
    anywhere: true,
    version: '1',
    source: 'test',
    prices: {
      ...{ input: 3, output: 15, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6, reasoning: 20 },
      ...{ input_audio: 40, output_audio: 80 },
    },
    tiers: [{ above: 5_000, prices: { input: 6, output: 22.5 } }],
  }
  const by = createPricing(indexPrices([entry]))
  let seed = 7
  const random = (max: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * max)
  }
  const some = (): number | null => (random(4) === 0 ? null : random(10_000))
  for (let i = 0; i < 20_000; i++) {
    const tokens: CallTokens = {
      input: random(10_000),
      output: some(),
      cacheRead: some(),
      cacheWrite: some(),
      cacheWriteHour: some(),
      reasoning: some(),
      audioInput: some(),
      audioOutput: some(),
    }
    const quote = quoted({ model: 'm', provider: 'p', tokens }, by)
    const count = (kinds: readonly string[]): number =>
      quote.lines.filter(line => kinds.includes(line.kind)).reduce((sum, line) => sum + line.tokens, 0)
    const input = count(['input', 'cache_read', 'cache_write', 'cache_write_1h', 'input_audio'])
    const output = count(['output', 'reasoning', 'output_audio'])
    const picos = quote.lines.reduce((sum, line) => sum + picoDollars(line), 0n)
    const fault =
      input !== tokens.input ||
      output !== (tokens.output ?? 0) ||
      quote.lines.some(line => line.tokens <= 0 || picoDollars(line) < 0n) ||
      BigInt(quote.costNanos) !== (picos + 500n) / 1000n
    if (fault) t.fail(`${JSON.stringify(tokens)} -> ${input} + ${output}, ${quote.costNanos}`)
  }
  t.pass('20,000 calls')
  const huge = quoted({ model: 'm', provider: 'p', tokens: { input: Number.MAX_SAFE_INTEGER, output: 0 } }, by)
  t.equal(huge.costNanos, Number.MAX_SAFE_INTEGER, 'a row can carry no more')
  const large = quoted({ model: 'm', provider: 'p', tokens: { input: 3_000_000_001, output: 0 } }, by)
  t.equal(large.costNanos, 18_000_000_006_000, 'beyond what doubles hold exactly')
})

t.test("an organization's own prices come before the list", async t => {
  const own: PriceOverride[] = [
    { model: 'gpt-4o', prices: { input: 1, output: 2 } },
    { model: 'meta-llama/Llama-3.3-70B-Instruct', provider: 'vllm', prices: { input: 0.1, output: 0.1 } },
    { model: 'house', provider: 'our-gateway', prices: { input: 5, output: 5 }, services: { batch: 0.1 } },
  ]
  const by = createPricing(indexPrices(list.entries), own)
  const tokens = { input: M, output: M }
  t.equal(dollars({ model: 'gpt-4o-2024-05-13', provider: 'azure', tokens }, by), 3)
  t.match(quoted({ model: 'gpt-4o', provider: 'openai', tokens }, by), { version: 'organization' })
  t.equal(dollars({ model: 'gpt-4o-mini', provider: 'openai', tokens }, by), 0.75, 'others keep the price of the list')
  t.equal(dollars({ model: 'meta-llama/Llama-3.3-70B-Instruct', provider: 'vllm', tokens }, by), 0.2)
  t.equal(by.quote({ model: 'meta-llama/Llama-3.3-70B-Instruct', provider: 'groq', tokens }), 'unknown_model')
  t.equal(dollars({ model: 'house', provider: 'Our-Gateway', service: 'batch', tokens }, by), 1)
  t.equal(by.quote({ model: 'house', provider: 'openai', tokens }), 'unknown_model')
})

t.test("an operator's list takes the place of the built-in one, or says what is wrong with it", async t => {
  const file = join(await tempDir(t), 'prices.json')
  const entry = { model: 'm', provider: 'p', version: '1', source: 'us', prices: { input: 1 } }
  await writeFile(file, JSON.stringify({ version: 'ours', entries: [entry] }))
  const loaded = await loadPrices(file)
  t.equal(loaded.list.version, 'ours')
  t.equal(
    pricingOf(loaded.list).quote({ model: 'gpt-4o', provider: 'openai', tokens: { input: 1, output: 1 } }),
    'unknown_model',
  )
  t.not(loaded.hash, (await loadPrices('')).hash)

  const f = async (text: string, message: string | RegExp): Promise<void> => {
    await writeFile(file, text)
    await t.rejects(loadPrices(file), { code: 'CFG_INVALID', message }, text)
  }
  await f('{', /is no JSON/)
  await f('{"version":"1"}', /PARLEY_PRICES .+entries/)
  await f(JSON.stringify({ version: '1', entries: [{ ...entry, prices: { input: -1 } }] }), /entries\.0\.prices\.input/)
  await f(JSON.stringify({ version: '1', entries: [{ ...entry, prices: { inptu: 1 } }] }), /entries\.0\.prices/)
  await f(JSON.stringify({ version: '1', entries: [entry, { ...entry, model: 'M' }] }), /m of p has two prices/)
  await t.rejects(loadPrices(join(file, 'none')), { code: 'CFG_INVALID', message: /cannot be read/ })
})
