// What pages of an organization show, from kept days or without them: for tests that compare the two.
import type { WindowMetrics } from '#proto/dashboard/metrics.ts'
import type { ToolStat } from '#proto/dashboard/tools.ts'
import { NIL_UUID } from '#proto/ids.ts'
import { silentLog } from '#test/rig.ts'
import type { Call } from '../endpoint.ts'
import { readMetrics } from '../endpoints/dashboard/metrics.ts'
import { readErrors } from '../endpoints/errors/list.ts'
import { askedTools } from '../endpoints/tools/filters.ts'
import { readToolStats } from '../endpoints/tools/stats.ts'
import { keptFilterOf, storyConditions } from '../endpoints/user-stories/filters.ts'
import { groupedStories } from '../endpoints/user-stories/grouped.ts'
import { NOTHING } from '../filters.ts'
import { NOW_MS } from '../fixture.ts'
import type { OpenReader } from '../reader.ts'
import { type ChosenConversation, chooseConversations, positionOf } from '../reads/conversation-page.ts'
import { type Histories, readHistories } from '../reads/histories.ts'
import { createNewest } from '../reads/newest.ts'
import { userCondition } from '../reads/users.ts'
import { windowFrom, windowOf } from '../window.ts'
import { EVERY, ofUser } from './filter.ts'
import { readKeptHistories } from './histories.ts'
import type { KeptDays } from './kept.ts'
import { type AskedPage, readKeptPage } from './page.ts'

/** The last month. */
export const MONTH = { time_range: '1m' }

/** What pages show. */
export interface Answer {
  readonly metrics: WindowMetrics
  readonly underFilters: unknown
  readonly tools: readonly ToolStat[]
  readonly histories: Histories
  readonly filtered: Histories | null
  readonly groups: unknown
  readonly failures: unknown
  readonly pages: readonly (readonly ChosenConversation[])[]
}

const USERS = ['user-0', 'user-1', 'user-3', 'captured-0', 'captured-1', 'late', 'moved', 'older', 'nobody']

/** All that is compared, from kept days or without them. */
export async function answerOf(
  openReader: OpenReader,
  by: KeptDays,
  { organization, body, grouped = GROUPED }: { organization: string; body: object; grouped?: Grouped },
): Promise<Answer> {
  const reader = openReader(organization, new AbortController().signal)
  const log = silentLog
  const about = { nowMs: NOW_MS, organization: { id: organization }, log }
  const call = { reader, kept: by, newest: createNewest(), ...about } as Call
  const metrics = await readMetrics(call, body as never)
  const underFilters = await Promise.all(
    FILTERS.map(async metadata_filters => {
      const request = { ...body, metadata_filters } as never
      return [await readMetrics(call, request), await readToolStats(call, askedTools(call, request))]
    }),
  )
  const histories = await readKeptHistories(by, reader, { organization, users: USERS })
  return {
    metrics,
    underFilters,
    tools: await readToolStats(call, askedTools(call, body as never)),
    histories: histories ?? (await readHistories(reader, USERS, NOTHING)),
    groups: await groupsOf(call, body, grouped),
    failures: await failuresOf(call, body),
    filtered: body === MONTH ? null : await filteredOf(call),
    pages: await pagesOf(call, body),
  }
}

async function filteredOf({ kept: by, reader, organization: { id: organization } }: Call): Promise<Histories> {
  const [filter, { sql, parameters }] = FILTERED
  const found = await readKeptHistories(by, reader, { organization, users: USERS, filter })
  return found ?? readHistories(reader, USERS, { sql, parameters: { ...parameters, ...windowFrom(0).parameters } })
}

/** Of events, of captures and of both: what conversations are filtered by. */
const FILTER = {
  metadata_filters: [
    { key: 'team', value: 'blue' },
    { key: 'team', value: '["red", "blue", "red"]' },
    { key: 'team', value: 't1' },
    { key: 'plan', value: 'pro' },
  ],
}
/** Of figures: what events alone say, what captures say, too, an empty value; three keys. */
const FILTERS = [
  [{ key: 'plan', value: 'pro' }],
  FILTER.metadata_filters.slice(0, 3),
  [{ key: 'team', value: '' }],
  [...FILTER.metadata_filters, { key: 'tier', value: '1' }],
]
const FILTERED = [keptFilterOf(FILTER as never, NIL_UUID) ?? EVERY, storyConditions(FILTER as never, NIL_UUID)] as const

/** Lists of failures: two pages one after the other, one that is counted off, and of what filters let through. */
async function failuresOf(call: Call, body: object) {
  const read = (more: object) => readErrors(call, { page: 1, page_size: 4, ...body, ...more } as never)
  const first = await read({})
  return [
    first,
    first.next_cursor === null ? null : await read({ cursor: first.next_cursor }),
    await read({ page: 2, page_size: 3 }),
    ...(await Promise.all(FILTERS.map(metadata_filters => read({ metadata_filters })))),
  ]
}

/** Pages of conversations: two one after the other, from the other end, and of what is searched for. */
async function pagesOf({ kept: by, reader, organization: { id: organization } }: Call, body: object) {
  const window = windowOf(body as never, NOW_MS)
  const choose = async (more: Partial<AskedPage>, filter = EVERY, conditions = NOTHING) => {
    const page: AskedPage = { window, sort: 'newest', slice: { offset: 0, limit: 7 }, ...more }
    const found = await readKeptPage(by, reader, { organization, filter, ...page })
    return found?.chosen ?? chooseConversations(reader, { conditions, ...page })
  }
  const first = await choose({})
  const after = first[3] && positionOf(first[3])
  const slice = { offset: 1, limit: 5 }
  return [
    first,
    await choose({ slice: { offset: 0, limit: 9, after } }),
    await choose({ sort: 'oldest', slice: { ...slice, after } }),
    await choose({ slice }, ofUser('user-3'), userCondition('user-3')),
    await choose({}, ofUser(''), userCondition('')),
    await choose({ slice: { offset: 0, limit: 5, after } }, ...FILTERED),
  ]
}

/** Pages of groups beside the first, by what they are: each costs the engine up to 0.1 s. */
export type Grouped = readonly ('next' | 'oldest' | 'found' | 'users' | 'filtered')[]
export const GROUPED: Grouped = ['next', 'oldest', 'found', 'users', 'filtered']

/** Two pages by each key, and one group of many; or some of them. */
async function groupsOf(call: Call, body: object, grouped: Grouped): Promise<unknown[]> {
  const ask = (source: string, more: object) => {
    const by = { source, key: 'team' } as never
    const request = { page: 1, page_size: 2, sort: 'newest', ...body, ...more } as never
    return groupedStories(call, request, by, storyConditions(request, call.organization.id))
  }
  const first = await ask('conversation_metadata', {})
  const others = {
    next: () => ask('conversation_metadata', { cursor: first.next_cursor ?? undefined }),
    oldest: () => ask('conversation_metadata', { sort: 'oldest', page: 2 }),
    found: () => ask('conversation_metadata', { search_field: 'group_value', search_value: 'blue' }),
    users: () => ask('user_metadata', { sort: 'oldest' }),
    filtered: () => ask('conversation_metadata', { metadata_filters: [{ key: 'plan', value: 'pro' }] }),
  }
  const answers: unknown[] = [first]
  for (const page of grouped) answers.push(await others[page]())
  return answers
}
