// PUT and DELETE /dashboard/api/organizations/{id}/members/{member_id}, POST …/leave: other roles, and ends of memberships.
import Type from 'typebox'
import { changeRole, removeMember, settled } from '#control/members.ts'
import type { Membership } from '#control/records.ts'
import { Member, MemberUpdate } from '#proto/dashboard/organizations.ts'
import { ParleyError } from '#proto/errors.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import { requireGrant } from './grant.ts'
import { memberOf, memberRow } from './row.ts'

const PATH = '/dashboard/api/organizations/{id}/members/{member_id}'

/** @throws ParleyError QRY_NOT_FOUND. */
function requireMember({ control: { view }, organization, params }: Call): Membership {
  const member = memberOf(view, organization.id, params.member_id)
  if (member === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such member', { field: 'member_id' })
  return member
}

export const membersUpdate = endpoint({
  method: 'PUT',
  path: PATH,
  auth: 'bearer',
  organization: 'path',
  about: "Changes a member's role; nobody gives more than they have, and an owner always remains.",
  request: MemberUpdate,
  response: Member,
  errors: ['AUTH_LAST_OWNER'],
  work: async (call, { role }) => {
    const { control, organization, role: own, log } = call
    const { user, role: before } = requireMember(call)
    requireGrant(own, before)
    requireGrant(own, role)
    const changed = await changeRole(control, organization.id, user, role)
    await settled(control)
    log.info({ user, before, role }, 'a role was changed')
    return memberRow(control.view, changed)
  },
})

export const membersRemove = endpoint({
  method: 'DELETE',
  path: PATH,
  auth: 'bearer',
  organization: 'path',
  about: 'Removes a member; an owner always remains.',
  response: Type.Null(),
  status: 204,
  errors: ['AUTH_LAST_OWNER'],
  work: async call => {
    const { control, organization, role: own, log } = call
    const { user, role } = requireMember(call)
    requireGrant(own, role)
    await removeMember(control, organization.id, user)
    await settled(control)
    log.info({ user }, 'a member was removed')
    return null
  },
})

export const membersLeave = endpoint({
  method: 'POST',
  path: '/dashboard/api/organizations/{id}/leave',
  auth: 'bearer',
  organization: 'path',
  about: 'Ends the own membership; the last owner cannot leave.',
  response: Type.Null(),
  status: 204,
  errors: ['AUTH_LAST_OWNER'],
  work: async ({ control, organization, principal, log }) => {
    if (principal.kind !== 'user') throw new ParleyError('BUG', 'a key cannot leave')
    await removeMember(control, organization.id, principal.user.id)
    await settled(control)
    log.info({ user: principal.user.id }, 'a member left')
    return null
  },
})
