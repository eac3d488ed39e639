// One conversation by id: what was captured of it, where its events stand, and the oldest of them.
import { isDeepStrictEqual } from 'node:util'
import { ParleyError } from '#proto/errors.ts'
import { requireConversation } from '../../asked-conversation.ts'
import { guessBounds } from '../../days/bounds.ts'
import type { Call } from '../../endpoint.ts'
import type { Reader } from '../../reader.ts'
import { readSession } from '../../reads/captures.ts'
import { type OldestEvents, readOldest } from '../../reads/conversation-events.ts'
import type { ConversationBounds } from '../../reads/conversation-facts.ts'
import { boundsOf } from '../../reads/conversation-facts.ts'
import type { SessionState } from '../../reads/sessions.ts'

/** A conversation that exists: a capture, events, or both. */
export interface FoundConversation {
  readonly id: string
  readonly session: SessionState | undefined
  readonly bounds: ConversationBounds | null
}

/** By its id. @throws ParleyError QRY_NOT_FOUND when the organization has no such conversation. */
export async function findConversation(reader: Reader, id: string): Promise<FoundConversation> {
  const [session, bounds] = await Promise.all([readSession(reader, id), boundsOf(reader, [id])])
  if (session === undefined && bounds === null) {
    throw new ParleyError('QRY_NOT_FOUND', 'no such conversation', { field: 'conversation_id' })
  }
  return { id, session, bounds }
}

/** A conversation, and its oldest events, which may still be under way. */
export interface FoundEvents {
  readonly conversation: FoundConversation
  readonly oldest: Promise<OldestEvents>
}

/**
 * The same with at most `limit` events. Memory guesses the hours in which they stand, so that they are read beside what proves the guess;
 * where it was wrong they are read again.
 * @throws ParleyError REQ_BODY_INVALID where none is named, QRY_NOT_FOUND when the organization has no such conversation.
 */
export async function findEvents(
  { reader, kept, organization }: Call,
  asked: Parameters<typeof requireConversation>[1],
  limit: number,
): Promise<FoundEvents> {
  const id = requireConversation(organization.id, asked)
  const guess = guessBounds(kept, organization.id, id)
  const guessed = guess && readOldest(reader, guess, limit)
  // Whoever needs it hears of its failure.
  guessed?.catch(() => undefined)
  const found = await findConversation(reader, id)
  const isRight = guess !== null && found.bounds !== null && isDeepStrictEqual(guess.hours, found.bounds.hours)
  return { conversation: found, oldest: isRight && guessed ? guessed : readOldest(reader, found.bounds, limit) }
}
