// One conversation by id: what was captured of it and where its events stand.
import { ParleyError } from '#proto/errors.ts'
import type { Reader } from '../../reader.ts'
import type { ConversationBounds } from '../../reads/conversation-facts.ts'
import { boundsOf } from '../../reads/conversation-facts.ts'
import type { SessionState } from '../../reads/sessions.ts'
import { readSessions } from '../../reads/sessions.ts'

/** A conversation that exists: a capture, events, or both. */
export interface FoundConversation {
  readonly id: string
  readonly session: SessionState | undefined
  readonly bounds: ConversationBounds | null
}

/** @throws ParleyError QRY_NOT_FOUND when the organization has no such conversation. */
export async function findConversation(reader: Reader, conversation: string): Promise<FoundConversation> {
  const id = conversation.toLowerCase()
  const [sessions, bounds] = await Promise.all([readSessions(reader, [id]), boundsOf(reader, [id])])
  const session = sessions.get(id)
  if (session === undefined && bounds === null) {
    throw new ParleyError('QRY_NOT_FOUND', 'no such conversation', { field: 'conversation_id' })
  }
  return { id, session, bounds }
}
