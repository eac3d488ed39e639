// The conversation that a request names, by its id or by the id that was sent -> its id.
import { ParleyError } from '#proto/errors.ts'
import { conversationIdOf } from '#proto/ids.ts'

interface Asked {
  readonly conversation_id?: string
  readonly session_id?: string
}

/**
 * The id in lower case, or undefined where none is named. What was sent leads to it by the rule by which it was stored.
 * @throws ParleyError REQ_BODY_INVALID where both are named and mean two conversations.
 */
export function askedConversation(organization: string, { conversation_id, session_id }: Asked): string | undefined {
  const id = conversation_id?.toLowerCase()
  if (session_id === undefined) return id
  const sent = conversationIdOf(organization, session_id)
  if (id === undefined || id === sent) return sent
  throw new ParleyError('REQ_BODY_INVALID', 'session_id is of another conversation than conversation_id', {
    field: 'session_id',
  })
}

/** The same. @throws ParleyError REQ_BODY_INVALID where none is named, too. */
export function requireConversation(organization: string, asked: Asked): string {
  const found = askedConversation(organization, asked)
  if (found !== undefined) return found
  throw new ParleyError('REQ_BODY_INVALID', 'conversation_id is required, or session_id as it was sent', {
    field: 'conversation_id',
  })
}

/** A request whose conversation, where it names one, stands under its id alone. */
export function withConversation<T extends Asked>(
  organization: string,
  request: T,
): Omit<T, 'session_id' | 'conversation_id'> & { readonly conversation_id?: string } {
  const { session_id: _sent, conversation_id: _id, ...others } = request
  const id = askedConversation(organization, request)
  return id === undefined ? others : { ...others, conversation_id: id }
}
