// After a request that changes something, or tells what was erased, no answer goes by what the store said before it; after reads it may.
import t from 'tap'
import { createTenant, eventually } from '#test/rig.ts'
import { startNode } from './fixture.ts'

const ended: string[] = []
const node = await startNode(t, {
  keeping: kept => ({
    ...kept,
    endLoans(organization) {
      ended.push(organization)
      kept.endLoans(organization)
    },
  }),
})
const tenant = await createTenant(node.buckets)
const API = '/dashboard/api'
const headers = { authorization: `Bearer ${tenant.bearer}` }
const ask = async (method: string, path: string, body?: object): Promise<number> => {
  ended.length = 0
  return (await node.ask(method, API + path, { headers, ...(body === undefined ? {} : { body }) })).status
}
await eventually('the tenant in the view', async () => (await ask('GET', '/organization/retention')) === 200)

t.test('whoever has changed something is told what became of it', async t => {
  t.equal(await ask('PUT', '/organization/retention', { events_days: 90, texts_days: 30 }), 200)
  t.strictSame(ended, [tenant.organization])
  t.equal(await ask('DELETE', '/users/somebody'), 204)
  t.strictSame(ended, [tenant.organization])
})

t.test('what is said to be erased is shown by no later answer', async t => {
  for (const path of ['/users/somebody/erasure', '/erasures']) {
    t.equal(await ask('GET', path), 200)
    t.strictSame(ended, [tenant.organization])
  }
})

t.test('reads end nothing, whether they are noted or not', async t => {
  t.equal(await ask('GET', '/organization/retention'), 200)
  t.strictSame(ended, [])
  t.equal(await ask('POST', '/raw-logs/export', {}), 200)
  t.strictSame(ended, [])
  t.equal(await ask('PUT', '/organization/retention', { events_days: -1 }), 400)
  t.strictSame(ended, [], 'nothing was changed')
})
