// /dashboard/api/organizations/{id}/invitations: who has not signed in yet, and taking an invitation back.
import Type from 'typebox'
import { revokeInvitation, settled } from '#control/members.ts'
import { InvitationList } from '#proto/dashboard/organizations.ts'
import { ParleyError } from '#proto/errors.ts'
import { endpoint } from '../../endpoint.ts'

const PATH = '/dashboard/api/organizations/{id}/invitations'

export const invitationsList = endpoint({
  method: 'GET',
  path: PATH,
  auth: 'bearer',
  organization: 'path',
  about: 'The invitations that wait for a first sign-in, oldest first.',
  response: InvitationList,
  work: async ({ control: { view }, organization }) =>
    view
      .invitationsOf(organization.id)
      .map(({ id, email, role, created_at, created_by }) => ({ id, email, role, created_at, created_by }))
      .sort((a, b) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id)),
})

export const invitationsRevoke = endpoint({
  method: 'DELETE',
  path: `${PATH}/{invitation_id}`,
  auth: 'bearer',
  organization: 'path',
  about: 'Takes an invitation back.',
  response: Type.Null(),
  status: 204,
  work: async ({ control, organization, params, log }) => {
    const found = control.view.invitationsOf(organization.id).find(({ id }) => id === params.invitation_id)
    if (found === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such invitation', { field: 'invitation_id' })
    await revokeInvitation(control, found)
    await settled(control)
    log.info({ invitation: found.id }, 'an invitation was revoked')
    return null
  },
})
