// POST /dashboard/api/user-stories: conversations by last activity, each with its figures, traits and newest events; or
// groups of them.
import { setImmediate } from 'node:timers/promises'
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import type { ConversationRow, VisibleUserSummary } from '#proto/dashboard/user-stories.ts'
import { UserStoriesRequest, UserStoriesResponse } from '#proto/dashboard/user-stories.ts'
import type { KeptFilter } from '../../days/filter.ts'
import { readKeptHistories } from '../../days/histories.ts'
import type { Kind } from '../../days/organization.ts'
import { type AskedPage, type KeptPage, readKeptPage } from '../../days/page.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import { createMissing } from '../../missing.ts'
import { pageOf, type Slice, sliceOf } from '../../page.ts'
import { chooseConversations, positionOf } from '../../reads/conversation-page.ts'
import { type Histories, NO_HISTORIES, readHistories } from '../../reads/histories.ts'
import { windowFrom, windowOf } from '../../window.ts'
import { type Begun, beginHydrating, hydrate, type ShownIo } from './conversations.ts'
import { keptFilterOf, storyConditions } from './filters.ts'
import { groupedStories, requireGrouping } from './grouped.ts'

export const userStories = endpoint({
  method: 'POST',
  path: '/dashboard/api/user-stories',
  auth: 'any',
  polled: true,
  about: 'Conversations by last activity inside the time range, or groups of them by a metadata key.',
  request: UserStoriesRequest,
  response: UserStoriesResponse,
  work: (call, request) => readStories(call, request),
})

/** The body of the endpoint. */
export async function readStories(
  call: Call,
  request: UserStoriesRequest,
  io: ShownIo = request.exclude_io ? 'none' : 'texts',
): Promise<UserStoriesResponse> {
  requireGrouping(request)
  const conditions = storyConditions(request, call.organization.id)
  if (request.group_by !== undefined) return groupedStories(call, request, request.group_by, conditions)
  const window = windowOf(request, call.nowMs)
  const asked = { conditions, filter: keptFilterOf(request, call.organization.id) }
  // Histories of its users need prices.
  const beside = request.allow_limited_preview ? [] : (['prices'] as const)
  let begun: Begun | undefined
  const early = (guess: KeptPage): void => {
    begun = beginHydrating(call, guess.known)
  }
  const which = { window, sort: request.sort, beside, early }
  const { chosen, known } = await chooseStories(call, asked, { ...which, slice: sliceOf(request) })
  const read = async (slice: Slice) =>
    (await chooseStories(call, asked, { ...which, early: () => undefined, slice })).chosen
  const missing = createMissing(call)
  let users: readonly string[] = []
  let histories: Histories = NO_HISTORIES
  const shown = { chosen: chosen.slice(0, request.page_size), known, begun, io }
  const rows = await hydrate(call, shown, missing, async found => {
    if (request.allow_limited_preview) return
    users = found
    // To look through memory takes the node as long as some reads take, of which those of texts are about to be asked.
    await setImmediate()
    histories = await missing.orElse(historiesOf(call, users, asked), NO_HISTORIES)
  })
  const conversations = known !== undefined && !Number.isFinite(window.toMs) ? inOrder(rows, request.sort) : rows
  const user_summaries = request.allow_limited_preview ? [] : summarize(conversations, users, histories)
  return {
    conversations,
    user_summaries,
    overlapping: false,
    ...(await pageOf(request, chosen, { position: positionOf, read })),
    partial_data: missing.any(),
  }
}

/** A page as its rows say: they may be newer than the days from which it was chosen. Ties stay as they are. */
function inOrder(rows: readonly ConversationRow[], sort: UserStoriesRequest['sort']): ConversationRow[] {
  const sign = sort === 'newest' ? -1 : 1
  return rows.toSorted((a, b) => sign * (Date.parse(a.last_active) - Date.parse(b.last_active)))
}

/** Which conversations: for the store, and for kept days where they know. */
interface AskedStories {
  readonly conditions: Conditions
  readonly filter: KeptFilter | null
}

async function chooseStories(
  { reader, kept, organization }: Call,
  { conditions, filter }: AskedStories,
  {
    beside,
    early,
    ...page
  }: AskedPage & { readonly beside: readonly Kind[]; readonly early: (guess: KeptPage) => void },
): Promise<Pick<KeptPage, 'chosen'> & Partial<KeptPage>> {
  const found =
    filter === null
      ? null
      : await readKeptPage(kept, reader, { organization: organization.id, filter, beside, early, ...page })
  return found ?? { chosen: await chooseConversations(reader, { conditions, ...page }) }
}

/** The time range chooses the page, not the history. */
async function historiesOf(
  { reader, kept, organization }: Call,
  users: readonly string[],
  { conditions, filter }: AskedStories,
): Promise<Histories> {
  if (users.length > 0 && filter !== null) {
    const histories = await readKeptHistories(kept, reader, { organization: organization.id, users, filter })
    if (histories !== null) return histories
  }
  const always = { sql: conditions.sql, parameters: { ...conditions.parameters, ...windowFrom(0).parameters } }
  return readHistories(reader, users, always)
}

/** Figures of the users of the page over their whole history; those of anonymous conversations are the conversation's own. */
function summarize(
  conversations: readonly ConversationRow[],
  users: readonly string[],
  { figures, costs }: Histories,
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
  // Nobody has done less than the page shows, which may be newer than his history.
  const shown = Map.groupBy(conversations, conversation => conversation.user_id)
  return [
    ...users.map(user => {
      const [found, own = []] = [figures.get(user), shown.get(user)]
      const messages = own.reduce((sum, { message_count }) => sum + message_count, 0)
      const [all, said] = [Math.max(found?.conversations ?? 0, own.length), Math.max(found?.events ?? 0, messages)]
      return summary(`user:${user}`, all, said, costs.get(user) ?? [])
    }),
    ...anonymous.map(({ conversation_id, message_count, cost_metadata }) =>
      summary(`conversation:${conversation_id}`, 1, message_count, cost_metadata),
    ),
  ]
}
