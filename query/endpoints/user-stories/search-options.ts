// POST /dashboard/api/user-stories/search-options: what a user may have meant by the beginning or a part of an identifier.
import { SEARCH_OPTIONS, SearchOptionsResponse, UserStoriesRequest } from '#proto/dashboard/user-stories.ts'
import { isoTime } from '../../answers.ts'
import { endpoint } from '../../endpoint.ts'
import type { OptionRecord } from '../../reads/options.ts'
import { readGroupOptions, readIdentifierOptions } from '../../reads/options.ts'
import { windowOf } from '../../window.ts'
import { storyConditions } from './filters.ts'
import { requireGrouping } from './grouped.ts'

export const searchOptions = endpoint({
  method: 'POST',
  path: '/dashboard/api/user-stories/search-options',
  auth: 'any',
  about: 'Users, conversations and addresses, or values of the chosen key, that hold the text `search`.',
  request: UserStoriesRequest,
  response: SearchOptionsResponse,
  work: async (call, request) => {
    requireGrouping(request)
    const { group_by, search = '' } = request
    const asked = {
      window: windowOf(request, call.nowMs),
      conditions: storyConditions(request, call.organization.id),
      search,
      limit: SEARCH_OPTIONS + 1,
    }
    const rows = await (group_by === undefined
      ? readIdentifierOptions(call.reader, asked)
      : readGroupOptions(call.reader, { ...asked, ...group_by }))
    return { options: rows.slice(0, SEARCH_OPTIONS).map(option), has_more: rows.length > SEARCH_OPTIONS }
  },
})

function option({ field, value, conversations, last_at }: OptionRecord) {
  return { field, value, label: value, conversation_count: conversations, last_active: isoTime(last_at) }
}
