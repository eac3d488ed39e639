// Memberships and invitations -> rows of the list of members.
import type { Invitation, Membership } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'
import type { Member } from '#proto/dashboard/organizations.ts'

/** A member, or somebody who is invited. */
export function memberRow(view: ControlView, record: Membership | Invitation): Member {
  const { role, created_at: joined_at } = record
  if (!('user' in record)) {
    return { id: record.id, user_id: null, email: record.email, name: null, role, status: 'invited', joined_at }
  }
  const { user } = record
  const { email = '', name = null } = view.user(user) ?? {}
  return { id: record.id ?? user, user_id: user, email, name, role, status: 'active', joined_at }
}

/** The membership that a row's id, or a user's, names. */
export function memberOf(view: ControlView, organization: string, id: string | undefined): Membership | undefined {
  return view.membersOf(organization).find(member => member.user === id || member.id === id)
}
