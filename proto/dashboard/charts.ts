// Shapes of saved charts, and of the question that draws one.
import type { Static } from 'typebox'
import Type from 'typebox'
import { Count, DateTime, filterFields, Nullable, Uuid } from '#proto/dashboard/shared.ts'

/** What can be counted. */
export const metricNames = [
  'events',
  'errors',
  'error_rate',
  'conversations',
  'active_users',
  'avg_latency',
  'p95_latency',
  'cost',
  'input_tokens',
  'output_tokens',
  'intent_count',
  'violation_count',
] as const
export type MetricName = (typeof metricNames)[number]
const Metric = Type.Enum([...metricNames])

/** A column, or `metadata.<key>` of events. */
const GroupBy = Type.String({
  pattern: '^(agent_name|tool_name|model|provider|connection_type|source|error_type|metadata\\..{1,128})$',
})
/** Charts of an organization at most. */
export const CHARTS_MAX = 50

const ChartType = Type.Enum(['line', 'bar', 'area', 'pie', 'number', 'table'])
const Title = Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', expected: 'more than blanks' })
const Filters = Type.Object(filterFields)

export const ChartConfig = Type.Object({
  id: Uuid,
  title: Type.String(),
  chart_type: ChartType,
  metric: Metric,
  group_by: Nullable(Type.String()),
  filters: Filters,
  position: Count,
  created_by: Type.String(),
  created_at: DateTime,
})
export type ChartConfig = Static<typeof ChartConfig>
export const ChartList = Type.Array(ChartConfig)

const NoFilters = Type.Object(filterFields, { default: {} })

export const ChartCreate = Type.Object({
  title: Title,
  chart_type: ChartType,
  metric: Metric,
  group_by: Type.Optional(Nullable(GroupBy)),
  filters: NoFilters,
})
/** Absent fields stay as they are. */
export const ChartUpdate = Type.Object({
  title: Type.Optional(Title),
  chart_type: Type.Optional(ChartType),
  metric: Type.Optional(Metric),
  group_by: Type.Optional(Nullable(GroupBy)),
  filters: Type.Optional(Filters),
})
export type ChartUpdate = Static<typeof ChartUpdate>

export const ChartReorder = Type.Object({ chart_ids: Type.Array(Uuid, { maxItems: CHARTS_MAX }) })

/** Groups that a chart tells apart; the rest is `other`, where a sum of the rest means something. */
export const CHART_GROUPS = 10

export const ChartQuery = Type.Object({
  metric: Metric,
  group_by: Type.Optional(Nullable(GroupBy)),
  filters: NoFilters,
})
export type ChartQuery = Static<typeof ChartQuery>

/** `total` is the metric of the whole window: no sum of the points where it counts what is distinct. */
export const ChartSeries = Type.Object({
  metric: Metric,
  group_by: Nullable(Type.String()),
  bucket_seconds: Count,
  series: Type.Array(
    Type.Object({
      /** Null without group_by. */
      group: Nullable(Type.String()),
      total: Nullable(Type.Number()),
      points: Type.Array(Type.Object({ timestamp: DateTime, value: Nullable(Type.Number()) })),
    }),
  ),
})
export type ChartSeries = Static<typeof ChartSeries>
