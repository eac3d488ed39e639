// Who may give and take which role: nobody gives what they do not have, or touches who has more.
import type { Role } from '#control/records.ts'
import { reaches } from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'

/** @throws ParleyError AUTH_ROLE when `own` does not reach `role`. */
export function requireGrant(own: Role, role: Role): void {
  if (!reaches(own, role)) throw new ParleyError('AUTH_ROLE', `it takes ${role}`)
}
