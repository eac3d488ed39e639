// Captures of one conversation -> its state, put together here: the store takes twice as long to plan what puts them together there as to
// find them. Whoever has more than a few hundred captures, or a report that may have been replaced, is left to the store.
import type { Reader } from '../reader.ts'
import { compareTexts } from '../text-order.ts'
import { readSessions, type SessionState } from './sessions.ts'
import { CAPTURE_ORDER, OURS } from './sql.ts'

/** Captures that are put together here. */
const CAPTURES_MAX = 200

const CAPTURES_SQL = `
  SELECT conversation_id, session_id, user_id, user_email, user_data, metadata, connection_type, recording_url, started_at, report
  FROM sessions
  WHERE ${OURS} AND conversation_id = {conversation:UUID}
  ORDER BY ${CAPTURE_ORDER}
  LIMIT {limit:UInt32}`

/** A capture; all of its fields may be empty. */
type Capture = SessionState & { readonly report: string }

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
function stateOf(conversation_id: string, captures: readonly Capture[]): SessionState {
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
  }
}
