import { createHmac, randomUUID } from 'node:crypto'
import { importJWK, SignJWT } from 'jose'
import t from 'tap'
import {
  createApiKey,
  createOrganization,
  createOwner,
  createSigningKey,
  putOrganization,
  signToken,
  TOKEN_AUDIENCE,
  TOKEN_ISSUER,
} from '#control/admin.ts'
import { apiKeyKey, hashApiKey, membershipKey, organizationKey, signingKeyKey } from '#control/records.ts'
import { createTenant, eventually } from '#test/rig.ts'
import { startNode } from './fixture.ts'

const node = await startNode(t)
const { control } = node.buckets
const SUMMARY = '/dashboard/api/organization/summary'

/** Status and body of a summary asked with these headers. */
const ask = (headers: Record<string, string>) => node.ask('GET', SUMMARY, { headers })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const EMPTY = { id: '', name: 'a', has_data: false, first_event_at: null, last_event_at: null }

const a = await createTenant(node.buckets, { name: 'a' })
const b = await createTenant(node.buckets, { name: 'b' })
// The view follows the bucket: whoever was created last is known when the others are.
await eventually('the tenants in the view', async () => (await ask({ 'x-api-key': b.apiKey })).status === 200)
await eventually('the tokens in the view', async () => (await ask(bearer(b.bearer))).status === 200)

t.test('an API key or a bearer token opens its organization', async t => {
  t.strictSame((await ask({ 'x-api-key': a.apiKey })).body, { ...EMPTY, id: a.organization })
  t.strictSame((await ask(bearer(a.bearer))).body, { ...EMPTY, id: a.organization })
  t.equal((await ask({ authorization: `bearer ${a.bearer}` })).status, 200, 'the scheme ignores case')
  const display = await node.ask('GET', '/dashboard/api/organization/displayId', { headers: bearer(a.bearer) })
  t.match(display.body, { display_id: /^[0-9a-z]{8}$/ })
})

t.test(
  'x-org-id may name the organization, in either case; another one is forbidden, and one that is none is unknown',
  async t => {
    const key = { 'x-api-key': a.apiKey }
    t.equal((await ask({ ...key, 'x-org-id': a.organization.toUpperCase() })).status, 200)
    const forbidden = { error: 'No access to the requested organization', code: 'AUTH_FORBIDDEN' }
    for (const credential of [key, bearer(a.bearer)]) {
      t.match(await ask({ ...credential, 'x-org-id': b.organization }), { status: 403, body: forbidden })
      const unknown = { ...credential, 'x-org-id': randomUUID() }
      const missing = { error: 'the organization does not exist', code: 'QRY_NOT_FOUND' }
      t.match(await ask(unknown), { status: 404, body: missing }, 'the contract names it for the summary')
      const elsewhere = await node.ask('GET', '/dashboard/api/organization/displayId', { headers: unknown })
      t.match(elsewhere, { status: 403, body: forbidden })
    }
    t.equal((await ask({ ...key, 'x-org-id': 'not-a-uuid' })).status, 401)
  },
)

t.test('a missing or malformed credential is 401, and says how to bring one', async t => {
  const f = async (headers: Record<string, string>, why: string): Promise<void> => {
    const answer = await ask(headers)
    t.equal(answer.status, 401, why)
    t.type(answer.body.error, 'string')
    t.equal(answer.headers.get('www-authenticate'), 'Bearer')
  }
  await f({}, 'none')
  await f({ 'x-api-key': '' }, 'empty key')
  await f({ 'x-api-key': a.apiKey.slice(0, -1) }, 'short key')
  await f({ 'x-api-key': `parley_${'0'.repeat(64)}` }, 'unknown key')
  await f({ 'x-api-key': hashApiKey(a.apiKey) }, 'the stored hash')
  await f({ authorization: `Basic ${btoa('a:b')}` }, 'another scheme')
  await f({ authorization: 'Bearer' }, 'no token')
  await f({ authorization: 'Bearer x.y.z' }, 'no JWT')
  await f({ authorization: 'Bearer x.y.z', 'x-api-key': a.apiKey }, 'a bad token beside a good key')
  await f({ 'x-org-id': a.organization }, 'the organization id alone')
})

