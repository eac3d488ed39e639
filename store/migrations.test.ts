import { readFile } from 'node:fs/promises'
import t from 'tap'
import { blockTables } from '#proto/rows.ts'
import { fill, migrate, migrationNames } from '#store/migrate.ts'
import { sharedClickHouse } from '#test/engines.ts'
import { foldEvents } from '#test/folding.ts'
import { eventually, freshDatabase, type TestDatabase } from '#test/rig.ts'

const begun = await freshDatabase(t, (await sharedClickHouse()).url)
const { store, url, database } = begun

/** What every table is, as the engine writes it; the database's name left out. */
async function definitions({ store, database }: Pick<TestDatabase, 'store' | 'database'>): Promise<unknown[]> {
  const sql = `SELECT name, replaceAll(create_table_query, database, '') AS sql FROM system.tables
    WHERE database = {database:String} ORDER BY name`
  return store.read(sql, { parameters: { database } })
}

/** Fields of an interface of proto/rows.ts; types are gone at run time, so its text is read. */
async function fieldsOf(name: string): Promise<string[]> {
  const text = await readFile(new URL('../proto/rows.ts', import.meta.url), 'utf8')
  const body = new RegExp(`export interface ${name} \\{(.*?)\\n\\}`, 's').exec(text)?.[1] ?? ''
  return [...body.matchAll(/^ {2}(\w+): /gm)].map(match => match[1] as string)
}

/** Columns of a table, in order. */
async function columnsOf(table: string): Promise<string[]> {
  const rows = await store.read<{ name: string }>(
    'SELECT name FROM system.columns WHERE database = {database:String} AND table = {table:String} ORDER BY position',
    { parameters: { database, table } },
  )
  return rows.map(row => row.name)
}

t.test('tables have the columns of proto/rows.ts, in that order, then their origin', async t => {
  const origin = await fieldsOf('Origin')
  t.equal(origin.length, 5)
  const extra = { events: ['move_id', 'version', 'sign'], texts: [], links: [], sessions: [] }
  const interfaces = { events: 'EventRow', texts: 'TextRow', links: 'LinkRow', sessions: 'SessionRow' }
  for (const table of blockTables) {
    const fields = await fieldsOf(interfaces[table])
    t.ok(fields.length > 5, `the fields of ${table} were found`)
    t.strictSame(await columnsOf(table), [...fields, ...origin, ...extra[table]], table)
  }
})

t.test('corrections stage the rows of events without paying for their projections', async t => {
  t.strictSame(await columnsOf('corrections'), await columnsOf('events'))
  const types = await store.read<{ table: string; types: string[] }>(
    `SELECT table, groupArray(type) AS types FROM (
       SELECT table, type FROM system.columns WHERE database = {database:String} AND table IN ('events', 'corrections') ORDER BY position)
     GROUP BY table`,
    { parameters: { database } },
  )
  t.equal(types.length, 2)
  t.strictSame(types[0]?.types, types[1]?.types)
  const projections = await store.read<{ table: string; name: string }>(
    'SELECT table, name FROM system.projections WHERE database = {database:String} ORDER BY table, name',
    { parameters: { database } },
  )
  const named = projections.map(row => `${row.table}.${row.name}`)
  t.strictSame(named, [
    'events.bounds',
    'events.conversations_daily',
    'events.day_versions',
    'events.ids',
    'events.keys_daily',
    'events.latency_daily',
    'events.metrics_15m',
    'events.metrics_daily',
    'events.names_daily',
    'events.priced',
    'events.users',
    'sessions.by_user',
    'sessions.capture_versions',
  ])
})

