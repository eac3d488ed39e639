// GET /dashboard/api/conversation-audio: where the recording of a call is.
import { ConversationAudioRequest, ConversationAudioResponse } from '#proto/dashboard/conversations.ts'
import { ParleyError } from '#proto/errors.ts'
import { requireConversation } from '../../asked-conversation.ts'
import { endpoint } from '../../endpoint.ts'
import { findConversation } from './find.ts'

/** How long an address may be used; then it is asked for again, because the platform may have replaced it. */
const VALID_MS = 10 * 60_000

export const conversationAudio = endpoint({
  method: 'GET',
  path: '/dashboard/api/conversation-audio',
  auth: 'any',
  about: 'The address of the recording of a conversation, for the next ten minutes.',
  request: ConversationAudioRequest,
  response: ConversationAudioResponse,
  work: async ({ reader, organization, nowMs }, request) => {
    const { session } = await findConversation(reader, requireConversation(organization.id, request))
    const url = session?.recording_url ?? ''
    // Whoever reported the call wrote the address: a page must not be led to run it.
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
      throw new ParleyError('QRY_NOT_FOUND', 'the conversation has no recording', { field: 'conversation_id' })
    }
    return { url, expires_at: new Date(nowMs + VALID_MS).toISOString() }
  },
})
