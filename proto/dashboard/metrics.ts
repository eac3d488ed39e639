// Shapes of /dashboard/api/dashboard and command-center-summary.
import type { Static } from 'typebox'
import Type from 'typebox'
import { ErrorsRequest, ErrorsResponse } from '#proto/dashboard/errors.ts'
import { Count, DateTime, Nullable } from '#proto/dashboard/shared.ts'
import { ToolStat } from '#proto/dashboard/tools.ts'
import { UserStoriesResponse } from '#proto/dashboard/user-stories.ts'

export const TimelinePoint = Type.Object({ day: DateTime, count: Count })
const Rate = Nullable(Type.Number({ minimum: 0, maximum: 1 }))
const Milliseconds = Nullable(Type.Number({ minimum: 0 }))

/** Figures of a window as other answers need them. Distinct counts are exact and never sums of daily ones; daily arrays have every day. */
export const WindowMetrics = Type.Object({
  total_calls: Count,
  total_conversations: Count,
  active_users: Count,
  daily_calls: Type.Array(TimelinePoint),
  daily_users: Type.Array(TimelinePoint),
  daily_conversations: Type.Array(TimelinePoint),
  /** Null when there are no events. */
  success_rate: Rate,
  error_count: Count,
  avg_latency: Milliseconds,
  p95_latency: Milliseconds,
  daily_errors: Type.Array(TimelinePoint),
  /** Of the window of the same length before; null for a window without a beginning. */
  previous: Nullable(
    Type.Object({ total_calls: Count, total_conversations: Count, active_users: Count, success_rate: Rate }),
  ),
})
export type WindowMetrics = Static<typeof WindowMetrics>

/** The same with what was used and what it cost: every token once, where an agent says again what the calls below it used. */
export const CommandCenterMetrics = Type.Object({
  ...WindowMetrics.properties,
  input_tokens: Count,
  output_tokens: Count,
  /** US dollars of what has a price; null where something was used and nothing of it has one. */
  cost: Nullable(Type.Number({ minimum: 0 })),
  /** Events with tokens whose price nobody knows: what they cost is missing in `cost`. */
  unpriced_calls: Count,
})
export type CommandCenterMetrics = Static<typeof CommandCenterMetrics>

/** `exclude_io` as in user-stories and errors: without it the lists show beginnings of texts. */
export const CommandCenterRequest = ErrorsRequest

/** Four parts in one call; one that fails is empty and named, but for the metrics. */
export const CommandCenterSummary = Type.Object({
  metrics: CommandCenterMetrics,
  user_stories: Type.Union([UserStoriesResponse, Type.Object({})]),
  errors: Type.Union([ErrorsResponse, Type.Object({})]),
  tool_stats: Type.Array(ToolStat),
  partial_data: Type.Boolean(),
  failed_parts: Type.Array(Type.Enum(['user_stories', 'errors', 'tool_stats'])),
})
