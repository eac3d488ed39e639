// The dashboard over stores of many millions of events, which are built inside the engine once and kept: every endpoint over HTTP, cold
// and warm, alone and while 2,000 events a second arrive, beside the same answers from rows alone, which must be equal.
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { cpus, loadavg, totalmem } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Teardown } from '#test/rig.ts'
import { startLoadBeside } from '../query/beside.ts'
import { build, settle } from '../query/build.ts'
import { copyStore } from '../query/copy.ts'
import { hostility } from '../query/hostile.ts'
import { endOf, ORGANIZATION, openStore, startParts } from '../query/machine.ts'
import { type Bench, type Measured, measure, timeAll } from '../query/measure.ts'
import { plot } from '../query/plot.ts'
import { findSubjects, questionsOf } from '../query/questions.ts'
import { tellStatements } from '../query/statements.ts'
import type { World } from '../query/world.ts'
import { percentile, table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const EVENTS_PER_SECOND = 2_000
/** Of a conversation that arrives meanwhile. */
const EVENTS_EACH = 20
const DAYS = 240
const SETTLE_S = 300
const MiB = 1024 * 1024

interface Options {
  readonly rounds: number
  /** While events arrive: of as many answers p95 is not the largest. */
  readonly loadRounds: number
  readonly recount: boolean
  readonly only: RegExp
  readonly load: boolean
}

/** Runs the case and prints its tables; plots and all figures go into --out. */
export async function query(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ dir: text, settle: text, out: text, events: text, texts: text, share: text, rounds: text, only: text },
      'load-rounds': text,
      ...{
        hostile: { type: 'boolean' },
        'build-only': { type: 'boolean' },
        'in-place': { type: 'boolean' },
        statements: { type: 'boolean' },
        'no-days': { type: 'boolean' },
        'no-recount': { type: 'boolean' },
        'no-load': { type: 'boolean' },
      },
    },
  })
  // The engine's process has a folder of its own.
  const dir = resolve(values.dir ?? '.parley-bench')
  const options: Options = {
    rounds: Number(values.rounds ?? 20),
    loadRounds: Number(values['load-rounds'] ?? 30),
    recount: values['no-recount'] !== true,
    only: new RegExp(values.only ?? ''),
    load: values['no-load'] !== true,
  }
  const wanted = [
    { name: 'events', events: Number(values.events ?? 100_000_000), texts: false },
    { name: 'texts', events: Number(values.texts ?? 10_000_000), texts: true },
  ]
  for (const { name, events, texts } of wanted) {
    if (events === 0) continue
    await withTeardown(async t => {
      const said = {
        organization: ORGANIZATION,
        events,
        texts,
        organizations: 999,
        share: Number(values.share ?? 0.2),
        days: DAYS,
      }
      const built = join(dir, name)
      const endMs = await endOf(built, said)
      await make(built, { ...said, endMs }, { name, settleS: Number(values.settle ?? SETTLE_S) })
      if (values['build-only']) return
      const kept = await openStore(t, values['in-place'] ? built : await copied(t, built))
      if (values.statements) {
        const asked = questionsOf(await findSubjects(kept.store, ORGANIZATION)).filter(({ name }) =>
          options.only.test(name),
        )
        await tellStatements(kept, endMs, asked, { rounds: options.rounds, days: values['no-days'] !== true })
        return
      }
      const parts = await startParts(t, kept)
      const bench = { store: kept.store, parts, endMs }
      if (values.hostile) {
        const questions = questionsOf(await findSubjects(kept.store, ORGANIZATION)).filter(({ name }) =>
          options.only.test(name),
        )
        await hostility(bench, kept, questions, options.rounds)
        return
      }
      await report(bench, { name, texts }, options, values.out ?? join(dir, 'report'))
    })
  }
}

/** Builds what is missing of a world, and says what it takes. */
const make = (folder: string, world: World, { name, settleS }: { name: string; settleS: number }): Promise<void> =>
  withTeardown(async t => {
    const { store } = await openStore(t, folder)
    await build(store, world, line => console.error(`${name}: ${line}`))
    await settle(store, settleS)
    await tellSizes(store, name)
  })

/** A copy that lasts as long as the bench: what events it sends makes no later run harder. */
async function copied(t: Teardown, built: string): Promise<string> {
  const copy = `${built}.run`
  await copyStore(built, copy)
  t.teardown(() => rm(copy, { recursive: true, force: true }))
  return copy
}

async function tellSizes(store: Bench['store'], name: string): Promise<void> {
  const tables = await store.read<{ name: string; rows: string; bytes: string; parts: string }>(
    `SELECT * FROM (SELECT table AS name, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, count() AS parts FROM system.parts
     WHERE active AND database = currentDatabase() GROUP BY table
     UNION ALL SELECT concat('of which ', name), sum(rows), sum(bytes_on_disk), count() FROM system.projection_parts
     WHERE active AND database = currentDatabase() AND table = 'events' GROUP BY name) ORDER BY bytes DESC`,
  )
  const rows = tables.map(row => [row.name, row.rows, (Number(row.bytes) / MiB).toFixed(1), row.parts])
  console.log(`\n${name}\n\n${table(['table', 'rows', 'MiB', 'parts'], rows)}\n`)
}

