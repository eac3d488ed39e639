// The conversations of a page -> their rows: figures from events, traits from captures, the newest events with their texts.
import type { ConversationEvent, CostMetadata } from '#proto/dashboard/shared.ts'
import type { ConversationRow } from '#proto/dashboard/user-stories.ts'
import { CONVERSATION_EVENTS, CONVERSATION_IO_MAX_BYTES, STORIES_IO_MAX_BYTES } from '#proto/dashboard/user-stories.ts'
import { apart, eventHead, isoTime, NO_PREVIEW, NO_TEXTS, originalIdOf } from '../../answers.ts'
import { type KeptBounds, readKeptBounds } from '../../days/bounds.ts'
import type { Call } from '../../endpoint.ts'
import type { Missing } from '../../missing.ts'
import type { Reader } from '../../reader.ts'
import { readStates } from '../../reads/captures.ts'
import { newestEvents } from '../../reads/conversation-events.ts'
import type { ConversationBounds, ConversationFacts } from '../../reads/conversation-facts.ts'
import { boundsOf, readFacts } from '../../reads/conversation-facts.ts'
import type { ChosenConversation } from '../../reads/conversation-page.ts'
import { readCosts } from '../../reads/costs.ts'
import type { EventRecord } from '../../reads/events.ts'
import { lendersAmong, readLenders } from '../../reads/lenders.ts'
import { readSenders, type SessionState, type UserOf } from '../../reads/sessions.ts'
import type { Texts } from '../../reads/texts.ts'
import { readTexts } from '../../reads/texts.ts'
import { type ConversationParts, readWhole, WHOLE_MAX_EVENTS } from '../../reads/whole-conversations.ts'

/** Where the metadata of a call's capture has its length (processors/parsers/voice-metadata.ts). */
const CALL_LENGTH_KEY = 'parley.duration_ms'
const TEXT_LIMITS = { each: CONVERSATION_IO_MAX_BYTES, total: STORIES_IO_MAX_BYTES }
const NO_SESSIONS: ReadonlyMap<string, SessionState> = new Map()

/** Conversations that are shown; `known`: what kept days know of them, where they have told; `begun`: what is read by a guess. */
interface Shown {
  readonly chosen: readonly ChosenConversation[]
  readonly known?: KeptBounds | undefined
  readonly begun?: Begun | undefined
  readonly io: ShownIo
}

/** What is shown of texts: those of events, only the beginnings of their conversation's, or nothing. */
export type ShownIo = 'texts' | 'previews' | 'none'

/** Reads of conversations, and what was known of them: they are good for those of which the same is known. */
export interface Begun {
  readonly known: KeptBounds
  readonly sessions: Promise<ReadonlyMap<string, SessionState>>
  readonly parts: Promise<ConversationParts>
}

/** Begins to read what `hydrate` will show of conversations, where few statements read all of it. */
export function beginHydrating({ reader }: Call, known: KeptBounds): Begun | undefined {
  const { bounds, events } = known
  if (bounds === null || events > WHOLE_MAX_EVENTS) return undefined
  const sessions = statesOf(reader, bounds.conversations, known)
  const parts = readWhole(reader, bounds, CONVERSATION_EVENTS)
  // Whoever needs them hears of their failure.
  for (const read of [sessions, parts]) read.catch(() => undefined)
  return { known, sessions, parts }
}

/** What captures say of conversations. */
const statesOf = async (
  reader: Reader,
  ids: readonly string[],
  known: KeptBounds | null,
): Promise<ReadonlyMap<string, SessionState>> =>
  known !== null && known.capturedFrom === undefined
    ? NO_SESSIONS
    : readStates(reader, ids, { from: known?.capturedFrom })

/**
 * Rows in the order chosen. Figures must be there; traits, events, texts and costs may be missing. Traits, the dearest of them, are read
 * beside all others. `ofUsers` is told of the users of the page as soon as they are known, so that what it reads is read beside the events.
 */
export async function hydrate(
  { reader, kept, organization }: Call,
  { chosen, known: told, begun, io }: Shown,
  { orElse }: Missing,
  ofUsers: (users: readonly string[]) => Promise<void> = async () => undefined,
): Promise<ConversationRow[]> {
  const ids = chosen.map(conversation => conversation.conversation_id)
  const known = told ?? (await readKeptBounds(kept, reader, { organization: organization.id, conversations: ids }))
  const early = begun?.known === known ? begun : undefined
  const sessionsRead = orElse(early?.sessions ?? statesOf(reader, ids, known), NO_SESSIONS)
  const partsRead = early?.parts ?? readPartsOf(reader, ids, { known, orElse })
  const [sessions, { facts, costs }, newest] = await Promise.all([
    sessionsRead,
    partsRead,
    partsRead.then(parts => withTexts(reader, parts, io, orElse)),
    Promise.all([sessionsRead, partsRead]).then(([sessions, { facts }]) => ofUsers(usersOf(ids, sessions, facts))),
  ])
  const events = eventsOf(newest, await orElse(readSenders(reader, newest.records, sessions), () => ''))
  return ids.flatMap(id => {
    const figures = facts.get(id)
    // Moved to another conversation since the page was chosen.
    if (figures === undefined) return []
    return {
      ...conversationRow(figures, sessions.get(id), io),
      cost_metadata: costs.get(id) ?? [],
      events: events.get(id) ?? [],
    }
  })
}

