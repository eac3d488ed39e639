// GET and PUT /dashboard/api/organization/event-keys and conversation-keys: which metadata keys pages offer, and which exports and prompts
// may hold.
import { changeRecord, readRecord } from '#control/lists.ts'
import { metadataKeysKey } from '#control/records.ts'
import { MetadataKeys, MetadataKeysUpdate } from '#proto/dashboard/metadata.ts'
import { sqlMillis } from '#proto/time.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { OURS } from '../../reads/sql.ts'

const SEEN_MS = 30 * 86_400_000
const AVAILABLE_MAX = 1000

// Keys alone are read, not their values.
const EVENT_KEYS = `
  SELECT arrayJoin(mapKeys(metadata)) AS key
  FROM events
  WHERE ${OURS} AND ts >= {from:DateTime64(9, 'UTC')}
  GROUP BY key
  HAVING sum(sign) > 0
  ORDER BY key
  LIMIT ${AVAILABLE_MAX}`

const CONVERSATION_KEYS = `
  SELECT DISTINCT arrayJoin(arrayConcat(mapKeys(metadata), mapKeys(user_data))) AS key
  FROM sessions
  WHERE ${OURS} AND received_at >= {from:DateTime64(3, 'UTC')}
  ORDER BY key
  LIMIT ${AVAILABLE_MAX}`

type Of = 'event' | 'conversation'

/** What is kept; what is available is read. */
type Configured = Omit<MetadataKeys, 'available_keys'>
const NOTHING: Configured = { keys: [], include_keys: [], updated_at: null }

async function available({ reader, nowMs }: Call, of: Of): Promise<string[]> {
  const sql = of === 'event' ? EVENT_KEYS : CONVERSATION_KEYS
  const rows = await reader.read<{ key: string }>(`${of}_keys`, sql, { from: sqlMillis(nowMs - SEEN_MS) })
  return rows.map(row => row.key)
}

const about = (of: Of): string => (of === 'event' ? 'events' : 'conversations and traits of users')

const read = (of: Of) =>
  endpoint({
    method: 'GET',
    path: `/dashboard/api/organization/${of}-keys`,
    auth: 'any',
    about: `The metadata keys of ${about(of)}: which are offered, which may be exported, which were seen.`,
    response: MetadataKeys,
    work: async call => {
      const [configured, available_keys] = await Promise.all([
        readRecord<Configured>(call.records, metadataKeysKey(call.organization.id, of)),
        available(call, of),
      ])
      return { ...(configured ?? NOTHING), available_keys }
    },
  })

const update = (of: Of) =>
  endpoint({
    method: 'PUT',
    path: `/dashboard/api/organization/${of}-keys`,
    auth: 'any',
    about: `Configures the metadata keys of ${about(of)}; absent fields stay as they are.`,
    request: MetadataKeysUpdate,
    response: MetadataKeys,
    work: async (call, { keys, include_keys }) => {
      const updated_at = new Date(call.nowMs).toISOString()
      const available_keys = await available(call, of)
      const configured = await changeRecord<Configured>(
        call.records,
        metadataKeysKey(call.organization.id, of),
        (now = NOTHING) => ({
          keys: keys ? [...new Set(keys)] : now.keys,
          include_keys: include_keys ? [...new Set(include_keys)] : now.include_keys,
          updated_at,
        }),
      )
      return { ...configured, available_keys }
    },
  })

export const eventKeys = read('event')
export const eventKeysUpdate = update('event')
export const conversationKeys = read('conversation')
export const conversationKeysUpdate = update('conversation')
