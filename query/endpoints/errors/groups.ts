// POST /dashboard/api/errors/groups: failures of all kinds by what they say, most frequent first.
import { ERROR_GROUPS_MAX, ErrorGroupsRequest, ErrorGroupsResponse } from '#proto/dashboard/errors.ts'
import { isoTime } from '../../answers.ts'
import { endpoint } from '../../endpoint.ts'
import { eventConditions } from '../../filters.ts'
import { readFailureGroups } from '../../reads/failures.ts'
import { windowOf } from '../../window.ts'
import { errorGroup } from '../tools/error-distribution.ts'

export const errorGroups = endpoint({
  method: 'POST',
  path: '/dashboard/api/errors/groups',
  auth: 'any',
  about: 'Failed events by error type and message, with ids and numbers masked, and how many people met them.',
  request: ErrorGroupsRequest,
  response: ErrorGroupsResponse,
  work: async ({ reader, nowMs }, request) => {
    const conditions = eventConditions(request)
    const parameters = { ...conditions.parameters, ...windowOf(request, nowMs).parameters }
    const [whole, ...groups] = await readFailureGroups(reader, conditions, parameters, ERROR_GROUPS_MAX)
    return {
      total_errors: whole?.n ?? 0,
      groups: groups.map(group => ({
        ...errorGroup(group),
        primitive_names: [...group.names],
        conversations: group.conversations,
        first_seen_at: isoTime(group.first_at),
      })),
    }
  },
})
