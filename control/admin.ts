// First writes of the control plane: organizations, users, owners, API keys, signing keys and locally signed bearer tokens.
import { randomBytes, randomUUID } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import { changeRecord, createRecord } from '#control/lists.ts'
import type { ApiKey, EmailClaim, Guard, Membership, Organization, Scope, SigningKey, User } from '#control/records.ts'
import {
  API_KEY_PREFIX,
  apiKeyKey,
  displayKey,
  emailKey,
  GUARD_KEY,
  hashApiKey,
  membershipKey,
  organizationKey,
  ownersKey,
  plainEmail,
  signingKeyKey,
  userKey,
} from '#control/records.ts'
import { ParleyError } from '#proto/errors.ts'

/** Claims parley puts into its tokens: issuer and audience are fixed, so that no other JWT of the same key passes. */
export const TOKEN_ISSUER = 'parley'
export const TOKEN_AUDIENCE = 'parley-dashboard'

/** Crockford's base32 without look-alikes: ids that people read out. */
const DISPLAY_ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Creates an organization. `create` makes a second call with the same id fail with STREAM_CONFLICT from the bucket. */
export async function createOrganization(
  control: KV,
  fields: { name: string; id?: string; active?: boolean },
): Promise<Organization> {
  const id = fields.id ?? randomUUID()
  const organization: Organization = {
    id,
    name: fields.name,
    display_id: await claimDisplayId(control, id),
    subscription: 'self-hosted',
    active: fields.active ?? true,
    retention: 0,
    created_at: new Date().toISOString(),
  }
  await control.create(organizationKey(organization.id), JSON.stringify(organization))
  return organization
}

/** A display id that no other organization has. One that a cut-off creation left behind is never given again. */
async function claimDisplayId(control: KV, organization: string): Promise<string> {
  for (;;) {
    const id = Array.from(randomBytes(8), byte => DISPLAY_ALPHABET[byte % 32]).join('')
    if (await createRecord(control, displayKey(id), { organization })) return id
  }
}

/** Replaces an organization's record. */
export async function putOrganization(control: KV, organization: Organization): Promise<void> {
  await control.put(organizationKey(organization.id), JSON.stringify(organization))
}

/** Says whether there is room for new payloads. */
export async function putGuard(control: KV, guard: Guard): Promise<void> {
  await control.put(GUARD_KEY, JSON.stringify(guard))
}

/**
 * The user of an address; a new one when there is none. The claim of the address comes first and names the user's id, so what was
 * cut off between the two is finished by whoever comes next.
 */
export async function ensureUser(
  control: KV,
  fields: { email: string; name: string; picture_url?: string | null },
): Promise<User> {
  const claim = emailKey(fields.email)
  await createRecord(control, claim, { user: randomUUID() })
  const id = (await control.get(claim))?.json<EmailClaim>().user
  if (id === undefined) throw new ParleyError('STREAM_CONFLICT', claim)
  const created_at = new Date().toISOString()
  const user: User = { id, email: plainEmail(fields.email), name: fields.name, created_at }
  const made = { ...user, ...(fields.picture_url ? { picture_url: fields.picture_url } : {}) }
  if (await createRecord(control, userKey(id), made)) return made
  return (await control.get(userKey(id)))?.json<User>() ?? made
}

/** Makes the user of an address the organization's owner. */
export async function createOwner(
  control: KV,
  organization: string,
  fields: { email: string; name: string },
): Promise<User> {
  const user = await ensureUser(control, fields)
  const membership: Membership = {
    organization,
    user: user.id,
    role: 'owner',
    created_at: new Date().toISOString(),
  }
  await createRecord(control, membershipKey(organization, user.id), membership)
  await changeRecord<string[]>(control, ownersKey(organization), (now = []) => [...new Set([...now, user.id])])
  return user
}

/** Makes an API key; the key itself is in the answer only. */
export async function createApiKey(
  control: KV,
  fields: {
    organization: string
    name: string
    createdBy: string
    scopes: readonly Scope[]
    expiresAt?: string | null
  },
): Promise<{ key: string; record: ApiKey }> {
  const key = `${API_KEY_PREFIX}_${randomBytes(32).toString('hex')}`
  const record: ApiKey = {
    id: randomUUID(),
    organization: fields.organization,
    name: fields.name,
    created_at: new Date().toISOString(),
    created_by: fields.createdBy,
    scopes: fields.scopes,
    expires_at: fields.expiresAt ?? null,
  }
  await control.create(apiKeyKey(hashApiKey(key)), JSON.stringify(record))
  return { key, record }
}

/** Makes a key pair that signs bearer tokens. */
export async function createSigningKey(control: KV, nowMs = Date.now()): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const key: SigningKey = {
    kid: randomUUID(),
    alg: 'ES256',
    jwk: { ...(await exportJWK(privateKey)) },
    created_at: new Date(nowMs).toISOString(),
  }
  await control.create(signingKeyKey(key.kid), JSON.stringify(key))
  return key
}

/** A bearer token for a user, with the organization as its choice; with a sign-in it ends when that does. `lifetimeS` in seconds. */
export async function signToken(
  key: SigningKey,
  claims: { user: User; organization: string | undefined; session?: string },
  lifetimeS: number,
): Promise<string> {
  const { user, organization, session } = claims
  return new SignJWT({
    email: user.email,
    ...(organization === undefined ? {} : { org_id: organization }),
    ...(session === undefined ? {} : { sid: session }),
  })
    .setProtectedHeader({ alg: key.alg, kid: key.kid })
    .setSubject(user.id)
    .setIssuer(TOKEN_ISSUER)
    .setAudience(TOKEN_AUDIENCE)
    .setIssuedAt()
    .setExpirationTime(`${lifetimeS}s`)
    .sign(await importJWK(key.jwk, key.alg))
}
