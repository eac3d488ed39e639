// Bodies of inserts as they are, and compressed in the ways that the store reads: what each costs the thread that makes it and the store
// that undoes it, and how many bytes travel. LZ4 is written here, for want of one in Node; its frames are ClickHouse's own.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { parseArgs } from 'node:util'
import { constants, gzipSync, zstdCompressSync } from 'node:zlib'
import { encodeRange, parseRange } from '#processors/block.ts'
import { createEncoder } from '#processors/encoder.ts'
import { plainReadings } from '#processors/readings.ts'
import { parsers } from '#processors/registry.ts'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { createRandom } from '#proto/scan/fuzz/random.ts'
import { freshDatabase, startClickHouse } from '#test/rig.ts'
import { lz4Frames } from '../lz4.ts'
import { cpuSeconds } from '../process.ts'
import { median, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'
import { type Batch, batches } from './process-loads.ts'

interface Way {
  readonly name: string
  readonly settings: Readonly<Record<string, string>>
  readonly encoding?: string
  readonly compress: (body: Uint8Array) => Uint8Array
}

const zstd = (level: number) => (body: Uint8Array) =>
  zstdCompressSync(body, { params: { [constants.ZSTD_c_compressionLevel]: level } })

const ways: readonly Way[] = [
  { name: 'none', settings: {}, compress: body => body },
  {
    name: 'LZ4, native frames',
    settings: { decompress: '1', http_native_compression_disable_checksumming_on_decompress: '1' },
    compress: lz4Frames,
  },
  { name: 'zstd 1, content-encoding', settings: {}, encoding: 'zstd', compress: zstd(1) },
  { name: 'zstd 3, content-encoding', settings: {}, encoding: 'zstd', compress: zstd(3) },
  { name: 'gzip 1, content-encoding', settings: {}, encoding: 'gzip', compress: body => gzipSync(body, { level: 1 }) },
]

interface Round {
  readonly bytes: number
  readonly makeCpu: number
  readonly storeCpu: number
}

const MiB = 1024 * 1024
const WORDS = 4096

/** Events whose texts are words by chance, the first ones often: the texts of the other batches come again and again. */
function wordy(): Batch {
  const random = createRandom(1)
  const words = Array.from({ length: WORDS }, () =>
    Array.from({ length: 2 + random.below(9) }, () => String.fromCharCode(97 + random.below(26))).join(''),
  )
  const text = (): string =>
    Array.from({ length: 60 }, () => words[Math.floor(WORDS ** (random.below(2 ** 20) / 2 ** 20)) - 1]).join(' ')
  const writer = new EnvelopeWriter(16 * MiB)
  const organization = uuidBytes('11111111-1111-4111-8111-111111111111')
  for (let i = 0; writer.length < 8 * MiB; i++) {
    const ids = { session_id: randomUUID(), event_id: randomUUID(), timestamp: 1_789_999_990_000 + random.below(1e6) }
    const event = { ...ids, primitive_name: 'support-agent', args: text(), result: text(), latency: random.below(5000) }
    writer.append(
      FrameKind.event,
      FrameEncoding.json,
      organization,
      1_790_000_000_000,
      null,
      Buffer.from(JSON.stringify(event)),
    )
  }
  const bytes = Uint8Array.from(writer.finish())
  return { name: 'SDK event, words by chance', bytes, ends: Float64Array.of(bytes.length) }
}

/** Runs the case and prints its tables. Options: --rounds (5), --only <part of a name>. */
export async function compress(args: readonly string[]): Promise<void> {
  const options = { rounds: { type: 'string' }, only: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  await withTeardown(async t => {
    const engine = await startClickHouse(t, {})
    const { store, database } = await freshDatabase(t, engine.url)
    await store.command('SYSTEM STOP MERGES')
    const insert = (way: Way, name: string, body: Uint8Array): Promise<void> =>
      post(engine.url, database, way, name, body)
    for (const [name, make] of Object.entries({ ...batches, 'SDK event, words by chance': wordy })) {
      if (!name.includes(values.only ?? '')) continue
      const blocks = blocksOf(make())
      const measured = new Map(ways.map(way => [way, [] as Round[]]))
      for (let round = 0; round <= Number(values.rounds ?? 5); round++) {
        for (const way of ways) {
          for (const { table: of } of blocks) await store.command(`TRUNCATE TABLE ${of}`)
          const made = await oneRound(way, blocks, insert, () => cpuSeconds(engine.pid()))
          // The first one warms up.
          if (round > 0) measured.get(way)?.push(made)
        }
      }
      print(name, blocks, measured)
    }
  })
}

interface Block {
  readonly table: string
  readonly rows: number
  readonly body: Uint8Array
}

function blocksOf({ bytes, ends }: Batch): Block[] {
  const input = {
    ...{ bytes, ends, sequences: ends.map((_, i) => i + 1), partition: 0, generation: 1, classes: {} },
    ...{ reading: plainReadings.now(), dead: [], scope: {} },
  }
  return encodeRange(
    parseRange(input, parsers, () => {}),
    input,
    [],
    createEncoder(),
  )
}

async function oneRound(
  way: Way,
  blocks: readonly Block[],
  insert: (way: Way, name: string, body: Uint8Array) => Promise<void>,
  storeCpu: () => Promise<number>,
): Promise<Round> {
  const before = process.threadCpuUsage()
  const bodies = blocks.map(({ body }) => way.compress(body))
  const { user, system } = process.threadCpuUsage(before)
  const storeBefore = await storeCpu()
  for (const [i, block] of blocks.entries()) await insert(way, block.table, bodies[i] as Uint8Array)
  return {
    bytes: bodies.reduce((sum, body) => sum + body.length, 0),
    makeCpu: (user + system) / 1e6,
    storeCpu: (await storeCpu()) - storeBefore,
  }
}

async function post(url: string, database: string, way: Way, name: string, body: Uint8Array): Promise<void> {
  const query = `INSERT INTO ${name} FORMAT Native`
  const pinned = { async_insert: '0', max_insert_threads: '1', optimize_on_insert: '0', wait_end_of_query: '1' }
  const search = new URLSearchParams({ query, database, ...pinned, ...way.settings })
  const headers = { 'content-length': body.length, ...(way.encoding ? { 'content-encoding': way.encoding } : {}) }
  const sent = request(`${url}/?${search.toString()}`, { method: 'POST', headers })
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const text = (await answer.toArray()).join('')
  if (answer.statusCode !== 200) throw new Error(`${way.name}: ${text}`)
}

function print(name: string, blocks: readonly Block[], measured: ReadonlyMap<Way, readonly Round[]>): void {
  const events = blocks.reduce((sum, { table: of, rows }) => sum + (of === 'events' ? rows : 0), 0)
  const rows = [...measured].map(([way, rounds]) => {
    const of = (pick: (round: Round) => number, digits: number): string =>
      ((median(rounds.map(pick)) / events) * (digits > 0 ? 1e6 : 1)).toFixed(digits)
    return [way.name, of(round => round.bytes, 0), of(round => round.makeCpu, 1), of(round => round.storeCpu, 1)]
  })
  console.log(`\n${name}: ${events} events`)
  const million = 'of a million events'
  console.log(table(['', 'bytes an event', `CPU s to compress ${million}`, `ClickHouse CPU s ${million}`], rows))
}