t.test('a move through corrections leaves every projection exact, before and after the merge', async t => {
  const organization = '00000000-0000-4000-8000-000000000001'
  await store.command('SYSTEM STOP MERGES events')
  await store.command(`
    INSERT INTO events (organization, conversation_id, event_id, ts, kind, source, name, user_id, duration_ns, version, sign)
    SELECT '${organization}', toUUID('00000000-0000-4000-8000-00000000001' || toString(number % 3)), generateUUIDv4(),
      toDateTime64('2026-06-15 12:00:00', 9, 'UTC') - toIntervalHour(number), 'tool', 'otlp', 'n', '', 1000000, 1, 1
    FROM numbers(300)`)
  // The conversation ending in 0 moves to the one ending in 9, under a user of its own.
  const columns = 'event_id, ts, kind, source, name, duration_ns'
  const source = `FROM events FINAL WHERE organization = '${organization}' AND conversation_id = '00000000-0000-4000-8000-000000000010'`
  await store.command(`
    INSERT INTO corrections (organization, conversation_id, user_id, ${columns}, move_id, version, sign)
    SELECT organization, conversation_id, user_id, ${columns}, generateUUIDv4(1), version, -1 ${source}
    UNION ALL
    SELECT organization, toUUID('00000000-0000-4000-8000-000000000019'), 'ada', ${columns}, generateUUIDv4(1), version + 1, 1 ${source}`)
  await store.command('INSERT INTO events SELECT * FROM corrections')

  const sums = async (by: string): Promise<Record<string, number>> => {
    const rows = await store.read<{ key: string; n: string }>(
      `SELECT toString(${by}) AS key, sum(sign) AS n FROM events
       WHERE organization = '${organization}' AND toDate(ts) >= '2026-06-01' GROUP BY ${by} HAVING n != 0`,
    )
    return Object.fromEntries(rows.map(row => [row.key, Number(row.n)]))
  }
  const all = async () => ({
    conversations: await sums('conversation_id'),
    kinds: await sums('kind'),
    users: await sums('user_id'),
    names: await sums('name'),
    days: await sums('toDate(ts)'),
  })
  const before = await all()
  t.strictSame(before.conversations, {
    '00000000-0000-4000-8000-000000000011': 100,
    '00000000-0000-4000-8000-000000000012': 100,
    '00000000-0000-4000-8000-000000000019': 100,
  })
  t.strictSame(before.kinds, { tool: 300 })
  t.strictSame(before.users, { '': 200, ada: 100 })
  t.strictSame(before.names, { n: 300 })
  await foldEvents(store)
  t.strictSame(await all(), before)
  const [rows] = await store.read<{ n: string; low: number }>('SELECT count() AS n, min(sign) AS low FROM events')
  t.match(rows, { n: '300', low: 1 }, 'the merge folded every reversal')
})

t.test('words whose lists were written before and after they were packed are found, apart and merged', async t => {
  const holding = async (word: string): Promise<number> => {
    const [row] = await store.read<{ n: string }>(
      `SELECT count() AS n FROM texts WHERE lowerUTF8(concat(input, '\\n', output)) LIKE '%${word}%'`,
      { settings: { force_data_skipping_indices: 'words' } },
    )
    return Number(row?.n)
  }
  // Lists of so many rows are not kept within the dictionary.
  const insert = (from: number): Promise<void> =>
    store.command(`
      INSERT INTO texts (organization, group_id, event_id, ts, input, output)
      SELECT toUUID('00000000-0000-4000-8000-000000000001'), generateUUIDv4(1), generateUUIDv4(2), toDateTime64('2026-06-15 12:00:00', 9, 'UTC'),
        if(number % 2 = 0, 'Even', 'odd'), concat('number', toString(number))
      FROM numbers(${from}, 2000)`)
  const found = async () => [
    await holding('even'),
    await holding('odd'),
    await holding('number3999'),
    await holding('none'),
  ]
  await store.command('SYSTEM STOP MERGES texts')
  await store.command(`ALTER TABLE texts MODIFY SETTING text_index_posting_list_codec = 'none'`)
  await insert(0)
  t.strictSame(await found(), [1000, 1000, 0, 0])
  await store.command(`ALTER TABLE texts MODIFY SETTING text_index_posting_list_codec = 'bitpacking'`)
  await insert(2000)
  t.strictSame(await found(), [2000, 2000, 1, 0])
  await store.command('SYSTEM START MERGES texts')
  await store.command('OPTIMIZE TABLE texts FINAL')
  t.strictSame(await found(), [2000, 2000, 1, 0])
})

