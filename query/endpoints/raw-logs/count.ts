// POST /dashboard/api/raw-logs/count: how many events the same filters of raw-logs match; null where the aggregates cannot tell.
import { RawLogsCountResponse, RawLogsRequest } from '#proto/dashboard/raw-logs.ts'
import type { BaseFilters } from '#proto/dashboard/shared.ts'
import { withConversation } from '../../asked-conversation.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import { agentCondition, allOf, andAll, byKey, listOf, NOTHING, sessionsWith } from '../../filters.ts'
import { answeredByDay, EVENTS } from '../../reads/daily.ts'
import { saysOneOfSql } from '../../reads/metadata-values.ts'
import { OURS, RAGGED_DAYS, WHOLE_DAYS } from '../../reads/sql.ts'
import { windowOf } from '../../window.ts'
import { type LogFilters, successCondition } from './filters.ts'
import { readOne } from './list.ts'

/** Whole days from the aggregate by name; the conditions use its own expressions, else the planner would not take it. */
export const wholeDaysSql = (conditions: Conditions): string => `
  SELECT sum(sign) AS total
  FROM events
  WHERE ${OURS} AND ${WHOLE_DAYS}${andAll(conditions.sql)}
  ${answeredByDay([], [EVENTS], conditions.sql)}`

/** What the window holds of its first and last day, from the rows. */
const raggedDaysSql = (conditions: Conditions): string => `
  SELECT sum(sign) AS total
  FROM events
  WHERE ${OURS} AND ${RAGGED_DAYS}${andAll(conditions.sql)}`

const EVENT_TYPE = 'event_type'

export const rawLogsCount = endpoint({
  method: 'POST',
  path: '/dashboard/api/raw-logs/count',
  auth: 'any',
  about: 'How many events the filters of raw-logs match, or null where that would need a scan.',
  request: RawLogsRequest,
  response: RawLogsCountResponse,
  work: async (call, asked) => {
    const request = withConversation(call.organization.id, asked)
    if (request.event_id !== undefined) {
      return { total_count: (await readOne(call, request, { event_id: request.event_id })).length }
    }
    const conditions = await aggregateConditions(call, request)
    if (conditions === null) return { total_count: null }
    const parameters = { ...conditions.parameters, ...windowOf(request, call.nowMs).parameters }
    // The engine would rewrite a map's element to a subcolumn, which the aggregate does not hold.
    const settings = { optimize_functions_to_subcolumns: 0 } as const
    const parts = await Promise.all(
      [wholeDaysSql(conditions), raggedDaysSql(conditions)].map(sql =>
        call.reader.read<{ total: string }>('log_count', sql, parameters, settings),
      ),
    )
    return { total_count: parts.flat().reduce((sum, row) => sum + Number(row.total), 0) }
  },
})

/** Conditions that the aggregate by day and name can answer; null when a filter is beyond it. */
async function aggregateConditions(call: Call, request: LogFilters & BaseFilters): Promise<Conditions | null> {
  if (request.search_query) return null
  if (request.conversation_id !== undefined || listOf(request.connection_type).length > 0) return null
  const [type, ...more] = byKey(request.metadata_filters)
  if (more.length > 0 || (type !== undefined && type.key !== EVENT_TYPE)) return null
  let ofType = NOTHING
  if (type !== undefined) {
    ofType = {
      // A missing key reads as '' here, so '' itself cannot be asked for.
      sql: [saysOneOfSql("metadata['event_type']", '{values_0:Array(String)}')],
      parameters: { values_0: type.values },
    }
    if (type.values.includes('')) return null
    // raw-logs also matches the conversation's metadata; where one has this key, only the rows can tell.
    const elsewhere = await call.reader.read('event_type_elsewhere', `${sessionsWith(0)} LIMIT 1`, {
      key_0: type.key,
      values_0: type.values,
    })
    if (elsewhere.length > 0) return null
  }
  return allOf(agentCondition(listOf(request.agent_name)), successCondition(request.success), ofType)
}
