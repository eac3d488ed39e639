// The filters of user stories as conditions on conversations. Conditions on events ask for an event inside the window; conditions on
// captures ask for their merged state.
import type { UserStoriesRequest } from '#proto/dashboard/user-stories.ts'
import { ParleyError } from '#proto/errors.ts'
import { conversationIdOf, isUuid } from '#proto/ids.ts'
import { allKept, EVERY, type KeptFilter, ofIds, ofUser, withMetadata } from '../../days/filter.ts'
import type { Conditions } from '../../filters.ts'
import {
  agentCondition,
  allOf,
  byKey,
  connectionCondition,
  listOf,
  metadataConditions,
  NOTHING,
} from '../../filters.ts'
import { BY_ROWS, IN_WINDOW, OURS } from '../../reads/sql.ts'
import { emailCondition, userCondition } from '../../reads/users.ts'

/** Nothing can meet it. */
const NEVER: Conditions = { sql: ['0'], parameters: {} }

/**
 * Conditions of a request, by `conversation_id`; the other parameters are the window's.
 * @throws ParleyError REQ_BODY_INVALID for fields that do not go together.
 */
export function storyConditions(request: UserStoriesRequest, organization: string): Conditions {
  const agents = agentCondition(listOf(request.agent_name))
  return allOf(
    agents.sql.length === 0 ? NOTHING : { ...agents, sql: [withEvent(agents.sql.join(' AND '))] },
    connectionCondition(listOf(request.connection_type), withEvent),
    metadataConditions(byKey(request.metadata_filters), withEvent),
    searchCondition(request, organization),
    // No conversation has been judged yet, so none has any of the tags.
    (request.sentiment_ids ?? []).length > 0 ? NEVER : NOTHING,
    (request.sop_ids ?? []).length > 0 ? NEVER : NOTHING,
  )
}

/** The conversation has an event of the window that meets a condition; a reversed row takes back what its row counted. */
function withEvent(condition: string): string {
  return `conversation_id IN (
        SELECT conversation_id FROM events
        WHERE ${OURS} AND ${IN_WINDOW} AND (${condition})
        GROUP BY conversation_id HAVING sum(sign) > 0
        ${BY_ROWS})`
}

/** The same for kept days; null where only the store knows. Precondition: `storyConditions` has not refused the request. */
export function keptFilterOf(request: UserStoriesRequest, organization: string): KeptFilter | null {
  const { agent_name, connection_type, sentiment_ids = [], sop_ids = [] } = request
  const names = [agent_name, connection_type].flatMap(listOf)
  if (names.length + sentiment_ids.length + sop_ids.length > 0) return null
  const parts = [keptSearchOf(request, organization), withMetadata(byKey(request.metadata_filters))]
  return parts.some(part => part === null) ? null : allKept(parts.flatMap(part => part ?? []))
}

function keptSearchOf({ search_field: field, search_value: value = '' }: UserStoriesRequest, organization: string) {
  // Groups are chosen by their value, not conversations.
  if (field === undefined || field === 'group_value') return EVERY
  if (field === 'user_id') return ofUser(value)
  if (field === 'conversation_id') return ofIds(isUuid(value) ? [value.toLowerCase()] : [])
  return field === 'original_conversation_id' ? ofIds([conversationIdOf(organization, value)]) : null
}

function searchCondition(request: UserStoriesRequest, organization: string): Conditions {
  const { search_field: field, search_value: value } = request
  if (field === undefined && value === undefined) return NOTHING
  if (field === undefined || value === undefined) {
    const missing = field === undefined ? 'search_field' : 'search_value'
    throw new ParleyError('REQ_BODY_INVALID', `${missing} is required: search_field and search_value go together`, {
      field: missing,
    })
  }
  switch (field) {
    case 'user_id':
      return userCondition(value)
    case 'user_email':
      return emailCondition(value)
    case 'conversation_id':
      return isUuid(value) ? ofConversations([value.toLowerCase()]) : NEVER
    case 'original_conversation_id':
      // The id is derived from what was sent, so no look-up is needed.
      return ofConversations([conversationIdOf(organization, value)])
    case 'group_value':
      // Chooses groups, not conversations; that grouping is asked for has been checked.
      return NOTHING
    default:
      field satisfies never
      throw new ParleyError('BUG', `search field ${String(field)}`)
  }
}

function ofConversations(ids: readonly string[]): Conditions {
  return { sql: ['conversation_id IN {found:Array(UUID)}'], parameters: { found: ids } }
}