t.test('what every call of a model repeats in its metadata is compressed across many calls', async t => {
  const { store } = await freshDatabase(t, url)
  // A history of 16 KiB that nothing but its repetition makes smaller, and so many calls that their part is a wide one.
  const [calls, historyBytes] = [1_024, 16_384]
  await store.command(`
    INSERT INTO events (organization, conversation_id, event_id, ts, metadata, sign)
    SELECT toUUID('00000000-0000-4000-8000-000000000001'), toUUID('00000000-0000-4000-8000-000000000002'), generateUUIDv4(number),
      toDateTime64('2026-06-15 12:00:00', 9, 'UTC') + number,
      map('gen_ai.input.messages', concat((SELECT hex(randomString(${historyBytes / 2}))), ' and then ', toString(number))), 1
    FROM numbers(${calls})`)
  await store.command('OPTIMIZE TABLE events FINAL')
  const [size] = await store.read<{ plain: string; bytes: string }>(
    `SELECT sum(column_data_uncompressed_bytes) AS plain, sum(column_data_compressed_bytes) AS bytes FROM system.parts_columns
     WHERE database = currentDatabase() AND table = 'events' AND column = 'metadata' AND active`,
  )
  t.ok(Number(size?.plain) > calls * historyBytes, `${size?.plain} bytes before compression`)
  // Every block holds the history anew: in blocks of 128 KiB it was a fifteenth.
  t.ok(Number(size?.bytes) * 40 < Number(size?.plain), `${size?.bytes} of ${size?.plain} bytes`)
})

t.test('a second migration applies nothing, and an edited one stops the start', async t => {
  t.strictSame(await migrate({ url, database, application: 'test' }), [])
  await store.command(
    `ALTER TABLE migrations UPDATE checksum = 'x' WHERE name = '0002_texts.sql' SETTINGS mutations_sync = 1`,
  )
  await t.rejects(migrate({ url, database, application: 'test' }), { code: 'RUN_MIGRATION_FAILED', message: /edited/ })
  await store.command(`ALTER TABLE migrations DELETE WHERE name = '0002_texts.sql' SETTINGS mutations_sync = 1`)
  t.strictSame(await migrate({ url, database, application: 'test' }), ['0002_texts.sql'])
  await store.command(`INSERT INTO migrations (name, checksum) VALUES ('9999_future.sql', 'x')`)
  await t.rejects(migrate({ url, database, application: 'test' }), { code: 'RUN_MIGRATION_FAILED', message: /newer/ })
})

