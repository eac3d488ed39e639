// One page of conversations by last activity inside a window. Chosen from the aggregate by day and conversation; where a correction
// is still unmerged the aggregate's times may be those of a reversed row, so those few conversations are recounted from rows.
import type { Position } from '../cursor.ts'
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import type { Slice } from '../page.ts'
import { afterCursor, sliceParameters, sliceSql } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { answeredBy, IN_WINDOW, OF_CONVERSATION, OURS } from './sql.ts'

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

/** Days of a window, newest first: how much happened, and whether a reversed row is unmerged. */
export const DAYS_SQL = `
  SELECT toDate(ts) AS day, toUInt32(greatest(sum(sign), 0)) AS events, min(sign) < 0 AS corrected
  FROM events
  WHERE ${OURS} AND toDate(ts) >= {from_day:Date} AND toDate(ts) <= {to_day:Date}
  GROUP BY toDate(ts)
  ORDER BY day DESC
  ${answeredBy('metrics_daily')}`

// A conversation whose rows of a day all moved away sums to zero there and needs no recount: the page leaves it out by itself.
export const CORRECTED_CONVERSATIONS = `
  SELECT DISTINCT conversation_id
  FROM (
    SELECT conversation_id
    FROM events
    WHERE ${OURS} AND toDate(ts) IN {days:Array(Date)} AND ${OF_CONVERSATION}
    GROUP BY conversation_id, toDate(ts)
    HAVING min(sign) < 0 AND sum(sign) > 0
    ${answeredBy('conversations_daily')}
  )`

const FROM_AGGREGATE = (conditions: Conditions): string => `
    SELECT conversation_id, max(ts) AS last
    FROM events
    WHERE ${OURS} AND toDate(ts) >= {reach_day:Date} AND toDate(ts) < {to_day:Date}
      AND conversation_id NOT IN {corrected:Array(UUID)} AND ${OF_CONVERSATION}${andAll(conditions.sql)}
    GROUP BY conversation_id, toDate(ts)
    HAVING sum(sign) > 0
    ${answeredBy('conversations_daily')}`

const SINCE_REACH = `ts >= {reach:DateTime64(9, 'UTC')} AND toStartOfHour(ts) >= toStartOfHour({reach:DateTime64(9, 'UTC')})`

const FROM_ROWS = (conditions: Conditions): string => `
    SELECT conversation_id, max(ts) AS last
    FROM events FINAL
    PREWHERE ${OURS} AND ${IN_WINDOW} AND ${SINCE_REACH} AND conversation_id IN {corrected:Array(UUID)}
    WHERE 1${andAll(conditions.sql)}
    GROUP BY conversation_id`

/** The last event of a day may come after the window: its last day is read from rows, too. */
const FROM_LAST_DAY = (conditions: Conditions): string => `
    SELECT conversation_id, max(ts) AS last
    FROM events FINAL
    PREWHERE ${OURS} AND ${IN_WINDOW} AND ts >= {last_start:DateTime64(9, 'UTC')}
      AND toStartOfHour(ts) >= {last_start:DateTime64(9, 'UTC')}
    WHERE ${OF_CONVERSATION}${andAll(conditions.sql)}
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
  HAVING last_at >= {reach:DateTime64(9, 'UTC')}`
}

/** One page of them. */
export const conversationPageSql = (
  conditions: Conditions,
  sort: 'newest' | 'oldest',
  eligible: Eligible,
  slice: Slice,
): string => `${eligibleSql(conditions, eligible)}
    AND (${afterCursor(slice, 'last_at', 'toString(conversation_id)', sort)})${sliceSql('last_at', 'toString(conversation_id)', sort)}`

/** How far back a read goes, which may be later than the window begins. */
export type Reach = Readonly<Record<'reach' | 'reach_day', string>>

/** The whole window. */
export const reachOf = ({ parameters: { from, from_day } }: Window): Reach => ({ reach: from, reach_day: from_day })

/** Events of the newest days that are read for each conversation of a page at first, and how much farther each next attempt reaches. */
const EVENTS_EACH = 50
const REACH_FACTOR = 16

/**
 * Conversations of a window under conditions, by last activity, ties by id. The newest of them were active on the newest days: the page
 * reads as many days as should hold it, and more only when they did not.
 */
export async function chooseConversations(
  reader: Reader,
  options: { window: Window; conditions: Conditions; sort: 'newest' | 'oldest'; slice: Slice },
): Promise<ChosenConversation[]> {
  const { window, conditions, sort, slice } = options
  const days = await readDays(reader, window)
  const ends = Number.isFinite(window.toMs)
  for (let wanted = (slice.offset + slice.limit) * EVENTS_EACH; ; wanted *= REACH_FACTOR) {
    const reach = sort === 'newest' ? reachBack(days, window, slice, wanted) : reachOf(window)
    const corrected = await correctedOf(
      reader,
      days.filter(({ day }) => day >= reach.reach_day),
    )
    const sql = conversationPageSql(conditions, sort, { recount: corrected.length > 0, ends }, slice)
    const found = await reader.read<ChosenConversation>('conversation_page', sql, {
      ...conditions.parameters,
      ...window.parameters,
      ...reach,
      ...sliceParameters(slice),
      corrected,
    })
    if (found.length === slice.limit || reach.reach_day === window.parameters.from_day) return found
  }
}

/** The newest days with that many events, of those that a cursor has not passed; the whole window where it has no more. */
function reachBack(days: readonly Day[], window: Window, { after }: Slice, wanted: number): Reach {
  let events = 0
  for (const { day, events: more } of days) {
    if (after !== undefined && day > after.at.slice(0, 10)) continue
    events += more
    if (events >= wanted && day > window.parameters.from_day) return { reach: `${day} 00:00:00.000`, reach_day: day }
  }
  return reachOf(window)
}

interface Day {
  readonly day: string
  readonly events: number
  readonly corrected: 0 | 1
}

function readDays(reader: Reader, window: Window): Promise<Day[]> {
  const { from_day, to_day } = window.parameters
  return reader.read<Day>('days', DAYS_SQL, { from_day, to_day })
}

/** Conversations of which some rows of one of the days are reversed and others are not; mostly none. */
async function correctedOf(reader: Reader, days: readonly Day[]): Promise<string[]> {
  const corrected = days.filter(day => day.corrected === 1).map(({ day }) => day)
  if (corrected.length === 0) return []
  const rows = await reader.read<{ conversation_id: string }>('corrected_conversations', CORRECTED_CONVERSATIONS, {
    days: corrected,
  })
  return rows.map(row => row.conversation_id)
}

/** The same of a whole window. */
export async function correctedConversations(reader: Reader, window: Window): Promise<string[]> {
  return correctedOf(reader, await readDays(reader, window))
}
