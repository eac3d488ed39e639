// A statement that takes all it may: it ends, in the store as well, and others are answered meanwhile.
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { isParleyError } from '#proto/errors.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { createStore } from '#store/client.ts'
import { eventually, freshDatabase, silentLog } from '#test/rig.ts'
import { createReaders } from './reader.ts'

const LIMITS = { maxMemoryMb: 256, maxRows: 0, organizationQueries: 2, organizationRows: 0, organizationSeconds: 0 }
const NEVER = new AbortController().signal

t.test('what runs for too long is ended in the store, and neighbours have their answers', async t => {
  const { url, database, store } = await freshDatabase(t)
  const asking = createStore({ url, database, application: 'test' })
  t.teardown(() => asking.close())
  const open = (maxSeconds: number) =>
    createReaders({
      ...{ storeOf: () => asking, metrics: createMetrics('query'), log: silentLog },
      limits: { ...LIMITS, maxSeconds },
    })
  const mark = randomUUID()
  // No index helps, and nothing is found: trillions of rows.
  const hostile = `SELECT count() FROM numbers(1000000000000000) WHERE cityHash64(number, '${mark}') = 0`
  const running = open(1)('a', NEVER)
    .read('chart', hostile)
    .then(
      () => 'answered',
      (error: unknown) => (isParleyError(error) ? error.code : String(error)),
    )
  const rows = await open(600)('b', NEVER).read<{ one: number }>('events', 'SELECT 1 AS one')
  t.strictSame(rows, [{ one: 1 }], 'a neighbour')
  t.equal(await running, 'QRY_LIMIT')
  await eventually('it has left the store', async () => {
    const left = await store.read(
      `SELECT 1 FROM system.processes WHERE position(query, {mark:String}) > 0 AND query NOT LIKE '%system.processes%'`,
      { parameters: { mark } },
    )
    return left.length === 0
  })
})