t.test('a token must be signed by a key of ours, be in time and be meant for us', async t => {
  const signing = await createSigningKey(control)
  const key = await importJWK(signing.jwk, 'ES256')
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    sub: a.owner.id,
    email: a.owner.email,
    org_id: a.organization,
    iss: TOKEN_ISSUER,
    aud: TOKEN_AUDIENCE,
    iat: now,
    exp: now + 3600,
  }
  const sign = (payload: object, header: object = {}) =>
    new SignJWT({ ...payload }).setProtectedHeader({ alg: 'ES256', kid: signing.kid, ...header }).sign(key)
  await eventually('the new signing key', async () => (await ask(bearer(await sign(claims)))).status === 200)

  const f = async (token: string | Promise<string>, why: string): Promise<void> =>
    void t.equal((await ask(bearer(await token))).status, 401, why)
  await f(sign({ ...claims, iat: now - 120, exp: now - 60 }), 'expired')
  await f(sign({ ...claims, nbf: now + 3600 }), 'not yet valid')
  await f(sign({ ...claims, iss: 'someone-else' }), 'another issuer')
  await f(sign({ ...claims, aud: 'another-service' }), 'another audience')
  await f(sign({ ...claims, sub: randomUUID() }), 'an unknown user')
  const { exp: _exp, ...endless } = claims
  await f(sign(endless), 'no end')
  await f(sign(claims, { kid: randomUUID() }), 'an unknown key id')
  await f(sign(claims, { kid: undefined }), 'no key id')

  const [header = '', payload = '', signature = ''] = (await sign(claims)).split('.')
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const other = encode({ ...claims, org_id: b.organization })
  await f(`${header}.${other}.${signature}`, 'tampered claims')
  await f(`${encode({ alg: 'none' })}.${payload}.`, 'alg none')
  await f(`${encode({ alg: 'none', kid: signing.kid })}.${payload}.${signature}`, 'alg none with a signature')
  // The classic confusion: the public key taken for an HMAC secret.
  const hs = `${encode({ alg: 'HS256', kid: signing.kid })}.${payload}`
  const forged = createHmac('sha256', JSON.stringify(signing.jwk.x)).update(hs).digest('base64url')
  await f(`${hs}.${forged}`, 'another algorithm')

  await control.delete(signingKeyKey(signing.kid))
  await eventually('the key gone', async () => (await ask(bearer(await sign(claims)))).status === 401)
})

t.test('without a choice the only membership counts; several must be told apart', async t => {
  const signing = await createSigningKey(control)
  const key = await importJWK(signing.jwk, 'ES256')
  const token = await new SignJWT({ email: a.owner.email })
    .setProtectedHeader({ alg: 'ES256', kid: signing.kid })
    .setSubject(a.owner.id)
    .setIssuer(TOKEN_ISSUER)
    .setAudience(TOKEN_AUDIENCE)
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(key)
  await eventually('the only membership', async () => (await ask(bearer(token))).body.id === a.organization)

  const membership = { organization: b.organization, user: a.owner.id, role: 'member', created_at: '' }
  await control.put(membershipKey(b.organization, a.owner.id), JSON.stringify(membership))
  await eventually('two memberships', async () => (await ask(bearer(token))).status === 400)
  t.match((await ask(bearer(token))).body.error, /x-org-id/)
  t.equal((await ask({ ...bearer(token), 'x-org-id': b.organization })).body.id, b.organization)
  t.equal((await ask(bearer(a.bearer))).body.id, a.organization, 'the choice in the token')

  await control.delete(membershipKey(b.organization, a.owner.id))
  await eventually(
    'no access',
    async () => (await ask({ ...bearer(token), 'x-org-id': b.organization })).status === 403,
  )
})

t.test('an inactive organization is 401, a removed one 404; a removed key stops working', async t => {
  const organization = await createOrganization(control, { name: 'closing' })
  const owner = await createOwner(control, organization.id, { email: 'c@example.org', name: 'C' })
  const made = { organization: organization.id, name: 'k', createdBy: owner.id, scopes: ['read'] as const }
  const { key } = await createApiKey(control, made)
  const token = await signToken(await createSigningKey(control), { user: owner, organization: organization.id }, 3600)
  const status = async (headers: Record<string, string>) => (await ask(headers)).status
  await eventually('the credentials', async () => (await status(bearer(token))) === 200)

  await putOrganization(control, { ...organization, active: false })
  await eventually('inactive', async () => (await status({ 'x-api-key': key })) === 401)
  t.match((await ask(bearer(token))).body.error, /not active/)

  await control.delete(organizationKey(organization.id))
  await eventually('removed', async () => (await status({ 'x-api-key': key })) === 404)

  await control.delete(apiKeyKey(hashApiKey(key)))
  await eventually('revoked', async () => (await status({ 'x-api-key': key })) === 401)
})

t.test('the credential is checked before the body', async t => {
  const answer = await node.ask('POST', '/dashboard/api/raw-logs', { body: '{' })
  t.equal(answer.status, 401)
})
