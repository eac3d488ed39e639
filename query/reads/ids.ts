// An id that was searched for -> where what it names stands, whatever its time. Ids are exact: nothing here looks into texts.
import { isUuid } from '#proto/ids.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { windowBetween } from '../window.ts'
import { OURS } from './sql.ts'

const TRACE = /^[0-9a-f]{32}$/i
/** Shorter texts are words sooner than ids; what holds a space is none. */
const SENT_ID = /^\S{16,}$/

/** The text as a uuid when it is an id of 128 bits: with dashes or, as traces are written, without. */
export function uuidOf(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase()
  if (!TRACE.test(text)) return null
  return text.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

export const TRACE_BOUNDS = `
  SELECT toUnixTimestamp64Milli(min(ts)) AS first, toUnixTimestamp64Milli(max(ts)) AS last
  FROM events
  WHERE ${OURS} AND trace_id = {trace:UUID}
  HAVING count() > 0`

/** The time of a trace, perhaps wider than needed; null when there is none. */
export async function findTrace(reader: Reader, trace: string): Promise<Window | null> {
  const [found] = await reader.read<{ first: string; last: string }>('trace_by_id', TRACE_BOUNDS, { trace })
  return found === undefined ? null : windowBetween(Number(found.first), Number(found.last) + 1)
}

const BY_SENT_ID = `
  SELECT DISTINCT conversation_id
  FROM sessions
  WHERE ${OURS} AND session_id = {sent:String}
  LIMIT 1`

/** The conversation that was sent under an id that is no uuid; undefined when there is none, or when the text is hardly an id. */
export async function findBySentId(reader: Reader, sent: string): Promise<string | undefined> {
  if (!SENT_ID.test(sent)) return undefined
  const [found] = await reader.read<{ conversation_id: string }>('conversation_by_sent_id', BY_SENT_ID, { sent })
  return found?.conversation_id
}
