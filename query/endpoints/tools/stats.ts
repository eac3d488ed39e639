// POST /dashboard/api/tool-stats: calls, failures, latencies and people of every tool, most used first.
import { QueryFilters } from '#proto/dashboard/shared.ts'
import type { ToolStat } from '#proto/dashboard/tools.ts'
import { ToolStatsResponse } from '#proto/dashboard/tools.ts'
import { latencyOfBucket } from '#proto/rows.ts'
import { isoTime } from '../../answers.ts'
import { readFilteredTools } from '../../days/filtered-tools.ts'
import { readKeptTools } from '../../days/tools.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { averageMs } from '../../latency.ts'
import type { AskedTools, ToolPeople, ToolRecord } from '../../reads/tools.ts'
import { readToolFigures, readToolPeople, toolKey } from '../../reads/tools.ts'
import { askedTools } from './filters.ts'

export const toolStats = endpoint({
  method: 'POST',
  path: '/dashboard/api/tool-stats',
  auth: 'any',
  about: 'Calls, failures, latencies and people of every tool, resource and prompt, most used first.',
  request: QueryFilters,
  response: ToolStatsResponse,
  work: (call, request) => readToolStats(call, askedTools(call, request)),
})

/** The body of the endpoint. */
export async function readToolStats(call: Call, asked: AskedTools): Promise<ToolStat[]> {
  const { reader, kept, organization } = call
  const { window, conditions, filters } = asked
  if (conditions.sql.length === 0 || filters.length > 0) {
    const of = { organization: organization.id, window }
    const tools = await (filters.length === 0
      ? readKeptTools(kept, reader, of)
      : readFilteredTools(kept, reader, { ...of, filters }))
    if (tools !== null) return tools.map(tool => toolStat(tool, tool))
  }
  const [tools, people] = await Promise.all([readToolFigures(reader, asked), readToolPeople(reader, asked)])
  return tools.flatMap(tool => {
    const of = people.get(toolKey(tool))
    // Stored or taken back between the two reads.
    return of === undefined ? [] : [toolStat(tool, of)]
  })
}

function toolStat(tool: ToolRecord, people: Omit<ToolPeople, 'least'>): ToolStat {
  const { calls, errors, timed } = tool
  const max = timed === '0' ? null : people.slowest / 1000
  // The middle of a bucket may be beyond the longest call in it.
  const ms = (bucket: number): number | null => (max === null ? null : Math.min(latencyOfBucket(bucket), max))
  const [p50, p95, p99] = tool.buckets
  return {
    tool_name: tool.name,
    primitive_type: tool.kind,
    calls,
    success_count: calls - errors,
    error_count: errors,
    success_rate: (calls - errors) / calls,
    error_rate: errors / calls,
    avg_latency: averageMs(tool.us, timed),
    p50_latency: ms(p50),
    p95_latency: ms(p95),
    p99_latency: ms(p99),
    max_latency: max,
    conversations: people.conversations,
    users: people.users,
    last_called_at: isoTime(people.last_at),
  }
}
