// Captures of conversations -> the state of each, put together here: the store takes as long to plan what puts them together there as to
// find them. Whoever has more captures than a few, and one conversation with a report that may have been replaced, is left to the store.
import type { Reader } from '../reader.ts'
import { compareTexts } from '../text-order.ts'
import { readSessions, type SessionState } from './sessions.ts'
import { CAPTURE_ORDER, OURS, standing } from './sql.ts'

/** Captures of one conversation that are put together here. */
const CAPTURES_MAX = 200
/** Of all conversations of a page: mostly each has one, or one for each turn. */
const PAGE_CAPTURES_MAX = 2_000

const FIELDS =
  'conversation_id, session_id, user_id, user_email, user_data, metadata, connection_type, recording_url, started_at'

const CAPTURES_SQL = `
  SELECT ${FIELDS}, report
  FROM sessions
  WHERE ${OURS} AND conversation_id = {conversation:UUID}
  ORDER BY ${CAPTURE_ORDER}
  LIMIT {limit:UInt32}`

/** `since`: captures lie by conversation, and of each granule the instants are known between which its captures arrived. */
const pageSql = (since: string): string => `
  SELECT ${FIELDS}
  FROM sessions
  PREWHERE ${OURS} AND conversation_id IN {conversations:Array(UUID)}${since}
  WHERE ${standing(' AND conversation_id IN {conversations:Array(UUID)}')}
  ORDER BY ${CAPTURE_ORDER}
  LIMIT {limit:UInt32}`
const SINCE = ` AND received_at >= {captured_from:DateTime64(3, 'UTC')}`

/** A capture; all of its fields may be empty. */
type Capture = Omit<SessionState, 'several_users'> & { readonly report: string }

/** States by conversation id; conversations without a capture are absent. `from`: the day (YYYY-MM-DD) on which the first one arrived. */
export async function readStates(
  reader: Reader,
  conversations: readonly string[],
  { from, capturesMax = PAGE_CAPTURES_MAX }: { from?: string | undefined; capturesMax?: number } = {},
): Promise<ReadonlyMap<string, SessionState>> {
  if (conversations.length === 0) return new Map()
  const captures = await reader.read<Omit<Capture, 'report'>>('captures', pageSql(from === undefined ? '' : SINCE), {
    conversations,
    limit: capturesMax + 1,
    ...(from !== undefined && { captured_from: `${from} 00:00:00.000` }),
  })
  if (captures.length > capturesMax) return readSessions(reader, conversations)
  const byConversation = Map.groupBy(captures, ({ conversation_id }) => conversation_id)
  return new Map([...byConversation].map(([id, its]) => [id, stateOf(id, its)]))
}

/** What is known of a conversation besides its events; undefined when nothing was captured. */
export async function readSession(
  reader: Reader,
  conversation: string,
  capturesMax = CAPTURES_MAX,
): Promise<SessionState | undefined> {
  const limit = capturesMax + 1
  const captures = await reader.read<Capture>('captures', CAPTURES_SQL, { conversation, limit })
  if (captures.length > capturesMax || captures.some(({ report }) => report !== '')) {
    return (await readSessions(reader, [conversation])).get(conversation)
  }
  const [first] = captures
  return first && stateOf(first.conversation_id, captures)
}

/** The state after some captures, in their order: later ones win field by field and key by key. */
function stateOf(conversation_id: string, captures: readonly Omit<Capture, 'report'>[]): SessionState {
  const latest = (field: 'session_id' | 'user_id' | 'user_email' | 'connection_type' | 'recording_url'): string =>
    captures.findLast(capture => capture[field] !== '')?.[field] ?? ''
  const merged = (field: 'user_data' | 'metadata'): Record<string, string> => {
    const entries = new Map(captures.flatMap(capture => Object.entries(capture[field])))
    return Object.fromEntries([...entries].sort(([a], [b]) => compareTexts(a, b)))
  }
  return {
    conversation_id,
    session_id: latest('session_id'),
    user_id: latest('user_id'),
    user_email: latest('user_email'),
    user_data: merged('user_data'),
    metadata: merged('metadata'),
    connection_type: latest('connection_type'),
    recording_url: latest('recording_url'),
    started_at: captures.reduce(
      (min, { started_at }) => (started_at < min ? started_at : min),
      captures[0]?.started_at ?? '',
    ),
    several_users: new Set(captures.map(capture => capture.user_id).filter(Boolean)).size > 1 ? 1 : 0,
  }
}
