// Captures of conversations -> one state each: fields and map entries of later captures win.

import type { Reader } from '../reader.ts'
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
  FROM sessions
  WHERE ${OURS} AND conversation_id IN {conversations:Array(UUID)}
    AND ${standing(' AND conversation_id IN {conversations:Array(UUID)}')}
  GROUP BY conversation_id`

/** States by conversation id; conversations without a capture are absent. */
export async function readSessions(
  reader: Reader,
  conversations: readonly string[],
): Promise<Map<string, SessionState>> {
  if (conversations.length === 0) return new Map()
  const rows = await reader.read<SessionState>('sessions', SESSIONS, { conversations })
  return new Map(rows.map(row => [row.conversation_id, row]))
}
