// One metric over time, by group: the same signed sums as every other figure, so a chart never contradicts a table.
import type { MetricName } from '#proto/dashboard/charts.ts'
import { Present } from '#proto/rows.ts'
import type { Conditions } from '../filters.ts'
import { bucketsAt } from '../latency.ts'
import type { Parameters, Reader } from '../reader.ts'
import { latest, OF_CONVERSATION, OURS, standing } from './sql.ts'
import { usersOfSql, WINDOW_CONVERSATIONS } from './users.ts'
import { windowGroups } from './window-groups.ts'

/** A value; `whole`: of the window instead of a bucket. */
export interface ChartPoint {
  readonly group: string
  readonly bucket: string
  readonly whole: 0 | 1
  readonly value: number | null
  /** Events behind it. */
  readonly events: number
}

/** Events with these cost something, whether it is known or not. */
const TOKENS = Present.inputTokens | Present.outputTokens

type Kind = 'sums' | 'conversations' | 'latency'

/** How a metric is made of sums. */
const METRICS: Readonly<
  Record<MetricName, { readonly kind: Kind; readonly sums: readonly string[]; readonly value: string }>
> = {
  events: { kind: 'sums', sums: [], value: 'sum(n)' },
  errors: { kind: 'sums', sums: ['sum(sign * failed) AS a'], value: 'sum(a)' },
  error_rate: { kind: 'sums', sums: ['sum(sign * failed) AS a'], value: 'if(sum(n) = 0, NULL, sum(a) / sum(n))' },
  conversations: { kind: 'conversations', sums: [], value: 'uniqExact(conversation_id)' },
  active_users: { kind: 'conversations', sums: [], value: `uniqExactIf(user, user != '')` },
  avg_latency: {
    kind: 'sums',
    sums: [
      'sum(sign * if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)) AS a',
      'sum(sign * (duration_ns >= 0)) AS b',
    ],
    value: 'if(sum(b) = 0, NULL, sum(a) / sum(b) / 1000)',
  },
  p95_latency: {
    kind: 'latency',
    sums: [],
    value: `if(sumIf(n, latency_bucket >= 0) = 0, -1, ${bucketsAt([0.95])}[1])`,
  },
  cost: {
    kind: 'sums',
    sums: [
      'sum(sign * toInt64(cost_nanos)) AS a',
      `sum(sign * (bitAnd(present, ${Present.cost}) > 0)) AS b`,
      `sum(sign * (bitAnd(present, ${TOKENS}) > 0)) AS c`,
    ],
    // What nobody has priced is not free.
    value: 'if(sum(b) = 0 AND sum(c) > 0, NULL, sum(a) / 1000000000)',
  },
  input_tokens: { kind: 'sums', sums: ['sum(sign * toInt64(input_tokens)) AS a'], value: 'sum(a)' },
  output_tokens: { kind: 'sums', sums: ['sum(sign * toInt64(output_tokens)) AS a'], value: 'sum(a)' },
  // Nothing has been judged yet.
  intent_count: { kind: 'sums', sums: [], value: '0' },
  violation_count: { kind: 'sums', sums: [], value: '0' },
}

/** What the points are grouped by: an expression over a row, and the condition for rows that have a group. */
function groupOf(group: string | null): {
  readonly key: string
  readonly only: readonly string[]
  readonly parameters: Parameters
} {
  switch (group) {
    case null:
      return { key: `''`, only: [], parameters: {} }
    case 'agent_name':
      return { key: 'toString(name)', only: [`kind = 'agent'`], parameters: {} }
    case 'tool_name':
      return { key: 'toString(name)', only: [`kind IN ('tool', 'resource', 'prompt')`], parameters: {} }
    case 'connection_type':
      // With the surface by which it came, which counts where no type was captured.
      return { key: 'concat(toString(conversation_id), toString(source))', only: [], parameters: {} }
    case 'model':
    case 'provider':
    case 'source':
      return { key: `toString(${group})`, only: group === 'source' ? [] : [`${group} != ''`], parameters: {} }
    case 'error_type':
      // Failures of no type are failures.
      return { key: 'toString(error_type)', only: ['failed = 1'], parameters: {} }
    default:
      return {
        key: 'metadata[{group_key:String}]',
        only: ['mapContains(metadata, {group_key:String})'],
        parameters: { group_key: group.slice('metadata.'.length) },
      }
  }
}

const UUID_CHARS = 36

/** The connection type of a conversation, as captured last. */
const CONNECTION_TYPES = `
    SELECT toString(conversation_id) AS conversation, ${latest('connection_type')} AS captured_type
    FROM sessions
    WHERE ${OURS} AND ${standing()}
    GROUP BY conversation_id`

/** What a chart asks for. */
export interface AskedChart {
  readonly metric: MetricName
  readonly group: string | null
  readonly bucket: string
  readonly conditions: Conditions
  readonly parameters: Parameters
}

function chartSql({ metric, group, bucket, conditions }: AskedChart): string {
  const { kind, sums, value } = METRICS[metric]
  const { key, only } = groupOf(group)
  const of = kind === 'conversations' ? [OF_CONVERSATION] : []
  const more = {
    sums: {},
    conversations: { conversation_id: 'conversation_id' },
    latency: { latency_bucket: 'latency_bucket' },
  }[kind]
  const keys = Object.keys(more)
  const by = ['key', 'bucket', ...keys].join(', ')
  const letters = sums.map(sum => sum.slice(-1))
  const grouped = `
    SELECT ${by}, sum(n) AS n${letters.map(letter => `, sum(${letter}) AS ${letter}`).join('')}
    FROM (${windowGroups({ key, bucket, ...more }, ['sum(sign) AS n', ...sums], { ...conditions, sql: [...of, ...only, ...conditions.sql] })})
    GROUP BY ${by}
    HAVING n > 0`
  const type = `if(captured_type = '', substring(key, ${UUID_CHARS + 1}), captured_type)`
  const label = group === 'connection_type' ? type : 'key'
  const joins = [
    kind === 'conversations' ? `LEFT JOIN (${usersOfSql(WINDOW_CONVERSATIONS)}) AS known USING (conversation_id)` : '',
    group === 'connection_type'
      ? `LEFT JOIN (${CONNECTION_TYPES}) AS captured ON captured.conversation = substring(grouped.key, 1, ${UUID_CHARS})`
      : '',
  ]
  return `
  SELECT ${label} AS group, bucket, toUInt8(grouping(bucket)) AS whole, toFloat64(${value}) AS value, toUInt32(sum(grouped.n)) AS events
  FROM (${grouped}
  ) AS grouped
  ${joins.join('\n  ')}
  GROUP BY GROUPING SETS ((${label}, bucket), (${label}))
  ORDER BY whole DESC, events DESC, group
  LIMIT 100000`
}

/** Points and totals of every group: totals first, those of most events first. */
export function readChart(reader: Reader, asked: AskedChart): Promise<ChartPoint[]> {
  return reader.read<ChartPoint>('chart', chartSql(asked), {
    ...asked.conditions.parameters,
    ...asked.parameters,
    ...groupOf(asked.group).parameters,
  })
}
