// GET /dashboard/api/profile: who asks, and the organizations that are open to them.
import type { Membership } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'
import { Profile } from '#proto/dashboard/organizations.ts'
import { personEndpoint } from '../../endpoint.ts'
import { organizationRow } from './row.ts'

export const profile = personEndpoint({
  method: 'GET',
  path: '/dashboard/api/profile',
  about: 'The signed-in user, the organization that the token chose, and all organizations with the role in each.',
  response: Profile,
  work: async ({ control: { view }, principal: { user, chosen } }) => {
    const organizations = view.membershipsOf(user.id).flatMap(membership => own(view, membership))
    organizations.sort((a, b) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id))
    const only = organizations.length === 1 ? organizations[0] : undefined
    const organization = organizations.find(({ id }) => id === chosen) ?? only ?? null
    const { id, email, name, picture_url = null, created_at } = user
    return { user: { id, email, name, picture_url, created_at }, organization, organizations }
  },
})

/** A membership with its organization; nothing when that is closed or not active. */
function own(view: ControlView, { organization, role }: Membership) {
  const record = view.organization(organization)
  if (record === undefined || !record.active) return []
  return [{ ...organizationRow(record), role, display_id: record.display_id }]
}
