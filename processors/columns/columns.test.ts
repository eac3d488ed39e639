// The columns against the engine: random rows written as Native blocks are read back equal to the same rows written as JSON text.
import t from 'tap'
import type { BlockTable, EventRow, LinkRow, Origin, SessionRow, TextRow } from '#proto/rows.ts'
import { blockTables } from '#proto/rows.ts'
import { sqlMillis, sqlNanos } from '#proto/time.ts'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { freshDatabase } from '#test/rig.ts'
import { createEncoder } from '../encoder.ts'
import { jsonLine } from '../fixture-json.ts'
import { insertBody } from '../insert.ts'
import { nativeBlock } from './native.ts'
import { columnsOf, type TableRows } from './tables.ts'
import { DictionaryColumn } from './text.ts'

const ROWS = 300
const { store, database } = await freshDatabase(t)
const signal = new AbortController().signal

const hex = (random: Random, digits: number): string =>
  Array.from({ length: digits }, () => random(16).toString(16)).join('')
const uuid = (random: Random): string =>
  random(4) === 0
    ? '00000000-0000-0000-0000-000000000000'
    : `${hex(random, 8)}-${hex(random, 4)}-${hex(random, 4)}-${hex(random, 4)}-${hex(random, 12)}`
const pieces = ['a', 'Z9 ', '\0', '"\\\n', 'é', 'ß', '漢字', '😀', '\ud800', '\udfff', '\u2028', 'x'.repeat(63)]
const text = (random: Random): string =>
  Array.from({ length: random(4) === 0 ? 0 : random(12) }, () => pieces[random(pieces.length)]).join('')
const long = (random: Random): string => (random(40) === 0 ? text(random).repeat(400) : text(random))
const map = (random: Random): Record<string, string> =>
  Object.fromEntries(Array.from({ length: random(5) }, (_, i) => [`${i}${text(random)}`, text(random)]))
const amounts = [0, 1, 127, 65_535, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 12_345, Number.MAX_SAFE_INTEGER]
const amount = (random: Random): number => amounts[random(amounts.length)] as number
const span = (random: Random): string => (random(3) === 0 ? '0' : BigInt(`0x${hex(random, 16)}`).toString())
const times = [0, 951_782_399_999, 951_782_400_000, 1_790_000_000_123, 4_107_542_399_999]
const millis = (random: Random): number => (times[random(times.length)] as number) + random(1000)
const one = <T>(random: Random, list: readonly T[]): T => list[random(list.length)] as T

function eventRow(random: Random): EventRow {
  return {
    organization: uuid(random),
    conversation_id: uuid(random),
    session_id: text(random),
    event_id: uuid(random),
    parent_id: uuid(random),
    trace_id: uuid(random),
    span_id: span(random),
    parent_span_id: span(random),
    ts: sqlNanos({ ms: millis(random), ns: random(1_000_000) }),
    duration_ns: random(3) === 0 ? -1 : amount(random),
    latency_bucket: random(2000) - 1,
    source: one(random, ['sdk', 'mcp', 'voice', 'otlp']),
    kind: one(random, ['agent', 'llm', 'tool', 'resource', 'prompt', 'other']),
    name: text(random),
    failed: random(2) as 0 | 1,
    error_type: text(random),
    error_message: text(random),
    user_id: text(random),
    provisional: random(2) as 0 | 1,
    model: text(random),
    provider: one(random, ['', 'openai', 'anthropic']),
    input_tokens: amount(random),
    output_tokens: amount(random),
    cache_read_tokens: amount(random),
    cache_write_tokens: amount(random),
    reasoning_tokens: amount(random),
    cost_nanos: amount(random),
    present: random(65_536),
    input_preview: text(random),
    output_preview: text(random),
    input_bytes: random(2 ** 31) * 2 + 1,
    output_bytes: random(300),
    metadata: map(random),
    checkpoints: text(random),
    received_at: sqlMillis(millis(random)),
    retention: random(256),
  }
}

function textRow(random: Random): TextRow {
  return {
    organization: uuid(random),
    group_id: uuid(random),
    event_id: uuid(random),
    ts: sqlNanos({ ms: millis(random), ns: random(1_000_000) }),
    input: long(random),
    output: long(random),
    content: map(random),
    retention: random(256),
  }
}

function sessionRow(random: Random): SessionRow {
  return {
    organization: uuid(random),
    conversation_id: uuid(random),
    session_id: text(random),
    source: one(random, ['sdk', 'mcp', 'voice', 'otlp']),
    user_id: text(random),
    user_email: text(random),
    user_data: map(random),
    metadata: map(random),
    client_config: text(random),
    connection_type: text(random),
    ip: text(random),
    tools: Array.from({ length: random(4) }, () => text(random)),
    started_at: sqlMillis(millis(random)),
    recording_url: text(random),
    received_at: sqlMillis(millis(random)),
    retention: random(256),
    report: text(random),
  }
}

