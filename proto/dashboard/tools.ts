// Shapes of the tool endpoints. Tools are tools, resources and prompts, whichever wire they came over.
import type { Static } from 'typebox'
import Type from 'typebox'
import { ChartList } from '#proto/dashboard/charts.ts'
import { Count, DateTime, Nullable, Uuid } from '#proto/dashboard/shared.ts'

const Rate = Type.Number({ minimum: 0, maximum: 1 })
const Milliseconds = Nullable(Type.Number({ minimum: 0 }))
const PrimitiveType = Type.Enum(['tool', 'resource', 'prompt'])

/** Tools of an answer at most. */
export const TOOLS_MAX = 1000
/** Tools that a series tells apart; the rest is `other`. */
export const SERIES_TOOLS = 20
/** Kinds of error of one tool. */
export const TOOL_ERRORS = 10

/** Percentiles come from latency buckets: at most 1.6 % off, and never above the maximum, which is exact like the mean. */
export const ToolStat = Type.Object({
  tool_name: Type.String(),
  primitive_type: PrimitiveType,
  calls: Count,
  success_count: Count,
  error_count: Count,
  success_rate: Rate,
  error_rate: Rate,
  avg_latency: Milliseconds,
  p50_latency: Milliseconds,
  p95_latency: Milliseconds,
  p99_latency: Milliseconds,
  max_latency: Milliseconds,
  conversations: Count,
  users: Count,
  last_called_at: DateTime,
})
export type ToolStat = Static<typeof ToolStat>
export const ToolStatsResponse = Type.Array(ToolStat)

const SeriesPoint = Type.Object({
  timestamp: DateTime,
  calls: Count,
  errors: Count,
  avg_latency: Milliseconds,
  p95_latency: Milliseconds,
})

/** Most used first; `other` is what is left, and last. */
export const ToolTimeSeriesResponse = Type.Object({
  bucket_seconds: Count,
  series: Type.Array(Type.Object({ tool_name: Type.String(), points: Type.Array(SeriesPoint) })),
})
export type ToolTimeSeriesResponse = Static<typeof ToolTimeSeriesResponse>

/** Failures that say the same but for ids and numbers. `people`: distinct known users. */
export const ErrorGroup = Type.Object({
  error_type: Type.String(),
  message: Type.String(),
  count: Count,
  people: Count,
  last_seen_at: DateTime,
  sample_event_id: Uuid,
  sample_conversation_id: Uuid,
  /** As it was sent. */
  sample_session_id: Type.String(),
})

export const ToolErrorDistributionResponse = Type.Object({
  total_errors: Count,
  tools: Type.Array(
    Type.Object({
      tool_name: Type.String(),
      error_count: Count,
      people: Count,
      /** Of all errors of tools. */
      share: Rate,
      errors: Type.Array(ErrorGroup),
    }),
  ),
})

/** Times since the call began, deltas since the mark before. */
export const ToolCheckpointStatsResponse = Type.Array(
  Type.Object({
    tool_name: Type.String(),
    checkpoints: Type.Array(
      Type.Object({
        name: Type.String(),
        count: Count,
        avg_ms: Type.Number(),
        p50_ms: Type.Number(),
        p95_ms: Type.Number(),
        max_ms: Type.Number(),
        avg_delta_ms: Type.Number(),
      }),
    ),
  }),
)

export const ToolsDashboardResponse = Type.Object({
  tool_stats: ToolStatsResponse,
  time_series: ToolTimeSeriesResponse,
  charts: ChartList,
  partial_data: Type.Boolean(),
})
