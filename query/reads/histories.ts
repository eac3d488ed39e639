// Users -> what they did over the whole history of their conversations, and what it cost: one statement, since both are sums over the
// same conversations.
import type { CostMetadata } from '#proto/dashboard/shared.ts'
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import type { Reader } from '../reader.ts'
import { answeredBy, latest, OURS, standing } from './sql.ts'
import { APART, conversationCostsSql, costsByKey, type SummaryRecord, TOTALS } from './summary-costs.ts'
import { CANDIDATES } from './users.ts'

/** What a user did. */
export interface UserFigures {
  readonly conversations: number
  readonly events: number
}

/** Of users by id; a user without conversations is absent, and so is one without anything that costs. */
export interface Histories {
  readonly figures: ReadonlyMap<string, UserFigures>
  readonly costs: ReadonlyMap<string, CostMetadata[]>
}

/** Nothing known. */
export const NO_HISTORIES: Histories = { figures: new Map(), costs: new Map() }

/** Sums of one price, or with `whole` the figures. */
interface HistoryRecord extends SummaryRecord {
  readonly whole: 0 | 1
  readonly conversations: number
  readonly messages: number
}

/** What a conversation has where a part of the union below says nothing of it. */
const NO_COSTS = `'' AS model, '' AS provider, 0 AS how, 0 AS repeating, 0 AS size,
        0 AS events, 0 AS input, 0 AS output, 0 AS cache_read, 0 AS cache_write, 0 AS reasoning, 0 AS nanos`

/** Who captures say that conversations are of; who events say, and how many they are; what they cost. */
const partsSql = (conditions: Conditions, candidates: string): string => `
      SELECT conversation_id, ${latest('user_id')} AS captured, '' AS seen, 0 AS n, ${NO_COSTS}
      FROM sessions
      WHERE ${OURS} AND conversation_id IN (${candidates}) AND ${standing()}
      GROUP BY conversation_id
      UNION ALL
      SELECT conversation_id, '' AS captured, user_id AS seen, sum(sign) AS n, ${NO_COSTS}
      FROM events
      WHERE ${OURS} AND conversation_id IN (${candidates})${andAll(conditions.sql)}
      GROUP BY user_id, conversation_id
      HAVING n > 0
      ${answeredBy('users')}
      UNION ALL
      SELECT
        conversation_id, '' AS captured, '' AS seen, 0 AS n, toString(model) AS model, toString(provider) AS provider, how, repeating, size,
        events, input, output, cache_read, cache_write, reasoning, nanos
      FROM (${conversationCostsSql(candidates)}
      )`

const PART = 'model, provider, how, size, events, input, output, cache_read, cache_write, reasoning, nanos'

/**
 * A conversation's first part is all of its events, at no price; the others are its priced groups. Where model calls say what was used,
 * agents that say it again don't count.
 */
export const historiesSql = (conditions: Conditions, candidates = CANDIDATES): string => `
  SELECT
    key, whole, model, provider, bitAnd(parts.how, ${APART}) AS how, size, ${TOTALS},
    toUInt32(count()) AS conversations, toUInt32(sum(events)) AS messages
  FROM (
    SELECT user AS key, part.1 AS whole, ${PART.split(', ')
      .map((name, i) => `part.${i + 2} AS ${name}`)
      .join(', ')}
    FROM (
      SELECT user, arrayJoin(arrayPushFront(
        if(called, arrayFilter((_priced, again) -> NOT again, priced, repeats), priced),
        (1, '', '', 0, 0, total, 0, 0, 0, 0, 0, 0))) AS part
      FROM (
        SELECT
          if(max(captured) != '', max(captured), max(seen)) AS user, sum(n) AS total,
          groupArrayIf((0, ${PART}), how > 0) AS priced, groupArrayIf(repeating, how > 0) AS repeats, has(repeats, 0) AS called
        FROM (${partsSql(conditions, candidates)}
        )
        GROUP BY conversation_id
        HAVING user IN {users:Array(String)} AND total > 0
      )
    )
  ) AS parts
  GROUP BY key, whole, model, provider, how, size
  ORDER BY key, provider, model, how, size`

/** Candidates as they were found. */
const FOUND = 'SELECT arrayJoin({candidates:Array(UUID)})'
/** Candidates that are handed back to the store; more are looked for again by each part of the statement. */
const CANDIDATES_MAX = 10_000

/**
 * Histories of users, of their conversations that meet the conditions. Candidates are found first: the engine would find them anew for
 * each of the three tables that are narrowed by them.
 */
export async function readHistories(
  reader: Reader,
  users: readonly string[],
  conditions: Conditions,
  candidatesMax = CANDIDATES_MAX,
): Promise<Histories> {
  if (users.length === 0) return NO_HISTORIES
  const found = await reader.read<{ conversation_id: string }>(
    'history_candidates',
    `SELECT conversation_id FROM (${CANDIDATES}) LIMIT ${candidatesMax + 1}`,
    { users },
  )
  const known = found.length <= candidatesMax
  const rows = await reader.read<HistoryRecord>(
    'histories',
    known ? historiesSql(conditions, FOUND) : historiesSql(conditions),
    {
      ...conditions.parameters,
      users,
      ...(known ? { candidates: found.map(row => row.conversation_id) } : {}),
    },
  )
  const figures = rows.filter(row => row.whole === 1)
  return {
    figures: new Map(
      figures.map(({ key, conversations, messages }) => [key, { conversations, events: messages }] as const),
    ),
    costs: costsByKey(rows.filter(row => row.whole === 0)),
  }
}
