// Changes of organizations: founding, renaming, settings, closing.
import type { KV } from '@nats-io/kv'
import { createOrganization, createOwner } from '#control/admin.ts'
import { changeRecord } from '#control/lists.ts'
import type { Control } from '#control/members.ts'
import type { Organization, User } from '#control/records.ts'
import {
  apiKeyKey,
  apiKeyUseKey,
  chartsKey,
  closedKey,
  invitationKey,
  membershipKey,
  metadataKeysKey,
  organizationKey,
  ownersKey,
  ticketsKey,
  viewsKey,
} from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'
import { rejectCountsKeyOf } from '#proto/ledger.ts'
import { KEEP_EVERYTHING, type Keep, retentionClass } from '#proto/retention.ts'

/** Organizations that one user may found: a person, not a program, makes them. */
const FOUNDED_MAX = 100

/** What may be changed of an organization. */
export type OrganizationChange = Partial<Pick<Organization, 'name' | 'require_write_key'>>

/**
 * Founds an organization whose owner is the user.
 * @throws ParleyError REQ_BODY_INVALID for a user with too many.
 */
export async function foundOrganization({ records, view }: Control, user: User, name: string): Promise<Organization> {
  const owned = view.membershipsOf(user.id).filter(({ role }) => role === 'owner')
  if (owned.length >= FOUNDED_MAX) {
    throw new ParleyError('REQ_BODY_INVALID', `you own ${FOUNDED_MAX} organizations already`)
  }
  const organization = await createOrganization(records, { name })
  await createOwner(records, organization.id, user)
  return organization
}

/**
 * Changes an organization's record.
 * @throws ParleyError QRY_NOT_FOUND.
 */
export function changeOrganization(records: KV, id: string, change: OrganizationChange): Promise<Organization> {
  return changeRecord<Organization>(records, organizationKey(id), now => {
    if (now === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such organization')
    return { ...now, ...change }
  })
}

/**
 * Changes how long an organization keeps what it sent; rows that are stored from now on get the class that this takes.
 * @throws ParleyError QRY_NOT_FOUND; REQ_BODY_INVALID for texts that would outlive their events.
 */
export async function changeRetention(
  records: KV,
  id: string,
  change: Partial<Keep>,
): Promise<Organization & { readonly keep: Keep }> {
  let keep: Keep = KEEP_EVERYTHING
  const changed = await changeRecord<Organization>(records, organizationKey(id), now => {
    if (now === undefined) throw new ParleyError('QRY_NOT_FOUND', 'no such organization')
    const { events_days, texts_days } = { ...KEEP_EVERYTHING, ...now.keep, ...change }
    if (events_days !== null && texts_days !== null && texts_days > events_days) {
      throw new ParleyError('REQ_BODY_INVALID', 'texts cannot be kept for longer than their events', {
        field: 'texts_days',
      })
    }
    keep = { events_days, texts_days }
    return { ...now, keep, retention: retentionClass(keep) }
  })
  return { ...changed, keep }
}

/**
 * Closes an organization: from the first write on nothing is taken for it and nothing shown of it; then its keys, invitations and
 * memberships go, and with all their revisions what it kept for itself: charts, views, tickets, offered metadata keys, refusals. Its
 * prices and rules stay until the erasure of its rows is certified, and the display id for ever: it never means two organizations.
 */
export async function closeOrganization({ records, view }: Control, rejects: KV, id: string): Promise<void> {
  const { name = '' } = view.organization(id) ?? {}
  await records.put(closedKey(id), JSON.stringify({ id, name, closed_at: new Date().toISOString() }))
  await records.delete(organizationKey(id))
  for (const { hash, record } of view.apiKeysOf(id)) {
    await records.delete(apiKeyKey(hash))
    await records.delete(apiKeyUseKey(record.id))
  }
  for (const { email } of view.invitationsOf(id)) await records.delete(invitationKey(id, email))
  for (const { user } of view.membersOf(id)) await records.delete(membershipKey(id, user))
  await records.delete(ownersKey(id))
  const kept = [
    chartsKey(id),
    viewsKey(id),
    ticketsKey(id),
    metadataKeysKey(id, 'event'),
    metadataKeysKey(id, 'conversation'),
  ]
  for (const key of kept) await records.purge(key)
  await rejects.purge(id)
  await rejects.purge(rejectCountsKeyOf(id))
}
