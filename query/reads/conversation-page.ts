// One page of conversations by last activity inside a window. Chosen from the aggregate by day and conversation; where a correction
// is still unmerged the aggregate's times may be those of a reversed row, so those few conversations are recounted from rows.
import type { Position } from '../cursor.ts'
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import type { Slice } from '../page.ts'
import { afterCursor, sliceParameters, sliceSql } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { answeredBy, IN_WINDOW, OURS } from './sql.ts'

/** A conversation of a page. */
export interface ChosenConversation {
  readonly conversation_id: string
  /** ISO 8601 */
  readonly last_at: string
}

/** Its place in a page. */
export const positionOf = ({ last_at, conversation_id }: ChosenConversation): Position => ({
  at: last_at,
  id: conversation_id,
})

export const CORRECTED_DAYS = `
  SELECT toDate(ts) AS day
  FROM events
  WHERE ${OURS} AND toDate(ts) >= {from_day:Date} AND toDate(ts) <= {to_day:Date}
  GROUP BY toDate(ts)
  HAVING min(sign) < 0
  ${answeredBy('metrics_daily')}`

// A conversation whose rows of a day all moved away sums to zero there and needs no recount: the page leaves it out by itself.
export const CORRECTED_CONVERSATIONS = `
  SELECT DISTINCT conversation_id
  FROM (
    SELECT conversation_id
    FROM events
    WHERE ${OURS} AND toDate(ts) IN {days:Array(Date)}
    GROUP BY conversation_id, toDate(ts)
    HAVING min(sign) < 0 AND sum(sign) > 0
    ${answeredBy('conversations_daily')}
  )`

const FROM_AGGREGATE = (conditions: Conditions): string => `
    SELECT conversation_id, max(ts) AS last
    FROM events
    WHERE ${OURS} AND toDate(ts) >= {from_day:Date} AND toDate(ts) < {to_day:Date}
      AND conversation_id NOT IN {corrected:Array(UUID)}${andAll(conditions.sql)}
    GROUP BY conversation_id, toDate(ts)
    HAVING sum(sign) > 0
    ${answeredBy('conversations_daily')}`

const FROM_ROWS = (conditions: Conditions): string => `
    SELECT conversation_id, max(ts) AS last
    FROM events FINAL
    PREWHERE ${OURS} AND ${IN_WINDOW} AND conversation_id IN {corrected:Array(UUID)}
    WHERE 1${andAll(conditions.sql)}
    GROUP BY conversation_id`

/** The last event of a day may come after the window: its last day is read from rows, too. */
const FROM_LAST_DAY = (conditions: Conditions): string => `
    SELECT conversation_id, max(ts) AS last
    FROM events FINAL
    PREWHERE ${OURS} AND ${IN_WINDOW} AND ts >= {last_start:DateTime64(9, 'UTC')}
      AND toStartOfHour(ts) >= {last_start:DateTime64(9, 'UTC')}
    WHERE 1${andAll(conditions.sql)}
    GROUP BY conversation_id`

/** What besides the aggregate has to be read: corrected conversations, bound as `{corrected}`, and the last day of a window that ends. */
export interface Eligible {
  readonly recount: boolean
  readonly ends: boolean
}

/** Conversations (conversation_id, last_at) of a window; `conditions` hold for a conversation, by `conversation_id` alone. */
export const eligibleSql = (conditions: Conditions, { recount, ends }: Eligible): string => {
  const parts = [FROM_AGGREGATE, ...(recount ? [FROM_ROWS] : []), ...(ends ? [FROM_LAST_DAY] : [])]
  return `
  SELECT conversation_id, max(last) AS last_at
  FROM (${parts.map(part => part(conditions)).join('\n    UNION ALL')}
  )
  GROUP BY conversation_id
  HAVING last_at >= {from:DateTime64(9, 'UTC')}`
}

/** One page of them. */
export const conversationPageSql = (
  conditions: Conditions,
  sort: 'newest' | 'oldest',
  eligible: Eligible,
  slice: Slice,
): string => `${eligibleSql(conditions, eligible)}
    AND (${afterCursor(slice, 'last_at', 'toString(conversation_id)', sort)})${sliceSql('last_at', 'toString(conversation_id)', sort)}`

/** Conversations of a window under conditions, by last activity, ties by id. */
export async function chooseConversations(
  reader: Reader,
  options: { window: Window; conditions: Conditions; sort: 'newest' | 'oldest'; slice: Slice },
): Promise<ChosenConversation[]> {
  const { window, conditions, sort, slice } = options
  const corrected = await correctedConversations(reader, window)
  const eligible = { recount: corrected.length > 0, ends: Number.isFinite(window.toMs) }
  return reader.read<ChosenConversation>('conversation_page', conversationPageSql(conditions, sort, eligible, slice), {
    ...conditions.parameters,
    ...window.parameters,
    ...sliceParameters(slice),
    corrected,
  })
}

/** Conversations of a window of which some rows of a day are reversed and others are not; mostly none. */
export async function correctedConversations(reader: Reader, window: Window): Promise<string[]> {
  const { from_day, to_day } = window.parameters
  const days = await reader.read<{ day: string }>('corrected_days', CORRECTED_DAYS, { from_day, to_day })
  if (days.length === 0) return []
  const rows = await reader.read<{ conversation_id: string }>('corrected_conversations', CORRECTED_CONVERSATIONS, {
    days: days.map(row => row.day),
  })
  return rows.map(row => row.conversation_id)
}
