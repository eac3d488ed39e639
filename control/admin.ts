// Writes of the control plane that exist so far: organizations, owners, API keys, signing keys and locally signed bearer tokens.
import { randomBytes, randomUUID } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { exportJWK, generateKeyPair, importJWK, SignJWT } from 'jose'
import type { ApiKey, Guard, Membership, Organization, SigningKey, User } from '#control/records.ts'
import {
  API_KEY_PREFIX,
  apiKeyKey,
  GUARD_KEY,
  hashApiKey,
  membershipKey,
  organizationKey,
  signingKeyKey,
  userKey,
} from '#control/records.ts'

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
  const organization: Organization = {
    id: fields.id ?? randomUUID(),
    name: fields.name,
    display_id: Array.from(randomBytes(8), byte => DISPLAY_ALPHABET[byte % 32]).join(''),
    subscription: 'self-hosted',
    active: fields.active ?? true,
    retention: 0,
    created_at: new Date().toISOString(),
  }
  await control.create(organizationKey(organization.id), JSON.stringify(organization))
  return organization
}

/** Replaces an organization's record. */
export async function putOrganization(control: KV, organization: Organization): Promise<void> {
  await control.put(organizationKey(organization.id), JSON.stringify(organization))
}

/** Says whether there is room for new payloads. */
export async function putGuard(control: KV, guard: Guard): Promise<void> {
  await control.put(GUARD_KEY, JSON.stringify(guard))
}

/** Creates a user and makes it the organization's owner. */
export async function createOwner(
  control: KV,
  organization: string,
  fields: { email: string; name: string },
): Promise<User> {
  const created_at = new Date().toISOString()
  const user: User = { id: randomUUID(), email: fields.email, name: fields.name, created_at }
  const membership: Membership = { organization, user: user.id, role: 'owner', created_at }
  await control.create(userKey(user.id), JSON.stringify(user))
  await control.create(membershipKey(organization, user.id), JSON.stringify(membership))
  return user
}

/** Makes an API key; the key itself is in the answer only. */
export async function createApiKey(
  control: KV,
  fields: { organization: string; name: string; createdBy: string },
): Promise<{ key: string; record: ApiKey }> {
  const key = `${API_KEY_PREFIX}_${randomBytes(32).toString('hex')}`
  const record: ApiKey = {
    id: randomUUID(),
    organization: fields.organization,
    name: fields.name,
    created_at: new Date().toISOString(),
    created_by: fields.createdBy,
  }
  await control.create(apiKeyKey(hashApiKey(key)), JSON.stringify(record))
  return { key, record }
}

/** Makes the key pair that signs bearer tokens. */
export async function createSigningKey(control: KV): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const key: SigningKey = {
    kid: randomUUID(),
    alg: 'ES256',
    jwk: { ...(await exportJWK(privateKey)) },
    created_at: new Date().toISOString(),
  }
  await control.create(signingKeyKey(key.kid), JSON.stringify(key))
  return key
}

/** A bearer token for a user, with the organization as its choice. `lifetimeS` in seconds. */
export async function signToken(
  key: SigningKey,
  claims: { user: User; organization: string },
  lifetimeS: number,
): Promise<string> {
  return new SignJWT({ email: claims.user.email, org_id: claims.organization })
    .setProtectedHeader({ alg: key.alg, kid: key.kid })
    .setSubject(claims.user.id)
    .setIssuer(TOKEN_ISSUER)
    .setAudience(TOKEN_AUDIENCE)
    .setIssuedAt()
    .setExpirationTime(`${lifetimeS}s`)
    .sign(await importJWK(key.jwk, key.alg))
}
