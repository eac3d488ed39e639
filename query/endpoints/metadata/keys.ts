// GET and PUT /dashboard/api/organization/event-keys and conversation-keys: which metadata keys pages offer, and which exports and prompts
// may hold.
import { changeRecord, readRecord } from '#control/lists.ts'
import { metadataKeysKey } from '#control/records.ts'
import { KEYS_MAX, MetadataKeys, MetadataKeysRequest, MetadataKeysUpdate } from '#proto/dashboard/metadata.ts'
import { ParleyError } from '#proto/errors.ts'
import { sqlMillis } from '#proto/time.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { readKeys } from '../../reads/keys.ts'

const SEEN_MS = 30 * 86_400_000

/** What the letters of types mean. */
const TYPES = { n: 'number', b: 'boolean', t: 'time', l: 'list', o: 'object', s: 'text' } as const

type Of = 'event' | 'conversation'

/** What is kept; what is available is read. */
type Configured = Omit<MetadataKeys, 'available_keys' | 'available'>
const NOTHING: Configured = { keys: [], include_keys: [], updated_at: null }

async function seen(
  { reader, nowMs }: Call,
  of: Of,
  ours: boolean,
): Promise<Pick<MetadataKeys, 'available_keys' | 'available'>> {
  const found = await readKeys(reader, of, {
    from_day: sqlMillis(nowMs - SEEN_MS).slice(0, 10),
    ours: ours ? 1 : 0,
  })
  const available = found.map(({ key, types, n, distinct_values }) => {
    const [only, ...more] = types
    const type = more.length > 0 ? 'mixed' : TYPES[only as keyof typeof TYPES]
    return { key, type, count: n, distinct_values } as const
  })
  return { available_keys: found.map(({ key }) => key).sort(), available }
}

/** The keys of a list, each once, in the order of the list. */
function distinct(keys: readonly string[] | undefined, field: string): string[] | undefined {
  if (keys === undefined) return undefined
  const once = [...new Set(keys)]
  if (once.length <= KEYS_MAX) return once
  throw new ParleyError('REQ_BODY_INVALID', `${field} must not have more than ${KEYS_MAX} different keys`, { field })
}

const about = (of: Of): string => (of === 'event' ? 'events' : 'conversations and traits of users')

const read = (of: Of) =>
  endpoint({
    method: 'GET',
    path: `/dashboard/api/organization/${of}-keys`,
    auth: 'any',
    about: `The metadata keys of ${about(of)}: which are offered, which may be exported, which were seen.`,
    request: MetadataKeysRequest,
    response: MetadataKeys,
    work: async (call, { attributes }) => {
      const [configured, available] = await Promise.all([
        readRecord<Configured>(call.records, metadataKeysKey(call.organization.id, of)),
        seen(call, of, attributes === 'true'),
      ])
      return { ...(configured ?? NOTHING), ...available }
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
    work: async (call, request) => {
      const keys = distinct(request.keys, 'keys')
      const include_keys = distinct(request.include_keys, 'include_keys')
      const updated_at = new Date(call.nowMs).toISOString()
      const available = await seen(call, of, false)
      const configured = await changeRecord<Configured>(
        call.records,
        metadataKeysKey(call.organization.id, of),
        (now = NOTHING) => ({
          keys: keys ?? now.keys,
          include_keys: include_keys ?? now.include_keys,
          updated_at,
        }),
      )
      return { ...configured, ...available }
    },
  })

export const eventKeys = read('event')
export const eventKeysUpdate = update('event')
export const conversationKeys = read('conversation')
export const conversationKeysUpdate = update('conversation')
