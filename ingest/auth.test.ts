import t from 'tap'
import type { Organization as OrganizationRecord } from '#control/records.ts'
import { createAuthenticate } from '#ingest/auth.ts'
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
