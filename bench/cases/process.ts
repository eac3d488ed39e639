// From the bytes of a stream to rows in ClickHouse, side by side in one run: parley, the ordinary design (protobufjs or JSON.parse to
// objects, the same mapping, JSONEachRow through the client), and the engine alone with the same blocks from a file. All three store the
// same rows as equal parts: each insert has a token and leaves the index of words to merges, and no merge is under way.
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { insertBody } from '#processors/insert.ts'
import { letGo } from '#processors/let-go.ts'
import { Slabs } from '#processors/slabs.ts'
import { blockTables } from '#proto/rows.ts'
import type { Store } from '#store/client.ts'
import {
  freshDatabase,
  startClickHouse,
  type Teardown,
  type TestDatabase,
  type TestEngine,
  tempDir,
} from '#test/rig.ts'
import { cpuMeter } from '../process.ts'
import { median, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'
import { EQUAL_WORK } from './process-inserts.ts'
import { type Batch, batches } from './process-loads.ts'
import type { Answer, Question } from './process-worker.ts'

/** A round has at least so many: what one insert costs varies by more than what is compared. */
const EVENTS_A_ROUND = 8_000

const contenders = ['parley', 'ordinary', 'engine'] as const
type Contender = (typeof contenders)[number]

/** One round. CPU in seconds per million events. */
interface Round {
  readonly perSecond: number
  readonly workerCpu: number
  readonly mainCpu: number
  readonly storeCpu: number
  readonly gcMs: number
}

interface Rig {
  readonly engine: TestEngine
  readonly databases: Readonly<Record<Contender, TestDatabase>>
  /** A thread each: what one leaves in its heap is not collected by the other. */
  readonly threads: Readonly<Record<'parley' | 'ordinary', Worker>>
  /** Memory that parley's worker is lent. */
  readonly slabs: Slabs
  readonly dir: string
}

/** Runs the case and prints its tables. Options: --rounds (5), --only <part of a name>. */
export async function processing(args: readonly string[]): Promise<void> {
  const options = { rounds: { type: 'string' }, only: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const names = Object.keys(batches)
  const chosen = Object.entries(batches).filter(([name]) => name.includes(values.only ?? ''))
  if (chosen.length === 0) throw new Error(`no load has "${values.only}" in its name: there are ${names.join('; ')}`)
  await withTeardown(async t => {
    const rig = await startRig(t)
    for (const [, make] of chosen) await contest(rig, make(), Number(values.rounds ?? 5))
  })
}

async function startRig(t: Teardown): Promise<Rig> {
  const engine = await startClickHouse(t, {})
  const fresh = (): Promise<TestDatabase> => freshDatabase(t, engine.url)
  const databases = { parley: await fresh(), ordinary: await fresh(), engine: await fresh() }
  // A merge would be charged to whoever inserts meanwhile.
  await databases.parley.store.command('SYSTEM STOP MERGES')
  const thread = (): Worker => {
    const worker = new Worker(new URL('./process-worker.ts', import.meta.url))
    t.teardown(() => worker.terminate())
    return worker
  }
  return {
    engine,
    databases,
    threads: { parley: thread(), ordinary: thread() },
    slabs: new Slabs(),
    dir: await tempDir(t),
  }
}

async function contest(rig: Rig, batch: Batch, rounds: number): Promise<void> {
  const measured: Record<Contender, Round[]> = { parley: [], ordinary: [], engine: [] }
  let files: readonly BlockFile[] = []
  let events = 0
  let repeats = 1
  let inserted = 0
  for (let round = 0; round <= rounds; round++) {
    for (const contender of contenders) {
      const turns: Turn[] = []
      for (let turn = 0; turn < repeats; turn++) {
        const token = `bench.${batch.name}.${round}.${turn}`
        if (contender === 'engine') {
          turns.push(await engineTurn(rig, files, token))
          continue
        }
        const made = await nodeTurn(rig, contender, batch, token)
        turns.push(made)
        if (contender === 'ordinary') continue
        events = made.events
        files = await written(rig, made.blocks)
        letGo(made.blocks.map(({ body }) => body))
      }
      // The first one warms up.
      if (round > 0) measured[contender].push(roundOf(turns, events))
    }
    inserted += events * repeats
    repeats = Math.ceil(EVENTS_A_ROUND / events)
  }
  const rows = contenders.map(contender => rowOf(contender, measured))
  for (const [i, contender] of contenders.entries()) {
    const { store } = rig.databases[contender]
    rows[i]?.push(Math.round((await storedBytes(store)) / inserted))
    // Only now: on a file system without a journal files are dear to make for as long as others were deleted a moment ago.
    for (const name of blockTables) await store.command(`TRUNCATE TABLE ${name}`)
  }
  const size = Math.round(batch.bytes.length / events)
  const sizes = `${events} events of ${size} bytes a batch, ${repeats} a round, ${rounds} rounds`
  console.log(`\n${batch.name}: ${sizes}\n${table(HEADER, rows)}`)
}

const HEADER = [
  ...['', 'events/s', 'worker CPU s of a million events', 'main CPU s', 'ClickHouse CPU s', 'of ordinary', 'GC ms'],
  'stored bytes an event',
]

/** The medians of a contender's rounds, and the ratio of its store's to the ordinary design's. */
function rowOf(contender: Contender, measured: Readonly<Record<Contender, readonly Round[]>>): (string | number)[] {
  const of = (pick: (round: Round) => number, who = contender): number => median(measured[who].map(pick))
  const storeCpu = (round: Round): number => round.storeCpu
  return [
    contender,
    Math.round(of(round => round.perSecond)),
    ...[of(round => round.workerCpu), of(round => round.mainCpu), of(storeCpu)].map(n => n.toFixed(1)),
    (of(storeCpu) / of(storeCpu, 'ordinary')).toFixed(2),
    Math.round(of(round => round.gcMs)),
  ]
}

/** One batch of a contender: seconds, and milliseconds of garbage collection. */
interface Turn {
  readonly seconds: number
  readonly workerCpu: number
  readonly mainCpu: number
  readonly storeCpu: number
  readonly gcMs: number
}

function roundOf(turns: readonly Turn[], events: number): Round {
  const each = (pick: (turn: Turn) => number): number =>
    (turns.reduce((sum, turn) => sum + pick(turn), 0) * 1e6) / (events * turns.length)
  return {
    perSecond: 1e6 / each(turn => turn.seconds),
    workerCpu: each(turn => turn.workerCpu),
    mainCpu: each(turn => turn.mainCpu),
    storeCpu: each(turn => turn.storeCpu),
    gcMs: each(turn => turn.gcMs),
  }
}

async function nodeTurn(
  rig: Rig,
  contender: 'parley' | 'ordinary',
  batch: Batch,
  token: string,
): Promise<Turn & Pick<Answer, 'blocks' | 'events'>> {
  const { engine, databases, threads } = rig
  const { store, database } = databases[contender]
  const storeUsed = await cpuMeter(engine.pid())
  const mainBefore = process.threadCpuUsage()
  const startedAt = performance.now()
  const bytes = batch.bytes.slice()
  const where = { url: engine.url, database: contender === 'ordinary' ? database : null, token }
  const room = contender === 'parley' ? rig.slabs.lend(bytes.length) : undefined
  const question: Question = { bytes, ends: batch.ends, ...where, room }
  const heard = once(threads[contender], 'message') as Promise<[Answer]>
  threads[contender].postMessage(question, [bytes.buffer])
  const [{ blocks: made, events, cpu, gcMs }] = await heard
  const bodies = made.map(({ body }) => body)
  const own = room === undefined ? bodies : rig.slabs.received(room, batch.bytes.length, bodies)
  const blocks = made.map((block, i) => ({ ...block, body: own[i] as Uint8Array }))
  const signal = new AbortController().signal
  for (const { table: name, body, month } of blocks) {
    const outcome = await insertBody(store, { table: name, token: `${token}.${name}.${month}`, body, signal })
    if (outcome.is !== 'inserted') throw outcome.error
  }
  const seconds = (performance.now() - startedAt) / 1000
  const { user, system } = process.threadCpuUsage(mainBefore)
  const storeCpu = await storeUsed()
  return { seconds, workerCpu: cpu, mainCpu: (user + system) / 1e6, storeCpu, gcMs, blocks, events }
}

/** A block of parley's, for the engine's own turn. */
interface BlockFile {
  readonly table: string
  readonly path: string
}

async function written({ dir }: Rig, blocks: Answer['blocks']): Promise<readonly BlockFile[]> {
  const files: BlockFile[] = []
  for (const { table: name, body, month } of blocks) {
    const path = join(dir, `${name}-${month}.native`)
    await writeFile(path, body)
    files.push({ table: name, path })
  }
  return files
}

async function engineTurn({ engine, databases }: Rig, files: readonly BlockFile[], token: string): Promise<Turn> {
  const used = await cpuMeter(engine.pid())
  const startedAt = performance.now()
  for (const [i, { table: name, path }] of files.entries()) {
    await databases.engine.store.command(`INSERT INTO ${name} SELECT * FROM file('${path}', 'Native')`, {
      settings: { ...EQUAL_WORK, max_threads: 1, insert_deduplication_token: `${token}.${i}` },
    })
  }
  const seconds = (performance.now() - startedAt) / 1000
  return { seconds, workerCpu: 0, mainCpu: 0, storeCpu: await used(), gcMs: 0 }
}

async function storedBytes(store: Store): Promise<number> {
  const [row] = await store.read<{ bytes: string }>(
    'SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND database = currentDatabase()',
  )
  return Number(row?.bytes)
}
