// The query node as a process: what it says when ready, when its engines are away, and when it is told to stop.
import { request } from 'node:http'
import t from 'tap'
import { openBuckets } from '#streams/apply.ts'
import type { TestPart } from '#test/rig.ts'
import {
  connectNats,
  createTenant,
  eventually,
  freshDatabase,
  startClickHouse,
  startNats,
  startPart,
} from '#test/rig.ts'

const nats = await startNats(t)
const buckets = await openBuckets(await connectNats(t, nats.url))
const tenant = await createTenant(buckets)
const environment = (clickhouse: string, database: string) => ({
  NATS_URL: nats.url,
  CLICKHOUSE_URL: clickhouse,
  PARLEY_DATABASE: database,
  PARLEY_QUERY_CHECK_RESPONSES: 'on',
})
const addressOf = (node: TestPart): string => `http://127.0.0.1:${String(node.about.port)}`

t.test('a node without a store says that it is not ready, answers what needs none, and recovers', async t => {
  const clickhouse = await startClickHouse(t)
  const db = await freshDatabase(t, clickhouse.url, { copied: true })
  const node = await startPart(t, 'query/main.ts', environment(db.url, db.database))
  const get = async (path: string) => {
    const response = await fetch(addressOf(node) + path, { headers: { 'x-api-key': tenant.apiKey } })
    return { status: response.status, text: await response.text() }
  }
  t.match(await get('/readyz'), { status: 200 })
  t.match(await get('/dashboard/api/organization/summary'), { status: 200, text: /"has_data":false/ })

  await clickhouse.kill9()
  t.match(await get('/readyz'), { status: 503, text: /the store does not answer/ })
  t.match(await get('/healthz'), { status: 200, text: 'ok' })
  t.match(await get('/dashboard/api/organization/displayId'), { status: 200 })
  const failed = await get('/dashboard/api/organization/summary')
  t.match(failed, {
    status: 500,
    text: /^\{"error":"The store could not answer","code":"QRY_STORE_FAILED","request_id":/,
  })

  await clickhouse.restart()
  await eventually('ready again', async () => (await get('/readyz')).status === 200)
  t.match(await get('/dashboard/api/organization/summary'), { status: 200 })
  const ops = await fetch(`http://127.0.0.1:${node.opsPort}/metrics`)
  t.match(await ops.text(), /parley_query_requests_total\{[^}]*status="500"[^}]*\} 1/)
  t.match(await node.stop(), { code: 0 })
})

t.test('a stop lets running requests finish and takes no new ones', async t => {
  const db = await freshDatabase(t)
  const node = await startPart(t, 'query/main.ts', environment(db.url, db.database))
  // A request whose body is still on its way when the stop is asked for.
  const answered = new Promise<number | undefined>((resolve, reject) => {
    const pending = request(`${addressOf(node)}/dashboard/api/raw-logs`, {
      method: 'POST',
      headers: { 'x-api-key': tenant.apiKey, 'content-length': 2, expect: '100-continue' },
    })
    pending.on('error', reject).on('response', response => {
      response.resume()
      resolve(response.statusCode)
    })
    // The node has the request: only now is it running.
    pending.once('continue', () => {
      pending.write('{')
      void eventually('the stop began', () =>
        fetch(`${addressOf(node)}/healthz`).then(
          () => false,
          () => true,
        ),
      ).then(() => pending.end('}'), reject)
      node.kill('SIGTERM')
    })
  })
  t.equal(await answered, 200)
  t.match(await node.exited, { code: 0 })
})

t.test('a wrong setting is one line that names it', async t => {
  const db = await freshDatabase(t)
  const bad = { ...environment(db.url, db.database), PARLEY_QUERY_MAX_SECONDS: 'soon' }
  await t.rejects(startPart(t, 'query/main.ts', bad), /PARLEY_QUERY_MAX_SECONDS must be a whole number from 1 to 600/)
})
