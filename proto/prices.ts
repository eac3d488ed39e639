// The shape of a price list: of the file that comes with parley, of an operator's own, and of what an organization says differently.
import type { Static } from 'typebox'
import Type from 'typebox'

/** US dollars for a million tokens. Six decimals are kept. */
const DollarsPerMillion = Type.Number({ minimum: 0, maximum: 100_000 })

/**
 * What a million tokens cost, by kind. A kind without a price of its own costs as much as the larger kind it belongs to: cached and
 * audio input as `input`, an hour's cache write as `cache_write`, reasoning and audio output as `output`.
 */
const prices = {
  input: Type.Optional(DollarsPerMillion),
  output: Type.Optional(DollarsPerMillion),
  cache_read: Type.Optional(DollarsPerMillion),
  /** Writing to a cache that lives for minutes. */
  cache_write: Type.Optional(DollarsPerMillion),
  /** Writing to a cache that lives for an hour. */
  cache_write_1h: Type.Optional(DollarsPerMillion),
  reasoning: Type.Optional(DollarsPerMillion),
  input_audio: Type.Optional(DollarsPerMillion),
  output_audio: Type.Optional(DollarsPerMillion),
}
const closed = { additionalProperties: false } as const

export const Prices = Type.Object(prices, closed)
export type Prices = Static<typeof Prices>

/** Prices from a size of the request on; kinds that are not named keep theirs. */
const PriceTier = Type.Object(
  {
    /** Input tokens of the request, cached ones included, above which the tier holds. */
    above: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    prices: Prices,
  },
  closed,
)

/** Names of models and providers, of tiers of service. */
const Name = Type.String({ minLength: 1, maxLength: 200 })

const entryFields = {
  /** As the provider names it; case, and dots against dashes, make no difference. */
  model: Name,
  aliases: Type.Optional(Type.Array(Name, { maxItems: 50 })),
  prices: Prices,
  tiers: Type.Optional(Type.Array(PriceTier, { maxItems: 8 })),
  /** Prices of other tiers of service (batch, flex, priority): a factor on all prices, or prices. */
  services: Type.Optional(
    Type.Record(
      Type.String({ pattern: '^[a-z_]{1,40}$' }),
      Type.Union([Type.Number({ minimum: 0, maximum: 100 }), Prices], { expected: 'a factor or prices' }),
    ),
  ),
}

/** What one model costs at one provider. */
export const PriceEntry = Type.Object(
  {
    ...entryFields,
    /** Who sells it at this price. */
    provider: Name,
    /** True: the price holds whoever passes the model on, except for models that run on one's own machines. */
    anywhere: Type.Optional(Type.Boolean()),
    /** Of the entry: changes with its prices. */
    version: Type.String({ minLength: 1, maxLength: 40 }),
    /** Where the prices were read, and as of when. */
    source: Type.String({ minLength: 1, maxLength: 300 }),
  },
  closed,
)
export type PriceEntry = Static<typeof PriceEntry>

/** A price list. */
export const PriceList = Type.Object(
  { version: Type.String({ minLength: 1, maxLength: 40 }), entries: Type.Array(PriceEntry, { maxItems: 5_000 }) },
  closed,
)
export type PriceList = Static<typeof PriceList>

/** Entries of one organization. */
export const OVERRIDES_MAX = 200

/** What one model costs an organization. Without a provider: whoever serves it. */
export const PriceOverride = Type.Object(
  {
    ...entryFields,
    provider: Type.Optional(Name),
    note: Type.Optional(Type.String({ maxLength: 300 })),
  },
  closed,
)
export type PriceOverride = Static<typeof PriceOverride>
