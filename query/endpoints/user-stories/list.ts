// POST /dashboard/api/user-stories: conversations by last activity, each with its figures, traits and newest events; or
// groups of them.
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import type { ConversationRow, VisibleUserSummary } from '#proto/dashboard/user-stories.ts'
import { UserStoriesRequest, UserStoriesResponse } from '#proto/dashboard/user-stories.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import type { Missing } from '../../missing.ts'
import { createMissing } from '../../missing.ts'
import { pageOf, sliceOf } from '../../page.ts'
import { chooseConversations, positionOf } from '../../reads/conversation-page.ts'
import { readSummaryCosts } from '../../reads/summary-costs.ts'
import { costKeysOfUsers, readUserFigures, type UserFigures } from '../../reads/users.ts'
import type { Window } from '../../window.ts'
import { windowFrom, windowOf } from '../../window.ts'
import { hydrate } from './conversations.ts'
import { storyConditions } from './filters.ts'
import { groupedStories, requireGrouping } from './grouped.ts'

export const userStories = endpoint({
  method: 'POST',
  path: '/dashboard/api/user-stories',
  auth: 'any',
  about: 'Conversations by last activity inside the time range, or groups of them by a metadata key.',
  request: UserStoriesRequest,
  response: UserStoriesResponse,
  work: readStories,
})

/** The body of the endpoint. */
export async function readStories(call: Call, request: UserStoriesRequest): Promise<UserStoriesResponse> {
  requireGrouping(request)
  const conditions = storyConditions(request, call.organization.id)
  if (request.group_by !== undefined) return groupedStories(call, request, request.group_by, conditions)
  const window = windowOf(request, call.nowMs)
  const chosen = await chooseConversations(call.reader, {
    window,
    conditions,
    sort: request.sort,
    slice: sliceOf(request),
  })
  const missing = createMissing(call)
  let histories: Histories = { users: [], figures: new Map(), costs: new Map() }
  const page = chosen.slice(0, request.page_size)
  const conversations = await hydrate(call.reader, page, request.exclude_io, missing, async users => {
    if (!request.allow_limited_preview) histories = await readHistories(call, users, conditions, missing.orElse)
  })
  const user_summaries = request.allow_limited_preview ? [] : summarize(conversations, histories)
  return {
    conversations,
    user_summaries,
    overlapping: false,
    ...pageOf(request, chosen, positionOf),
    partial_data: missing.any(),
  }
}

/** What is known of some users over their whole history. */
interface Histories {
  readonly users: readonly string[]
  readonly figures: ReadonlyMap<string, UserFigures>
  readonly costs: ReadonlyMap<string, CostMetadata[]>
}

async function readHistories(
  call: Call,
  users: readonly string[],
  conditions: Conditions,
  orElse: Missing['orElse'],
): Promise<Histories> {
  // The time range chooses the page, not the history.
  const always: Window = windowFrom(0)
  const whole = { sql: conditions.sql, parameters: { ...conditions.parameters, ...always.parameters } }
  const [figures, costs] = await Promise.all([
    orElse(readUserFigures(call.reader, users, whole), new Map<string, UserFigures>()),
    orElse(costsOf(call, users, whole), new Map<string, CostMetadata[]>()),
  ])
  return { users, figures, costs }
}

/** Figures of the users of the page over their whole history; those of anonymous conversations are the conversation's own. */
function summarize(
  conversations: readonly ConversationRow[],
  { users, figures, costs }: Histories,
): VisibleUserSummary[] {
  const summary = (
    key: string,
    conversation_count: number,
    message_count: number,
    cost_metadata: CostMetadata[],
  ): VisibleUserSummary => ({
    key,
    conversation_count,
    message_count,
    intent_count: 0,
    violation_count: 0,
    intent_labels: [],
    violation_labels: [],
    cost_metadata,
  })
  const anonymous = conversations.filter(conversation => conversation.user_id === null)
  return [
    ...users.map(user => {
      const found = figures.get(user)
      const key = `user:${user}`
      return summary(key, found?.conversations ?? 0, found?.events ?? 0, costs.get(key) ?? [])
    }),
    ...anonymous.map(({ conversation_id, message_count, cost_metadata }) =>
      summary(`conversation:${conversation_id}`, 1, message_count, cost_metadata),
    ),
  ]
}

async function costsOf(
  { reader }: Call,
  users: readonly string[],
  conditions: Conditions,
): Promise<Map<string, CostMetadata[]>> {
  return users.length === 0 ? new Map() : readSummaryCosts(reader, costKeysOfUsers(users, conditions))
}
