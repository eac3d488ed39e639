// Searching texts: what an index costs inserts, merges and the disk, in the forms that the engine has, and how soon it answers; then how
// long the product's own search takes over events and texts, in merged parts and in parts that no merge has touched.
import { parseArgs } from 'node:util'
import { NOTHING } from '#query/filters.ts'
import { createReaders } from '#query/reader.ts'
import { readFoundKeys, searchFor } from '#query/reads/search.ts'
import { windowBetween } from '#query/window.ts'
import { createMetrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { createStore } from '#store/client.ts'
import { freshDatabase, silentLog, startClickHouse } from '#test/rig.ts'
import { cpuSeconds } from '../process.ts'
import { median, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const ORGANIZATION = '11111111-1111-4111-8111-111111111111'
const FILL_ROWS = 25_000
/** Rows of one insert: as many texts as a block of 8 MiB holds. */
const BLOCK_ROWS = 5_000
const ASKED = 3

const INPUT = 'lowerUTF8(input)'
const OUTPUT = 'lowerUTF8(output)'
const BOTH = `lowerUTF8(concat(input, '\\n', output))`

/** One form of index: over what, and whether inserts build it. */
interface Form {
  readonly name: string
  readonly over: readonly string[]
  readonly type: string
  readonly atInsert: boolean
}

const FORMS: readonly Form[] = [
  { name: 'none', over: [], type: '', atInsert: false },
  { name: 'words of both, at insert', over: [BOTH], type: `text(tokenizer = 'splitByNonAlpha')`, atInsert: true },
  { name: 'words of both, at merge', over: [BOTH], type: `text(tokenizer = 'splitByNonAlpha')`, atInsert: false },
  {
    name: 'words of each, at merge',
    over: [INPUT, OUTPUT],
    type: `text(tokenizer = 'splitByNonAlpha')`,
    atInsert: false,
  },
  {
    name: 'tokenbf_v1(65536, 2, 0), at merge',
    over: [INPUT, OUTPUT],
    type: 'tokenbf_v1(65536, 2, 0)',
    atInsert: false,
  },
  {
    name: 'ngrambf_v1(4, 65536, 1, 0), at merge',
    over: [INPUT, OUTPUT],
    type: 'ngrambf_v1(4, 65536, 1, 0)',
    atInsert: false,
  },
]

/** What is looked for: once in all texts, within a word that is there once, nowhere, in every text. */
const ASKS = {
  'rare word': 'zanzibarwhale',
  'piece of it': 'nzibarwh',
  absent: 'qqqqzzzz',
  everywhere: 'order',
} as const
const SEARCHES = {
  ...ASKS,
  'two words': 'bottle zanzibarwhale',
  'three letters': 'zib',
  'other letters': 'müßiggängerwal',
}

/** Runs the case and prints its tables. Options: --texts (1000000), --compared (100000). */
export async function search(args: readonly string[]): Promise<void> {
  const options = { texts: { type: 'string' }, compared: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const [texts, compared] = [Number(values.texts ?? 1_000_000), Number(values.compared ?? 100_000)]
  await withTeardown(async t => {
    const engine = await startClickHouse(t, {})
    const { database, store: asked } = await freshDatabase(t, engine.url)
    const [version] = await asked.read<{ v: string }>('SELECT version() AS v')
    const store = createStore({ url: engine.url, database, application: 'bench', requestTimeoutMs: 1_800_000 })
    t.teardown(() => store.close())
    console.log(`ClickHouse ${version?.v}`)
    await makeWords(store)
    const cpu = (): Promise<number> => cpuSeconds(engine.pid())
    if (compared > 0) await compareForms(store, compared, cpu)
    if (texts > 0) await searchAll(store, texts, cpu)
  })
}

/** 30,000 words of two to ten letters. */
async function makeWords(store: Store): Promise<void> {
  await store.command(`CREATE TABLE words ENGINE = MergeTree ORDER BY tuple() AS SELECT groupArray(word) AS list FROM (
    SELECT lower(substring(replaceRegexpAll(base64Encode(toString(sipHash64(number, 7))), '[^A-Za-z]', ''), 1, 2 + number % 9)) AS word
    FROM numbers(30000))`)
}

/** Words by chance, the first ones often; about 1.1 KiB of them for both texts, with a number that many have and an id of its own. */
const said = (n: string, salt: number): string =>
  `arrayStringConcat(arrayMap(i -> (SELECT list FROM words)[toUInt32(pow(30000, (sipHash64(number, i, ${salt}) % 1000003) / 1000003))],
     range(toUInt64(${n}))), ' ')`
const RARE = `if(number = 4321, ' Bottle Zanzibarwhale Müßiggängerwal', '')`
const ROWS = `
  toUUID('${ORGANIZATION}') AS organization, reinterpretAsUUID(sipHash128(intDiv(number, 5))) AS group_id,
  reinterpretAsUUID(sipHash128(number, 1)) AS event_id, toDateTime64('2026-06-01 00:00:00', 9, 'UTC') + toIntervalMillisecond(number * 200) AS ts,
  'Where is order ' || toString(100000 + sipHash64(number) % 900000) || '? ' || ${said('20 + number % 50', 1)} AS input,
  '{"id": "' || toString(reinterpretAsUUID(sipHash128(number, 3))) || '", "text": "' || ${said('60 + number % 100', 2)} || '"}' || ${RARE} AS output`

const insertSql = (into: string, columns: string, from: number, rows: number): string =>
  `INSERT INTO ${into} (${columns}) SELECT ${columns} FROM (SELECT number, ${ROWS} FROM numbers(${from}, ${rows}))`
const TEXT_COLUMNS = 'organization, group_id, event_id, ts, input, output'

interface Cost {
  insert: number
  first: number
  later: number
  bytes: number
  index: number
  readonly asks: Map<string, number>
}

async function compareForms(store: Store, rows: number, cpu: () => Promise<number>): Promise<void> {
  await store.command('CREATE TABLE source AS texts')
  await store.command('ALTER TABLE source DROP INDEX words')
  for (let from = 0; from < rows; from += FILL_ROWS)
    await store.command(insertSql('source', TEXT_COLUMNS, from, Math.min(FILL_ROWS, rows - from)))
  const costs = new Map<Form, Cost>()
  for (const [i, form] of FORMS.entries()) {
    await store.command(`CREATE TABLE form_${i} AS source`)
    for (const [n, over] of form.over.entries())
      await store.command(`ALTER TABLE form_${i} ADD INDEX words_${n} ${over} TYPE ${form.type} GRANULARITY 1`)
    await store.command(`SYSTEM STOP MERGES form_${i}`)
    costs.set(form, { insert: 0, first: 0, later: 0, bytes: 0, index: 0, asks: new Map() })
  }
  for (let from = 0; from < rows; from += BLOCK_ROWS) await insertBlock(store, from, costs, cpu)
  for (const [i, form] of FORMS.entries()) await mergeAndAsk(store, `form_${i}`, form, costs.get(form) as Cost, cpu)
  const none = costs.get(FORMS[0] as Form) as Cost
  const ratio = (cost: number, of: number): string => (cost / of).toFixed(2)
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
  console.log(
    `\n${rows} texts; CPU of no index: inserts ${none.insert.toFixed(1)} s, first merge ${none.first.toFixed(1)} s, one more ${none.later.toFixed(1)} s`,
  )
  console.log(
    table(
      ['index', 'insert', 'first merge', 'one more merge', 'disk', 'of it the index', ...Object.keys(ASKS)],
      FORMS.map(form => {
        const cost = costs.get(form) as Cost
        const figures = [ratio(cost.insert, none.insert), ratio(cost.first, none.first), ratio(cost.later, none.later)]
        const asks = Object.keys(ASKS).map(ask => `${(cost.asks.get(ask) as number).toFixed(0)} ms`)
        return [form.name, ...figures, megabytes(cost.bytes), megabytes(cost.index), ...asks]
      }),
    ),
  )
}

/** The same rows into the table of every form, one after the other: what else the machine does meets all of them. */
async function insertBlock(
  store: Store,
  from: number,
  costs: ReadonlyMap<Form, Cost>,
  cpu: () => Promise<number>,
): Promise<void> {
  await store.command(
    `CREATE TABLE block ENGINE = Memory AS SELECT ${TEXT_COLUMNS} FROM source ORDER BY ts LIMIT ${from}, ${BLOCK_ROWS}`,
  )
  for (const [i, [form, cost]] of [...costs].entries()) {
    const before = await cpu()
    await store.command(`INSERT INTO form_${i} (${TEXT_COLUMNS}) SELECT * FROM block`, {
      settings: {
        ...{ async_insert: 0, max_insert_threads: '1', max_threads: 1, optimize_on_insert: 0 },
        materialize_skip_indexes_on_insert: form.atInsert ? 1 : 0,
      },
    })
    cost.insert += (await cpu()) - before
  }
  await store.command('DROP TABLE block SYNC')
}

async function mergeAndAsk(
  store: Store,
  name: string,
  form: Form,
  cost: Cost,
  cpu: () => Promise<number>,
): Promise<void> {
  const merge = async (): Promise<number> => {
    const before = await cpu()
    await store.command(`OPTIMIZE TABLE ${name} FINAL`)
    return (await cpu()) - before
  }
  const before = await cpu()
  await store.command(`SYSTEM START MERGES ${name}`)
  await merge()
  cost.first = (await cpu()) - before
  cost.later = await merge()
  const [size] = await store.read<{ bytes: string; index: string }>(
    `SELECT sum(bytes_on_disk) AS bytes, sum(secondary_indices_compressed_bytes) AS index FROM system.parts
     WHERE active AND database = currentDatabase() AND table = {name:String}`,
    { parameters: { name } },
  )
  cost.bytes = Number(size?.bytes)
  cost.index = Number(size?.index)
  const over = form.over.length === 0 ? [INPUT, OUTPUT] : form.over
  for (const [ask, text] of Object.entries(ASKS)) {
    const sql = `SELECT count() FROM ${name} WHERE organization = '${ORGANIZATION}' AND (${over.map(o => `${o} LIKE '%${text}%'`).join(' OR ')})`
    cost.asks.set(ask, await medianMs(() => store.read(sql)))
  }
}

async function medianMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < ASKED; n++) {
    const began = performance.now()
    await work()
    times.push(performance.now() - began)
  }
  return median(times)
}

/** Events with previews, and their texts, as processors store them; then the search of the product. */
async function searchAll(store: Store, rows: number, cpu: () => Promise<number>): Promise<void> {
  await store.command('SYSTEM STOP MERGES texts')
  const settings = { async_insert: 0, materialize_skip_indexes_on_insert: 0 } as const
  for (let from = 0; from < rows; from += FILL_ROWS) {
    const some = Math.min(FILL_ROWS, rows - from)
    await store.command(insertSql('texts', TEXT_COLUMNS, from, some), { settings })
    await store.command(
      `INSERT INTO events (organization, conversation_id, session_id, event_id, ts, kind, source, name, user_id, present, input_preview, output_preview,
         input_bytes, output_bytes, version, sign)
       SELECT organization, group_id, toString(group_id), event_id, ts, 1 + cityHash64(event_id) % 4, 1, 'n' || toString(cityHash64(event_id) % 7), 'user-' || toString(cityHash64(group_id) % 5000), 3,
         substringUTF8(input, 1, 200), substringUTF8(output, 1, 200), length(input), length(output), 1, 1
       FROM texts WHERE ts >= toDateTime64('2026-06-01 00:00:00', 9, 'UTC') + toIntervalMillisecond(${from * 200})`,
      { settings },
    )
  }
  const limits = {
    maxSeconds: 600,
    maxMemoryMb: 4096,
    maxRows: 0,
    organizationQueries: 8,
    organizationRows: 0,
    organizationSeconds: 0,
  }
  const reader = createReaders({ storeOf: () => store, limits, metrics: createMetrics('bench'), log: silentLog })(
    ORGANIZATION,
    new AbortController().signal,
  )
  const nowMs = Date.UTC(2026, 5, 1) + rows * 200
  const window = windowBetween(0, Number.POSITIVE_INFINITY)
  const timed = async (text: string): Promise<string> => {
    const looking = { search: searchFor(text), window, conditions: NOTHING, slice: { offset: 0, limit: 51 }, nowMs }
    let found = 0
    const ms = await medianMs(async () => (found = (await readFoundKeys(reader, looking)).length))
    return `${ms.toFixed(0)} ms (${found})`
  }
  const unmerged = new Map<string, string>()
  if (rows <= 1_000_000) for (const [ask, text] of Object.entries(SEARCHES)) unmerged.set(ask, await timed(text))
  const before = await cpu()
  await store.command('SYSTEM START MERGES texts')
  await store.command('OPTIMIZE TABLE texts FINAL')
  const merging = (await cpu()) - before
  await store.command('OPTIMIZE TABLE events FINAL')
  const lines: string[][] = []
  for (const [ask, text] of Object.entries(SEARCHES)) lines.push([ask, unmerged.get(ask) ?? '–', await timed(text)])
  console.log(
    `\n${rows} events and texts; merging the texts took ${merging.toFixed(0)} s of CPU. A page of 50 over all time, and what it found:`,
  )
  console.log(table(['looked for', 'no part merged', 'all merged'], lines))
}
