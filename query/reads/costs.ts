// Pricing inputs: events -> buckets of one model each, as the contract's cost metadata (an object of strings).
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import { Present } from '#proto/rows.ts'
import type { Reader } from '../reader.ts'
import { compareTexts } from '../text-order.ts'
import type { ConversationBounds } from './conversation-facts.ts'
import { OF_CONVERSATIONS } from './conversation-facts.ts'
import type { EventRecord } from './events.ts'

const TOKENS = Present.inputTokens | Present.outputTokens
const PRICED = TOKENS | Present.cost | Present.pricingInvalid

/** Sizes of a request's input at which providers change their price: totals on both sides of one must not be added up. */
const TIER_SIZES = [0, 32_000, 64_000, 128_000, 200_000, 256_000, 512_000, 1_000_000]
export const TIERS = JSON.stringify(TIER_SIZES)

/** A sum of events that are priced alike. Counts are text: they are sums of 64-bit integers. */
export interface CostSums {
  readonly model: string
  readonly provider: string
  /** 1 = `cost_nanos` counts. */
  readonly priced: 0 | 1
  /** 1 = it was computed from the tokens; 0 = the sender named it, and tokens say nothing more. */
  readonly computed: 0 | 1
  /** 1 = an amount was malformed: there can be no price. */
  readonly invalid: 0 | 1
  readonly input_tokens: string
  readonly output_tokens: string
  readonly cache_read_tokens: string
  readonly cache_write_tokens: string
  readonly reasoning_tokens: string
  readonly cost_nanos: string
}

interface CostRecord extends CostSums {
  readonly conversation_id: string
  readonly largest_input: string
}

// An agent span often repeats the tokens of the model calls below it: where its conversation has any of its trace with tokens, they alone
// count.
const COSTS_SQL = `
  SELECT
    conversation_id, model, provider, bitAnd(present, ${Present.cost}) > 0 AS priced,
    bitAnd(present, ${Present.costComputed}) > 0 AS computed, bitAnd(present, ${Present.pricingInvalid}) > 0 AS invalid,
    max(events.input_tokens) AS largest_input,
    sum(events.input_tokens) AS input_tokens,
    sum(events.output_tokens) AS output_tokens,
    sum(events.cache_read_tokens) AS cache_read_tokens,
    sum(events.cache_write_tokens) AS cache_write_tokens,
    sum(events.reasoning_tokens) AS reasoning_tokens,
    sum(events.cost_nanos) AS cost_nanos
  FROM events FINAL
  PREWHERE ${OF_CONVERSATIONS}
  WHERE bitAnd(present, ${PRICED}) > 0
    AND NOT (kind = 'agent' AND source = 'otlp' AND (conversation_id, trace_id) IN (
      SELECT conversation_id, trace_id FROM events FINAL
      PREWHERE ${OF_CONVERSATIONS}
      WHERE kind = 'llm' AND bitAnd(present, ${PRICED}) > 0))
  GROUP BY conversation_id, model, provider, priced, computed, invalid,
    roundDown(greatest(events.input_tokens, 1) - 1, ${TIERS})
  ORDER BY conversation_id, provider, model, priced, computed, invalid, largest_input`

/** Cost metadata by conversation id; conversations without any are absent. */
export async function readCosts(reader: Reader, bounds: ConversationBounds): Promise<Map<string, CostMetadata[]>> {
  const rows = await reader.read<CostRecord>('costs', COSTS_SQL, { ...bounds })
  const byConversation = new Map<string, CostMetadata[]>()
  for (const row of rows) {
    const buckets = byConversation.get(row.conversation_id) ?? []
    buckets.push(bucketOf(row))
    byConversation.set(row.conversation_id, buckets)
  }
  return byConversation
}

const bucketOf = (sums: GroupSums): CostMetadata => ({
  ...costOf(sums),
  'tokens.aggregated': 'true',
  ...requestInput(sums.largest_input, sums),
})

