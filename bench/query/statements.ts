// A question -> what each of its statements costs the store. Asked in this process, one statement after the other, so that what the
// engine has spent meanwhile is what that statement took; times of one answer mean nothing here.

import { createKeptDays, type KeptDays } from '#query/days/kept.ts'
import { createReaders } from '#query/reader.ts'
import { createNewest, type NewestOf } from '#query/reads/newest.ts'
import { routes } from '#query/routes.ts'
import { createChecker } from '#query/validate.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { createStore, type Store } from '#store/client.ts'
import { createCores } from '#store/cores.ts'
import { silentLog } from '#test/rig.ts'
import { table } from '../stats.ts'
import { type KeptStore, ORGANIZATION } from './machine.ts'
import { costSince, spent } from './measure.ts'
import { bodyOf, type Question } from './questions.ts'

const DAYS_MB = 1024
const LIMITS = {
  maxSeconds: 600,
  maxMemoryMb: 8192,
  maxRows: 0,
  organizationQueries: 1,
  organizationRows: 0,
  organizationSeconds: 0,
}

/** Answers each question once to warm it, then `rounds` times, and prints the middle one of each statement. Without `days` none are kept in memory. */
export async function tellStatements(
  kept: KeptStore,
  endMs: number,
  questions: readonly Question[],
  { rounds, days: keeping }: { rounds: number; days: boolean },
): Promise<void> {
  const reading = createStore({ url: kept.readerUrl, database: kept.store.database, application: 'bench' })
  // One for all questions, as in a query node that has been asked before: what a question is the first to need is read in its first round.
  const cores = await createCores()(reading)
  const days = createKeptDays({
    ...{
      maxMb: keeping ? DAYS_MB : 0,
      waitMs: LIMITS.maxSeconds * 1000,
      // Each round shall cost what an answer costs that asks.
      freshMs: 0,
      metrics: createMetrics('bench'),
      log: silentLog,
    },
    openReader: createReaders({
      storeOf: () => reading,
      coresOf: async () => cores,
      limits: LIMITS,
      metrics: createMetrics('bench'),
      log: silentLog,
    }),
  })
  const newest = createNewest()
  await kept.store.command('SYSTEM STOP MERGES')
  try {
    for (const question of questions) {
      const seen: Map<string, number[][]> = new Map()
      for (let round = 0; round <= rounds; round++) {
        const told = await answer({ reading, cores, watching: kept.store, kept: days, newest, endMs }, question)
        if (round === 0) continue
        for (const [name, figures] of told) seen.set(name, [...(seen.get(name) ?? []), figures])
      }
      const lines = [...seen].map(([name, all]) => [name, middle(all)] as const)
      const sum = [0, 1, 2].map(i => lines.reduce((total, [, figures]) => total + (figures[i] ?? 0), 0))
      const rows = [...lines, [`all ${lines.length}`, sum] as const]
      const cells = rows.map(([name, figures]) => [name, ...figures.map(n => n.toFixed(1))])
      console.log(`\n${question.name}\n\n${table(['statement', 'CPU, ms', 'rows, thousand', 'MiB'], cells)}`)
    }
  } finally {
    days.close()
    await kept.store.command('SYSTEM START MERGES')
    await reading.close()
  }
}

/** Of each column the middle value. */
const middle = (all: readonly (readonly number[])[]): number[] =>
  (all[0] ?? []).map(
    (_, i) => all.map(one => one[i] as number).toSorted((a, b) => a - b)[Math.floor(all.length / 2)] as number,
  )

/** What questions are asked with. */
interface Asking {
  readonly reading: Store
  readonly cores: number
  readonly watching: Store
  readonly kept: KeptDays
  readonly newest: NewestOf
  readonly endMs: number
}

/** One answer: CPU, rows and bytes of each of its statements, by question and number. */
async function answer(
  { reading, cores, watching, kept, newest, endMs }: Asking,
  question: Question,
): Promise<Map<string, number[]>> {
  const told = new Map<string, number[]>()
  const names = new Map<string, string>()
  const store: Store = {
    ...reading,
    // Readers ask one at a time of an organization that may have one.
    read: async <T>(sql: string, options?: Parameters<Store['read']>[1]) => {
      const before = await spent(watching)
      const rows = await reading.read<T>(sql, options)
      const { cpuMs, rows: read, bytes } = await costSince(watching, before)
      const name = names.get(sql) ?? ''
      told.set(told.has(name) ? `${name} ${told.size}` : name, [cpuMs, read / 1000, bytes / 1024 / 1024])
      return rows
    },
  }
  const open = createReaders({
    storeOf: () => store,
    coresOf: async () => cores,
    limits: LIMITS,
    metrics: createMetrics('bench'),
    log: silentLog,
  })
  const reader = open(ORGANIZATION, new AbortController().signal)
  const named: typeof reader = {
    bounded: () => named,
    read: (asked, sql, ...rest) => {
      names.set(sql, asked)
      return reader.read(asked, sql, ...rest)
    },
  }
  const route = routes.find(({ path }) => path === question.path)
  if (route === undefined) throw new Error(`no route ${question.path}`)
  const { request: schema, work } = route as unknown as {
    request: never
    work: (call: unknown, request: unknown) => Promise<unknown>
  }
  const organization = { id: ORGANIZATION }
  const call = { reader: named, kept, newest, nowMs: Date.now(), log: silentLog, organization, params: {} }
  await work(call, createChecker(schema).read(bodyOf(question, endMs)))
  return told
}
