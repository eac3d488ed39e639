// GET /dashboard/api/conversation-audio: an address at which the recording of a call can be heard for a while.
import { ConversationAudioRequest, ConversationAudioResponse } from '#proto/dashboard/conversations.ts'
import { requireConversation } from '../../asked-conversation.ts'
import { endpoint } from '../../endpoint.ts'
import { signAddress } from '../../signed-address.ts'
import { issuerOf } from '../../tickets.ts'
import { findConversation } from './find.ts'
import { recordingOf } from './recording.ts'

const VALID_MS = 10 * 60_000

export const conversationAudio = endpoint({
  method: 'GET',
  path: '/dashboard/api/conversation-audio',
  auth: 'any',
  about: 'An address of the recording of a conversation, signed and good for ten minutes.',
  request: ConversationAudioRequest,
  response: ConversationAudioResponse,
  work: async ({ control, reader, organization, principal, signIn, nowMs }, request) => {
    const conversation = requireConversation(organization.id, request)
    const { session } = await findConversation(reader, conversation)
    recordingOf(session)
    const untilMs = nowMs + VALID_MS
    const signed = { organization: organization.id, by: issuerOf(principal), conversation }
    const token = await signAddress(control, signed, untilMs, nowMs)
    return {
      url: `${signIn.publicUrl}/dashboard/api/conversation-audio/${token}`,
      expires_at: new Date(untilMs).toISOString(),
    }
  },
})