function linkRow(random: Random): LinkRow {
  return {
    organization: uuid(random),
    trace_id: uuid(random),
    provisional_id: uuid(random),
    conversation_id: uuid(random),
    session_id: text(random),
    depth: one(random, [0, 1]),
    started_at: sqlNanos({ ms: millis(random), ns: random(1_000_000) }),
    span_id: String(random(2 ** 31)),
    retention: random(256),
  }
}

const make: { readonly [T in BlockTable]: (random: Random) => TableRows[T] } = {
  sessions: sessionRow,
  texts: textRow,
  links: linkRow,
  events: eventRow,
}

const originOf = (index: number): Origin => ({
  origin_partition: index % 65_536,
  origin_generation: index % 3,
  origin_sequence: 2 ** 33 + index,
  origin_frame: 2 ** 32 - 1 - index,
  origin_index: index,
})

/** One block of rows in a table without keys or projections, as columns and as lines; both tables' rows. */
async function bothWays<T extends BlockTable>(table: T, rows: readonly TableRows[T][]) {
  for (const name of [`${table}_native`, `${table}_json`]) {
    await store.command(`CREATE OR REPLACE TABLE ${name} ENGINE = Memory EMPTY AS SELECT * FROM ${table}`)
  }
  const { columns, add } = columnsOf[table]()
  rows.forEach((row, i) => {
    add(row, originOf(i))
  })
  await insert(`${table}_native`, 'Native', nativeBlock(columns, rows.length))
  await insert(
    `${table}_json`,
    'JSONEachRow',
    Buffer.from(rows.map((row, i) => jsonLine(table, row, originOf(i))).join('')),
  )
  const read = (name: string) => store.read(`SELECT * FROM ${name} ORDER BY origin_index`)
  return { native: await read(`${table}_native`), json: await read(`${table}_json`) }
}

async function insert(table: string, format: string, body: Uint8Array): Promise<void> {
  const { stream } = await store.client.exec({
    query: `INSERT INTO ${table} FORMAT ${format}`,
    values: (await import('node:stream')).Readable.from([body], { objectMode: false }),
  })
  for await (const _ of stream);
}

for (const table of blockTables) {
  t.test(`random rows of ${table} are the same as columns and as JSON text`, async t => {
    const random = randomOf(table.length)
    const rows = Array.from({ length: ROWS }, () => make[table](random))
    const { native, json } = await bothWays(table, rows)
    t.equal(native.length, ROWS)
    t.strictSame(native, json)
  })

  t.test(`the columns of ${table} are those of the table, by name, type and order`, async t => {
    const declared = await store.read<{ name: string; type: string }>(
      'SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String} ORDER BY position',
      { parameters: { database, table } },
    )
    const ours = Object.entries(columnsOf[table]().columns).map(([name, { type }]) => ({ name, type }))
    t.strictSame(ours, declared)
  })
}

t.test('dictionaries of one, 256, 257 and 70,000 words', async t => {
  await store.command('CREATE TABLE words (word LowCardinality(String)) ENGINE = Memory')
  for (const count of [1, 256, 257, 70_000]) {
    const word = new DictionaryColumn()
    for (let i = 0; i < count; i++) word.add(`w${i}`)
    word.add('w0')
    await store.command('TRUNCATE TABLE words')
    await insert('words', 'Native', nativeBlock({ word }, word.rows))
    const [seen] = await store.read<{ n: string; distinct: string; sum: string; twice: string }>(
      `SELECT count() AS n, uniqExact(word) AS distinct, sum(toUInt64(substring(word, 2))) AS sum, countIf(word = 'w0') AS twice FROM words`,
    )
    const sum = (count * (count - 1)) / 2
    t.same(seen, { n: String(count + 1), distinct: String(count), sum: String(sum), twice: '2' }, `${count} words`)
  }
})

t.test('a block with a row that no column can hold is refused before it is sent', async t => {
  const random = randomOf(5)
  for (const broken of [
    { span_id: 'x' },
    { ts: 'x' },
    { event_id: 'x' },
    { source: 'x' },
    { span_id: '9'.repeat(20) },
  ]) {
    const encoder = createEncoder()
    const good = { ...eventRow(random), retention: 1, ts: '2026-01-01 00:00:00.000000001' }
    encoder.add('events', good, originOf(1))
    encoder.add('events', { ...good, ...broken } as EventRow, originOf(2))
    encoder.add('events', good, originOf(3))
    const blocks = encoder.finish()
    const { body, rows } = blocks.find(block => block.rows > 1) ?? (blocks[0] as (typeof blocks)[number])
    const outcomes = await Promise.all(
      blocks.map(block => insertBody(store, { table: 'events', token: 't', body: block.body, signal })),
    )
    t.ok(
      outcomes.some(outcome => outcome.is === 'refused'),
      `${JSON.stringify(broken)}: ${rows} rows, ${body.length} bytes`,
    )
  }
  const [stored] = await store.read<{ n: string }>(`SELECT count() AS n FROM events WHERE origin_index = 2`)
  t.same(stored, { n: '0' })
})
