// GET and POST /dashboard/api/organizations: those of a user, and a new one.
import { settled } from '#control/members.ts'
import { foundOrganization } from '#control/organizations.ts'
import { OrganizationCreate, OrganizationDetail, OrganizationList } from '#proto/dashboard/organizations.ts'
import { personEndpoint } from '../../endpoint.ts'
import { organizationDetail, organizationRow } from './row.ts'

const PATH = '/dashboard/api/organizations'

export const organizationsList = personEndpoint({
  method: 'GET',
  path: PATH,
  about: 'The organizations of the signed-in user, oldest first.',
  response: OrganizationList,
  work: async ({ control: { view }, principal }) => {
    const records = view.membershipsOf(principal.user.id).map(({ organization }) => view.organization(organization))
    return records
      .flatMap(record => (record?.active ? [organizationRow(record)] : []))
      .sort((a, b) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id))
  },
})

export const organizationsCreate = personEndpoint({
  method: 'POST',
  path: PATH,
  about: 'Founds an organization; who asks becomes its owner.',
  request: OrganizationCreate,
  response: OrganizationDetail,
  status: 201,
  work: async ({ control, principal: { user }, log }, { name }) => {
    const organization = await foundOrganization(control, user, name.trim())
    await settled(control)
    log.info({ organization: organization.id, by: user.id }, 'an organization was founded')
    return organizationDetail(organization)
  },
})
