// POST /dashboard/api/conversation-messages: every captured event of a conversation, oldest first.
import type { Static } from 'typebox'
import {
  ConversationMessagesRequest,
  ConversationMessagesResponse,
  MESSAGES_MAX,
} from '#proto/dashboard/conversations.ts'
import { IO_PREVIEW_MAX_BYTES, LIST_IO_MAX_BYTES } from '#proto/dashboard/raw-logs.ts'
import type { MessageRow } from '#proto/dashboard/shared.ts'
import { apart, eventHead, isoTime, NO_TEXTS, originalIdOf, previewOf } from '../../answers.ts'
import { endpoint } from '../../endpoint.ts'
import type { Reader } from '../../reader.ts'
import type { OldestEvents } from '../../reads/conversation-events.ts'
import { countChildren } from '../../reads/conversation-events.ts'
import type { ConversationFacts } from '../../reads/conversation-facts.ts'
import { readFacts } from '../../reads/conversation-facts.ts'
import { costOfEvent } from '../../reads/costs.ts'
import type { EventRecord } from '../../reads/events.ts'
import { lendersAmong, readLenders } from '../../reads/lenders.ts'
import { readSenders } from '../../reads/sessions.ts'
import { type Lenders, readTexts } from '../../reads/texts.ts'
import { parentsFirst } from '../../span-tree.ts'
import { largest } from '../../text-order.ts'
import type { FoundConversation } from './find.ts'
import { findEvents } from './find.ts'

const TEXT_LIMITS = { each: IO_PREVIEW_MAX_BYTES, total: LIST_IO_MAX_BYTES }

export const conversationMessages = endpoint({
  method: 'POST',
  path: '/dashboard/api/conversation-messages',
  auth: 'any',
  polled: true,
  about: 'The events of a conversation, oldest first, with previews of input and output.',
  request: ConversationMessagesRequest,
  response: ConversationMessagesResponse,
  work: async (call, request) => {
    const { conversation, oldest } = await findEvents(call, request, MESSAGES_MAX)
    return readConversation(call.reader, conversation, await oldest)
  },
})

/** The body of the endpoint, from its oldest events: as many as are shown, or more. What they tell is not asked for. */
export async function readConversation(
  reader: Reader,
  conversation: FoundConversation,
  oldest: OldestEvents,
): Promise<Static<typeof ConversationMessagesResponse>> {
  const { id, session } = conversation
  const [facts, messages] = await Promise.all([
    factsOf(reader, conversation, oldest),
    readMessages(reader, conversation, oldest),
  ])
  return {
    conversation_id: id,
    original_conversation_id: (facts && originalIdOf(facts)) ?? (session ? originalIdOf(session) : null),
    user_id: session?.user_id || facts?.user_id || null,
    user_data: session?.user_data ?? {},
    ...apart(session?.metadata ?? {}),
    ...times(conversation, facts),
    messages,
    truncated: !oldest.whole || oldest.records.length > MESSAGES_MAX,
  }
}

type Facts = Pick<ConversationFacts, 'conversation_id' | 'session_id' | 'user_id' | 'first' | 'last'>

async function factsOf(
  reader: Reader,
  { id, bounds }: FoundConversation,
  { records, whole }: OldestEvents,
): Promise<Facts | undefined> {
  if (!whole) return (await readFacts(reader, bounds)).get(id)
  const [first, last] = [records[0], records.at(-1)]
  if (first === undefined || last === undefined) return undefined
  return {
    conversation_id: id,
    session_id: largest(records.map(record => record.session_id)),
    user_id: largest(records.map(record => record.user_id)),
    first: first.ts,
    last: last.ts,
  }
}

/** From first to last event; a conversation without events is as long as its capture says: an instant. */
function times({ session }: FoundConversation, facts: Facts | undefined): { started_at: string; last_active: string } {
  const captured = session?.started_at ?? ''
  return { started_at: isoTime(facts?.first ?? captured), last_active: isoTime(facts?.last ?? captured) }
}

async function readMessages(
  reader: Reader,
  { id, session, bounds }: FoundConversation,
  oldest: OldestEvents,
): Promise<MessageRow[]> {
  if (bounds === null) return []
  const records = parentsFirst(oldest.records.slice(0, MESSAGES_MAX))
  const [[texts, lenders], children, userOf] = await Promise.all([
    lendersOf(reader, records, oldest).then(
      async lenders => [await readTexts(reader, records, TEXT_LIMITS, lenders), lenders] as const,
    ),
    oldest.whole
      ? childrenOf(oldest.records)
      : countChildren(
          reader,
          bounds,
          records.map(record => record.event_id),
        ),
    readSenders(reader, records, new Map(session ? [[id, session]] : [])),
  ])
  return records.map(record => {
    return {
      ...eventHead(record, userOf(record)),
      ...(texts.get(record.event_id) ?? NO_TEXTS),
      preview: previewOf(record, lenders.get(record.event_id)),
      children_count: children.get(record.event_id) ?? 0,
      intents: [],
      violations: [],
      cost_metadata: costOfEvent(record),
    }
  })
}

/** From the conversation's events, when all of them are there. */
const lendersOf = async (
  reader: Reader,
  messages: readonly EventRecord[],
  { records, whole }: OldestEvents,
): Promise<ReadonlyMap<string, Lenders>> => (whole ? lendersAmong(records, messages) : readLenders(reader, messages))

function childrenOf(records: readonly EventRecord[]): ReadonlyMap<string, number> {
  const children = new Map<string, number>()
  for (const { parent_id } of records) children.set(parent_id, (children.get(parent_id) ?? 0) + 1)
  return children
}
