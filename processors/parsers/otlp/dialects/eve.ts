// eve.
import type { Dialect } from '../dialect.ts'

export const eve: Dialect = {
  name: 'eve',
  source: 'as read by MapleTechLabs/maple apps/ingest/src/ai_vendors.rs',
  matches: { keys: ['eve.session.id', 'eve.turn.id'] },
  fields: { session_id: ['eve.session.id'] },
}
