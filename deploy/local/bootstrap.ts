// The first organization: made at the first start with an owner and an API key, found again at every later one. Every step can be
// repeated, so a start that was cut off is finished by the next.
import { randomBytes } from 'node:crypto'
import { createApiKey, createOrganization, createOwner, signToken } from '#control/admin.ts'
import { createRecord, readRecord } from '#control/lists.ts'
import { hasPassword, setPassword } from '#control/passwords.ts'
import type { User } from '#control/records.ts'
import { emailKey, hashApiKey, passwordKey, scopes } from '#control/records.ts'
import { rotateSigningKeys, TOKEN_S } from '#control/signing.ts'
import type { ControlView } from '#control/view.ts'
import { openControlView } from '#control/view.ts'
import type { Log } from '#runtime/log.ts'
import type { Buckets } from '#streams/apply.ts'
import type { DataDir, Secrets } from './data-dir.ts'

const NAME = 'local'

/** What `npm start` shows of the organization. */
export interface Tenant {
  readonly organization: string
  readonly apiKey: string
  /** Signed anew at every start. When it has ended, one signs in with the password; the API key stays. */
  readonly bearer: string
  readonly email: string
  /** Undefined when the owner has changed the one that was made here. */
  readonly password: string | undefined
}

/** Makes or finds the organization, its owner, its API key and the key that signs tokens. */
export async function bootstrap(control: Buckets['control'], dataDir: DataDir, log: Log): Promise<Tenant> {
  const view = await openControlView(control, log)
  try {
    let { secrets } = dataDir
    const organization =
      findOrganization(view, secrets.organization) ?? (await createOrganization(control, { name: NAME })).id
    if (secrets.organization !== organization) {
      secrets = { ...secrets, organization }
      await dataDir.saveSecrets(secrets)
    }
    const owner =
      findOwner(view, organization) ??
      (await createOwner(control, organization, { email: 'owner@localhost', name: 'Owner' }))
    // An owner from before addresses were unique.
    await createRecord(control, emailKey(owner.email), { user: owner.id })
    let apiKey = secrets.apiKey
    if (apiKey === undefined || view.apiKey(hashApiKey(apiKey))?.organization !== organization) {
      apiKey = (await createApiKey(control, { organization, name: NAME, createdBy: owner.id, scopes })).key
      secrets = { ...secrets, apiKey }
      await dataDir.saveSecrets(secrets)
    }
    const password = await passwordOf(control, owner, secrets, dataDir)
    const signing = await rotateSigningKeys(control, view, Date.now())
    const bearer = await signToken(signing, { user: owner, organization }, TOKEN_S)
    return { organization, apiKey, bearer, email: owner.email, password }
  } finally {
    view.close()
  }
}

/** The owner's password: made here when there is none, known here until the owner changes it. */
async function passwordOf(
  control: Buckets['control'],
  owner: User,
  secrets: Secrets,
  dataDir: DataDir,
): Promise<string | undefined> {
  const known = secrets.ownerPassword
  if ((await readRecord(control, passwordKey(owner.id))) !== undefined) {
    return known !== undefined && (await hasPassword(control, owner.id, known)) ? known : undefined
  }
  // Kept before it counts: a start that is cut off between the two shows it at the next one.
  const password = known ?? randomBytes(12).toString('base64url')
  await dataDir.saveSecrets({ ...secrets, ownerPassword: password })
  await setPassword(control, owner.id, password)
  return password
}

/** The organization of this data directory; on a NATS of others (NATS_URL) the one with our name. */
function findOrganization(view: ControlView, id: string | undefined): string | undefined {
  if (id !== undefined && view.organization(id) !== undefined) return id
  for (const organization of view.organizations()) if (organization.name === NAME) return organization.id
  return undefined
}

function findOwner(view: ControlView, organization: string) {
  for (const membership of view.membersOf(organization)) {
    const user = view.user(membership.user)
    if (membership.role === 'owner' && user !== undefined) return user
  }
  return undefined
}
