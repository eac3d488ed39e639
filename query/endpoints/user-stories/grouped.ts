// User stories with group_by: groups, the users of a group, or the conversations of a user in a group.
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import type {
  GroupSummary,
  UserStoriesRequest,
  UserStoriesResponse,
  UserSummary,
} from '#proto/dashboard/user-stories.ts'
import { ParleyError } from '#proto/errors.ts'
import { isoTime } from '../../answers.ts'
import type { KeptFilter } from '../../days/filter.ts'
import { type KeptGroups, readKeptGroups } from '../../days/groups.ts'
import type { Call } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import { createMissing, type Missing } from '../../missing.ts'
import { pageOf, sliceOf } from '../../page.ts'
import { positionOf } from '../../reads/conversation-page.ts'
import type { Grouping, GroupRecord, GroupUserRecord } from '../../reads/groups.ts'
import { costKeysOfGroups, readGroupConversations, readGroups, readGroupUsers } from '../../reads/groups.ts'
import { readSummaryCosts } from '../../reads/summary-costs.ts'
import { windowOf } from '../../window.ts'
import { hydrate } from './conversations.ts'
import { keptFilterOf } from './filters.ts'

const NO_TAGS = { intent_count: 0, violation_count: 0, intent_labels: [], violation_labels: [] }

/**
 * Fields that go with group_by and with each level.
 * @throws ParleyError REQ_BODY_INVALID naming the field that is missing or does not belong.
 */
export function requireGrouping(request: UserStoriesRequest): void {
  const refuse = (field: string, why: string): never => {
    throw new ParleyError('REQ_BODY_INVALID', `${field} ${why}`, { field })
  }
  const { group_by, group_level, search_field } = request
  if (group_by === undefined) {
    if (search_field === 'group_value') refuse('search_field', 'may be group_value only with group_by')
    return
  }
  if (search_field !== undefined && search_field !== 'group_value') {
    refuse('search_field', 'may only be group_value with group_by')
  }
  if (group_level === undefined || group_level === 'groups') return
  if (request.group_value === undefined) refuse('group_value', `is required for group_level ${group_level}`)
  if (group_level === 'conversations' && request.group_user_key === undefined) {
    refuse('group_user_key', 'is required for group_level conversations')
  }
}

/** The answer to a request with group_by. Precondition: `requireGrouping`. */
export async function groupedStories(
  call: Call,
  request: UserStoriesRequest,
  by: NonNullable<UserStoriesRequest['group_by']>,
  conditions: Conditions,
): Promise<UserStoriesResponse> {
  const { page_size, group_level, group_value, search_value } = request
  const grouping: Grouping = {
    ...by,
    window: windowOf(request, call.nowMs),
    conditions,
    sort: request.sort,
    slice: sliceOf(request),
    value: group_level === undefined || group_level === 'groups' ? search_value : group_value,
  }
  const common = { user_summaries: [], ...(group_value === undefined ? {} : { group_value }) }
  const missing = createMissing(call)
  switch (group_level) {
    case undefined:
    case 'groups': {
      const filter = keptFilterOf(request, call.organization.id)
      const { rows, costs } = await groupsOf(call, { grouping, filter, pageSize: page_size }, missing)
      const shown = rows.slice(0, page_size)
      const groups = shown.map(row => ({ ...groupSummary(row), cost_metadata: costs.get(row.value) ?? [] }))
      const paging = await pageOf(request, rows, {
        position: row => ({ at: row.last_at, id: row.value }),
        read: slice => readGroups(call.reader, { ...grouping, slice }),
      })
      return { ...common, groups, overlapping: overlaps(rows), ...paging, partial_data: missing.any() }
    }
    case 'users': {
      const rows = await readGroupUsers(call.reader, grouping)
      const shown = rows.slice(0, page_size)
      const keys = shown.map(row => row.user_key)
      const costs = await missing.orElse(costsOf(call, grouping, 'user_key', keys), new Map<string, CostMetadata[]>())
      const users = shown.map(row => ({ ...userSummary(row), cost_metadata: costs.get(row.user_key) ?? [] }))
      const paging = await pageOf(request, rows, {
        position: row => ({ at: row.last_at, id: row.user_key }),
        read: slice => readGroupUsers(call.reader, { ...grouping, slice }),
      })
      return { ...common, users, overlapping: overlaps(rows), ...paging, partial_data: missing.any() }
    }
    case 'conversations': {
      const userKey = userKeyOf(request.group_user_key ?? '')
      const rows = await readGroupConversations(call.reader, grouping, userKey)
      const conversations = await hydrate(
        call,
        { chosen: rows.slice(0, page_size), io: request.exclude_io ? 'none' : 'texts' },
        missing,
      )
      const overlapping = rows.some(row => row.several === 1)
      return {
        ...common,
        conversations,
        overlapping,
        ...(await pageOf(request, rows, {
          position: positionOf,
          read: slice => readGroupConversations(call.reader, { ...grouping, slice }, userKey),
        })),
        partial_data: missing.any(),
      }
    }
    default:
      group_level satisfies never
      throw new ParleyError('BUG', `group level ${String(group_level)}`)
  }
}

/** From kept days where they know the conditions; else from the store. Figures must be there, costs may be missing. */
async function groupsOf(
  call: Call,
  { grouping, filter, pageSize }: { grouping: Grouping; filter: KeptFilter | null; pageSize: number },
  missing: Missing,
): Promise<KeptGroups> {
  const { reader, kept, organization } = call
  if (filter !== null) {
    const groups = await readKeptGroups(kept, reader, { organization: organization.id, grouping, filter, pageSize })
    if (groups !== null) return groups
  }
  const rows = await readGroups(reader, grouping)
  const values = rows.slice(0, pageSize).map(row => row.value)
  return { rows, costs: await missing.orElse(costsOf(call, grouping, 'value', values), new Map()) }
}

async function costsOf(
  { reader }: Call,
  grouping: Grouping,
  column: 'value' | 'user_key',
  wanted: readonly string[],
): Promise<Map<string, CostMetadata[]>> {
  if (wanted.length === 0) return new Map()
  return readSummaryCosts(reader, await costKeysOfGroups(reader, grouping, column, wanted))
}

const overlaps = (rows: readonly { readonly overlapping: 0 | 1 }[]): boolean => rows[0]?.overlapping === 1

function groupSummary(row: GroupRecord): GroupSummary {
  return {
    value: row.value,
    conversation_count: row.conversations,
    user_count: row.users,
    message_count: row.events,
    ...NO_TAGS,
    last_active: isoTime(row.last_at),
  }
}

function userSummary(row: GroupUserRecord): UserSummary {
  return {
    key: Buffer.from(row.user_key).toString('base64url'),
    ...(row.user === '' ? {} : { user_id: row.user }),
    label: row.user || row.representative,
    representative_conversation_id: row.representative,
    conversation_count: row.conversations,
    message_count: row.events,
    ...NO_TAGS,
    last_active: isoTime(row.last_at),
  }
}

/** A key as it was given out: opaque, so that its form may change. */
const userKeyOf = (key: string): string => Buffer.from(key, 'base64url').toString('utf8')
