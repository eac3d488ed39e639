// The texts of a store -> what they would take otherwise: other codecs, larger blocks, another order, and each message once by its hash;
// inserted minute by minute without a merge, then merged.
import type { Store } from '#store/client.ts'
import { median, table } from '../stats.ts'
import { ARRIVAL } from './arrive.ts'
import { inMiB } from './disk.ts'

const MAP = 'Map(LowCardinality(String), String)'
const KiB = 1024

/** Where the histories of a surface stand. */
export interface Place {
  readonly table: 'events' | 'texts'
  readonly columns: Readonly<Record<string, string>>
  /** SQL: the messages of a row, each as JSON. */
  readonly messages: string
}

export const PLACES: Readonly<Record<'otlp' | 'sdk', Place>> = {
  otlp: {
    table: 'events',
    columns: { metadata: MAP },
    messages: `arrayConcat(JSONExtractArrayRaw(metadata['gen_ai.input.messages']), mapValues(mapFilter((k, v) -> k != 'gen_ai.input.messages', metadata)))`,
  },
  sdk: {
    table: 'texts',
    columns: { input: 'String', output: 'String' },
    messages: `arrayConcat(JSONExtractArrayRaw(input, 'messages'), [JSONExtractRaw(input, 'tools'), output])`,
  },
}

interface Variant {
  readonly name: string
  readonly codec: string
  readonly blockKiB?: number
  readonly order?: string
}

const variants: readonly Variant[] = [
  { name: 'ZSTD(1)', codec: 'ZSTD(1)' },
  { name: 'ZSTD(3)', codec: 'ZSTD(3)' },
  { name: 'ZSTD(3), by time', codec: 'ZSTD(3)', order: 'ts' },
  { name: 'ZSTD(3), blocks of 4 MiB', codec: 'ZSTD(3)', blockKiB: 4 * KiB },
  { name: 'ZSTD(3), blocks of 16 MiB', codec: 'ZSTD(3)', blockKiB: 16 * KiB },
  { name: 'ZSTD(3, 23), blocks of 8 MiB', codec: 'ZSTD(3, 23)', blockKiB: 8 * KiB },
]

type Cpu = () => Promise<number>
interface Cost {
  readonly name: string
  readonly plain: number
  readonly fresh: number
  readonly merged: number
  readonly insertCpu: number
  readonly mergeCpu: number
  readonly lookUpMs: number
}

/** Copies the texts of `place` in every form and prints what each takes. */
export async function compareForms(store: Store, place: Place, cpu: Cpu): Promise<void> {
  // By minute, so that the copies of one read nothing else.
  await store.command(
    `CREATE TABLE source ENGINE = MergeTree ORDER BY minute AS SELECT intDiv(origin_sequence, ${ARRIVAL}) AS minute, * FROM ${place.table}`,
  )
  const costs: Cost[] = []
  for (const variant of variants) costs.push(await copied(store, place, variant, cpu))
  costs.push(await byContent(store, place, cpu))
  await store.command('DROP TABLE source SYNC')
  console.log(
    table(
      ['form', 'MiB before', 'MiB unmerged', 'MiB merged', 'CPU s, inserts', 'CPU s, merge', 'a row by id, ms'],
      costs.map(cost => [
        cost.name,
        inMiB(cost.plain),
        inMiB(cost.fresh),
        inMiB(cost.merged),
        cost.insertCpu.toFixed(1),
        cost.mergeCpu.toFixed(1),
        Number.isNaN(cost.lookUpMs) ? '' : cost.lookUpMs.toFixed(1),
      ]),
    ),
  )
}

const minutesOf = async (store: Store): Promise<string[]> =>
  (await store.read<{ s: string }>('SELECT DISTINCT minute AS s FROM source ORDER BY s')).map(({ s }) => s)

const keyOf = ({ table: of }: Place): string =>
  of === 'events' ? 'organization, toStartOfHour(ts), conversation_id, ts' : 'organization, group_id'

