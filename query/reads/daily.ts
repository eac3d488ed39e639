// What a SELECT over whole days groups by, sums and asks for -> the aggregate by day that answers it, so that the planner tries no other.
import { answeredBy, BY_ROWS, type Projection } from './sql.ts'

/** Sums that the aggregates by day hold; `n`: events, `us`: whole microseconds of the `timed` ones. */
export const EVENTS = 'sum(sign) AS n'
export const FAILED = 'sum(sign * failed) AS failed_n'
export const LATENCIES = `sum(sign * (duration_ns >= 0)) AS timed,
      sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)) AS us`

/** Expressions of a list of sums, without their names. */
const termsOf = (sums: string): string[] => sums.split(/ AS \w+(?:,\s*|$)/).filter(term => term !== '')

interface Aggregate {
  readonly name: Projection
  /** What rows are told apart by, besides the day. */
  readonly keys: ReadonlySet<string>
  readonly sums: ReadonlySet<string>
}

const aggregate = (name: Projection, keys: readonly string[], ...sums: readonly string[]): Aggregate => ({
  ...{ name, keys: new Set(keys), sums: new Set(sums.flatMap(termsOf)) },
})

const AMOUNTS = ['input_tokens', 'output_tokens', 'cost_nanos'].map(column => `sum(sign * toInt64(${column}))`)

/** From the one with the fewest rows. */
const AGGREGATES = [
  aggregate('metrics_daily', ['kind', 'source'], EVENTS, FAILED, LATENCIES, ...AMOUNTS),
  aggregate('names_daily', ['kind', 'name', 'event_type', 'failed'], EVENTS, LATENCIES),
  aggregate('latency_daily', ['kind', 'name', 'failed', 'latency_bucket'], EVENTS, LATENCIES),
  aggregate('conversations_daily', ['conversation_id'], EVENTS, FAILED, LATENCIES),
]

/** Words of expressions that are no columns, or the day itself. */
const NO_COLUMN = /toDate\(ts\)|\b(?:AND|OR|NOT|IN|toString|toMonday)\b|'[^']*'|\{[^}]*\}/g

/** Columns and whatever else stands in expressions over rows. */
function wordsOf(expressions: readonly string[]): string[] {
  const texts = expressions.map(sql => sql.replaceAll(`metadata['event_type']`, 'event_type').replace(NO_COLUMN, ' '))
  return texts.flatMap(text => text.match(/[a-z_]\w*/gi) ?? [])
}

/**
 * The end of a SELECT over whole days. Expressions that are not understood here leave the choice to the planner, which costs its time;
 * none can make an answer wrong.
 */
export function answeredByDay(keys: readonly string[], sums: readonly string[], conditions: readonly string[]): string {
  if (wordsOf(keys).includes('ts')) return BY_ROWS
  const words = wordsOf([...keys, ...conditions])
  const terms = sums.flatMap(termsOf)
  const fitting = AGGREGATES.find(
    one => words.every(word => one.keys.has(word)) && terms.every(sum => one.sums.has(sum)),
  )
  return answeredBy(fitting?.name ?? 'any')
}
