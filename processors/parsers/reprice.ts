// What a stored event costs by the prices of now. Everything that a price needs stands in its row: model, provider and tokens in columns,
// tier of service, audio and an hour's cache in the metadata under their own names. Where a row leaves a doubt, it stays as it is.
import type { Pricing } from '#pricing/quote.ts'
import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import { Present, type Source } from '#proto/rows.ts'
import { type Billing, type Costing, costBits, costingOf, costNote, isOverZero } from './cost.ts'
import { billingOf } from './otlp/billing.ts'
import type { Usage } from './rows.ts'
import { usageOfMetadata } from './sdk-usage.ts'
import { MASK } from './secrets.ts'

/** The columns that decide a price. */
export interface PricedRow {
  readonly source: Source
  readonly model: string
  readonly provider: string
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly reasoning_tokens: number
  readonly cost_nanos: number
  readonly present: number
  readonly metadata: Readonly<Record<string, string>>
}

/** A row's price of now. `unsure`: the row doesn't say everything that its payload said. */
export type Repriced =
  | { readonly is: 'same' }
  | { readonly is: 'unsure'; readonly why: string }
  | { readonly is: 'priced'; readonly cost: number; readonly present: number; readonly notes: Record<string, string> }

/** Keys of the remarks about a cost: a row has one of them, or none. */
export const COST_NOTES: readonly string[] = ['price', 'pricing_invalid', 'unpriced'].map(key => OWN_PREFIX + key)
const [PRICE, INVALID] = COST_NOTES as [string, string]
const COST_BITS = Present.cost | Present.costComputed | Present.pricingInvalid

/** True for rows that have a computed price, or could have one. The same condition in SQL is `PRICEABLE_SQL`. */
export function isPriceable(row: Pick<PricedRow, 'present' | 'cost_nanos'>): boolean {
  const tokens = (row.present & (Present.inputTokens | Present.outputTokens)) !== 0
  return (!isReported(row) || row.cost_nanos === 0) && tokens
}

/** True when the cost is the sender's word. */
const isReported = ({ present }: Pick<PricedRow, 'present'>): boolean =>
  (present & (Present.cost | Present.costComputed)) === Present.cost

export const PRICEABLE_SQL = `((bitAnd(present, ${Present.cost | Present.costComputed}) != ${Present.cost} OR cost_nanos = 0)
    AND bitAnd(present, ${Present.inputTokens | Present.outputTokens}) != 0)`

/** Keys whose values a price may need; everything else of the metadata need not be read. */
export const PRICING_KEYS = 'token|cost|price|tier|usage|cache|prompt|completion|^parley[.]'
/** Of each value so much is read. */
export const NOTE_CHARS = 1_024
const keys = new RegExp(PRICING_KEYS, 'i')

/** Prices a row again. */
export function repriced(row: PricedRow, pricing: Pricing): Repriced {
  if (!isPriceable(row)) return { is: 'same' }
  const { metadata, present } = row
  const why = doubtOf(row)
  if (why !== null) return { is: 'unsure', why }
  const usage = usageOf(row)
  const billing = billingOfRow(row, usage)
  if (!confirms(row, billing)) return { is: 'unsure', why: 'tier of service' }
  const call = { model: metadata[`${OWN_PREFIX}sent_model`] ?? row.model, usage, billing }
  const provider = metadata[`${OWN_PREFIX}sent_provider`] ?? row.provider
  const costing = costingOf({ ...call, provider }, pricing)
  // Words and lists are text in a row, and only words are malformed: what was taken for malformed then is known, else it isn't told.
  if (costing.is === 'invalid' && (present & Present.pricingInvalid) === 0) {
    return { is: 'unsure', why: 'amounts that are none' }
  }
  return changeOf(row, costing)
}

function changeOf(row: PricedRow, costing: Costing): Repriced {
  const cost = 'costNanos' in costing ? costing.costNanos : 0
  const present = (row.present & ~COST_BITS) | costBits(costing)
  const note = costNote(costing)
  const notes = note === null ? {} : { [OWN_PREFIX + note[0]]: note[1] }
  const same = COST_NOTES.every(key => row.metadata[key] === (notes as Record<string, string>)[key])
  if (same && cost === row.cost_nanos && present === row.present) return { is: 'same' }
  return { is: 'priced', cost, present, notes }
}

/** Why a row may say less than its payload did; null when it doesn't. */
function doubtOf({ metadata, present, cost_nanos }: PricedRow): string | null {
  if (metadata[`${OWN_PREFIX}metadata_dropped`] !== undefined) return 'metadata left out'
  const cut = metadata[`${OWN_PREFIX}metadata_cut`]
  if (cut !== undefined && (cut.length >= NOTE_CHARS || / and \d+ more$/.test(cut) || keys.test(cut)))
    return 'metadata cut'
  if ((metadata[INVALID]?.length ?? 0) >= NOTE_CHARS) return 'metadata cut'
  const computed = (present & Present.costComputed) !== 0
  // Remarks that do not fit the bits came from the sender.
  if (computed !== (metadata[PRICE] !== undefined) || (!computed && cost_nanos !== 0)) return 'remarks of its sender'
  if (((present & Present.pricingInvalid) !== 0) !== (metadata[INVALID] !== undefined)) return 'remarks of its sender'
  return null
}

function usageOf(row: PricedRow): Usage {
  const counted = (bit: number, count: number): number | null => ((row.present & bit) === 0 ? null : count)
  return {
    inputTokens: counted(Present.inputTokens, row.input_tokens),
    outputTokens: counted(Present.outputTokens, row.output_tokens),
    cacheReadTokens: counted(Present.cacheReadTokens, row.cache_read_tokens),
    cacheWriteTokens: counted(Present.cacheWriteTokens, row.cache_write_tokens),
    reasoningTokens: counted(Present.reasoningTokens, row.reasoning_tokens),
    // Any other cost of a sender is not priced again.
    costNanos: isReported(row) || isOverZero(row.metadata[PRICE] ?? '') ? 0 : null,
  }
}

function billingOfRow({ source, metadata, present }: PricedRow, usage: Usage): Billing {
  const said = Object.entries(metadata).filter(([key]) => !key.startsWith(OWN_PREFIX))
  const attributes = new Map(said)
  const billing =
    source === 'otlp'
      ? billingOf(attributes, usage)
      : usageOfMetadata({ get: key => attributes.get(key) ?? '' }).billing
  if ((present & Present.pricingInvalid) === 0) return billing
  return { ...billing, malformed: (metadata[INVALID] ?? '').split(', ') }
}

/** Names of the ordinary tier of service. */
const ordinary: ReadonlySet<string> = new Set(['', 'default', 'standard', 'auto', 'on_demand'])

/**
 * False when it is doubtful whether the tier of service was read from this key. Prefixes of frameworks are taken off application's own
 * attributes, so in a span's row a key without one may have come from elsewhere; the price that was used tells, if there is one.
 */
function confirms({ source, metadata }: PricedRow, { service }: Billing): boolean {
  if (source !== 'otlp') return true
  if (service === MASK || /^(?:[\d[{]|true$|false$)/.test(service)) return false
  const tier = service.trim().toLowerCase()
  const price = metadata[PRICE]
  if (price !== undefined) {
    const used = price.split(', ').filter((word, i) => i > 0 && !/^(above|in place of) /.test(word))
    return (used[0] ?? '') === (ordinary.has(tier) ? '' : tier)
  }
  return service === '' || metadata.service_tier !== service
}
