// What a span costs the store: the same blocks, as processors write them, into fresh databases that differ by some statements. CPU of the
// inserts of each table and of one merge of all that was inserted, or of the merges that the engine chooses, and what is on disk in the end.
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { ClickHouseSettings } from '@clickhouse/client'
import { encodeRange, parseRange } from '#processors/block.ts'
import { BODY_FORMAT, createEncoder, type EncodedBlock } from '#processors/encoder.ts'
import { PINNED } from '#processors/engine-settings.ts'
import { plainReadings } from '#processors/readings.ts'
import { parsers } from '#processors/registry.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import type { Store } from '#store/client.ts'
import { freshDatabase, startClickHouse, type TestEngine } from '#test/rig.ts'
import { cpuMeter } from '../process.ts'
import { numberSpans, spanTemplate } from '../span-template.ts'
import { median, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const SPANS = 100
/** The engine looks for merges when an insert ends. */
const LOOK_MS = 15
const QUIET_LOOKS = 2
const ENVELOPE_BYTES = 256 * 1024
const ORGANIZATION = uuidBytes('11111111-1111-4111-8111-111111111111')

/** Statements that make a fresh database another one, and settings of its inserts. */
interface Variant {
  readonly name: string
  readonly statements: readonly string[]
  readonly settings: ClickHouseSettings
}

interface Wanted {
  readonly blocks: readonly (readonly EncodedBlock[])[]
  readonly spans: number
  /** The engine merges what it chooses while blocks come, and the next one waits for it; else all parts are merged once at the end. */
  readonly chosen: boolean
}

/** One variant once, by table. CPU in microseconds a span. */
interface Measured {
  readonly inserted: Readonly<Record<string, number>>
  readonly merged: Readonly<Record<string, number>>
  /** Parts of all tables after an insert, on average; what is merged at the end has as many as blocks. */
  readonly parts: number
  readonly bytes: number
}

/**
 * Runs the case and prints its table. Options: --blocks (12), --rows (8000), --rounds (2), --tables (all), --chosen, and --variant
 * "name: SQL; SET setting = value", any number of times.
 */
export async function rows(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const many = { type: 'string', multiple: true } as const
  const chosen = { type: 'boolean', default: false } as const
  const options = { blocks: text, rows: text, rounds: text, tables: text, variant: many, chosen }
  const { values } = parseArgs({ args: [...args], options })
  const variants: Variant[] = [
    { name: 'as it is', statements: [], settings: {} },
    ...(values.variant ?? []).map(variantOf),
  ]
  const only = values.tables?.split(',')
  const blocks = makeBlocks(Number(values.blocks ?? 12), Number(values.rows ?? 8_000)).map(tables =>
    tables.filter(({ table: name }) => only === undefined || only.includes(name)),
  )
  const spans = Number(values.blocks ?? 12) * Number(values.rows ?? 8_000)
  const wanted: Wanted = { blocks, spans, chosen: values.chosen }
  await withTeardown(async t => {
    const engine = await startClickHouse(t, {})
    const measured = new Map<Variant, Measured[]>(variants.map(variant => [variant, []]))
    // The first one warms up.
    await measure(engine, variants[0] as Variant, wanted)
    for (let round = 0; round < Number(values.rounds ?? 2); round++) {
      // There and back, so that a machine whose speed changes is as good to all.
      for (const variant of round % 2 === 0 ? variants : variants.toReversed()) {
        measured.get(variant)?.push(await measure(engine, variant, wanted))
      }
    }
    report(measured)
  })
}

function variantOf(text: string): Variant {
  const [name = '', all = ''] = text.split(/:(.*)/s)
  const statements = all.split(';').map(sql => sql.trim())
  const settings = statements.flatMap(sql => {
    const [, key, value] = /^SET (\w+) = (.*)$/.exec(sql) ?? []
    return key === undefined ? [] : [[key, value] as const]
  })
  return {
    name,
    statements: statements.filter(sql => sql !== '' && !sql.startsWith('SET ')),
    settings: Object.fromEntries(settings),
  }
}

function makeBlocks(blocks: number, spans: number): EncodedBlock[][] {
  const template = spanTemplate(SPANS)
  let number = 0
  return Array.from({ length: blocks }, () => {
    const writer = new EnvelopeWriter(ENVELOPE_BYTES * 4)
    const parts: Uint8Array[] = []
    const ends: number[] = []
    let size = 0
    const flush = (): void => {
      // A copy: what `finish` returns is a view.
      parts.push(Uint8Array.from(writer.finish()))
      size += parts.at(-1)?.length ?? 0
      ends.push(size)
      writer.reset()
    }
    for (let made = 0; made < spans; made += SPANS) {
      numberSpans(template, ++number)
      writer.append(FrameKind.otlp, FrameEncoding.protobuf, ORGANIZATION, Date.now(), null, template.body)
      if (writer.length >= ENVELOPE_BYTES) flush()
    }
    if (writer.length > 0) flush()
    const input = {
      ...{ bytes: Buffer.concat(parts), ends: Float64Array.from(ends), sequences: Float64Array.from(ends.keys()) },
      ...{ partition: 0, generation: 1, classes: {}, reading: plainReadings.now(), dead: [], scope: {} },
    }
    const made = encodeRange(
      parseRange(input, parsers, () => {}),
      input,
      [],
      createEncoder(),
    )
    return made.map(block => ({ ...block, body: Uint8Array.from(block.body) }))
  })
}

async function measure(engine: TestEngine, variant: Variant, { blocks, spans, chosen }: Wanted): Promise<Measured> {
  const inserted: Record<string, number> = {}
  const merged: Record<string, number> = {}
  const cost = async (work: () => Promise<void>): Promise<number> => {
    const used = await cpuMeter(engine.pid())
    await work()
    return ((await used()) * 1e6) / spans
  }
  return withTeardown(async t => {
    const { store } = await freshDatabase(t, engine.url)
    for (const statement of variant.statements) await store.command(statement)
    const all = blocks.flat()
    let parts = 0
    for (const about of new Set(all.map(block => block.table))) {
      const own = all.filter(block => block.table === about)
      inserted[about] = 0
      merged[about] = 0
      if (chosen) {
        for (const [number, block] of own.entries()) {
          inserted[about] += await cost(() => insertOne(store, variant.settings, block, number))
          merged[about] += await cost(() => untilMerged(store, about))
          parts += (await partsOf(store, about)) / own.length
        }
        continue
      }
      // Merges are asked for, all parts at once: what the engine would choose depends on who else wants the machine.
      await store.command(
        `ALTER TABLE ${about} MODIFY SETTING max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1`,
      )
      inserted[about] = await cost(async () => {
        for (const [number, block] of own.entries()) await insertOne(store, variant.settings, block, number)
      })
      parts += await partsOf(store, about)
      merged[about] = await cost(() => store.command(`OPTIMIZE TABLE ${about} FINAL`))
    }
    const [now] = await store.read<{ bytes: string }>(
      'SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND database = currentDatabase()',
    )
    return { inserted, merged, parts, bytes: Number(now?.bytes) / spans }
  })
}

/** Until the engine has had time to choose a merge and has done it, and the one that this one makes it choose. */
async function untilMerged(store: Store, about: string): Promise<void> {
  let quiet = 0
  while (quiet < QUIET_LOOKS) {
    await delay(LOOK_MS)
    const [row] = await store.read<{ n: string }>(
      'SELECT count() AS n FROM system.merges WHERE database = currentDatabase() AND table = {about:String}',
      { parameters: { about } },
    )
    quiet = Number(row?.n) === 0 ? quiet + 1 : 0
  }
}

async function partsOf(store: Store, about: string): Promise<number> {
  const [row] = await store.read<{ n: string }>(
    'SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase() AND table = {about:String}',
    { parameters: { about } },
  )
  return Number(row?.n)
}

/** As processors insert, under the settings of the variant. */
async function insertOne(
  store: Store,
  settings: ClickHouseSettings,
  { table: into, month, body }: EncodedBlock,
  number: number,
): Promise<void> {
  const values = Readable.from([body], { objectMode: false })
  const clickhouse_settings = {
    ...{ ...PINNED, ...settings },
    ...({ insert_deduplication_token: `bench.${number}.${into}.${month}`, wait_end_of_query: 1 } as const),
  }
  const query = `INSERT INTO ${into} FORMAT ${BODY_FORMAT}`
  const { stream } = await store.client.exec({ query, values, clickhouse_settings })
  for await (const _ of stream);
}

function report(measured: ReadonlyMap<Variant, readonly Measured[]>): void {
  const tables = Object.keys([...measured.values()][0]?.[0]?.inserted ?? {})
  const cells = [...measured].map(([{ name }, all]) => {
    const of = (pick: (one: Measured) => number): number => median(all.map(pick))
    const columns = tables.flatMap(one => [
      of(({ inserted }) => inserted[one] ?? 0),
      of(({ merged }) => merged[one] ?? 0),
    ])
    const sums = all.map(({ inserted, merged }) =>
      [...Object.values(inserted), ...Object.values(merged)].reduce((sum, n) => sum + n, 0),
    )
    return [
      name,
      ...columns.map(n => n.toFixed(1)),
      median(sums).toFixed(1),
      sums.map(n => n.toFixed(1)).join(', '),
      of(({ parts }) => parts).toFixed(1),
      Math.round(of(({ bytes }) => bytes)),
    ]
  })
  const header = tables.flatMap(one => [`${one}: inserted`, 'merged'])
  console.log(
    table(['CPU of the store, us a span', ...header, 'together', 'each round', 'parts', 'bytes a span'], cells),
  )
}
