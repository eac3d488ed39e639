// Conversations grouped by a value of their metadata or of their user's traits: groups, users of a group, conversations of a user.
// A value that is a JSON array puts its conversation into a group for every element.
import type { Conditions } from '../filters.ts'
import type { Slice } from '../page.ts'
import { afterCursor, sliceParameters, sliceSql } from '../page.ts'
import type { Question } from '../questions.ts'
import type { Parameters, Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import type { ChosenConversation, Eligible } from './conversation-page.ts'
import { correctedConversations, eligibleSql, reachOf } from './conversation-page.ts'
import { groupValues } from './metadata-values.ts'
import { answeredBy, latest, latestEntry, OURS, standing } from './sql.ts'
import type { SummaryKeys } from './summary-costs.ts'

/** What is grouped, and by what. */
export interface Grouping {
  readonly source: 'conversation_metadata' | 'user_metadata'
  readonly key: string
  readonly window: Window
  readonly conditions: Conditions
  readonly sort: 'newest' | 'oldest'
  readonly slice: Slice
  /** Only this group. */
  readonly value?: string | undefined
}

interface Tally {
  readonly conversations: number
  readonly events: number
  /** ISO 8601 */
  readonly last_at: string
  /** 1 when some conversation is in several groups. */
  readonly overlapping: 0 | 1
}

/** A group. */
export interface GroupRecord extends Tally {
  readonly value: string
  readonly users: number
}

/** A user of a group: `user:<id>`, or `conversation:<id>` when none is known. */
export interface GroupUserRecord extends Tally {
  readonly user_key: string
  readonly user: string
  readonly representative: string
}

/** Name of the parameter that holds the key. */
export const GROUP_KEY = 'group_key'
const KEY = `{${GROUP_KEY}:String}`

/** Column of captures that a key is looked up in. */
export const columnOf = (source: Grouping['source']): 'user_data' | 'metadata' =>
  source === 'user_metadata' ? 'user_data' : 'metadata'

/** (conversation_id, value, several, captured_user), a row for every group that a conversation is in. */
export function groupValuesSql(source: Grouping['source']): string {
  const column = columnOf(source)
  return `
      SELECT conversation_id, captured_user, arrayJoin(group_values) AS value, length(group_values) > 1 AS several
      FROM (
        SELECT
          conversation_id, ${latest('user_id')} AS captured_user, ${latestEntry(column, KEY)} AS raw,
          ${groupValues('raw')} AS group_values
        FROM sessions
        WHERE ${OURS} AND conversation_id IN (
          SELECT conversation_id FROM sessions WHERE ${OURS} AND mapContains(${column}, ${KEY}))
          AND ${standing()}
        GROUP BY conversation_id
        HAVING countIf(mapContains(${column}, ${KEY})) > 0
      )`
}

// user_id is a key of the aggregate by conversation, so that both figures are exact while corrections are unmerged.
const KEYED = `
          SELECT conversation_id FROM sessions
          WHERE ${OURS} AND (mapContains(metadata, ${KEY}) OR mapContains(user_data, ${KEY}))`

const FIGURES = `
      SELECT conversation_id, max(user_id) AS seen_user, sum(events) AS events
      FROM (
        SELECT conversation_id, user_id, sum(sign) AS events FROM events
        WHERE ${OURS} AND conversation_id IN (${KEYED})
        GROUP BY user_id, conversation_id HAVING events > 0
        ${answeredBy('users')}
      )
      GROUP BY conversation_id`

/** A row for every (group, conversation). */
const membersSql = (grouping: Grouping, eligible: Eligible): string => `
    SELECT
      value, several, conversation_id, last_at, events,
      if(captured_user != '', captured_user, seen_user) AS user,
      if(user != '', concat('user:', user), concat('conversation:', toString(conversation_id))) AS user_key
    FROM (${groupValuesSql(grouping.source)}
    ) AS grouped
    INNER JOIN (${eligibleSql(grouping.conditions, eligible)}
    ) AS eligible USING (conversation_id)
    INNER JOIN (${FIGURES}
    ) AS figures USING (conversation_id)
    ${grouping.value === undefined ? '' : 'WHERE value = {group_value:String}'}`

const TALLY = `
    toUInt32(count()) AS conversations, toUInt32(sum(events)) AS events, max(last_at) AS last_at,
    max(max(several)) OVER () AS overlapping`

/** A page of what is grouped; `overlapping` looks at all of it, so the cursor is applied outside. */
const page = (grouped: string, { slice, sort }: Grouping, tie: string): string => `
  SELECT * FROM (${grouped}
  ) AS page
  WHERE ${afterCursor(slice, 'page.last_at', tie, sort)}${sliceSql('page.last_at', tie, sort)}`

/** The members of a grouping, and what their SQL binds. */
async function bound(reader: Reader, grouping: Grouping): Promise<{ members: string; parameters: Parameters }> {
  const corrected = await correctedConversations(reader, grouping.window)
  const eligible = { recount: corrected.length > 0, ends: Number.isFinite(grouping.window.toMs) }
  return {
    members: membersSql(grouping, eligible),
    parameters: {
      ...grouping.conditions.parameters,
      ...grouping.window.parameters,
      ...reachOf(grouping.window),
      corrected,
      group_key: grouping.key,
      ...(grouping.value === undefined ? {} : { group_value: grouping.value }),
    },
  }
}

async function ask<T>(
  reader: Reader,
  question: Question,
  grouping: Grouping,
  sql: (members: string) => string,
  more: Parameters = {},
): Promise<T[]> {
  const { members, parameters } = await bound(reader, grouping)
  return reader.read<T>(question, sql(members), { ...parameters, ...sliceParameters(grouping.slice), ...more })
}

/** Conversations of some groups by value, or of some users of a group by their keys, as costs are summed. */
export async function costKeysOfGroups(
  reader: Reader,
  grouping: Grouping,
  column: 'value' | 'user_key',
  wanted: readonly string[],
): Promise<SummaryKeys> {
  const { members, parameters } = await bound(reader, grouping)
  const keys = `
    SELECT ${column} AS key, conversation_id FROM (${members}
    ) WHERE ${column} IN {summed:Array(String)}`
  return { keys, conversations: KEYED, parameters: { ...parameters, summed: wanted } }
}

/** Groups by last activity, ties by value. */
export function readGroups(reader: Reader, grouping: Grouping): Promise<GroupRecord[]> {
  const sql = (members: string): string =>
    page(
      `
    SELECT value, toUInt32(uniqExact(user_key)) AS users, ${TALLY}
    FROM (${members})
    GROUP BY value`,
      grouping,
      'value',
    )
  return ask(reader, 'groups', grouping, sql)
}

/** Users of one group by last activity, ties by key; each with its latest conversation. */
export function readGroupUsers(reader: Reader, grouping: Grouping): Promise<GroupUserRecord[]> {
  const sql = (members: string): string =>
    page(
      `
    SELECT user_key, any(user) AS user, argMax(conversation_id, (members.last_at, toString(conversation_id))) AS representative, ${TALLY}
    FROM (${members}) AS members
    GROUP BY user_key`,
      grouping,
      'user_key',
    )
  return ask(reader, 'group_users', grouping, sql)
}

/** Conversations of one user of one group by last activity, ties by id. */
export function readGroupConversations(
  reader: Reader,
  grouping: Grouping,
  userKey: string,
): Promise<(ChosenConversation & { readonly several: 0 | 1 })[]> {
  const sql = (members: string): string =>
    page(
      `
    SELECT conversation_id, last_at, several
    FROM (${members})
    WHERE user_key = {user_key:String}`,
      grouping,
      'toString(conversation_id)',
    )
  return ask(reader, 'group_conversations', grouping, sql, { user_key: userKey })
}
