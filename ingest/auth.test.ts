import t from 'tap'
import type { ApiKey, Organization as OrganizationRecord, Scope } from '#control/records.ts'
import { hashApiKey } from '#control/records.ts'
import { createAuthenticate, createCheckWriteKey } from '#ingest/auth.ts'
import { NIL_UUID } from '#proto/ids.ts'

const ID = '0d7be0f2-41d1-4a2c-9b0e-3a5f0c2b7e11'

/** Control records that the test changes, as the live copy does: first the record, then the word of it. */
function setUp() {
  const records = new Map<string, OrganizationRecord>()
  let changed: (organization: OrganizationRecord | undefined, id: string) => void = () => {}
  const authenticate = createAuthenticate({
    organization: id => records.get(id),
    onOrganization: listener => {
      changed = listener
    },
  })
  const change = (id: string, active: boolean): void => {
    const record = { active } as OrganizationRecord
    records.set(id, record)
    changed(record, id)
  }
  return { authenticate, change }
}

t.test('a header names an active organization or tells why not', async t => {
  const { authenticate, change } = setUp()
  change(ID, true)
  change(NIL_UUID, false)
  t.equal(authenticate(''), 'missing')
  t.equal(authenticate('shop'), 'malformed')
  t.equal(authenticate(ID.replace('0', '1')), 'unknown')
  t.equal(authenticate(NIL_UUID), 'inactive')
  t.match(authenticate(ID), { id: ID })
  t.match(authenticate(ID.toUpperCase()), { id: ID }, 'in either case')
  t.equal(authenticate(ID), authenticate(ID), 'what was found is kept')
})

t.test('what is remembered ends with the next change of an organization', async t => {
  const { authenticate, change } = setUp()
  t.equal(authenticate(ID), 'unknown')
  change(ID, true)
  t.match(authenticate(ID), { id: ID })
  change(ID, false)
  t.equal(authenticate(ID), 'inactive')
  change(ID, true)
  t.match(authenticate(ID), { id: ID })
})

t.test('a write key is one of the organization, with the scope, that has not ended', async t => {
  const keyOf = (n: number): string => `parley_${String(n).repeat(64)}`
  const record = (organization: string, scopes: readonly Scope[], expires_at: string | null = null): ApiKey => ({
    ...{ id: '', organization, name: '', created_at: '', created_by: '' },
    ...{ scopes, expires_at },
  })
  const { scopes: _all, ...old } = record(ID, [])
  const records = new Map([
    [hashApiKey(keyOf(1)), record(ID, ['write'])],
    [hashApiKey(keyOf(2)), record(ID, ['read', 'admin'])],
    [hashApiKey(keyOf(3)), record(NIL_UUID, ['write'])],
    [hashApiKey(keyOf(4)), record(ID, ['write'], '2026-01-01T00:00:00.000Z')],
    [hashApiKey(keyOf(5)), old],
  ])
  let used = 0
  const check = createCheckWriteKey({
    view: { apiKey: hash => records.get(hash) },
    onKey: () => used++,
    clock: () => Date.UTC(2026, 0, 1),
  })
  t.equal(check(ID, keyOf(1), ''), null)
  t.equal(check(ID, '', `Bearer ${keyOf(1)}`), null)
  t.equal(check(ID, '', keyOf(1)), null)
  t.equal(check(ID, keyOf(5), ''), null, 'a key from before scopes')
  t.equal(used, 4)
  t.equal(check(ID, '', ''), 'AUTH_CREDENTIAL_MISSING')
  for (const key of ['x', keyOf(2), keyOf(4), keyOf(6)]) t.equal(check(ID, key, ''), 'AUTH_CREDENTIAL_INVALID', key)
  t.equal(check(ID, keyOf(3), ''), 'AUTH_FORBIDDEN')
  t.equal(used, 4)
})