async function report(
  bench: Bench,
  kind: { name: string; texts: boolean },
  options: Options,
  out: string,
): Promise<void> {
  const found = await findSubjects(bench.store, ORGANIZATION)
  const questions = questionsOf(found).filter(({ name, texts }) => options.only.test(name) && (kind.texts || !texts))
  await bench.store.command('SYSTEM STOP MERGES')
  const measured: Measured[] = []
  for (const question of questions) {
    const one = await measure(bench, question, options)
    measured.push(one)
    console.error(
      `${question.name}: p95 ${percentile(one.warmMs, 95).toFixed(0)} ms, ${one.cost.cpuMs.toFixed(0)} ms of CPU`,
    )
  }
  await bench.store.command('SYSTEM START MERGES')
  const loaded = options.load ? await underLoad(bench, questions, options.loadRounds) : new Map<string, number[]>()
  const lines = measured.map(one => lineOf(one, loaded.get(one.question.name)))
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / MiB / 1024)} GiB; load of the machine at the end ${loadavg()[0]?.toFixed(1)}`
  console.log(`${kind.name}: ${machine}\n\n${table(HEADER, lines)}`)
  const different = measured.filter(({ equal }) => equal === false).map(({ question }) => question.name)
  console.log(
    different.length === 0 ? '\nevery answer that was recounted is equal' : `\nNOT EQUAL: ${different.join('; ')}`,
  )
  if (different.length > 0) process.exitCode = 1
  await mkdir(out, { recursive: true })
  await writeFile(
    join(out, `query-${kind.name}.json`),
    JSON.stringify({ machine, measured, loaded: [...loaded] }, null, 1),
  )
  await writeFile(join(out, `query-${kind.name}-times.svg`), timesPlot(kind.name, measured, loaded))
  const recounted = measured.filter(({ raw }) => raw !== null)
  if (recounted.length > 0) await writeFile(join(out, `query-${kind.name}-cost.svg`), costPlot(kind.name, recounted))
}

/** How long events arrive before anything is asked beside them. */
const LOADED_FIRST_MS = 30_000

/** Times while events of the same organization arrive and are stored. */
async function underLoad(
  bench: Bench,
  questions: Measured['question'][],
  rounds: number,
): Promise<Map<string, number[]>> {
  const target = { base_url: bench.parts.baseUrl, org_id: ORGANIZATION }
  const load = await startLoadBeside({ target, perSecond: EVENTS_PER_SECOND, eventsEach: EVENTS_EACH })
  // The merges that were held back go on, and what runs for the first time beside a load does so: neither is what a load costs.
  await delay(LOADED_FIRST_MS)
  await timeAll(bench, questions, 1)
  const times = await timeAll(bench, questions, rounds)
  const sent = await load.stop()
  console.error(`${Math.round(sent.perSecond)} events/s were taken meanwhile, ${sent.failed} were not`)
  return times
}

const HEADER = [
  ...['question', 'aim, ms', 'cold, ms', 'p50', 'p95', 'p99', 'anew: p50', 'p95', 'p95 under load'],
  ...[
    'statements',
    'rows',
    'MiB',
    'CPU, ms',
    'anew: CPU, ms',
    'raw: ms',
    'rows',
    'bytes, times',
    'CPU, times',
    'equal',
  ],
]

function lineOf(
  { question, coldMs, warmMs, cost, anew, raw, equal }: Measured,
  loaded: readonly number[] = [],
): string[] {
  const ms = (values: readonly number[], p: number): string =>
    values.length === 0 ? '' : percentile(values, p).toFixed(0)
  const times = (a: number, b: number): string => (b === 0 ? '' : (a / b).toFixed(1))
  return [
    ...[question.name, String(question.aimMs ?? ''), coldMs.toFixed(0), ms(warmMs, 50), ms(warmMs, 95), ms(warmMs, 99)],
    ...[
      ms(anew.warmMs, 50),
      ms(anew.warmMs, 95),
      ms(loaded, 95),
      cost.statements.toFixed(0),
      cost.rows.toFixed(0),
      (cost.bytes / MiB).toFixed(1),
      cost.cpuMs.toFixed(1),
      anew.cost.cpuMs.toFixed(1),
    ],
    ...(raw === null
      ? ['', '', '', '']
      : [raw.ms.toFixed(0), raw.rows.toFixed(0), times(raw.bytes, cost.bytes), times(raw.cpuMs, cost.cpuMs)]),
    equal === null ? '' : equal ? 'yes' : 'NO',
  ]
}

function timesPlot(name: string, measured: readonly Measured[], loaded: ReadonlyMap<string, number[]>): string {
  const bars = measured.map(({ question, warmMs }) => {
    const beside = loaded.get(question.name) ?? []
    return {
      name: question.name,
      values: [percentile(warmMs, 95), ...(beside.length === 0 ? [] : [percentile(beside, 95)])],
      aim: question.aimMs,
    }
  })
  return plot(
    `p95 of answers, store "${name}"; red: the aim`,
    ['alone', `at ${EVENTS_PER_SECOND} events/s`],
    'ms',
    bars,
  )
}

function costPlot(name: string, measured: readonly Measured[]): string {
  const bars = measured.map(({ question, cost, raw }) => ({
    name: question.name,
    values: [cost.cpuMs, raw?.cpuMs ?? 0],
  }))
  return plot(`CPU of the store for one answer, store "${name}"`, ['as it is', 'from rows alone'], 'ms', bars)
}
