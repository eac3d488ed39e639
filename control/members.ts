// Who belongs to an organization, and how: adding, inviting, changing roles, removing. Every step is one record changed by its
// revision, in an order in which whatever is cut off can be done again.
import { randomUUID } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { changeRecord, createRecord, readRecord } from '#control/lists.ts'
import type { Invitation, Membership, Role, User } from '#control/records.ts'
import { invitationKey, membershipKey, ownersKey, plainEmail } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'
import { ParleyError } from '#proto/errors.ts'

/** The bucket and its live copy. */
export interface Control {
  readonly records: KV
  readonly view: ControlView
}

/** Resolves once the live copy holds what has been written so far: who changes something and asks again sees it. */
export async function settled({ records, view }: Control): Promise<void> {
  const { streamInfo } = await records.status()
  await view.reached(streamInfo.state.last_seq)
}

/** People of one organization: every process holds all of them. */
const MEMBERS_MAX = 10_000
const INVITATIONS_MAX = 1_000

/**
 * Adds the user of an address, or invites an address that has none. Who is there or invited already stays as they are.
 * @throws ParleyError REQ_BODY_INVALID when there are too many.
 */
export async function addMember(
  { records, view }: Control,
  fields: { organization: string; email: string; role: Role; by: string },
): Promise<Membership | Invitation> {
  const { organization, role, by } = fields
  const email = plainEmail(fields.email)
  const user = view.userByEmail(email)
  const created_at = new Date().toISOString()
  if (user !== undefined) {
    const present = await readRecord<Membership>(records, membershipKey(organization, user.id))
    if (present !== undefined) return present
    requireRoom(view.membersOf(organization).length, MEMBERS_MAX, 'members')
    return join(records, view, { organization, user: user.id, role, created_at })
  }
  const key = invitationKey(organization, email)
  const waiting = await readRecord<Invitation>(records, key)
  if (waiting !== undefined) return waiting
  requireRoom(view.invitationsOf(organization).length, INVITATIONS_MAX, 'invitations')
  const invitation: Invitation = { id: randomUUID(), organization, email, role, created_at, created_by: by }
  if (!(await createRecord(records, key, invitation))) return (await readRecord<Invitation>(records, key)) ?? invitation
  return invitation
}

/** Turns what waits for a user's address into memberships; asked at every sign-in, so what was cut off is finished by the next. */
export async function claimInvitations({ records, view }: Control, user: User): Promise<Membership[]> {
  const joined: Membership[] = []
  for (const { id, organization, email, role } of view.invitationsTo(user.email)) {
    const key = invitationKey(organization, email)
    const entry = await records.get(key)
    // Revoked meanwhile, or taken by another process.
    if (entry?.operation !== 'PUT' || view.organization(organization) === undefined) continue
    const created_at = new Date().toISOString()
    joined.push(await join(records, view, { organization, user: user.id, role, created_at, id }))
    await records.delete(key)
  }
  return joined
}

/** Writes a membership where there is none. */
async function join(records: KV, view: ControlView, membership: Membership): Promise<Membership> {
  const key = membershipKey(membership.organization, membership.user)
  const made = await createRecord(records, key, membership)
  if (membership.role === 'owner') await addOwner(records, view, membership.organization, membership.user)
  return made ? membership : ((await readRecord<Membership>(records, key)) ?? membership)
}

/**
 * Changes a member's role.
 * @throws ParleyError QRY_NOT_FOUND, or AUTH_LAST_OWNER when nobody would own the organization.
 */
export async function changeRole(
  { records, view }: Control,
  organization: string,
  user: string,
  role: Role,
): Promise<Membership> {
  if (role !== 'owner') await dropOwner(records, view, organization, user)
  const changed = await changeRecord<Membership>(records, membershipKey(organization, user), now => {
    if (now === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such member')
    return { ...now, role }
  })
  // Last: a list that names too few owners refuses too much, one that names too many would let the last one go.
  if (role === 'owner') await addOwner(records, view, organization, user)
  return changed
}

/**
 * Ends a membership.
 * @throws ParleyError AUTH_LAST_OWNER when nobody would own the organization.
 */
export async function removeMember({ records, view }: Control, organization: string, user: string): Promise<void> {
  await dropOwner(records, view, organization, user)
  await records.delete(membershipKey(organization, user))
}

/** Takes an invitation back. */
export async function revokeInvitation(
  { records }: Control,
  { organization, email }: Pick<Invitation, 'organization' | 'email'>,
): Promise<void> {
  await records.delete(invitationKey(organization, email))
}

/** The owners by their memberships: what holds where no list was kept yet. */
const ownersIn = (view: ControlView, organization: string): string[] =>
  view.membersOf(organization).flatMap(({ user, role }) => (role === 'owner' ? [user] : []))

async function addOwner(records: KV, view: ControlView, organization: string, user: string): Promise<void> {
  await changeRecord<string[]>(records, ownersKey(organization), now => [
    ...new Set([...(now ?? ownersIn(view, organization)), user]),
  ])
}

async function dropOwner(records: KV, view: ControlView, organization: string, user: string): Promise<void> {
  await changeRecord<string[]>(records, ownersKey(organization), now => {
    const owners = now ?? ownersIn(view, organization)
    const left = owners.filter(owner => owner !== user)
    if (left.length === 0 && owners.length > 0) throw new ParleyError('AUTH_LAST_OWNER')
    return left
  })
}

/** @throws ParleyError REQ_BODY_INVALID. */
function requireRoom(there: number, most: number, what: string): void {
  if (there >= most) throw new ParleyError('REQ_BODY_INVALID', `the organization has ${most} ${what} already`)
}