t.test('events become finer with every row, wherever an attempt was cut short', async t => {
  const { store, database } = await freshDatabase(t, url)
  const names = await migrationNames()
  const coarse = names.filter(name => name < '0034')
  const finer = '0034_events_finer.sql'
  const place = { url, database, application: 'test' }
  await store.command(`DROP DATABASE ${database} SYNC`)
  t.strictSame(await migrate({ ...place, only: coarse }), coarse)

  const insert = (from: number, rows: number): Promise<void> =>
    store.command(`
      INSERT INTO events (organization, conversation_id, event_id, ts, kind, source, version, sign)
      SELECT '00000000-0000-4000-8000-000000000001', toUUID('00000000-0000-4000-8000-00000000001' || toString(number % 3)),
        generateUUIDv4(), toDateTime64('2026-06-15 12:00:00', 9, 'UTC') - toIntervalHour(number), 'tool', 'otlp', 1, 1
      FROM numbers(${from}, ${rows})`)
  const held = async (): Promise<unknown[]> =>
    store.read('SELECT conversation_id, count() AS n, sum(cityHash64(*)) AS hash FROM events GROUP BY 1 ORDER BY 1')
  const granularity = async (): Promise<unknown> => {
    const [row] = await store.read<{ n: string }>(
      `SELECT extract(engine_full, 'index_granularity = (\\d+)') AS n FROM system.tables WHERE database = {database:String} AND name = 'events'`,
      { parameters: { database } },
    )
    return Number(row?.n)
  }
  const tablesLeft = async (): Promise<unknown> =>
    store.read(`SELECT name FROM system.tables WHERE database = {database:String} AND name LIKE 'events_%'`, {
      parameters: { database },
    })
  const forget = (name: string): Promise<void> =>
    store.command(`ALTER TABLE migrations DELETE WHERE name = '${name}' SETTINGS mutations_sync = 1`)
  const definition = async (): Promise<unknown> => {
    const [row] = await store.read<{ sql: string }>(
      `SELECT replaceRegexpOne(create_table_query, ' ENGINE = .*', '') AS sql FROM system.tables WHERE database = {database:String} AND name = 'events'`,
      { parameters: { database } },
    )
    return row?.sql
  }
  await insert(0, 3000)
  await store.command('OPTIMIZE TABLE events FINAL')
  await insert(3000, 500)
  const [before, made] = [await held(), await definition()]
  t.equal(await granularity(), 8192)
  // What an attempt left that ended before its last statement: a table with some of the parts.
  await store.command('CREATE TABLE events_next AS events')
  await store.command(`ALTER TABLE events_next ATTACH PARTITION ID '0-202606' FROM events`)
  // What is stored in the middle leaves everything as it was.
  const broken = {
    ...place,
    whileStill: (work: (unbroken: () => Promise<boolean>) => Promise<void>) => work(async () => false),
  }
  await t.rejects(migrate(broken), { code: 'RUN_MIGRATION_FAILED', message: /an owner of a partition has changed/ })
  t.equal(await granularity(), 8192)
  t.strictSame(await held(), before)

  // A deletion that is under way is waited for: its rows would come back with parts that don't know of it.
  await store.command('SYSTEM STOP MERGES events')
  await store.command(
    `ALTER TABLE events DELETE WHERE endsWith(toString(conversation_id), '0') SETTINGS mutations_sync = 0`,
  )
  const migrating = migrate({ ...place, only: [...coarse, finer] })
  await store.command('SYSTEM START MERGES events')
  t.strictSame(await migrating, [finer])
  t.equal(await granularity(), 1024)
  t.strictSame(await held(), before.slice(1), 'every row once')
  t.equal(await definition(), made, 'columns, indexes and projections are the same')
  // The tables have changed places, and then the process died.
  await insert(3500, 100)
  const after = await held()
  await forget(finer)
  t.strictSame(
    await migrate(place),
    names.filter(name => name >= finer),
  )
  t.strictSame(await held(), after, 'it does not change them back')
  t.strictSame(await tablesLeft(), [])
  await store.command('OPTIMIZE TABLE events FINAL')
  t.strictSame(await held(), after)
  const whole = await definitions(begun)
  t.equal(whole.length, 11)
  t.strictSame(await definitions({ store, database }), whole, 'as in a database that began with the baseline')
})

