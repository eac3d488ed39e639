// Who an identity provider says somebody is -> a user: known by issuer and subject, which never change, or by a verified address.
import { createHash } from 'node:crypto'
import { ensureUser } from '#control/admin.ts'
import { createRecord, readRecord } from '#control/lists.ts'
import type { Control } from '#control/members.ts'
import type { Identity, User } from '#control/records.ts'
import { identityKey, userKey } from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'

/** What an identity provider has vouched for; the address is verified. */
export interface Person {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly name: string
  readonly picture_url: string | null
}

const hashOf = (issuer: string, subject: string): string =>
  createHash('sha256').update(issuer).update('\0').update(subject).digest('hex')

/**
 * The user of a person. An address that is new makes a user: always, or only when somebody has invited it.
 * @throws ParleyError AUTH_NOT_INVITED.
 */
export async function userOfPerson(
  { records, view }: Control,
  person: Person,
  signUp: 'open' | 'invited',
): Promise<User> {
  const key = identityKey(hashOf(person.issuer, person.subject))
  const known = await readRecord<Identity>(records, key)
  const found = known && (await readRecord<User>(records, userKey(known.user)))
  if (found) return found
  const isNew = view.userByEmail(person.email) === undefined
  if (isNew && signUp === 'invited' && view.invitationsTo(person.email).length === 0) {
    throw new ParleyError('AUTH_NOT_INVITED')
  }
  const user = await ensureUser(records, person)
  const identity: Identity = { user: user.id, issuer: person.issuer, subject: person.subject }
  await createRecord(records, key, identity)
  return user
}
