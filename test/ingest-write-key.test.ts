// What organizations say, seen by a running receiver: made, closed, with a key demanded and without.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createApiKey, createOrganization, putOrganization } from '#control/admin.ts'
import { changeOrganization } from '#control/organizations.ts'
import { apiKeyKey, hashApiKey } from '#control/records.ts'
import { openBuckets } from '#streams/apply.ts'
import { startReceiverSystem } from '#test/receiver-rig.ts'
import { eventually } from '#test/rig.ts'

t.test('a receiver follows organizations and their keys without being asked', async t => {
  const system = await startReceiverSystem(t)
  const { baseUrl, otelUrl } = await system.startReceiver()
  const { control } = await openBuckets(system.nc)
  const organization = await createOrganization(control, { name: 'new' })
  const { id } = organization
  const session = async (headers: Record<string, string> = {}): Promise<number> => {
    const body = JSON.stringify({ session_id: randomUUID(), user_data: { user_id: 'u' } })
    const answer = await fetch(`${baseUrl}/api/v1/capture-session`, {
      method: 'POST',
      headers: { 'x-org-id': id, ...headers },
      body,
    })
    await answer.arrayBuffer()
    return answer.status
  }
  const traces = async (headers: Record<string, string> = {}): Promise<number> => {
    const answer = await fetch(`${otelUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'x-service-org-id': id, 'content-type': 'application/json', ...headers },
      body: '{"resourceSpans":[]}',
    })
    await answer.arrayBuffer()
    return answer.status
  }
  await eventually('the new organization', async () => (await session()) === 200)

  const make = async (scopes: ('read' | 'write')[], of = id) =>
    (await createApiKey(control, { organization: of, name: 'k', createdBy: 'test', scopes })).key
  const write = await make(['write'])
  const read = await make(['read'])
  const foreign = await make(['write'], system.organization)
  await changeOrganization(control, id, { require_write_key: true })
  await eventually('a key demanded', async () => (await session()) === 401)
  t.equal(await traces(), 401)
  t.equal(await session({ 'x-api-key': write }), 200)
  t.equal(await session({ authorization: `Bearer ${write}` }), 200)
  t.equal(await traces({ 'x-api-key': write }), 200)
  t.equal(await session({ 'x-api-key': read }), 401)
  t.equal(await session({ 'x-api-key': foreign }), 403)

  await control.delete(apiKeyKey(hashApiKey(write)))
  await eventually('the key revoked', async () => (await session({ 'x-api-key': write })) === 401)
  await changeOrganization(control, id, { require_write_key: false })
  await eventually('no key demanded', async () => (await session()) === 200)
  await putOrganization(control, { ...organization, active: false })
  await eventually('not active', async () => (await session()) === 401)
})