/** Cost metadata of a conversation from all of its events, as the store sums it up. */
export function costsOfEvents(events: readonly EventRecord[]): CostMetadata[] {
  const priced = events.filter(({ present }) => (present & PRICED) > 0)
  const called = new Set(priced.flatMap(({ kind, trace_id }) => (kind === 'llm' ? [trace_id] : [])))
  const counted = priced.filter(
    ({ kind, source, trace_id }) => !(kind === 'agent' && source === 'otlp' && called.has(trace_id)),
  )
  const groups = Map.groupBy(counted, event => {
    const { model, provider, present, input_tokens } = event
    return JSON.stringify([model, provider, howOf(present), tierOf(input_tokens)])
  })
  return [...groups.values()].map(sumsOf).sort(inOrder).map(bucketOf)
}

type GroupSums = Omit<CostRecord, 'conversation_id'>

/** How an event is priced, as `CostSums` tells it. */
function howOf(present: number): Pick<CostSums, 'priced' | 'computed' | 'invalid'> {
  const bit = (mask: number): 0 | 1 => ((present & mask) > 0 ? 1 : 0)
  return { priced: bit(Present.cost), computed: bit(Present.costComputed), invalid: bit(Present.pricingInvalid) }
}

/** The size that a request's input is above. */
const tierOf = (tokens: string): number =>
  TIER_SIZES.findLast(size => size <= Math.max(Number(tokens), 1) - 1) as number

/** Sums of events that are priced alike, which are some. They wrap around where those of the store do. */
function sumsOf(events: readonly EventRecord[]): GroupSums {
  const [{ model, provider, present }] = events as readonly [EventRecord]
  const sum = (of: (event: EventRecord) => string): string =>
    BigInt.asUintN(
      64,
      events.reduce((total, event) => total + BigInt(of(event)), 0n),
    ).toString()
  return {
    ...{ model, provider, ...howOf(present) },
    largest_input: events
      .map(event => BigInt(event.input_tokens))
      .reduce((a, b) => (a > b ? a : b))
      .toString(),
    input_tokens: sum(event => event.input_tokens),
    output_tokens: sum(event => event.output_tokens),
    cache_read_tokens: sum(event => event.cache_read_tokens),
    cache_write_tokens: sum(event => event.cache_write_tokens),
    reasoning_tokens: sum(event => event.reasoning_tokens),
    cost_nanos: sum(event => event.cost_nanos),
  }
}

const inOrder = (a: GroupSums, b: GroupSums): number =>
  compareTexts(a.provider, b.provider) ||
  compareTexts(a.model, b.model) ||
  a.priced - b.priced ||
  a.computed - b.computed ||
  a.invalid - b.invalid ||
  Number(BigInt(a.largest_input) - BigInt(b.largest_input))

/** Cost metadata of one event; null when it carries neither price nor tokens. */
export function costOfEvent(event: EventRecord): CostMetadata | null {
  if ((event.present & PRICED) === 0) return null
  const how = howOf(event.present)
  return { ...costOf({ ...event, ...how }), ...requestInput(event.input_tokens, how) }
}

/** The input size that chooses the tier of a price. */
export function requestInput(
  tokens: string,
  { priced, computed }: Pick<CostSums, 'priced' | 'computed'>,
): CostMetadata {
  return (priced === 1 && computed === 0) || tokens === '0' ? {} : { 'tokens.request_input': tokens }
}

/** Sums as cost metadata. */
export function costOf(row: CostSums): CostMetadata {
  const cost: CostMetadata = {}
  const put = (key: string, value: string): void => {
    if (value !== '' && value !== '0') cost[key] = value
  }
  put('model', row.model)
  put('provider', row.provider)
  // What parley computed stands under a key of its own: `cost` is the sender's word, and whoever prices tokens himself still can.
  if (row.priced === 1) cost[row.computed === 1 ? 'cost.computed' : 'cost'] = dollars(row.cost_nanos)
  if (row.invalid === 1) cost['pricing.invalid'] = 'true'
  put('tokens.input', row.input_tokens)
  put('tokens.output', row.output_tokens)
  put('tokens.cache_read', row.cache_read_tokens)
  put('tokens.cache_write', row.cache_write_tokens)
  put('tokens.reasoning', row.reasoning_tokens)
  return cost
}

/** Fractions of a dollar in text (billionths, unless said otherwise) to dollars in text, exactly. */
export function dollars(amount: string, decimals = 9): string {
  const digits = amount.padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, -decimals) : `${digits.slice(0, -decimals)}.${fraction}`
}