t.test(
  'captures become finer with every row, those that were there as well, wherever an attempt was cut short',
  async t => {
    const { store, database } = await freshDatabase(t, url)
    const names = await migrationNames()
    const place = { url, database, application: 'test' }
    await store.command(`DROP DATABASE ${database} SYNC`)
    await migrate({ ...place, only: names.filter(name => name < '0039') })
    const insert = (from: number, rows: number): Promise<void> =>
      store.command(`
      INSERT INTO sessions (organization, conversation_id, user_id, metadata, received_at)
      SELECT '00000000-0000-4000-8000-000000000001', reinterpretAsUUID(sipHash128(number)), toString(number % 50), map('plan', toString(number)),
        toDateTime64('2026-06-15 12:00:00', 3, 'UTC') - toIntervalMinute(number)
      FROM numbers(${from}, ${rows})`)
    const held = async (): Promise<unknown> =>
      store.read('SELECT count() AS n, sum(cityHash64(*)) AS hash FROM sessions')
    /** Granules of the rows, the last of each part being its end; each projection by its name. */
    const granules = async (): Promise<unknown> => {
      const rows = await store.read<{ name: string; n: string }>(
        `SELECT '' AS name, sum(marks - 1) AS n FROM system.parts WHERE database = {database:String} AND table = 'sessions' AND active
       UNION ALL SELECT name, sum(marks - 1) FROM system.projection_parts WHERE database = {database:String} AND table = 'sessions' AND active
       GROUP BY name`,
        { parameters: { database } },
      )
      return Object.fromEntries(rows.map(row => [row.name, Number(row.n)]))
    }
    await insert(0, 16_384)
    await store.command('OPTIMIZE TABLE sessions FINAL')
    await insert(20_000, 100)
    const before = await held()
    t.strictSame(await granules(), { '': 3, by_user: 2, capture_versions: 1 })
    // What an attempt left that ended before its last statement.
    await store.command('CREATE TABLE sessions_next AS sessions')
    await store.command('ALTER TABLE sessions_next ATTACH PARTITION ALL FROM sessions')
    const finer = names.filter(name => name >= '0039')
    t.strictSame(await migrate(place), finer)
    t.strictSame(await held(), before)
    await eventually('the parts to be written anew', async () => {
      const [left] = await store.read<{ n: string }>(
        `SELECT count() AS n FROM system.mutations WHERE database = {database:String} AND table = 'sessions' AND NOT is_done`,
        { parameters: { database } },
      )
      return left?.n === '0'
    })
    t.match(await granules(), { '': 17, by_user: 16 })
    t.strictSame(await held(), before, 'every row once')
    // The tables have changed places, and then the process died.
    await insert(30_000, 100)
    const after = await held()
    await store.command(`ALTER TABLE migrations DELETE WHERE name >= '0039' SETTINGS mutations_sync = 1`)
    t.strictSame(await migrate(place), finer)
    t.strictSame(await held(), after, 'it does not change them back')
    t.strictSame(
      await definitions({ store, database }),
      await definitions(begun),
      'as in a database that began with the baseline',
    )
  },
)

t.test('a first start that was cut short ends with the same tables, with the baseline and without', async t => {
  const whole = await definitions(begun)
  const names = await migrationNames()
  const cut = await freshDatabase(t, url)
  const place = { url, database: cut.database, application: 'test' }
  const anew = async (): Promise<void> => {
    await store.command(`DROP DATABASE ${cut.database} SYNC`)
    await store.command(`CREATE DATABASE ${cut.database}`)
  }
  // The first table of the baseline is there, of this start or of another one that is at the same.
  await anew()
  await store.command(`CREATE TABLE ${cut.database}.events AS events`)
  t.strictSame(await migrate(place), names)
  t.strictSame(await definitions(cut), whole)
  // The first migration's table is there, and the word of it is not.
  await anew()
  await migrate({ ...place, only: names.slice(0, 1) })
  await cut.store.command('TRUNCATE TABLE migrations')
  t.strictSame(await migrate(place), names)
  t.strictSame(await definitions(cut), whole)
})

t.test('one text serves one server and a cluster', async t => {
  const sql = 'CREATE TABLE {{database}}.x {{on_cluster}} ENGINE = {{replicated}}MergeTree SETTINGS {{dedupe_window}}'
  t.equal(
    fill(sql, { database: 'd', cluster: '' }),
    'CREATE TABLE d.x  ENGINE = MergeTree SETTINGS non_replicated_deduplication_window = 1000000',
  )
  t.equal(
    fill(sql, { database: 'd', cluster: 'c' }),
    "CREATE TABLE d.x ON CLUSTER 'c' ENGINE = ReplicatedMergeTree SETTINGS replicated_deduplication_window = 1000000",
  )
  t.throws(() => fill('{{unheard_of}}', { database: 'd', cluster: '' }), { code: 'RUN_MIGRATION_FAILED' })
})
