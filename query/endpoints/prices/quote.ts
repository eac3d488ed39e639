// POST /dashboard/api/prices/quote: what a call would cost, by which entry and how that is reckoned.
import { createPricing, indexPrices, picoDollars } from '#pricing/quote.ts'
import { QuoteRequest, QuoteResponse } from '#proto/dashboard/prices.ts'
import { endpoint } from '../../endpoint.ts'
import { dollars } from '../../reads/costs.ts'
import { readOwn } from './own.ts'
import { requireClear } from './put.ts'

export const quotePrice = endpoint({
  method: 'POST',
  path: '/dashboard/api/prices/quote',
  auth: 'any',
  about: 'What a model call costs, and by which price; `overrides` tries prices that are not saved.',
  request: QuoteRequest,
  response: QuoteResponse,
  work: async ({ organization, records, prices }, { overrides, ...call }) => {
    if (overrides) requireClear(overrides)
    const own = overrides ?? (await readOwn(records, organization.id))?.prices ?? []
    const quote = createPricing(indexPrices(prices.entries), own).quote({
      model: call.model,
      provider: call.provider,
      service: call.service,
      tokens: {
        input: call.input_tokens,
        output: call.output_tokens ?? null,
        cacheRead: call.cache_read_tokens ?? null,
        cacheWrite: call.cache_write_tokens ?? null,
        cacheWriteHour: call.cache_write_1h_tokens ?? null,
        reasoning: call.reasoning_tokens ?? null,
        audioInput: call.input_audio_tokens ?? null,
        audioOutput: call.output_audio_tokens ?? null,
      },
    })
    if (typeof quote === 'string') return { cost: null, why: quote, price: null }
    const { model, provider, version, above, service, lines } = quote
    const shown = lines.map(line => ({ ...line, cost: dollars(String(picoDollars(line)), 12) }))
    return {
      cost: dollars(String(quote.costNanos)),
      why: null,
      price: { model, provider, version, above, service, lines: shown },
    }
  },
})
