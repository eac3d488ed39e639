// Every endpoint with every kind of credential, as the table says: over HTTP, with works that only say that they were reached.
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { importJWK, SignJWT } from 'jose'
import t from 'tap'
import {
  createApiKey,
  createOrganization,
  createOwner,
  createSigningKey,
  ensureUser,
  putOrganization,
  signToken,
  TOKEN_AUDIENCE,
  TOKEN_ISSUER,
} from '#control/admin.ts'
import { addMember } from '#control/members.ts'
import type { Role } from '#control/records.ts'
import { apiKeyKey, hashApiKey, reaches, roles } from '#control/records.ts'
import { eventually } from '#test/rig.ts'
import { accessOf, leastRoles, nameOfRoute } from './access.ts'
import type { Endpoint } from './endpoint.ts'
import { startControlNode } from './fixture-control.ts'
import { routes } from './routes.ts'

t.test('the table names routes that exist, and the page shows the table', async t => {
  const names = new Set(routes.map(nameOfRoute))
  for (const name of Object.keys(leastRoles)) t.ok(names.has(name), name)
  const page = await readFile(new URL('../docs/access.md', import.meta.url), 'utf8')
  const shown = /<!-- roles -->\n([\s\S]*?)<!-- \/roles -->/.exec(page)?.[1]
  const rows = roles.flatMap(role => {
    const of = Object.keys(leastRoles).filter(name => leastRoles[name] === role)
    return of.length === 0 ? [] : [`| ${role} | ${of.map(name => `\`${name}\``).join(', ')} |`]
  })
  t.equal(shown?.trim(), ['| role | endpoints |', '|---|---|', ...rows].join('\n'))
})

t.test('every endpoint answers every credential as the table says', async t => {
  const reached = routes.map(({ request: _request, produces: _produces, ...endpoint }) => ({
    ...endpoint,
    status: 200 as const,
    work: async () => ({ reached: true }),
  }))
  const { url, records: control, view } = await startControlNode(t, { routes: reached })

  // Two organizations, of which everything below asks for the first, and one that is not active.
  const a = await createOrganization(control, { name: 'a' })
  const b = await createOrganization(control, { name: 'b' })
  const closed = await createOrganization(control, { name: 'closed' })
  const signing = await createSigningKey(control)
  const key = await importJWK(signing.jwk, 'ES256')
  await createOwner(control, a.id, { email: 'first@a.example', name: 'First' })
  const tokens = new Map<Role, string>()
  for (const role of roles) {
    const user = await ensureUser(control, { email: `${role}@a.example`, name: role })
    await eventually('the user', () => view.user(user.id) !== undefined)
    await addMember({ records: control, view }, { organization: a.id, email: user.email, role, by: 'test' })
    tokens.set(role, await signToken(signing, { user, organization: a.id }, 3600))
  }
  const outsider = await createOwner(control, b.id, { email: 'owner@b.example', name: 'B' })
  const insider = await createOwner(control, closed.id, { email: 'owner@closed.example', name: 'C' })
  await putOrganization(control, { ...closed, active: false })
  const keyOf = async (organization: string, scopes: ('read' | 'write' | 'admin')[], expiresAt: string | null = null) =>
    (await createApiKey(control, { organization, name: scopes.join(), createdBy: 'test', scopes, expiresAt })).key
  const revoked = await keyOf(a.id, ['read', 'admin'])
  await control.delete(apiKeyKey(hashApiKey(revoked)))
  const keys = {
    read: await keyOf(a.id, ['read']),
    admin: await keyOf(a.id, ['admin']),
    write: await keyOf(a.id, ['write']),
    expired: await keyOf(a.id, ['read', 'admin'], '2020-01-01T00:00:00.000Z'),
    other: await keyOf(b.id, ['read', 'admin']),
    closed: await keyOf(closed.id, ['read', 'admin']),
  }

  const claims = { sub: outsider.id, email: outsider.email, org_id: a.id, iss: TOKEN_ISSUER, aud: TOKEN_AUDIENCE }
  const now = Math.floor(Date.now() / 1000)
  const sign = (payload: object, header: object = {}) =>
    new SignJWT({ ...payload }).setProtectedHeader({ alg: 'ES256', kid: signing.kid, ...header }).sign(key)
  const good = tokens.get('owner') as string
  const [head = '', payload = '', signature = ''] = good.split('.')
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const hs = `${encode({ alg: 'HS256', kid: signing.kid })}.${payload}`
  const tampered = encode({ ...claims, iat: now, exp: now + 3600 })

  /** What a credential comes to: a role in `a`, or the status that it ends with before roles count. */
  type Standing = { role: Role; of: 'bearer' | 'key' } | { status: number; of: 'bearer' | 'key' }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const cases: [name: string, headers: Record<string, string>, standing: Standing][] = [
    ...[...tokens].map(([role, token]): [string, Record<string, string>, Standing] => [
      `a ${role}`,
      bearer(token),
      { role, of: 'bearer' },
    ]),
    [
      'an outsider',
      { ...bearer(await signToken(signing, { user: outsider, organization: a.id }, 3600)) },
      { status: 403, of: 'bearer' },
    ],
    [
      'an outsider by header',
      { ...bearer(await signToken(signing, { user: outsider, organization: b.id }, 3600)), 'x-org-id': a.id },
      { status: 403, of: 'bearer' },
    ],
    ['a key to read', { 'x-api-key': keys.read }, { role: 'viewer', of: 'key' }],
    ['a key to change', { 'x-api-key': keys.admin }, { role: 'admin', of: 'key' }],
    ['a key to write', { 'x-api-key': keys.write }, { status: 403, of: 'key' }],
    ["another organization's key", { 'x-api-key': keys.other, 'x-org-id': a.id }, { status: 403, of: 'key' }],
    ['an expired key', { 'x-api-key': keys.expired }, { status: 401, of: 'key' }],
    ['a revoked key', { 'x-api-key': revoked }, { status: 401, of: 'key' }],
    ['a key of an inactive organization', { 'x-api-key': keys.closed }, { status: 401, of: 'key' }],
    ['no credential', {}, { status: 401, of: 'bearer' }],
    ['the organization id alone', { 'x-org-id': a.id }, { status: 401, of: 'bearer' }],
    [
      'an expired token',
      bearer(await sign({ ...claims, iat: now - 7200, exp: now - 3600 })),
      { status: 401, of: 'bearer' },
    ],
    [
      'a token of another issuer',
      bearer(await sign({ ...claims, iss: 'x', iat: now, exp: now + 60 })),
      { status: 401, of: 'bearer' },
    ],
    ['tampered claims', bearer(`${head}.${tampered}.${signature}`), { status: 401, of: 'bearer' }],
    ['alg none', bearer(`${encode({ alg: 'none' })}.${payload}.`), { status: 401, of: 'bearer' }],
    [
      'the public key as a secret',
      bearer(`${hs}.${createHmac('sha256', JSON.stringify(signing.jwk.x)).update(hs).digest('base64url')}`),
      { status: 401, of: 'bearer' },
    ],
  ]
  const expected = (endpoint: Endpoint, standing: Standing): number => {
    const { credential, organization, role } = accessOf(endpoint)
    if (credential === 'none') return 200
    // No such ticket.
    if (credential === 'address' || credential === 'signed') return 404
    if (credential === 'bearer' && standing.of === 'key') return 401
    // Who they are is enough where no organization is asked for.
    if ('status' in standing) return standing.status === 403 && organization === 'none' ? 200 : standing.status
    return role === null || reaches(standing.role, role) ? 200 : 403
  }
  await eventually(
    'everything in the view',
    () => view.apiKey(hashApiKey(keys.closed)) && view.membershipsOf(insider.id).length === 1,
  )

  const ask = async (endpoint: Endpoint, headers: Record<string, string>, id: string): Promise<number> => {
    const path = endpoint.path.replace('{id}', id).replaceAll(/\{\w+\}/g, '00000000-0000-4000-8000-000000000001')
    const answer = await fetch(url + path, { method: endpoint.method, headers })
    await answer.arrayBuffer()
    return answer.status
  }
  for (const endpoint of reached) {
    const rows: [string, number][] = []
    for (const [name, headers] of cases) rows.push([name, await ask(endpoint, headers, a.id)])
    t.strictSame(
      rows,
      cases.map(([name, , standing]) => [name, expected(endpoint, standing)]),
      nameOfRoute(endpoint),
    )
  }

  await t.test(
    'of an organization that does not exist the summary says so to every credential, all others say 403',
    async t => {
      const unknown = { 'x-org-id': '00000000-0000-4000-8000-00000000dead' }
      const asking = reached.filter(
        endpoint => accessOf(endpoint).organization === 'chosen' && !['address', 'signed'].includes(endpoint.auth),
      )
      for (const endpoint of asking) {
        const name = nameOfRoute(endpoint)
        const expected = name === 'GET /dashboard/api/organization/summary' ? 404 : 403
        t.equal(await ask(endpoint, { ...bearer(good), ...unknown }, a.id), expected, `${name}, a token`)
        const byKey = endpoint.auth === 'bearer' ? 401 : expected
        t.equal(await ask(endpoint, { 'x-api-key': keys.admin, ...unknown }, a.id), byKey, `${name}, a key`)
        t.equal(await ask(endpoint, unknown, a.id), 401, `${name}, no credential`)
      }
    },
  )

  await t.test('organizations in paths: another one is 403, an unknown one 404, an inactive one 401', async t => {
    const closedToken = await signToken(signing, { user: insider, organization: closed.id }, 3600)
    for (const endpoint of reached.filter(({ organization }) => organization === 'path')) {
      const name = nameOfRoute(endpoint)
      t.equal(await ask(endpoint, bearer(good), b.id), 403, name)
      t.equal(await ask(endpoint, bearer(good), '00000000-0000-4000-8000-00000000dead'), 404, name)
      t.equal(await ask(endpoint, bearer(good), 'a'), 400, name)
      t.equal(await ask(endpoint, bearer(closedToken), closed.id), 401, name)
    }
  })
})