async function copied(store: Store, place: Place, variant: Variant, cpu: Cpu): Promise<Cost> {
  const { codec, blockKiB = 1 * KiB, order = 'event_id' } = variant
  const settings = `SETTINGS (min_compress_block_size = ${Math.max(64, blockKiB / 4) * KiB}, max_compress_block_size = ${blockKiB * KiB})`
  const key = 'organization UUID, group_id UUID, conversation_id UUID, event_id UUID, ts DateTime64(9)'
  const columns = Object.entries(place.columns).map(([name, type]) => `${name} ${type} CODEC(${codec}) ${settings}`)
  const group = place.table === 'events' ? 'conversation_id' : 'group_id'
  await store.command(
    `CREATE TABLE form (${key}, ${columns.join(', ')}) ENGINE = MergeTree ORDER BY (${keyOf(place)}, ${order})`,
  )
  await store.command('SYSTEM STOP MERGES form')
  const names = `organization, ${group}, event_id, ts, ${Object.keys(place.columns).join(', ')}`
  const before = await cpu()
  for (const minute of await minutesOf(store))
    await store.command(`INSERT INTO form (${names}) SELECT ${names} FROM source WHERE minute = ${minute}`)
  const inserted = await cpu()
  const fresh = await sizeOf(store, 'form')
  await merge(store, 'form')
  const mergeCpu = (await cpu()) - inserted
  const merged = await sizeOf(store, 'form')
  const lookUpMs = await lookUp(store, place, group)
  await store.command('DROP TABLE form SYNC')
  const insertCpu = inserted - before
  return {
    name: variant.name,
    plain: merged.plain,
    fresh: fresh.disk,
    merged: merged.disk,
    insertCpu,
    mergeCpu,
    lookUpMs,
  }
}

/** Every message once for its organization, rows that name them by hash. */
async function byContent(store: Store, place: Place, cpu: Cpu): Promise<Cost> {
  await store.command(
    'CREATE TABLE pieces (organization UUID, hash FixedString(16), text String CODEC(ZSTD(3))) ENGINE = MergeTree ORDER BY (organization, hash)',
  )
  await store.command(
    `CREATE TABLE named (organization UUID, group_id UUID, conversation_id UUID, event_id UUID, ts DateTime64(9), pieces Array(FixedString(16)) CODEC(ZSTD(1)))
     ENGINE = MergeTree ORDER BY (${keyOf(place)}, event_id)`,
  )
  for (const name of ['pieces', 'named']) await store.command(`SYSTEM STOP MERGES ${name}`)
  const group = place.table === 'events' ? 'conversation_id' : 'group_id'
  const before = await cpu()
  for (const minute of await minutesOf(store)) {
    const from = `FROM source WHERE minute = ${minute}`
    await store.command(
      `INSERT INTO pieces SELECT DISTINCT organization, sipHash128Reference(text) AS hash, text
       FROM (SELECT organization, arrayJoin(${place.messages}) AS text ${from}) WHERE (organization, hash) NOT IN (SELECT organization, hash FROM pieces)`,
    )
    await store.command(
      `INSERT INTO named (organization, ${group}, event_id, ts, pieces)
       SELECT organization, ${group}, event_id, ts, arrayMap(text -> sipHash128Reference(text), ${place.messages}) ${from}`,
    )
  }
  const inserted = await cpu()
  const size = async () => {
    const [pieces, named] = [await sizeOf(store, 'pieces'), await sizeOf(store, 'named')]
    return { plain: pieces.plain + named.plain, disk: pieces.disk + named.disk }
  }
  const fresh = await size()
  for (const name of ['pieces', 'named']) await merge(store, name)
  const mergeCpu = (await cpu()) - inserted
  const merged = await size()
  for (const name of ['pieces', 'named']) await store.command(`DROP TABLE ${name} SYNC`)
  const name = 'each message once, by hash'
  const insertCpu = inserted - before
  return {
    name,
    plain: merged.plain,
    fresh: fresh.disk,
    merged: merged.disk,
    insertCpu,
    mergeCpu,
    lookUpMs: Number.NaN,
  }
}

async function merge(store: Store, name: string): Promise<void> {
  await store.command(`SYSTEM START MERGES ${name}`)
  await store.command(`OPTIMIZE TABLE ${name} FINAL`)
}

async function sizeOf(store: Store, name: string): Promise<{ plain: number; disk: number }> {
  const [row] = await store.read<{ plain: string; disk: string }>(
    `SELECT sum(data_uncompressed_bytes) AS plain, sum(bytes_on_disk) AS disk FROM system.parts
     WHERE active AND database = currentDatabase() AND table = '${name}'`,
  )
  return { plain: Number(row?.plain), disk: Number(row?.disk) }
}

/** The middle of some look-ups of one row's texts by its key. */
async function lookUp(store: Store, place: Place, group: string): Promise<number> {
  const rows = await store.read<{ o: string; g: string; e: string; t: string }>(
    `SELECT organization AS o, ${group} AS g, event_id AS e, toString(ts) AS t FROM form ORDER BY cityHash64(event_id) LIMIT 21`,
  )
  const times: number[] = []
  for (const { o, g, e, t } of rows) {
    const startedAt = performance.now()
    const hour = place.table === 'events' ? `AND toStartOfHour(ts) = toStartOfHour(toDateTime64('${t}', 9))` : ''
    await store.read(
      `SELECT ${Object.keys(place.columns).join(', ')} FROM form WHERE organization = '${o}' AND ${group} = '${g}' AND event_id = '${e}' ${hour}`,
    )
    times.push(performance.now() - startedAt)
  }
  return median(times)
}
