// POST /dashboard/api/conversation-detail: messages and spans of a conversation in one call.
import { ConversationDetailResponse, ConversationMessagesRequest, SPANS_MAX } from '#proto/dashboard/conversations.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { createMissing } from '../../missing.ts'
import { findEvents } from './find.ts'
import { readConversation } from './messages.ts'
import { spansOf } from './spans.ts'

export const conversationDetail = endpoint({
  method: 'POST',
  path: '/dashboard/api/conversation-detail',
  auth: 'any',
  polled: true,
  about: 'The bodies of conversation-messages and conversation-spans; a half that fails says so instead.',
  request: ConversationMessagesRequest,
  response: ConversationDetailResponse,
  work: async (call, request) => {
    const { conversation, oldest } = await findEvents(call, request, SPANS_MAX)
    const [messages, spans] = await Promise.all([
      half(
        call,
        oldest.then(found => readConversation(call.reader, conversation, found)),
      ),
      half(
        call,
        oldest.then(found => spansOf(conversation, found)),
      ),
    ])
    return { messages, spans }
  },
})

const half = <T>(call: Call, reading: Promise<T>): Promise<T | { error: string }> =>
  createMissing(call).orElse<T | { error: string }>(reading, { error: 'The store could not answer' })
