// Which requests leave an entry in the audit log, as data: whatever changes something, and reads that show what people wrote.
import { accessOf, nameOfRoute } from './access.ts'
import type { Endpoint } from './endpoint.ts'

/** Reads that leave an entry, with the name of the action. */
export const auditedReads: Readonly<Record<string, string>> = {
  'POST /dashboard/api/conversation-messages': 'conversation.read',
  'POST /dashboard/api/conversation-spans': 'conversation.read',
  'POST /dashboard/api/conversation-detail': 'conversation.read',
  'GET /dashboard/api/conversation-audio': 'conversation.listen',
  'POST /dashboard/api/event-io': 'event.read',
  'POST /dashboard/api/raw-logs/export': 'events.export',
  'POST /dashboard/api/errors/export': 'errors.export',
  'POST /dashboard/api/exports': 'export.order',
  'GET /dashboard/api/exports/{ticket}': 'export.download',
  'GET /dashboard/api/organization/audit': 'audit.read',
  'GET /dashboard/api/organization/audit/export': 'audit.export',
}

const READS: ReadonlySet<string> = new Set(Object.values(auditedReads))

/** Changes that anyone may make, which their role does not tell from reads. */
const audited: Readonly<Record<string, string>> = {
  'POST /dashboard/api/organizations/{id}/leave': 'organizations.leave',
}

/** The action of an endpoint: null = no entry. Changes are named for their method and path. */
export function actionOf(endpoint: Endpoint): string | null {
  const name = nameOfRoute(endpoint)
  const known = auditedReads[name] ?? audited[name]
  if (known !== undefined) return known
  const { role } = accessOf(endpoint)
  if (endpoint.method === 'GET' || role === null || role === 'viewer') return null
  const verbs = { POST: 'create', PUT: 'change', DELETE: 'delete' } as const
  const words = endpoint.path.replace('/dashboard/api/', '').split('/')
  return `${words.filter(word => !word.startsWith('{')).join('.')}.${verbs[endpoint.method]}`
}

/** Whether an action changes something. */
export const isChange = (action: string | null): boolean => action !== null && !READS.has(action)

/** What a request was about: the innermost id of its path, or the record that its body or its answer names. */
export function targetOf(params: Readonly<Record<string, string>>, value: unknown, answer: unknown): string {
  // An entry is never changed: it must not name whom it says was erased.
  const { ticket: _secret, user_id: _erased, ...ids } = params
  const inPath = Object.values(ids).at(-1)
  const asked = Object(value) as { conversation_id?: unknown; event_id?: unknown; email?: unknown }
  const made = Object(answer) as { id?: unknown }
  for (const id of [asked.conversation_id, asked.event_id, made.id, inPath]) {
    if (typeof id === 'string' && id !== '') return id.slice(0, 200)
  }
  return ''
}
