// Captures of conversations -> one state each: fields and map entries of later captures win.

import { sendersSql } from '#store/senders.ts'
import type { Reader } from '../reader.ts'
import { type EventRecord, instantsOf } from './events.ts'
import { latest, latestMap, OURS, standing } from './sql.ts'

/** What is known about a conversation besides its events; '' = not known. */
export interface SessionState {
  readonly conversation_id: string
  /** As it was sent, when that differs from the conversation id. */
  readonly session_id: string
  readonly user_id: string
  readonly user_email: string
  readonly user_data: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>>
  readonly connection_type: string
  readonly recording_url: string
  /** ISO 8601 */
  readonly started_at: string
  /** 1 = captures name one user and then another. */
  readonly several_users: 0 | 1
}

const OF_CONVERSATIONS = `FROM sessions
  WHERE ${OURS} AND conversation_id IN {conversations:Array(UUID)}
    AND ${standing(' AND conversation_id IN {conversations:Array(UUID)}')}
  GROUP BY conversation_id`

const SEVERAL = `toUInt8(uniqExactIf(sessions.user_id, sessions.user_id != '') > 1) AS several_users`

const SESSIONS = `
  SELECT
    conversation_id,
    ${latest('session_id')} AS session_id,
    ${latest('user_id')} AS user_id,
    ${latest('user_email')} AS user_email,
    ${latestMap('user_data')} AS user_data,
    ${latestMap('metadata')} AS metadata,
    ${latest('connection_type')} AS connection_type,
    ${latest('recording_url')} AS recording_url,
    min(started_at) AS started_at,
    ${SEVERAL}
  ${OF_CONVERSATIONS}`

const USERS = `
  SELECT conversation_id, ${latest('user_id')} AS user_id, ${SEVERAL}
  ${OF_CONVERSATIONS}`

/** States by conversation id, put together by the store; conversations without a capture are absent. */
export async function readSessions(
  reader: Reader,
  conversations: readonly string[],
): Promise<Map<string, SessionState>> {
  const rows = await reader.read<SessionState>('sessions', SESSIONS, { conversations })
  return new Map(rows.map(row => [row.conversation_id, row]))
}

/** Who a conversation is of; '' = not known. */
type SessionUser = Pick<SessionState, 'conversation_id' | 'user_id' | 'several_users'>

/** Whom captures name as the user of an event; '' = nobody. */
export type UserOf = (event: EventRecord) => string

/** The same of events that don't name their user themselves. */
export async function readUsersOf(reader: Reader, events: readonly EventRecord[]): Promise<UserOf> {
  const nameless = events.filter(event => event.user_id === '')
  const conversations = [...new Set(nameless.map(event => event.conversation_id))]
  if (conversations.length === 0) return () => ''
  const rows = await reader.read<SessionUser>('session_users', USERS, { conversations })
  return readSenders(reader, nameless, new Map(rows.map(row => [row.conversation_id, row])))
}

const SENDERS = `SELECT event_id, sender FROM (${sendersSql({
  captures: `${OURS} AND conversation_id IN {conversations:Array(UUID)}`,
  events: `${OURS} AND ts IN {instants:Array(DateTime64(9, 'UTC'))} AND toStartOfHour(ts) IN {hours:Array(DateTime('UTC'))}
      AND conversation_id IN {conversations:Array(UUID)} AND event_id IN {events:Array(UUID)}`,
})})`

/** The same, when it is known what captures of their conversations say: the store is asked where that was one user first and then another. */
export async function readSenders(
  reader: Reader,
  events: readonly EventRecord[],
  sessions: ReadonlyMap<string, SessionUser>,
): Promise<UserOf> {
  const latest: UserOf = event => sessions.get(event.conversation_id)?.user_id ?? ''
  const changed = events.filter(
    event => event.user_id === '' && sessions.get(event.conversation_id)?.several_users === 1,
  )
  if (changed.length === 0) return latest
  const rows = await reader.read<{ event_id: string; sender: string }>('senders', SENDERS, {
    ...instantsOf(changed),
    conversations: [...new Set(changed.map(event => event.conversation_id))],
    events: changed.map(event => event.event_id),
  })
  const senders = new Map(rows.map(row => [row.event_id, row.sender]))
  return event => senders.get(event.event_id) ?? latest(event)
}
