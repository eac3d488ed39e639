// From the bytes of a stream to rows in ClickHouse, side by side in one run: parley, the ordinary design (protobufjs or JSON.parse to
// objects, the same mapping, JSONEachRow through the client), and the engine alone with the same blocks from a file.
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { insertBody } from '#processors/insert.ts'
import type { Store } from '#store/client.ts'
import {
  freshDatabase,
  startClickHouse,
  type Teardown,
  type TestDatabase,
  type TestEngine,
  tempDir,
} from '#test/rig.ts'
import { cpuSeconds } from '../process.ts'
import { median, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'
import { type Batch, batches } from './process-loads.ts'
import type { Answer, Question } from './process-worker.ts'

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
  readonly dir: string
}

/** Runs the case and prints its tables. Options: --rounds (5), --only <part of a name>. */
export async function processing(args: readonly string[]): Promise<void> {
  const options = { rounds: { type: 'string' }, only: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  await withTeardown(async t => {
    const rig = await startRig(t)
    const chosen = Object.entries(batches).filter(([name]) => name.includes(values.only ?? ''))
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
  return { engine, databases, threads: { parley: thread(), ordinary: thread() }, dir: await tempDir(t) }
}

async function contest(rig: Rig, batch: Batch, rounds: number): Promise<void> {
  const measured: Record<Contender, Round[]> = { parley: [], ordinary: [], engine: [] }
  let events = 0
  for (let round = 0; round <= rounds; round++) {
    for (const contender of contenders) {
      for (const name of ['links', 'sessions', 'texts', 'events']) {
        await rig.databases[contender].store.command(`TRUNCATE TABLE ${name}`)
      }
      const made = await (contender === 'engine' ? engineRound(rig, events) : nodeRound(rig, contender, batch, round))
      events = made.events
      // The first one warms up.
      if (round > 0) measured[contender].push(made)
    }
  }
  const rows = await Promise.all(
    contenders.map(async contender => {
      const of = (pick: (round: Round) => number): number => median(measured[contender].map(pick))
      return [
        contender,
        Math.round(of(round => round.perSecond)),
        ...[of(round => round.workerCpu), of(round => round.mainCpu), of(round => round.storeCpu)].map(n =>
          n.toFixed(1),
        ),
        Math.round(of(round => round.gcMs)),
        Math.round((await storedBytes(rig.databases[contender].store)) / events),
      ]
    }),
  )
  const size = Math.round(batch.bytes.length / events)
  console.log(`\n${batch.name}: ${events} events of ${size} bytes a batch, ${rounds} rounds`)
  const million = 'of a million events'
  const header = [
    '',
    'events/s',
    `worker CPU s ${million}`,
    `main CPU s`,
    `ClickHouse CPU s`,
    `GC ms`,
    'stored bytes an event',
  ]
  console.log(table(header, rows))
}

async function nodeRound(rig: Rig, contender: 'parley' | 'ordinary', batch: Batch, round: number) {
  const { engine, databases, threads } = rig
  const { store, database } = databases[contender]
  const storeBefore = await cpuSeconds(engine.pid())
  const mainBefore = process.threadCpuUsage()
  const startedAt = performance.now()
  const bytes = batch.bytes.slice()
  const where = { url: engine.url, database: contender === 'ordinary' ? database : null }
  const question: Question = { bytes, ends: batch.ends, ...where }
  const heard = once(threads[contender], 'message') as Promise<[Answer]>
  threads[contender].postMessage(question, [bytes.buffer])
  const [{ blocks, events, cpu, gcMs }] = await heard
  const signal = new AbortController().signal
  for (const { table: name, body, month } of blocks) {
    const token = `bench.${batch.name}.${round}.${name}.${month}`
    const outcome = await insertBody(store, { table: name, token, body, signal })
    if (outcome.is !== 'inserted') throw outcome.error
  }
  const seconds = (performance.now() - startedAt) / 1000
  const { user, system } = process.threadCpuUsage(mainBefore)
  const storeCpu = (await cpuSeconds(engine.pid())) - storeBefore
  // For the engine's own turn.
  for (const { table: name, body, month } of blocks) await writeFile(join(rig.dir, `${name}-${month}.native`), body)
  if (blocks.length > 0)
    files.splice(
      0,
      files.length,
      ...blocks.map(block => [block.table, `${block.table}-${block.month}.native`] as const),
    )
  const million = 1e6 / events
  return {
    events,
    perSecond: events / seconds,
    workerCpu: cpu * million,
    mainCpu: ((user + system) / 1e6) * million,
    storeCpu: storeCpu * million,
    gcMs: gcMs * million,
  }
}

/** Table and file of each block of parley's last round. */
const files: (readonly [string, string])[] = []

async function engineRound({ engine, databases, dir }: Rig, events: number) {
  const before = await cpuSeconds(engine.pid())
  const startedAt = performance.now()
  for (const [name, file] of files) {
    await databases.engine.store.command(`INSERT INTO ${name} SELECT * FROM file('${join(dir, file)}', 'Native')`, {
      settings: { max_insert_threads: '1', max_threads: 1, optimize_on_insert: 0 },
    })
  }
  const seconds = (performance.now() - startedAt) / 1000
  const storeCpu = (((await cpuSeconds(engine.pid())) - before) * 1e6) / events
  return { events, perSecond: events / seconds, workerCpu: 0, mainCpu: 0, storeCpu, gcMs: 0 }
}

async function storedBytes(store: Store): Promise<number> {
  const [row] = await store.read<{ bytes: string }>(
    'SELECT sum(bytes_on_disk) AS bytes FROM system.parts WHERE active AND database = currentDatabase()',
  )
  return Number(row?.bytes)
}
