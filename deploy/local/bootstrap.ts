// The first organization: made at the first start with an owner and an API key, found again at every later one. Every step can be
// repeated, so a start that was cut off is finished by the next.
import { createApiKey, createOrganization, createOwner, createSigningKey, signToken } from '#control/admin.ts'
import { hashApiKey } from '#control/records.ts'
import type { ControlView } from '#control/view.ts'
import { openControlView } from '#control/view.ts'
import type { Log } from '#runtime/log.ts'
import type { Buckets } from '#streams/apply.ts'
import type { DataDir } from './data-dir.ts'

const NAME = 'local'
/** A bearer token is signed anew at every start. */
const TOKEN_LIFETIME_S = 30 * 86_400

/** What `npm start` shows of the organization. */
export interface Tenant {
  readonly organization: string
  readonly apiKey: string
  readonly bearer: string
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
    let apiKey = secrets.apiKey
    if (apiKey === undefined || view.apiKey(hashApiKey(apiKey))?.organization !== organization) {
      apiKey = (await createApiKey(control, { organization, name: NAME, createdBy: owner.id })).key
      await dataDir.saveSecrets({ ...secrets, apiKey })
    }
    const newest = view.signingKeys().sort((a, b) => (a.created_at < b.created_at ? 1 : -1))[0]
    const signing = newest ?? (await createSigningKey(control))
    return { organization, apiKey, bearer: await signToken(signing, { user: owner, organization }, TOKEN_LIFETIME_S) }
  } finally {
    view.close()
  }
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
