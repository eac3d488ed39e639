// Model, provider and tokens of one call -> what it costs by a price list, and how that was reckoned. Cached, audio and reasoning
// tokens are parts of input and output here: none is charged twice, whatever the sender's convention was.
import type { PriceEntry, PriceList, PriceOverride, Prices } from '#proto/prices.ts'
import { hostNamed, hostOfCall, LOCAL, modelNames, plainName } from './names.ts'

/** The tokens of one call. Parts are included in the whole they belong to; null = not known. */
export interface CallTokens {
  /** All input, cached and audio included. */
  readonly input: number | null
  /** All output, reasoning and audio included. */
  readonly output: number | null
  readonly cacheRead?: number | null
  readonly cacheWrite?: number | null
  /** Of `cacheWrite`. */
  readonly cacheWriteHour?: number | null
  readonly reasoning?: number | null
  readonly audioInput?: number | null
  readonly audioOutput?: number | null
}

/** One call. `service`: the tier of service it ran in; '' = the ordinary one. */
export interface PricedCall {
  readonly model: string
  readonly provider: string
  readonly service?: string
  readonly tokens: CallTokens
}

export type PriceKind = keyof Prices

/** Tokens of one kind and what they cost. */
export interface QuoteLine {
  readonly kind: PriceKind
  readonly tokens: number
  /** Dollars a million. */
  readonly price: number
}

/** What a line costs in 1e-12 dollars, exactly: six decimals of dollars a million tokens are whole picodollars a token. */
export function picoDollars({ tokens, price }: QuoteLine): bigint {
  return BigInt(tokens) * BigInt(Math.round(price * 1e6))
}

/** What a call costs. */
export interface Quote {
  readonly costNanos: number
  /** Every token of the call is in exactly one line. */
  readonly lines: readonly QuoteLine[]
  /** The entry as the list names it. */
  readonly model: string
  readonly provider: string
  /** Version of the entry; `organization` where its own prices were used. */
  readonly version: string
  /** Input size above which the tier holds; 0 = the base. */
  readonly above: number
  readonly service: string
}

/** Why a call has no price. */
export type NoQuote = 'unknown_model' | 'unknown_service' | 'no_input_tokens' | 'no_price'

/** A price list, ready to be asked. */
export interface Pricing {
  readonly quote: (call: PricedCall) => Quote | NoQuote
}

/** What an organization's own prices are called where a version belongs. */
export const OVERRIDE_VERSION = 'organization'

/** Models whose entries are remembered. */
const KNOWN_MAX = 1_000

type AnyEntry = PriceEntry | PriceOverride
type Index = ReadonlyMap<string, readonly AnyEntry[]>

/** Names of the ordinary tier of service. */
const ordinary: ReadonlySet<string> = new Set(['', 'default', 'standard', 'auto', 'on_demand'])

/** Indexes a list, once a process: it may be shared by many organizations. */
export function indexPrices(entries: readonly AnyEntry[]): Index {
  const index = new Map<string, AnyEntry[]>()
  for (const entry of entries) {
    for (const name of [entry.model, ...(entry.aliases ?? [])]) {
      const key = plainName(name)
      const there = index.get(key)
      if (there) there.push(entry)
      else index.set(key, [entry])
    }
  }
  return index
}

/** Prices of one organization: its own entries come before the list. */
export function createPricing(list: Index, overrides: readonly PriceOverride[] = []): Pricing {
  const indexes = [indexPrices(overrides), list]
  // A process meets few models, again and again.
  const known = new Map<string, AnyEntry | null>()
  // Neighbours call the same model: no key is made of two names for them.
  let last: { readonly provider: string; readonly model: string; readonly entry: AnyEntry | null } | null = null
  const entryFor = (call: PricedCall): AnyEntry | undefined => {
    const { provider, model } = call
    if (last !== null && last.provider === provider && last.model === model) return last.entry ?? undefined
    const key = `${provider}\n${model}`
    let entry = known.get(key)
    if (entry === undefined) {
      if (known.size >= KNOWN_MAX) known.clear()
      entry = entryOf(indexes, call) ?? null
      known.set(key, entry)
    }
    last = { provider, model, entry }
    return entry ?? undefined
  }
  return {
    quote: call => {
      const entry = entryFor(call)
      return entry === undefined ? 'unknown_model' : quoteBy(entry, call)
    },
  }
}

/** Prices of a whole list. */
export function pricingOf(list: PriceList): Pricing {
  return createPricing(indexPrices(list.entries))
}

function entryOf(indexes: readonly Index[], { model, provider }: PricedCall): AnyEntry | undefined {
  const { names, host: named } = modelNames(model)
  const host = hostOfCall(provider, named)
  for (const index of indexes) {
    for (const name of names) {
      const entries = index.get(name) ?? []
      const found = entries.find(entry => isSoldBy(entry, host, provider)) ?? entries.find(entry => isFree(entry, host))
      if (found) return found
    }
  }
  return undefined
}

