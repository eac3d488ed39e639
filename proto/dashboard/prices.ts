// Shapes of /dashboard/api/prices.
import type { Static } from 'typebox'
import Type from 'typebox'
import { DateTime, Nullable } from '#proto/dashboard/shared.ts'
import { OVERRIDES_MAX, PriceEntry, PriceOverride } from '#proto/prices.ts'

const Overrides = Type.Array(PriceOverride, { maxItems: OVERRIDES_MAX })

const ownFields = {
  /** Version of the price list. */
  version: Type.String(),
  /** What the organization says; its entries come before those of the list. */
  overrides: Overrides,
  /** Null when it never said anything. */
  updated_at: Nullable(DateTime),
  updated_by: Nullable(Type.String()),
}

export const OwnPrices = Type.Object(ownFields)
export type OwnPrices = Static<typeof OwnPrices>

export const PricesResponse = Type.Object({ ...ownFields, entries: Type.Array(PriceEntry) })

export const PutPricesRequest = Type.Object({ overrides: Overrides })

const Tokens = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const QuoteRequest = Type.Object({
  model: Type.String({ minLength: 1, maxLength: 1000 }),
  provider: Type.String({ maxLength: 1000, default: '' }),
  /** Tier of service, such as batch; '' = the ordinary one. */
  service: Type.String({ maxLength: 100, default: '' }),
  /** All input, cached tokens included. */
  input_tokens: Tokens,
  /** All output, reasoning included. */
  output_tokens: Type.Optional(Tokens),
  cache_read_tokens: Type.Optional(Tokens),
  cache_write_tokens: Type.Optional(Tokens),
  /** Of `cache_write_tokens`. */
  cache_write_1h_tokens: Type.Optional(Tokens),
  reasoning_tokens: Type.Optional(Tokens),
  input_audio_tokens: Type.Optional(Tokens),
  output_audio_tokens: Type.Optional(Tokens),
  /** Instead of the organization's own: to try them before they are saved. */
  overrides: Type.Optional(Overrides),
})

const QuoteLine = Type.Object({
  kind: Type.String(),
  tokens: Type.Integer({ minimum: 0 }),
  /** Dollars for a million tokens. */
  price: Type.Number({ minimum: 0 }),
  /** Dollars, exactly. */
  cost: Type.String(),
})

export const QuoteResponse = Type.Object({
  /** Dollars; null when there is no price. */
  cost: Nullable(Type.String()),
  /** Why there is none. */
  why: Nullable(Type.Enum(['unknown_model', 'unknown_service', 'no_input_tokens', 'no_price'])),
  /** The entry that was used. */
  price: Nullable(
    Type.Object({
      model: Type.String(),
      provider: Type.String(),
      version: Type.String(),
      /** Input size above which the tier holds; 0 = the base. */
      above: Type.Integer({ minimum: 0 }),
      service: Type.String(),
      lines: Type.Array(QuoteLine),
    }),
  ),
})
export type QuoteResponse = Static<typeof QuoteResponse>