const readPartsOf = async (
  reader: Reader,
  ids: readonly string[],
  { known, orElse }: { known: KeptBounds | null; orElse: Missing['orElse'] },
): Promise<ConversationParts> =>
  known === null
    ? readParts(reader, await boundsOf(reader, ids), { orElse })
    : readParts(reader, known.bounds, { events: known.events, orElse })

/** Of conversations with few events, all at once; else part by part, of which costs and events may be missing. */
async function readParts(
  reader: Reader,
  bounds: ConversationBounds | null,
  { events = Number.POSITIVE_INFINITY, orElse }: { events?: number; orElse: Missing['orElse'] },
): Promise<ConversationParts> {
  if (bounds === null) return { facts: new Map(), costs: new Map(), newest: [] }
  if (events <= WHOLE_MAX_EVENTS) return readWhole(reader, bounds, CONVERSATION_EVENTS)
  const [facts, costs, newest] = await Promise.all([
    readFacts(reader, bounds),
    orElse(readCosts(reader, bounds), new Map<string, CostMetadata[]>()),
    orElse(newestEvents(reader, bounds, CONVERSATION_EVENTS), []),
  ])
  return { facts, costs, newest }
}

function conversationRow(
  facts: ConversationFacts,
  session: SessionState | undefined,
  io: ShownIo,
): Omit<ConversationRow, 'cost_metadata' | 'events'> {
  return {
    conversation_id: facts.conversation_id,
    original_conversation_id: originalIdOf(facts) ?? (session ? originalIdOf(session) : null),
    user_id: session?.user_id || facts.user_id || null,
    user_email: session?.user_email || null,
    user_data: session?.user_data ?? {},
    ...apart(session?.metadata ?? {}),
    connection_type: session?.connection_type || facts.source,
    agent_names: [...facts.agent_names],
    started_at: isoTime(facts.first),
    last_active: isoTime(facts.last),
    duration_ms: callLengthMs(session) ?? facts.ended_ms - Date.parse(facts.first),
    message_count: facts.events,
    tool_call_count: facts.tool_calls,
    error_count: facts.errors,
    avg_latency: facts.average_ns === null ? null : facts.average_ns / 1_000_000,
    preview: io === 'none' ? NO_PREVIEW : { first_input: facts.first_input, last_output: facts.last_output },
    intents: [],
    violations: [],
    has_audio: (session?.recording_url ?? '') !== '',
    ...(facts.provisional === 1 ? { provisional: true as const } : {}),
  }
}

/** A call's own length, as its report says it: its events begin when somebody begins to speak, where they have times at all. */
function callLengthMs(session: SessionState | undefined): number | undefined {
  const said = session?.metadata[CALL_LENGTH_KEY] ?? ''
  return /^\d{1,15}$/.test(said) ? Number(said) : undefined
}

/** Texts of events; `all` of their conversations, where they have been read. */
async function readAllTexts(
  reader: Reader,
  records: readonly EventRecord[],
  all: readonly EventRecord[] | undefined,
): Promise<Map<string, Texts>> {
  const lenders = all === undefined ? await readLenders(reader, records) : lendersAmong(all, records)
  return readTexts(reader, records, TEXT_LIMITS, lenders)
}

/** Who the conversations of a page are of, in its order. */
function usersOf(
  ids: readonly string[],
  sessions: ReadonlyMap<string, SessionState>,
  facts: ReadonlyMap<string, ConversationFacts>,
): string[] {
  const found = ids.flatMap(id => facts.get(id) ?? [])
  const users = found.map(({ conversation_id, user_id }) => sessions.get(conversation_id)?.user_id || user_id)
  return [...new Set(users)].filter(Boolean)
}

/** The newest events of conversations; `texts` undefined = not asked for. */
interface NewestEvents {
  readonly records: readonly EventRecord[]
  readonly texts: ReadonlyMap<string, Texts> | undefined
}

async function withTexts(
  reader: Reader,
  { newest: records, all }: ConversationParts,
  io: ShownIo,
  orElse: Missing['orElse'],
): Promise<NewestEvents> {
  const texts = io !== 'texts' ? undefined : await orElse(readAllTexts(reader, records, all), new Map<string, Texts>())
  return { records, texts }
}

/** Their rows by conversation, newest first. */
function eventsOf({ records, texts }: NewestEvents, userOf: UserOf): Map<string, ConversationEvent[]> {
  const byConversation = new Map<string, ConversationEvent[]>()
  for (const record of records) {
    const events = byConversation.get(record.conversation_id) ?? []
    const { attributes: _, ...head } = eventHead(record, userOf(record))
    events.push(texts === undefined ? head : { ...head, ...(texts.get(record.event_id) ?? NO_TEXTS) })
    byConversation.set(record.conversation_id, events)
  }
  return byConversation
}
