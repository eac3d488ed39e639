// Pricing inputs summed over many conversations: of users, of groups. From the aggregate by conversation alone.
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import { Present } from '#proto/rows.ts'
import type { Parameters, Reader } from '../reader.ts'
import { type CostSums, costOf, requestInput, TIERS } from './costs.ts'
import { answeredBy, OURS } from './sql.ts'

/** The bits that the aggregate keeps apart: 0008_costs.sql has the same number. */
const { inputTokens, outputTokens, cost, costComputed, pricingInvalid } = Present
export const HOW = inputTokens | outputTokens | cost | costComputed | pricingInvalid
/** Those of them that keep buckets apart. */
export const APART = cost | costComputed | pricingInvalid

export interface SummaryRecord extends Omit<CostSums, 'priced' | 'computed' | 'invalid'> {
  readonly key: string
  readonly how: number
  /** Of one request, on average: it lies within the size that all of them have in common. */
  readonly usual_input: string
}

/**
 * Sums by conversation, of those that a subquery lists. Expressions are those of the aggregate. An agent of a trace may say again what
 * the model calls below it used: where its conversation has any, they alone count.
 */
export const conversationCostsSql = (conversations: string): string => `
    SELECT
      conversation_id, model, provider, bitAnd(present, ${HOW}) AS how, kind = 'agent' AND source = 'otlp' AS repeating,
      roundDown(greatest(input_tokens, 1) - 1, ${TIERS}) AS size,
      sum(sign) AS events,
      sum(sign * toInt64(input_tokens)) AS input, sum(sign * toInt64(output_tokens)) AS output,
      sum(sign * toInt64(cache_read_tokens)) AS cache_read, sum(sign * toInt64(cache_write_tokens)) AS cache_write,
      sum(sign * toInt64(reasoning_tokens)) AS reasoning, sum(sign * toInt64(cost_nanos)) AS nanos
    FROM events
    WHERE ${OURS} AND bitAnd(present, ${HOW}) > 0 AND conversation_id IN (${conversations})
    GROUP BY conversation_id, model, provider, how, repeating, size
    HAVING events > 0
    ${answeredBy('priced')}`

/** What groups that are priced alike come to. */
export const TOTALS = `
    toString(intDiv(sum(input) + sum(events) - 1, sum(events))) AS usual_input, sum(input) AS input_tokens,
    sum(output) AS output_tokens, sum(cache_read) AS cache_read_tokens, sum(cache_write) AS cache_write_tokens,
    sum(reasoning) AS reasoning_tokens, sum(nanos) AS cost_nanos`

const summarySql = (keys: string, conversations: string): string => `
  SELECT
    toString(keyed.key) AS key, model, provider, bitAnd(costs.how, ${APART}) AS how, size, ${TOTALS}
  FROM (${keys}
  ) AS keyed
  INNER JOIN (
    SELECT * FROM (
      SELECT *, min(repeating) OVER (PARTITION BY conversation_id) = 0 AS called FROM (${conversationCostsSql(conversations)})
    )
    WHERE NOT (repeating AND called)
  ) AS costs USING (conversation_id)
  GROUP BY key, model, provider, how, size
  ORDER BY key, provider, model, how, size`

/** Which conversations are summed under which key. */
export interface SummaryKeys {
  /** Rows (key, conversation_id). */
  readonly keys: string
  /** Conversation ids, at least those of `keys`: a subquery that is answered quickly. */
  readonly conversations: string
  readonly parameters: Parameters
}

/** Cost metadata by key; keys without any are absent. */
export async function readSummaryCosts(
  reader: Reader,
  { keys, conversations, parameters }: SummaryKeys,
): Promise<Map<string, CostMetadata[]>> {
  return costsByKey(await reader.read<SummaryRecord>('summary_costs', summarySql(keys, conversations), parameters))
}

/** Rows of sums -> cost metadata by key. */
export function costsByKey(rows: readonly SummaryRecord[]): Map<string, CostMetadata[]> {
  const byKey = new Map<string, CostMetadata[]>()
  for (const row of rows) {
    const bit = (mask: number): 0 | 1 => ((row.how & mask) > 0 ? 1 : 0)
    const known = { priced: bit(cost), computed: bit(costComputed), invalid: bit(pricingInvalid) }
    const bucket = { ...costOf({ ...row, ...known }), 'tokens.aggregated': 'true' }
    byKey.set(row.key, [...(byKey.get(row.key) ?? []), { ...bucket, ...requestInput(row.usual_input, known) }])
  }
  return byKey
}
