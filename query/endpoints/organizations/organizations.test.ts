// Organizations, members, invitations and API keys, over HTTP.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createOrganization, createOwner, createSigningKey, ensureUser, signToken } from '#control/admin.ts'
import { claimInvitations } from '#control/members.ts'
import { viewsKey } from '#control/records.ts'
import { eventually } from '#test/rig.ts'
import { startControlNode } from '../../fixture-control.ts'

const { ask, records, view } = await startControlNode(t)
const API = '/dashboard/api'
const signing = await createSigningKey(records)
const first = await createOrganization(records, { name: 'first' })
const ada = await createOwner(records, first.id, { email: 'Ada@Example.org', name: 'Ada' })
const bob = await ensureUser(records, { email: 'bob@example.org', name: 'Bob' })
const token = (user: typeof ada, organization: string) => signToken(signing, { user, organization }, 3600)
const asAda = await token(ada, first.id)
const asBob = await token(bob, '')

/** What the bucket still holds of a record, earlier revisions too. */
async function revisionsOf(key: string): Promise<string[]> {
  const found: string[] = []
  for await (const { operation } of await records.history({ key })) found.push(operation)
  return found
}

await eventually('the people', () => view.user(bob.id))

t.test('a user without an organization has a profile, founds one and owns it', async t => {
  t.match((await ask('GET', `${API}/profile`, { token: asBob })).body, {
    user: { id: bob.id, email: 'bob@example.org', name: 'Bob', picture_url: null },
    organization: null,
    organizations: [],
  })
  const made = await ask('POST', `${API}/organizations`, { token: asBob, body: { name: '  Bakery ' } })
  t.match(made, { status: 201, body: { name: 'Bakery', display_id: /^\w{8}$/, require_write_key: false } })
  const { id, display_id } = made.body
  const { body } = await ask('GET', `${API}/profile`, { token: asBob })
  t.match(body.organization, { id, role: 'owner', display_id })
  t.match(body.organizations, [{ id, role: 'owner', display_id }])
  t.match((await ask('GET', `${API}/organizations`, { token: asBob })).body, [{ id, name: 'Bakery' }])
  const changed = await ask('PUT', `${API}/organizations/${id}`, { token: asBob, body: { require_write_key: true } })
  t.match(changed, { status: 200, body: { name: 'Bakery', require_write_key: true } })
  const refused = async (name: unknown, expected: RegExp): Promise<void> => {
    const answer = await ask('POST', `${API}/organizations`, { token: asBob, body: { name } })
    t.match(answer, { status: 400, body: { error: expected, field: 'name' } })
  }
  await refused('', /name must not be empty/)
  await refused('   ', /name must be more than blanks/)
  await refused('x'.repeat(201), /200 characters/)
  await refused(7, /type string/)
})

t.test('closing an organization ends its keys and shows it to nobody', async t => {
  const { body: made } = await ask('POST', `${API}/organizations`, { token: asAda, body: { name: 'short' } })
  const here = { token: asAda, headers: { 'x-org-id': made.id } }
  const { body: key } = await ask('POST', `${API}/organization/api-keys`, { ...here, body: { name: 'k' } })
  t.equal((await ask('GET', `${API}/organization/displayId`, { key: key.api_key })).status, 200)
  for (const name of ['mine', 'of somebody']) {
    t.equal((await ask('POST', `${API}/views`, { ...here, body: { name, page: 'users' } })).status, 201)
  }
  t.ok((await revisionsOf(viewsKey(made.id))).includes('PUT'))
  t.equal((await ask('DELETE', `${API}/organizations/${made.id}`, { token: asAda })).status, 204)
  t.equal((await ask('GET', `${API}/organization/displayId`, { key: key.api_key })).status, 401)
  t.strictSame(await revisionsOf(viewsKey(made.id)), ['PURGE'], 'no revision of its views is left')
  t.equal((await ask('DELETE', `${API}/organizations/${made.id}`, { token: asAda })).status, 404)
  t.equal((await ask('GET', `${API}/organization/displayId`, here)).status, 403)
  t.strictSame((await ask('GET', `${API}/organizations`, { token: asAda })).body.length, 1)
})

