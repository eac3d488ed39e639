// GET and POST /dashboard/api/organizations/{id}/members: who belongs to an organization, and one more.
import { addMember, settled } from '#control/members.ts'
import { Member, MemberAdd, MemberList } from '#proto/dashboard/organizations.ts'
import { authorOf } from '../../auth.ts'
import { endpoint } from '../../endpoint.ts'
import { requireGrant } from './grant.ts'
import { memberRow } from './row.ts'

const PATH = '/dashboard/api/organizations/{id}/members'

export const membersList = endpoint({
  method: 'GET',
  path: PATH,
  auth: 'bearer',
  organization: 'path',
  about: 'The members of an organization and those who are invited, oldest first.',
  response: MemberList,
  work: async ({ control: { view }, organization: { id } }) =>
    [...view.membersOf(id), ...view.invitationsOf(id)]
      .map(record => memberRow(view, record))
      .sort((a, b) => a.joined_at.localeCompare(b.joined_at) || a.id.localeCompare(b.id)),
})

export const membersAdd = endpoint({
  method: 'POST',
  path: PATH,
  auth: 'bearer',
  organization: 'path',
  about: 'Adds the user of an address, or invites it until its first sign-in; who is there already stays as they are.',
  request: MemberAdd,
  response: Member,
  work: async ({ control, organization: { id }, principal, role: own, log }, { email, role }) => {
    requireGrant(own, role)
    const by = authorOf(principal)
    const added = await addMember(control, { organization: id, email, role, by })
    await settled(control)
    log.info({ by, role, invited: !('user' in added) }, 'a member was added')
    return memberRow(control.view, added)
  },
})
