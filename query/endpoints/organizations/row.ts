// An organization's record -> what is shown of it.
import type { Organization as OrganizationRecord } from '#control/records.ts'
import type { Organization } from '#proto/dashboard/organizations.ts'

/** The contract's fields. */
export function organizationRow({ id, name, subscription, created_at }: OrganizationRecord): Organization {
  return { id, name, subscription, created_at }
}

/** The same with what its members may know beside. */
export function organizationDetail(record: OrganizationRecord) {
  const { display_id, require_write_key = false } = record
  return { ...organizationRow(record), display_id, require_write_key }
}
