// Captures of conversations -> one state each: fields and map entries of later captures win.

import type { Reader } from '../reader.ts'
import type { EventRecord } from './events.ts'
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
}

const OF_CONVERSATIONS = `FROM sessions
  WHERE ${OURS} AND conversation_id IN {conversations:Array(UUID)}
    AND ${standing(' AND conversation_id IN {conversations:Array(UUID)}')}
  GROUP BY conversation_id`

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
    min(started_at) AS started_at
  ${OF_CONVERSATIONS}`

const USERS = `
  SELECT conversation_id, ${latest('user_id')} AS user_id
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
export type SessionUser = Pick<SessionState, 'conversation_id' | 'user_id'>

/** Of the conversations of events that don't name their user themselves, by conversation id. */
export async function readUsersOf(
  reader: Reader,
  events: readonly EventRecord[],
): Promise<ReadonlyMap<string, SessionUser>> {
  const nameless = events.filter(event => event.user_id === '')
  const conversations = [...new Set(nameless.map(event => event.conversation_id))]
  if (conversations.length === 0) return new Map()
  const rows = await reader.read<SessionUser>('session_users', USERS, { conversations })
  return new Map(rows.map(row => [row.conversation_id, row]))
}
