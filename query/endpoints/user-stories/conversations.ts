// The conversations of a page -> their rows: figures from events, traits from captures, the newest events with their texts.
import type { ConversationEvent } from '#proto/dashboard/shared.ts'
import type { ConversationRow } from '#proto/dashboard/user-stories.ts'
import { CONVERSATION_EVENTS, CONVERSATION_IO_MAX_BYTES } from '#proto/dashboard/user-stories.ts'
import { eventHead, isoTime, NO_TEXTS, originalIdOf } from '../../answers.ts'
import { readBounds } from '../../days/bounds.ts'
import type { Call } from '../../endpoint.ts'
import type { Missing } from '../../missing.ts'
import type { Reader } from '../../reader.ts'
import { newestEvents } from '../../reads/conversation-events.ts'
import type { ConversationBounds, ConversationFacts } from '../../reads/conversation-facts.ts'
import { readFacts } from '../../reads/conversation-facts.ts'
import type { ChosenConversation } from '../../reads/conversation-page.ts'
import { readCosts } from '../../reads/costs.ts'
import type { EventRecord } from '../../reads/events.ts'
import { readLenders } from '../../reads/lenders.ts'
import type { SessionState } from '../../reads/sessions.ts'
import { readSessions } from '../../reads/sessions.ts'
import type { Texts } from '../../reads/texts.ts'
import { readTexts } from '../../reads/texts.ts'

/**
 * Rows in the order chosen. Figures must be there; traits, events, texts and costs may be missing. `ofUsers` is told of the users of the
 * page as soon as they are known, so that what it reads is read beside the events.
 */
export async function hydrate(
  { reader, kept, organization }: Call,
  chosen: readonly ChosenConversation[],
  excludeIo: boolean,
  { orElse }: Missing,
  ofUsers: (users: readonly string[]) => Promise<void> = async () => undefined,
): Promise<ConversationRow[]> {
  const ids = chosen.map(conversation => conversation.conversation_id)
  const [bounds, sessions] = await Promise.all([
    readBounds(kept, reader, { organization: organization.id, conversations: ids }),
    orElse(readSessions(reader, ids), new Map<string, SessionState>()),
  ])
  if (bounds === null) return []
  const factsRead = readFacts(reader, bounds)
  const userOf = (facts: ConversationFacts): string => sessions.get(facts.conversation_id)?.user_id || facts.user_id
  const [facts, costs, events] = await Promise.all([
    factsRead,
    orElse(readCosts(reader, bounds), new Map()),
    orElse(readNewest(reader, bounds, sessions, excludeIo, orElse), new Map()),
    factsRead.then(facts => ofUsers([...new Set(ids.flatMap(id => facts.get(id) ?? []).map(userOf))].filter(Boolean))),
  ])
  return ids.flatMap(id => {
    const figures = facts.get(id)
    // Moved to another conversation since the page was chosen.
    if (figures === undefined) return []
    return {
      ...conversationRow(figures, sessions.get(id)),
      cost_metadata: costs.get(id) ?? [],
      events: events.get(id) ?? [],
    }
  })
}

function conversationRow(
  facts: ConversationFacts,
  session: SessionState | undefined,
): Omit<ConversationRow, 'cost_metadata' | 'events'> {
  return {
    conversation_id: facts.conversation_id,
    original_conversation_id: originalIdOf(facts) ?? (session ? originalIdOf(session) : null),
    user_id: session?.user_id || facts.user_id || null,
    user_email: session?.user_email || null,
    user_data: session?.user_data ?? {},
    metadata: session?.metadata ?? {},
    connection_type: session?.connection_type ?? '',
    agent_names: [...facts.agent_names],
    started_at: isoTime(facts.first),
    last_active: isoTime(facts.last),
    duration_ms: Date.parse(facts.last) - Date.parse(facts.first),
    message_count: facts.events,
    tool_call_count: facts.tool_calls,
    error_count: facts.errors,
    avg_latency: facts.average_ns === null ? null : facts.average_ns / 1_000_000,
    preview: { first_input: facts.first_input, last_output: facts.last_output },
    intents: [],
    violations: [],
    has_audio: (session?.recording_url ?? '') !== '',
    ...(facts.provisional === 1 ? { provisional: true as const } : {}),
  }
}

async function readAllTexts(reader: Reader, records: readonly EventRecord[]): Promise<Map<string, Texts>> {
  const lenders = await readLenders(reader, records)
  return readTexts(reader, records, CONVERSATION_IO_MAX_BYTES, lenders)
}

/** The newest events by conversation, newest first. */
async function readNewest(
  reader: Reader,
  bounds: ConversationBounds,
  sessions: ReadonlyMap<string, SessionState>,
  excludeIo: boolean,
  orElse: Missing['orElse'],
): Promise<Map<string, ConversationEvent[]>> {
  const records = await newestEvents(reader, bounds, CONVERSATION_EVENTS)
  const texts = excludeIo ? undefined : await orElse(readAllTexts(reader, records), new Map())
  const byConversation = new Map<string, ConversationEvent[]>()
  for (const record of records) {
    const events = byConversation.get(record.conversation_id) ?? []
    const head = eventHead(record, sessions.get(record.conversation_id))
    events.push(texts === undefined ? head : { ...head, ...(texts.get(record.event_id) ?? NO_TEXTS) })
    byConversation.set(record.conversation_id, events)
  }
  return byConversation
}