t.test('members are added by address, get roles, leave and are removed; an owner remains', async t => {
  const path = `${API}/organizations/${first.id}/members`
  t.match((await ask('GET', path, { token: asAda })).body, [{ id: ada.id, email: 'ada@example.org', role: 'owner' }])
  const added = await ask('POST', path, { token: asAda, body: { email: ' BOB@example.org' } })
  t.equal(added.status, 400, 'no address')
  const bobs = await ask('POST', path, { token: asAda, body: { email: 'BOB@example.org', role: 'viewer' } })
  t.match(bobs, { status: 200, body: { user_id: bob.id, role: 'viewer', status: 'active' } })
  const again = await ask('POST', path, { token: asAda, body: { email: 'bob@example.org', role: 'admin' } })
  t.strictSame(again.body, bobs.body, 'who is there stays as they are')

  const here = { token: asBob, headers: { 'x-org-id': first.id } }
  const chart = { title: 'c', chart_type: 'line', metric: 'events' }
  t.equal((await ask('POST', `${API}/dashboard/charts`, { ...here, body: chart })).status, 403, 'a viewer only looks')
  t.equal((await ask('PUT', `${path}/${bob.id}`, { token: asBob, body: { role: 'owner' } })).status, 403)
  const member = await ask('PUT', `${path}/${bob.id}`, { token: asAda, body: { role: 'admin' } })
  t.match(member, { status: 200, body: { role: 'admin' } })
  t.equal((await ask('POST', `${API}/dashboard/charts`, { ...here, body: chart })).status, 201)
  t.equal((await ask('PUT', `${path}/${bob.id}`, { token: asBob, body: { role: 'owner' } })).status, 403)
  t.equal((await ask('DELETE', `${path}/${ada.id}`, { token: asBob })).status, 403, 'an admin removes no owner')
  t.match(await ask('PUT', `${path}/${ada.id}`, { token: asAda, body: { role: 'admin' } }), {
    status: 400,
    body: { code: 'AUTH_LAST_OWNER' },
  })
  t.equal((await ask('POST', `${API}/organizations/${first.id}/leave`, { token: asAda })).status, 400)

  t.equal((await ask('PUT', `${path}/${bob.id}`, { token: asAda, body: { role: 'owner' } })).status, 200)
  // Both owners go at once: one of them is held back.
  const [x, y] = await Promise.all([
    ask('POST', `${API}/organizations/${first.id}/leave`, { token: asAda }),
    ask('POST', `${API}/organizations/${first.id}/leave`, { token: asBob }),
  ])
  t.equal(x.status + y.status, 604)
  const [stays, goes, asStays] = x.status === 204 ? [bob, ada, asBob] : [ada, bob, asAda]
  t.equal((await ask('GET', path, { token: x.status === 204 ? asAda : asBob })).status, 403)
  t.match((await ask('GET', path, { token: asStays })).body, [{ id: stays.id, role: 'owner' }])
  const back = await ask('POST', path, { token: asStays, body: { email: goes.email, role: 'owner' } })
  t.match(back, { status: 200, body: { role: 'owner', user_id: goes.id } })
  t.equal((await ask('DELETE', `${path}/${randomUUID()}`, { token: asAda })).status, 404)
  t.equal((await ask('DELETE', `${path}/${bob.id}`, { token: asAda })).status, 204)
  t.equal((await ask('GET', path, { token: asBob })).status, 403)
})

