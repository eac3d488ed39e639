// One tenant's statements that take all they may, as many as it may run -> what the dashboards of others feel of it, and when each ends.
import { setTimeout as delay } from 'node:timers/promises'
import { isParleyError } from '#proto/errors.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { createStore } from '#store/client.ts'
import { createTenantSql } from '#store/guard/run.ts'
import { SQL_MAX_SECONDS } from '#store/wall/profiles.ts'
import { viewsDatabase } from '#store/wall/tables.ts'
import { percentile, table } from '../stats.ts'
import { type KeptStore, ORGANIZATION } from './machine.ts'
import { ask, type Bench } from './measure.ts'
import type { Question } from './questions.ts'

const AT_ONCE = 4
/** How long neighbours are asked with nothing beside them, each round. */
const QUIET_MS = 10_000

/** Asks every row so many times. */
const scan = (times: number): string => {
  const numbers = Array.from({ length: times }, (_, i) => i).join()
  return `SELECT count() FROM events WHERE arrayExists(n -> position(concat(name, toString(n), user_id), 'zzzz') > 0, [${numbers}])`
}

/** Passes the guard, and none ends by itself over millions of rows. */
const HOSTILE: readonly (readonly [string, string])[] = [
  ['a scan that fills its memory', scan(2_000)],
  ['a scan that never ends', scan(100)],
  ['a join', `SELECT count() FROM events AS a INNER JOIN events AS b ON a.kind = b.kind WHERE a.name < b.user_id`],
]

/** Times of the questions in turn, quiet and beside each kind of statement; and how each statement ended. */
export async function hostility(
  bench: Bench,
  kept: KeptStore,
  questions: readonly Question[],
  rounds: number,
): Promise<void> {
  const store = createStore({ url: kept.sqlUrl, database: viewsDatabase(kept.store.database), application: 'bench' })
  const sql = createTenantSql({ store, mode: 'sql', metrics: createMetrics('bench') })
  const quiet: number[] = []
  const beside = new Map<string, number[]>(HOSTILE.map(([name]) => [name, []]))
  const endings: { readonly name: string; readonly how: string; readonly seconds: number }[] = []
  const round = async (): Promise<number[]> => {
    const times: number[] = []
    for (const question of questions) times.push((await ask(bench, bench.parts.queryUrl, question)).ms)
    return times
  }
  let lastEnd = 0
  const attack = async (name: string, text: string): Promise<void> => {
    const startedAt = performance.now()
    const how = await sql.run(ORGANIZATION, text).then(
      () => 'answered',
      (error: unknown) => (isParleyError(error) ? error.code : String(error)),
    )
    const endedAt = performance.now()
    // They take turns: one begins when the one before it has ended.
    endings.push({ name, how, seconds: (endedAt - Math.max(startedAt, lastEnd)) / 1000 })
    lastEnd = endedAt
  }
  /** Asks again and again until something is over. */
  const during = async (over: Promise<unknown>): Promise<number[]> => {
    const times: number[] = []
    let going = true
    const ended = over.finally(() => {
      going = false
    })
    while (going) times.push(...(await round()))
    await ended
    return times
  }
  await round()
  for (let i = 0; i < rounds; i++) {
    quiet.push(...(await during(delay(QUIET_MS))))
    for (const [name, text] of HOSTILE) {
      const attacks = Promise.all(Array.from({ length: AT_ONCE }, () => attack(name, text)))
      beside.get(name)?.push(...(await during(attacks)))
    }
  }
  await store.close()
  const p = (values: readonly number[]): string[] => [50, 95].map(at => percentile(values, at).toFixed(0))
  const before = percentile(quiet, 95)
  const lines = [...beside].map(([name, times]) => {
    const its = endings.filter(ending => ending.name === name)
    return [
      ...[name, ...p(times), (percentile(times, 95) / before).toFixed(2)],
      [...new Set(its.map(({ how }) => how))].join(', '),
      Math.max(...its.map(({ seconds }) => seconds)).toFixed(1),
    ]
  })
  console.log(`\n${AT_ONCE} statements of one tenant asked at once, each within ${SQL_MAX_SECONDS} s of its turn\n`)
  console.log(
    table(
      ['beside', 'p50, ms', 'p95', 'times', 'ended by', 'after at most, s'],
      [['nothing', ...p(quiet), '1', '', ''], ...lines],
    ),
  )
}
