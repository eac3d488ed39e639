// Users -> their conversations. A conversation's user is the one that its captures name last; only where they name none, its events.
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import type { Reader } from '../reader.ts'
import { latest, OURS, standing } from './sql.ts'
import type { SummaryKeys } from './summary-costs.ts'

/** Conversations of which any capture names one of `{users:Array(String)}`. */
export const CAPTURED = `SELECT conversation_id FROM sessions WHERE ${OURS} AND user_id IN {users:Array(String)}`

/**
 * Conversations with events of one of the users. user_id is a key of the aggregate by conversation, so its signed sum is exact
 * whatever was corrected.
 */
export const SEEN = `SELECT conversation_id FROM events
      WHERE ${OURS} AND user_id IN {users:Array(String)} GROUP BY conversation_id, user_id HAVING sum(sign) > 0`

/** Pairs (conversation_id, user) of some users. */
export const CONVERSATIONS_OF_USERS = `
    SELECT conversation_id, ${latest('user_id')} AS user
    FROM sessions
    WHERE ${OURS} AND conversation_id IN (${CAPTURED}) AND ${standing()}
    GROUP BY conversation_id
    HAVING user IN {users:Array(String)}
    UNION ALL
    SELECT conversation_id, max(user_id) AS user
    FROM (
      SELECT conversation_id, user_id FROM events
      WHERE ${OURS} AND conversation_id IN (${SEEN})
        AND conversation_id NOT IN (
          SELECT conversation_id FROM sessions WHERE ${OURS} AND user_id != '' AND conversation_id IN (${SEEN}))
      GROUP BY conversation_id, user_id
      HAVING sum(sign) > 0
    )
    GROUP BY conversation_id
    HAVING user IN {users:Array(String)}`

/**
 * Pairs (conversation_id, user) of the conversations that a subquery lists; '' where none is known. The subquery is read twice, and
 * should come from an aggregate.
 */
export const usersOfSql = (conversations: string): string => `
    SELECT conversation_id, if(max(captured) != '', max(captured), max(seen)) AS user
    FROM (
      SELECT conversation_id, ${latest('user_id')} AS captured, '' AS seen
      FROM sessions
      WHERE ${OURS} AND conversation_id IN (${conversations}) AND ${standing()}
      GROUP BY conversation_id
      UNION ALL
      SELECT conversation_id, '' AS captured, max(user_id) AS seen
      FROM (
        SELECT conversation_id, user_id FROM events
        WHERE ${OURS} AND conversation_id IN (${conversations})
        GROUP BY conversation_id, user_id
        HAVING sum(sign) > 0
      )
      GROUP BY conversation_id
    )
    GROUP BY conversation_id`

/** Conversations with events on days of the window: those of the window, and on its first and last day some more. */
export const WINDOW_CONVERSATIONS = `
        SELECT conversation_id FROM events
        WHERE ${OURS} AND toDate(ts) >= {from_day:Date} AND toDate(ts) <= {to_day:Date}
        GROUP BY conversation_id, toDate(ts)`

/** Conversations of one user. */
export function userCondition(user: string): Conditions {
  return {
    sql: [`conversation_id IN (SELECT conversation_id FROM (${CONVERSATIONS_OF_USERS}))`],
    parameters: { users: [user] },
  }
}

/** Conversations whose e-mail address, as captured last, is this one. */
export function emailCondition(email: string): Conditions {
  return {
    sql: [
      `conversation_id IN (
        SELECT conversation_id FROM sessions
        WHERE ${OURS} AND conversation_id IN (
          SELECT conversation_id FROM sessions WHERE ${OURS} AND user_email = {email:String})
          AND ${standing()}
        GROUP BY conversation_id HAVING ${latest('user_email')} = {email:String})`,
    ],
    parameters: { email },
  }
}

/** What a user did. */
export interface UserFigures {
  readonly user: string
  readonly conversations: number
  readonly events: number
}

const FIGURES_SQL = (conditions: Conditions): string => `
  SELECT user, toUInt32(count()) AS conversations, toUInt32(sum(events)) AS events
  FROM (${CONVERSATIONS_OF_USERS}
  ) AS pairs
  INNER JOIN (
    SELECT conversation_id, sum(sign) AS events
    FROM events
    WHERE ${OURS}
      AND conversation_id IN (SELECT conversation_id FROM (${CONVERSATIONS_OF_USERS}))${andAll(conditions.sql)}
    GROUP BY conversation_id
    HAVING events > 0
  ) AS counted USING (conversation_id)
  GROUP BY user`

/** Conversations of users by `user:<id>`, as costs are summed. */
export const costKeysOfUsers = (users: readonly string[], conditions: Conditions): SummaryKeys => ({
  keys: `
    SELECT concat('user:', user) AS key, conversation_id FROM (${CONVERSATIONS_OF_USERS}
    ) WHERE 1${andAll(conditions.sql)}`,
  conversations: `SELECT conversation_id FROM (${CONVERSATIONS_OF_USERS})`,
  parameters: { ...conditions.parameters, users },
})

/** Figures of users over the whole history of the conversations that meet the conditions. */
export async function readUserFigures(
  reader: Reader,
  users: readonly string[],
  conditions: Conditions,
): Promise<Map<string, UserFigures>> {
  if (users.length === 0) return new Map()
  const rows = await reader.read<UserFigures>('user_figures', FIGURES_SQL(conditions), {
    ...conditions.parameters,
    users,
  })
  return new Map(rows.map(row => [row.user, row]))
}
