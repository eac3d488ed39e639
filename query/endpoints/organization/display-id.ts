// GET /dashboard/api/organization/displayId: the short public id of the organization.
import { DisplayId } from '#proto/dashboard/organization.ts'
import { endpoint } from '../../endpoint.ts'

export const organizationDisplayId = endpoint({
  method: 'GET',
  path: '/dashboard/api/organization/displayId',
  auth: 'any',
  about: 'The short public id of the organization.',
  response: DisplayId,
  work: async ({ organization }) => ({ display_id: organization.display_id }),
})
