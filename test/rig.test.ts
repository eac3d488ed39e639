// The rig itself: engines are real, come back with their data, and databases are apart.
import { jetstreamManager } from '@nats-io/jetstream'
import t from 'tap'
import { migrate } from '#store/migrate.ts'
import { applyStreams } from '#streams/apply.ts'
import { sharedClickHouse } from './engines.ts'
import { aggregateInserts } from './folding.ts'
import {
  connectNats,
  eventually,
  freshDatabase,
  startClickHouse,
  startNats,
  startPart,
  type TestEngine,
  testLimits,
} from './rig.ts'

t.test('a NATS server that was killed comes back with its streams on the same port', async t => {
  const nats = await startNats(t)
  const nc = await connectNats(t, nats.url)
  await applyStreams(nc, testLimits)
  const before = nats.pid()
  await nats.kill9()
  await nats.restart()
  t.not(nats.pid(), before)
  const jsm = await jetstreamManager(await connectNats(t, nats.url))
  t.equal((await jsm.streams.info('INGEST_1')).config.max_bytes, testLimits.streamMaxBytes)
})

t.test('two databases in the shared engine do not see each other', async t => {
  const [one, other] = await Promise.all([freshDatabase(t), freshDatabase(t)])
  t.equal(one.url, other.url)
  await one.store.command('CREATE TABLE only_here (a UInt8) ENGINE = MergeTree ORDER BY a')
  await t.rejects(other.store.read('SELECT * FROM only_here'))
  t.same(await one.store.read('SELECT * FROM only_here'), [])
})

t.test('a copied schema is what the migrations make', async t => {
  const [copied, migrated] = [await freshDatabase(t), await freshDatabase(t, (await sharedClickHouse()).url)]
  const schemaOf = async ({ store, database }: typeof copied): Promise<string[]> => {
    const rows = await store.read<{ sql: string }>(
      `SELECT create_table_query AS sql FROM system.tables WHERE database = {database:String} ORDER BY name`,
      { parameters: { database } },
    )
    return rows.map(({ sql }) => sql.replaceAll(database, 'db'))
  }
  t.same(await schemaOf(copied), await schemaOf(migrated))
  await aggregateInserts(migrated.store)
  t.same(await schemaOf(await freshDatabase(t, undefined, { aggregated: true })), await schemaOf(migrated))
  t.same(
    await migrate({ url: copied.url, database: copied.database, application: 'test' }),
    [],
    'nothing is left to do',
  )
})

let started: Promise<TestEngine> | undefined
/** One engine that tests may kill, for both that want it. */
function ownEngine(): Promise<TestEngine> {
  started ??= startClickHouse(t)
  return started
}

t.test('a ClickHouse that was killed comes back with its rows', async t => {
  const engine = await ownEngine()
  const { store } = await freshDatabase(t, engine.url, { copied: true })
  await store.command('CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a')
  await store.command('INSERT INTO kept VALUES (1), (2)')
  await engine.kill9()
  await engine.restart()
  t.same(await store.read('SELECT a FROM kept ORDER BY a'), [{ a: 1 }, { a: 2 }])
})

t.test('only the right credentials reach the engine, and its own user is out of reach', async t => {
  const engine = await ownEngine()
  const f = async (authorization: string | undefined, query: string, headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${engine.port}/${query}`, {
      method: 'POST',
      body: 'SELECT currentUser()',
      headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
    })
    return response.ok ? (await response.text()).trim() : response.status
  }
  const { username, password } = new URL(engine.url)
  const basic = (user: string, secret: string): string => `Basic ${btoa(`${user}:${secret}`)}`
  t.equal(await f(basic(username, password), ''), 'parley')
  t.equal(await f(undefined, ''), 404)
  t.equal(await f(undefined, '?user=default'), 404)
  t.equal(await f(basic('default', ''), ''), 404)
  t.equal(await f(basic(username, 'wrong'), '?user=default'), 404)
  t.equal(await f(undefined, '', { 'x-clickhouse-user': 'default' }), 404)
})

t.test('a part that cannot start is an error that carries its log', async t => {
  await t.rejects(startPart(t, 'test/no-such-part.ts', {}), /no-such-part/)
})

t.test('what is never seen is an error that says what it was', async t => {
  await t.rejects(
    eventually('a blue moon', () => false, 50),
    /a blue moon/,
  )
})