t.test('an address without an account is invited until its first sign-in, or until it is taken back', async t => {
  const path = `${API}/organizations/${first.id}`
  const invite = (email: string) => ask('POST', `${path}/members`, { token: asAda, body: { email } })
  const carol = (await invite('carol@example.org')).body
  t.match(carol, { user_id: null, name: null, status: 'invited', role: 'member' })
  t.strictSame((await invite('Carol@Example.org')).body, carol)
  const dan = (await invite('dan@example.org')).body
  const waiting: { email: string }[] = (await ask('GET', `${path}/invitations`, { token: asAda })).body
  t.equal(waiting.length, 2)
  t.match(
    waiting.find(({ email }) => email === 'carol@example.org'),
    { id: carol.id, created_by: ada.id },
  )
  t.equal((await ask('DELETE', `${path}/invitations/${dan.id}`, { token: asAda })).status, 204)
  t.equal((await ask('DELETE', `${path}/invitations/${dan.id}`, { token: asAda })).status, 404)

  const user = await ensureUser(records, { email: 'Carol@example.org', name: 'Carol' })
  t.match(await claimInvitations({ records, view }, user), [{ organization: first.id, role: 'member', id: carol.id }])
  t.strictSame(
    await claimInvitations({ records, view }, await ensureUser(records, { email: 'dan@example.org', name: '' })),
    [],
  )
  const rows = await eventually('the member', async () => {
    const { body } = await ask('GET', `${path}/members`, { token: asAda })
    return body.length === 2 && body[1].status === 'active' && body
  })
  t.match(rows[1], { id: carol.id, user_id: user.id, email: 'carol@example.org', name: 'Carol' })
  t.equal((await ask('DELETE', `${path}/members/${carol.id}`, { token: asAda })).status, 204, 'by the id of the row')
})

t.test('an API key is shown once, lives as long as it should, and is listed without itself', async t => {
  const path = `${API}/organization/api-keys`
  const here = { token: asAda, headers: { 'x-org-id': first.id } }
  const make = (body: object) => ask('POST', path, { ...here, body })
  const plain = await make({ name: ' deploy ' })
  t.match(plain, {
    status: 201,
    body: {
      api_key: /^parley_[0-9a-f]{64}$/,
      name: 'deploy',
      created_by: ada.id,
      scopes: ['read'],
      expires_at: null,
    },
  })
  const reader = await make({ name: 'r', scopes: ['read', 'read'], expires_in_days: 2 })
  t.match(reader.body, { scopes: ['read'], expires_at: /^20/ })
  const changed = await ask('PUT', `${API}/prices`, { key: plain.body.api_key, body: { prices: [] } })
  t.match(changed, { status: 403, body: { code: 'AUTH_ROLE' } }, 'one that is made without scopes changes nothing')
  for (const wrong of [
    {},
    { name: 'x', scopes: [] },
    { name: 'x', scopes: ['root'] },
    { name: 'x', expires_in_days: 0 },
  ]) {
    t.equal((await make(wrong)).status, 400, JSON.stringify(wrong))
  }
  t.equal((await ask('GET', `${API}/organization/displayId`, { key: plain.body.api_key })).status, 200)
  // Two that are made within a millisecond may stand in either order.
  const ofId = (body: { api_keys: { id: string; last_used_at: string | null }[] }, id: string) =>
    body.api_keys.find(key => key.id === id)
  const used = await eventually('the note of its use', async () => {
    const { body } = await ask('GET', path, here)
    return ofId(body, plain.body.id)?.last_used_at ? body : undefined
  })
  t.match(ofId(used, plain.body.id), { last_used_at: /^20/ })
  t.match(ofId(used, reader.body.id), { last_used_at: null })
  t.notMatch(JSON.stringify(used), /parley_/)
  t.equal((await ask('GET', path, { key: plain.body.api_key })).status, 401, 'keys are for people to manage')
  t.equal((await ask('DELETE', `${path}/${plain.body.id}`, here)).status, 204)
  t.equal((await ask('GET', `${API}/organization/displayId`, { key: plain.body.api_key })).status, 401)
  t.equal((await ask('DELETE', `${path}/${plain.body.id}`, here)).status, 404)
})
