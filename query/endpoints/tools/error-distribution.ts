// POST /dashboard/api/tool-error-distribution: how often which tool fails, and with which words.
import { QueryFilters } from '#proto/dashboard/shared.ts'
import { TOOL_ERRORS, ToolErrorDistributionResponse } from '#proto/dashboard/tools.ts'
import { isoTime, placeOf } from '../../answers.ts'
import { endpoint } from '../../endpoint.ts'
import type { FailureGroup } from '../../reads/failures.ts'
import { readFailuresByName } from '../../reads/failures.ts'
import { bound, OF_TOOLS } from '../../reads/tools.ts'
import { askedTools } from './filters.ts'

export const toolErrorDistribution = endpoint({
  method: 'POST',
  path: '/dashboard/api/tool-error-distribution',
  auth: 'any',
  about: 'Failures of tools by tool and by message, with ids and numbers masked.',
  request: QueryFilters,
  response: ToolErrorDistributionResponse,
  work: async (call, request) => {
    const asked = askedTools(call, request)
    const ofTools = { ...asked.conditions, sql: [OF_TOOLS, ...asked.conditions.sql] }
    const rows = await readFailuresByName(call.reader, ofTools, bound(asked), TOOL_ERRORS)
    const total_errors = rows.find(row => row.level === 3)?.n ?? 0
    const tools = rows
      .filter(row => row.level === 1)
      .map(tool => ({
        tool_name: tool.name,
        error_count: tool.n,
        people: tool.people,
        share: tool.n / total_errors,
        errors: rows.filter(row => row.level === 0 && row.name === tool.name).map(errorGroup),
      }))
    return { total_errors, tools }
  },
})

/** A group as answers show it. */
export function errorGroup(group: FailureGroup) {
  const { error_type, message, n, people, last_at, sample } = group
  const [event_id, conversation_id, sent] = sample
  const { session_id } = placeOf({ event_id, conversation_id, session_id: sent })
  return {
    ...{ error_type, message, count: n, people, last_seen_at: isoTime(last_at) },
    ...{ sample_event_id: event_id, sample_conversation_id: conversation_id, sample_session_id: session_id },
  }
}
