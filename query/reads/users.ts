// Users -> their conversations. A conversation's user is the one that its captures name last; only where they name none, its events.
import type { Conditions } from '../filters.ts'
import { andAll, NOTHING } from '../filters.ts'
import { answeredBy, latest, OURS, standing } from './sql.ts'

/** Conversations of which any capture names one of `{users:Array(String)}`. */
export const CAPTURED = `SELECT conversation_id FROM sessions WHERE ${OURS} AND user_id IN {users:Array(String)}
      ${answeredBy('by_user')}`

/** Conversations with events of one of the users. user_id is a key of the aggregate, so its signed sum is exact whatever was corrected. */
export const SEEN = `SELECT conversation_id FROM events
      WHERE ${OURS} AND user_id IN {users:Array(String)} GROUP BY user_id, conversation_id HAVING sum(sign) > 0
      ${answeredBy('users')}`

/** Conversations that may be of one of the users: captures or events name them. */
export const CANDIDATES = `SELECT conversation_id FROM (${CAPTURED} UNION DISTINCT ${SEEN})`

/**
 * Rows (conversation_id, user, events) of the users' conversations under conditions. Captures and the aggregate by conversation are
 * read once each for all candidates: of whom a conversation is, and how long it is, come from the same groups.
 */
export const conversationsOfUsersSql = (conditions: Conditions): string => `
    SELECT conversation_id, if(max(captured) != '', max(captured), max(seen)) AS user, sum(n) AS events
    FROM (
      SELECT conversation_id, ${latest('user_id')} AS captured, '' AS seen, toInt64(0) AS n
      FROM sessions
      WHERE ${OURS} AND conversation_id IN (${CANDIDATES}) AND ${standing()}
      GROUP BY conversation_id
      UNION ALL
      SELECT conversation_id, '' AS captured, max(user_id) AS seen, sum(standing) AS n
      FROM (
        SELECT conversation_id, user_id, sum(sign) AS standing FROM events
        WHERE ${OURS} AND conversation_id IN (${CANDIDATES})${andAll(conditions.sql)}
        GROUP BY conversation_id, user_id
        HAVING standing > 0
        ${answeredBy('users')}
      )
      GROUP BY conversation_id
    )
    GROUP BY conversation_id
    HAVING user IN {users:Array(String)} AND events > 0`

/** All of them. */
export const CONVERSATIONS_OF_USERS = conversationsOfUsersSql(NOTHING)

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
        WHERE ${OURS} AND user_id > '' AND conversation_id IN (${conversations})
        GROUP BY user_id, conversation_id
        HAVING sum(sign) > 0
        ${answeredBy('users')}
      )
      GROUP BY conversation_id
    )
    GROUP BY conversation_id`

/** Conversations with events on days of the window: those of the window, and on its first and last day some more. */
export const WINDOW_CONVERSATIONS = `
        SELECT conversation_id FROM events
        WHERE ${OURS} AND toDate(ts) >= {from_day:Date} AND toDate(ts) <= {to_day:Date}
        GROUP BY conversation_id, toDate(ts)
        ${answeredBy('conversations_daily')}`

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
