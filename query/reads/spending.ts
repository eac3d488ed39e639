// What the events of a window used and cost: every token once, and how many events nobody could price.
import { Present } from '#proto/rows.ts'
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { BY_ROWS, IN_WINDOW, OURS } from './sql.ts'

/** Sums of a window. */
export interface Spending {
  readonly input_tokens: number
  readonly output_tokens: number
  /** US dollars; null where something was used and nothing of it has a price. */
  readonly cost: number | null
  /** Events with tokens and no price: what they cost is not in `cost`. */
  readonly unpriced_calls: number
}

const TOKENS = Present.inputTokens | Present.outputTokens
const USED = `bitAnd(present, ${TOKENS | Present.cost}) > 0`
const REPEATS = `kind = 'agent' AND source = 'otlp' AND ${USED}`

/** Traces of the window in which an agent may say again what model calls used, and model calls say it. */
const CALLED = `
      SELECT conversation_id, trace_id FROM events
      WHERE ${OURS} AND ${IN_WINDOW} AND kind = 'llm' AND ${USED} AND trace_id IN (
        SELECT trace_id FROM events WHERE ${OURS} AND ${IN_WINDOW} AND ${REPEATS})
      GROUP BY conversation_id, trace_id
      HAVING sum(sign) > 0
      ${BY_ROWS}`

const spendingSql = (conditions: Conditions): string => `
  SELECT sum(sign * toInt64(input_tokens)) AS input, sum(sign * toInt64(output_tokens)) AS output,
    sum(sign * toInt64(cost_nanos)) AS nanos, sum(sign * (bitAnd(present, ${Present.cost}) > 0)) AS priced,
    sum(sign * (bitAnd(present, ${Present.cost}) = 0)) AS unpriced
  FROM events
  WHERE ${OURS} AND ${IN_WINDOW} AND ${USED} AND NOT (${REPEATS} AND (conversation_id, trace_id) IN (${CALLED}))${andAll(conditions.sql)}
  ${BY_ROWS}`

/** Reads them. */
export async function readSpending(
  reader: Reader,
  { window, conditions }: { readonly window: Window; readonly conditions: Conditions },
): Promise<Spending> {
  type Row = Readonly<Record<'input' | 'output' | 'nanos' | 'priced' | 'unpriced', string>>
  const parameters = { ...conditions.parameters, ...window.parameters }
  const [row] = await reader.read<Row>('spending', spendingSql(conditions), parameters)
  const { input, output, nanos, priced, unpriced } = row as Row
  return {
    input_tokens: Number(input),
    output_tokens: Number(output),
    cost: priced === '0' && unpriced !== '0' ? null : Number(nanos) / 1e9,
    unpriced_calls: Number(unpriced),
  }
}
