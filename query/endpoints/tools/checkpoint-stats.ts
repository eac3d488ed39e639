// POST /dashboard/api/tool-checkpoint-stats: how long after its beginning a call passes which mark.
import { QueryFilters } from '#proto/dashboard/shared.ts'
import { TOOLS_MAX, ToolCheckpointStatsResponse } from '#proto/dashboard/tools.ts'
import { endpoint } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import { andAll } from '../../filters.ts'
import { IN_WINDOW, OURS } from '../../reads/sql.ts'
import { bound, OF_TOOLS } from '../../reads/tools.ts'
import { askedTools } from './filters.ts'

interface CheckpointRecord {
  readonly tool: string
  readonly label: string
  readonly n: number
  readonly average: number
  readonly levels: readonly [number, number]
  readonly slowest: number
  readonly average_delta: number
}

// Calls with marks are told apart one by one, so that reversed ones vanish.
const checkpointsSql = (conditions: Conditions): string => `
  SELECT
    tool, mark.1 AS label, toUInt32(count()) AS n, avg(mark.2) AS average,
    quantilesExactWeighted(0.5, 0.95)(mark.2, 1) AS levels, max(mark.2) AS slowest, avg(mark.2 - mark.3) AS average_delta
  FROM (
    SELECT tool, arrayJoin(arrayMap((mark, before) -> (mark.1, mark.2, before), marks, arrayPushFront(arrayPopBack(marks.2), 0))) AS mark
    FROM (
      SELECT name AS tool, arraySort(mark -> mark.2, JSONExtract(checkpoints, 'Array(Tuple(name String, timestamp Float64))')) AS marks
      FROM events
      WHERE ${OURS} AND ${IN_WINDOW} AND checkpoints != ''${andAll([OF_TOOLS, ...conditions.sql])}
      GROUP BY name, checkpoints, event_id, conversation_id, ts
      HAVING sum(sign) > 0
    )
  )
  GROUP BY tool, label
  ORDER BY tool, levels[1], label
  LIMIT ${TOOLS_MAX * 10}`

export const toolCheckpointStats = endpoint({
  method: 'POST',
  path: '/dashboard/api/tool-checkpoint-stats',
  auth: 'any',
  about: 'Times of the checkpoints of tool calls, in the order in which they are passed.',
  request: QueryFilters,
  response: ToolCheckpointStatsResponse,
  work: async (call, request) => {
    const asked = askedTools(call, request)
    const rows = await call.reader.read<CheckpointRecord>('checkpoints', checkpointsSql(asked.conditions), bound(asked))
    return [...Map.groupBy(rows, row => row.tool)].map(([tool_name, marks]) => ({
      tool_name,
      checkpoints: marks.map(({ label, n, average, levels, slowest, average_delta }) => ({
        name: label,
        count: n,
        avg_ms: average,
        p50_ms: levels[0],
        p95_ms: levels[1],
        max_ms: slowest,
        avg_delta_ms: average_delta,
      })),
    }))
  },
})
