// PUT and DELETE /dashboard/api/organizations/{id}: name and settings, and the end of an organization.
import Type from 'typebox'
import { settled } from '#control/members.ts'
import { changeOrganization, closeOrganization } from '#control/organizations.ts'
import { OrganizationDetail, OrganizationUpdate } from '#proto/dashboard/organizations.ts'
import { requestErasure } from '#streams/erasures.ts'
import { authorOf } from '../../auth.ts'
import { endpoint } from '../../endpoint.ts'
import { organizationDetail } from './row.ts'

const PATH = '/dashboard/api/organizations/{id}'

export const organizationsUpdate = endpoint({
  method: 'PUT',
  path: PATH,
  auth: 'bearer',
  organization: 'path',
  about: 'Changes the name or a setting of an organization; absent fields stay as they are.',
  request: OrganizationUpdate,
  response: OrganizationDetail,
  work: async ({ control, organization, log }, { name, require_write_key }) => {
    const change = {
      ...(name === undefined ? {} : { name: name.trim() }),
      ...(require_write_key === undefined ? {} : { require_write_key }),
    }
    const changed = await changeOrganization(control.records, organization.id, change)
    await settled(control)
    log.info({ fields: Object.keys(change) }, 'an organization was changed')
    return organizationDetail(changed)
  },
})

export const organizationsDelete = endpoint({
  method: 'DELETE',
  path: PATH,
  auth: 'bearer',
  organization: 'path',
  about:
    'Closes an organization: its keys end at once, nothing is taken for it or shown of it, and its data is erased.',
  response: Type.Null(),
  status: 204,
  work: async ({ control, cursors, rejects, principal, organization, nowMs, log }) => {
    // First the erasure: a close that is asked again would find nothing to close.
    const by = authorOf(principal)
    const { id } = await requestErasure(cursors, { organization: organization.id, kind: 'organization', by, nowMs })
    await closeOrganization(control, rejects, organization.id)
    await settled(control)
    log.info({ erasure: id }, 'an organization was closed')
    return null
  },
})