function isSoldBy(entry: AnyEntry, host: string, provider: string): boolean {
  if (entry.provider === undefined) return false
  const seller = hostNamed(entry.provider)
  return seller === '' ? plainName(entry.provider) === plainName(provider) : seller === host
}

/** True when the price holds whoever the model came from. */
function isFree(entry: AnyEntry, host: string): boolean {
  return entry.provider === undefined || ('anywhere' in entry && entry.anywhere === true && host !== LOCAL)
}

function quoteBy(entry: AnyEntry, { service = '', tokens }: PricedCall): Quote | NoQuote {
  const { input } = tokens
  if (input === null) return 'no_input_tokens'
  const tier = tierOf(entry, input)
  const asked = service === '' ? '' : service.trim().toLowerCase()
  const special = ordinary.has(asked) ? undefined : entry.services?.[asked]
  if (special === undefined && !ordinary.has(asked)) return 'unknown_service'
  const factor = typeof special === 'number' ? special : 1
  const own = typeof special === 'object' ? special : undefined
  // Most calls are of no tier: copying the prices of each would cost as much as all the rest.
  const prices = tier === undefined && own === undefined ? entry.prices : { ...entry.prices, ...tier?.prices, ...own }
  const lines = linesOf(prices, factor, tokens, input)
  if (lines === null) return 'no_price'
  return {
    costNanos: nanosOf(lines),
    lines,
    model: entry.model,
    provider: entry.provider ?? '',
    version: 'version' in entry ? entry.version : OVERRIDE_VERSION,
    above: tier?.above ?? 0,
    service: ordinary.has(asked) ? '' : asked,
  }
}

/** The tier of a request: the highest that its input is above. */
function tierOf(entry: AnyEntry, input: number): { above: number; prices: Prices } | undefined {
  let best: { above: number; prices: Prices } | undefined
  for (const tier of entry.tiers ?? []) if (input > tier.above && tier.above > (best?.above ?? 0)) best = tier
  return best
}

/**
 * Every token in exactly one line; null when one of them has no price. A part larger than what is left of its whole is cut: senders round,
 * and some are wrong.
 */
function linesOf(prices: Prices, factor: number, tokens: CallTokens, input: number): QuoteLine[] | null {
  const output = tokens.output ?? 0
  const cacheRead = Math.min(tokens.cacheRead ?? 0, input)
  const cacheWrite = Math.min(tokens.cacheWrite ?? 0, input - cacheRead)
  const hour = Math.min(tokens.cacheWriteHour ?? 0, cacheWrite)
  const audioInput = Math.min(tokens.audioInput ?? 0, input - cacheRead - cacheWrite)
  const audioOutput = Math.min(tokens.audioOutput ?? 0, output)
  const reasoning = Math.min(tokens.reasoning ?? 0, output - audioOutput)
  // One after the other, without a list of parts: it was two fifths of what a worker allocates for a span.
  const lines: QuoteLine[] = []
  const all =
    addLine(lines, prices, 'input', input - cacheRead - cacheWrite - audioInput) &&
    addLine(lines, prices, 'cache_read', cacheRead) &&
    addLine(lines, prices, 'cache_write', cacheWrite - hour) &&
    addLine(lines, prices, 'cache_write_1h', hour) &&
    addLine(lines, prices, 'input_audio', audioInput) &&
    addLine(lines, prices, 'output', output - reasoning - audioOutput) &&
    addLine(lines, prices, 'reasoning', reasoning) &&
    addLine(lines, prices, 'output_audio', audioOutput)
  if (!all) return null
  return factor === 1 ? lines : lines.map(line => ({ ...line, price: line.price * factor }))
}

/** Adds the line of so many tokens, which need none when there are none; false when they have no price. */
function addLine(lines: QuoteLine[], prices: Prices, kind: PriceKind, tokens: number): boolean {
  if (tokens === 0) return true
  const price = priceOf(prices, kind)
  if (price === undefined) return false
  lines.push({ kind, tokens, price })
  return true
}

function priceOf(prices: Prices, kind: PriceKind): number | undefined {
  switch (kind) {
    case 'cache_write_1h':
      return prices.cache_write_1h ?? prices.cache_write ?? prices.input
    case 'cache_read':
    case 'cache_write':
    case 'input_audio':
      return prices[kind] ?? prices.input
    case 'reasoning':
    case 'output_audio':
      return prices[kind] ?? prices.output
    case 'input':
    case 'output':
      return prices[kind]
    default:
      return kind satisfies never
  }
}

/** The sum of lines in whole nanodollars, rounded half up, within what a row can carry. */
function nanosOf(lines: readonly QuoteLine[]): number {
  // Below 2^53 picodollars, nine thousand dollars, doubles are exact and cheaper.
  const sum = lines.reduce((total, { tokens, price }) => total + tokens * Math.round(price * 1e6), 0)
  if (sum < Number.MAX_SAFE_INTEGER - 1000) return Math.floor((sum + 500) / 1000)
  const nanos = (lines.reduce((total, line) => total + picoDollars(line), 0n) + 500n) / 1000n
  return nanos > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(nanos)
}
