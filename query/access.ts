// Who may ask what, as data: the router reads it, docs/access.md shows it, and a test walks every endpoint with every credential.
import type { Role } from '#control/records.ts'
import type { Endpoint } from './endpoint.ts'

/** What an endpoint demands. */
export interface Access {
  /** none: everybody; bearer: a signed-in user; any: that or an API key; address: a one-time address; signed: one that is signed. */
  readonly credential: Endpoint['auth']
  /** Which organization the request is about: the chosen one, the one that the path names, or none. */
  readonly organization: 'chosen' | 'path' | 'none'
  /** Whether the query's `org_id` may name it. */
  readonly named: boolean
  /** Whether an organization that does not exist is told from one without access. */
  readonly tellsUnknown: boolean
  /** The least role in it; null where there is no organization. */
  readonly role: Role | null
}

/**
 * The least role of endpoints for which their method's does not hold: a GET needs a viewer, all else a member. So what is not listed
 * is closed to viewers rather than open to them.
 */
export const leastRoles: Readonly<Record<string, Role>> = {
  // Questions that have a body.
  'POST /dashboard/api/user-stories': 'viewer',
  'POST /dashboard/api/user-stories/search-options': 'viewer',
  'POST /dashboard/api/dashboard': 'viewer',
  'POST /dashboard/api/command-center-summary': 'viewer',
  'POST /dashboard/api/metadata-distribution': 'viewer',
  'POST /dashboard/api/charts/query': 'viewer',
  'POST /dashboard/api/tool-stats': 'viewer',
  'POST /dashboard/api/tool-time-series': 'viewer',
  'POST /dashboard/api/tool-error-distribution': 'viewer',
  'POST /dashboard/api/tool-checkpoint-stats': 'viewer',
  'POST /dashboard/api/tools-dashboard': 'viewer',
  'POST /dashboard/api/errors': 'viewer',
  'POST /dashboard/api/errors/groups': 'viewer',
  'POST /dashboard/api/errors/export': 'viewer',
  'POST /dashboard/api/raw-logs': 'viewer',
  'POST /dashboard/api/raw-logs/count': 'viewer',
  'POST /dashboard/api/raw-logs/export': 'viewer',
  'POST /dashboard/api/event-io': 'viewer',
  'POST /dashboard/api/exports': 'viewer',
  'POST /dashboard/api/conversation-messages': 'viewer',
  'POST /dashboard/api/conversation-spans': 'viewer',
  'POST /dashboard/api/conversation-detail': 'viewer',
  'POST /dashboard/api/intent-keywords': 'viewer',
  'POST /dashboard/api/prices/quote': 'viewer',
  'POST /dashboard/api/explain-event': 'viewer',
  'POST /dashboard/api/attribute-rules/try': 'viewer',
  // What changes how everything is stored, or who belongs here.
  'PUT /dashboard/api/prices': 'admin',
  'POST /dashboard/api/attribute-rules': 'admin',
  'DELETE /dashboard/api/attribute-rules/{id}': 'admin',
  'DELETE /dashboard/api/users/{user_id}': 'admin',
  'GET /dashboard/api/users/{user_id}/erasure': 'admin',
  'GET /dashboard/api/erasures': 'admin',
  'PUT /dashboard/api/organization/retention': 'admin',
  'PUT /dashboard/api/organizations/{id}': 'admin',
  'DELETE /dashboard/api/organizations/{id}': 'owner',
  'POST /dashboard/api/organizations/{id}/leave': 'viewer',
  'POST /dashboard/api/organizations/{id}/members': 'admin',
  'PUT /dashboard/api/organizations/{id}/members/{member_id}': 'admin',
  'DELETE /dashboard/api/organizations/{id}/members/{member_id}': 'admin',
  'GET /dashboard/api/organizations/{id}/invitations': 'admin',
  'DELETE /dashboard/api/organizations/{id}/invitations/{invitation_id}': 'admin',
  'GET /dashboard/api/organization/audit': 'admin',
  'GET /dashboard/api/organization/audit/export': 'admin',
  'GET /dashboard/api/organization/api-keys': 'admin',
  'POST /dashboard/api/organization/api-keys': 'admin',
  'DELETE /dashboard/api/organization/api-keys/{id}': 'admin',
}

/** `POST /dashboard/api/raw-logs` */
export const nameOfRoute = ({ method, path }: Pick<Endpoint, 'method' | 'path'>): string => `${method} ${path}`

/** What an endpoint demands. */
export function accessOf(
  endpoint: Pick<Endpoint, 'method' | 'path' | 'auth' | 'organization' | 'named' | 'tellsUnknown'>,
): Access {
  const { auth: credential, organization = 'chosen', named = false, tellsUnknown = false } = endpoint
  const byMethod: Role = endpoint.method === 'GET' ? 'viewer' : 'member'
  const role = organization === 'none' ? null : (leastRoles[nameOfRoute(endpoint)] ?? byMethod)
  return { credential, organization, named, tellsUnknown, role }
}
