// What an event cost: as its sender said, else by the price list from its tokens, else nothing, and in the last case why. A 0 of its sender
// counts only where the list has no price: instrumentations write it for models that they know no price of. One place for spans and SDK
// events; the row tells which of the three it was.
import type { NoQuote, Pricing, Quote } from '#pricing/quote.ts'
import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import { type EventRow, Present } from '#proto/rows.ts'
import { amountOf, tokensOf } from './amounts.ts'
import type { Usage } from './rows.ts'

/** What a price needs besides tokens, none of which has a column. Parts are included in the counts they belong to. */
export interface Billing {
  /** Tier of service that the call ran in; '' = the ordinary one. */
  readonly service: string
  /** Tokens written to a cache that lives for an hour. */
  readonly cacheWriteHour: number | null
  readonly audioInput: number | null
  readonly audioOutput: number | null
  /** Keys of amounts that were sent and are none, and that nothing else gave. */
  readonly malformed: readonly string[]
}

export const NO_BILLING: Billing = {
  service: '',
  cacheWriteHour: null,
  audioInput: null,
  audioOutput: null,
  malformed: [],
}

/** The call behind an event. */
export interface CostedCall {
  readonly model: string
  readonly provider: string
  readonly usage: Usage
  readonly billing: Billing
}

/** Where a cost came from, or why there is none. `none`: the event speaks of no tokens and no cost. */
export type Costing =
  | { readonly is: 'reported'; readonly costNanos: number }
  /** `overZero`: its sender said that it cost 0. */
  | { readonly is: 'computed'; readonly costNanos: number; readonly quote: Quote; readonly overZero: boolean }
  | { readonly is: 'invalid'; readonly keys: readonly string[] }
  | { readonly is: 'unpriced'; readonly why: NoQuote }
  | { readonly is: 'none' }

/** Decides what an event cost. Without a price list nothing is computed. */
export function costingOf(call: CostedCall, pricing: Pricing | undefined): Costing {
  const { costNanos } = call.usage
  if (costNanos === null) return pricedOf(call, pricing)
  const priced = costNanos === 0 ? pricedOf(call, pricing) : null
  return priced?.is === 'computed' ? { ...priced, overZero: true } : { is: 'reported', costNanos }
}

/** The same where the sender named no cost. */
function pricedOf({ usage, billing, model, provider }: CostedCall, pricing: Pricing | undefined): Costing {
  const { inputTokens, outputTokens } = usage
  // What is no amount in a count of tokens makes every sum of it wrong; a cost that is none can still be computed.
  if (billing.malformed.some(key => !isCostKey(key))) return { is: 'invalid', keys: billing.malformed }
  const malformed: Costing | null = billing.malformed.length > 0 ? { is: 'invalid', keys: billing.malformed } : null
  if (inputTokens === null && outputTokens === null) return malformed ?? { is: 'none' }
  if (pricing === undefined) return malformed ?? { is: 'none' }
  const quote = pricing.quote({
    model,
    provider,
    service: billing.service,
    tokens: {
      input: inputTokens,
      output: outputTokens,
      cacheRead: usage.cacheReadTokens,
      cacheWrite: usage.cacheWriteTokens,
      reasoning: usage.reasoningTokens,
      cacheWriteHour: billing.cacheWriteHour,
      audioInput: billing.audioInput,
      audioOutput: billing.audioOutput,
    },
  })
  if (typeof quote !== 'string') return { is: 'computed', costNanos: quote.costNanos, quote, overZero: false }
  return malformed ?? { is: 'unpriced', why: quote }
}

/** Metadata key of the reason why an event with tokens has no price. */
export const UNPRICED_KEY = `${OWN_PREFIX}unpriced`

/** The end of a remark about a price that took the place of its sender's 0. */
const OVER_ZERO = ', in place of 0'

/** True when the sender of a row with this remark about its price said that it cost 0. */
export const isOverZero = (priceNote: string): boolean => priceNote.endsWith(OVER_ZERO)

/** Bits of `present` that a costing sets. */
export function costBits(costing: Costing): number {
  switch (costing.is) {
    case 'reported':
      return Present.cost
    case 'computed':
      return Present.cost | Present.costComputed
    case 'invalid':
      return Present.pricingInvalid
    case 'unpriced':
    case 'none':
      return 0
    default:
      return costing satisfies never
  }
}

