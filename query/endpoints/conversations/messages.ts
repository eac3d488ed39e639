// POST /dashboard/api/conversation-messages: every captured event of a conversation, oldest first.
import type { Static } from 'typebox'
import {
  ConversationMessagesRequest,
  ConversationMessagesResponse,
  MESSAGES_MAX,
} from '#proto/dashboard/conversations.ts'
import { IO_PREVIEW_MAX_BYTES } from '#proto/dashboard/raw-logs.ts'
import type { MessageRow } from '#proto/dashboard/shared.ts'
import { eventHead, isoTime, NO_TEXTS, originalIdOf, previewOf } from '../../answers.ts'
import { endpoint } from '../../endpoint.ts'
import type { Reader } from '../../reader.ts'
import { countChildren, oldestEvents } from '../../reads/conversation-events.ts'
import type { ConversationFacts } from '../../reads/conversation-facts.ts'
import { readFacts } from '../../reads/conversation-facts.ts'
import { costOfEvent } from '../../reads/costs.ts'
import { readLenders } from '../../reads/lenders.ts'
import { readTexts } from '../../reads/texts.ts'
import { parentsFirst } from '../../span-tree.ts'
import type { FoundConversation } from './find.ts'
import { findConversation } from './find.ts'

export const conversationMessages = endpoint({
  method: 'POST',
  path: '/dashboard/api/conversation-messages',
  auth: 'any',
  about: 'The events of a conversation, oldest first, with previews of input and output.',
  request: ConversationMessagesRequest,
  response: ConversationMessagesResponse,
  work: async ({ reader }, request) =>
    readConversation(reader, await findConversation(reader, request.conversation_id)),
})

/** The body of the endpoint. */
export async function readConversation(
  reader: Reader,
  conversation: FoundConversation,
): Promise<Static<typeof ConversationMessagesResponse>> {
  const { id, session, bounds } = conversation
  const [facts, { messages, truncated }] = await Promise.all([
    readFacts(reader, bounds).then(found => found.get(id)),
    readMessages(reader, conversation),
  ])
  return {
    conversation_id: id,
    original_conversation_id: (facts && originalIdOf(facts)) ?? (session ? originalIdOf(session) : null),
    user_id: session?.user_id || facts?.user_id || null,
    user_data: session?.user_data ?? {},
    metadata: session?.metadata ?? {},
    ...times(conversation, facts),
    messages,
    truncated,
  }
}

/** From first to last event; a conversation without events is as long as its capture says: an instant. */
function times(
  { session }: FoundConversation,
  facts: ConversationFacts | undefined,
): { started_at: string; last_active: string } {
  const captured = session?.started_at ?? ''
  return { started_at: isoTime(facts?.first ?? captured), last_active: isoTime(facts?.last ?? captured) }
}

async function readMessages(
  reader: Reader,
  { session, bounds }: FoundConversation,
): Promise<{ messages: MessageRow[]; truncated: boolean }> {
  if (bounds === null) return { messages: [], truncated: false }
  const found = await oldestEvents(reader, bounds, MESSAGES_MAX + 1)
  const records = parentsFirst(found.slice(0, MESSAGES_MAX))
  const ids = records.map(record => record.event_id)
  const [[texts, lenders], children] = await Promise.all([
    readLenders(reader, bounds, records).then(
      async lenders => [await readTexts(reader, records, IO_PREVIEW_MAX_BYTES, lenders), lenders] as const,
    ),
    countChildren(reader, bounds, ids),
  ])
  const messages = records.map(record => {
    const { session_id: _session, ...head } = eventHead(record, session)
    return {
      ...head,
      ...(texts.get(record.event_id) ?? NO_TEXTS),
      preview: previewOf(record, lenders.get(record.event_id)),
      children_count: children.get(record.event_id) ?? 0,
      intents: [],
      violations: [],
      cost_metadata: costOfEvent(record),
    }
  })
  return { messages, truncated: found.length > MESSAGES_MAX }
}
