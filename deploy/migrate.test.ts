// `npm run migrate` against engines that know nothing yet, and again.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { createStore } from '#store/client.ts'
import { connectNats, nodeEnv, startClickHouse, startNats } from '#test/rig.ts'

const MAIN = fileURLToPath(new URL('./migrate.ts', import.meta.url))
const run = promisify(execFile)

t.test('streams and schema are laid out once and left alone afterwards', async t => {
  const [nats, clickhouse] = await Promise.all([startNats(t), startClickHouse(t)])
  const env = {
    ...nodeEnv,
    NATS_URL: nats.url,
    CLICKHOUSE_URL: clickhouse.url,
    PARLEY_DATABASE: 'migrated',
    PARLEY_PARTITIONS: '3',
    PARLEY_STREAM_BYTES: String(128 * 1024 * 1024),
  }
  const first = await run(process.execPath, [MAIN], { env })
  t.match(first.stdout, /streams: 3 partitions\nschema: applied 0001_/)
  const jsm = await jetstreamManager(await connectNats(t, nats.url))
  t.equal((await jsm.streams.info('INGEST_2')).config.max_bytes, 128 * 1024 * 1024)
  const store = createStore({ url: clickhouse.url, database: 'migrated', application: 'test' })
  t.teardown(() => store.close())
  t.same(await store.read('SELECT count() AS n FROM events'), [{ n: '0' }])

  const second = await run(process.execPath, [MAIN], { env: { ...env, PARLEY_PARTITIONS: '5' } })
  t.equal(
    second.stdout,
    'streams: 3 partitions\nschema: up to date\n',
    'the number of partitions is fixed by the first',
  )
})

t.test('a missing address is one line and exit code 1', async t => {
  await t.rejects(run(process.execPath, [MAIN], { env: { ...nodeEnv, CLICKHOUSE_URL: 'http://127.0.0.1:1' } }), {
    code: 1,
    stderr: /^A setting is not valid: NATS_URL is required\n$/,
  })
})