/** The remark about a costing: its key (without parley's prefix) and text; null when the row says everything. */
export function costNote(costing: Costing): readonly [key: string, text: string] | null {
  switch (costing.is) {
    case 'computed':
      return costing.overZero ? ['price', priceName(costing.quote) + OVER_ZERO] : priceNote(costing.quote)
    case 'invalid':
      return ['pricing_invalid', costing.keys.join(', ')]
    case 'unpriced':
      return ['unpriced', costing.why]
    case 'reported':
    case 'none':
      return null
    default:
      return costing satisfies never
  }
}

/** The remark that was made last, and of which quote: neighbours are calls of one model. */
let named: { readonly quote: Quote; readonly note: readonly [key: string, text: string] } | null = null

function priceNote(quote: Quote): readonly [key: string, text: string] {
  if (named === null || !isNamedAlike(named.quote, quote)) named = { quote, note: ['price', priceName(quote)] }
  return named.note
}

const isNamedAlike = (a: Quote, b: Quote): boolean =>
  a.model === b.model &&
  a.provider === b.provider &&
  a.version === b.version &&
  a.above === b.above &&
  a.service === b.service

/** The price that was used: `openai gpt-4o 2026-01, above 200000, batch`. */
export function priceName({ provider, model, version, above, service }: Quote): string {
  const words = [provider, model, version].filter(word => word !== '').join(' ')
  return [words, above > 0 ? `above ${above}` : '', service].filter(word => word !== '').join(', ')
}

const unpricedWords: Readonly<Record<NoQuote, string>> = {
  unknown_model: 'the price list does not have this model of this provider',
  unknown_service: 'the price list does not have this tier of service of the model',
  no_input_tokens: 'the tokens of the input are not known',
  no_price: 'the price list does not have a price for these tokens',
}

/** How a row got its cost, or why it has none, as a sentence; '' when the sender said it or nothing was to be priced. */
export function costWords({ metadata }: Pick<EventRow, 'metadata'>): string {
  const price = metadata[`${OWN_PREFIX}price`]
  if (price !== undefined) return `computed from the tokens by the price of ${price}`
  const invalid = metadata[`${OWN_PREFIX}pricing_invalid`]
  if (invalid !== undefined) return `there can be no price: no amount in ${invalid}`
  const unpriced = metadata[UNPRICED_KEY]
  return unpriced === undefined ? '' : (unpricedWords[unpriced as NoQuote] ?? unpriced)
}

const isCostKey = (key: string): boolean => /cost|price/i.test(key)

/** Texts that stand for no value. */
const nothing = /^\s*(|null|none|undefined|nan|n\/a|-)\s*$/i

/** True for a text where an amount belongs that is neither one nor a way to say that there is none. */
export function isMalformed(value: unknown): boolean {
  return typeof value === 'string' && !nothing.test(value) && amountOf(value) === null
}

/** Counts of tokens that belong together, as they were sent. */
export interface SentTokens {
  readonly input: number | null
  readonly output: number | null
  readonly cacheRead: number | null
  readonly cacheWrite: number | null
  /** null when it was not sent. */
  readonly total: number | null
}

/**
 * All input tokens, cached ones included, from senders of both conventions. The total tells them apart; without one, cached tokens
 * that are more than the input cannot be part of it. `excludes`: what the names of the keys say where neither decides.
 */
export function wholeInput(
  { input, output, cacheRead, cacheWrite, total }: SentTokens,
  excludes: boolean,
): number | null {
  const cached = (cacheRead ?? 0) + (cacheWrite ?? 0)
  if (input === null || cached === 0) return input
  if (cached > input) return input + cached
  if (total !== null && output !== null) {
    if (total === input + output + cached) return input + cached
    if (total === input + output) return input
  }
  return excludes ? input + cached : input
}

/** The first key that holds a count of tokens. */
export function firstTokens(keys: readonly string[], get: (key: string) => unknown): number | null {
  for (const key of keys) {
    const count = tokensOf(get(key))
    if (count !== null) return count
  }
  return null
}
