// A question -> how long its answers took over HTTP, what the store read and spent for them, and whether rows alone say the same.
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Store } from '#store/client.ts'
import type { Parts } from './machine.ts'
import { askedAnew, bodyOf, type Question } from './questions.ts'

/** An organization's days are read within minutes. */
const KEPT_TRIES = 300

/** What one answer cost the store: sums over its statements. */
export interface Cost {
  readonly statements: number
  readonly rows: number
  readonly bytes: number
  readonly cpuMs: number
}

/** One question, measured. */
export interface Measured {
  readonly question: Question
  /** Milliseconds of the first answer, the engine's own caches empty. */
  readonly coldMs: number
  readonly warmMs: readonly number[]
  readonly cost: Cost
  /** Of the same question about something else each time: another page, another window, another user. */
  readonly anew: { readonly warmMs: readonly number[]; readonly cost: Cost }
  /** The same from rows; null when it was not asked, or no answer came within the limits. */
  readonly raw: (Cost & { readonly ms: number }) | null
  readonly equal: boolean | null
}

/** Where questions go. */
export interface Bench {
  readonly store: Store
  readonly parts: Parts
  readonly endMs: number
}

/** Asks once. @throws for anything but 200. */
export async function ask(
  bench: Bench,
  url: string,
  question: Question,
  to?: number,
): Promise<{ ms: number; body: unknown }> {
  const body = question.method === 'GET' ? undefined : JSON.stringify(bodyOf(question, bench.endMs, to))
  const startedAt = performance.now()
  const answer = await fetch(url + question.path, {
    method: question.method ?? 'POST',
    headers: { 'x-api-key': bench.parts.apiKey, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
    signal: AbortSignal.timeout(900_000),
  })
  const text = await answer.text()
  const ms = performance.now() - startedAt
  if (answer.status !== 200) throw new Error(`${question.name}: ${answer.status} ${text.slice(0, 200)}`)
  return { ms, body: JSON.parse(text) }
}

/** What the engine has spent so far. Nothing else is asked meanwhile and nothing is merged, so a difference is what answers cost. */
export async function spent(store: Store): Promise<Cost> {
  const rows = await store.read<{ event: string; value: string }>(
    `SELECT event, toString(value) AS value FROM system.events
     WHERE event IN ('SelectQuery', 'SelectedRows', 'SelectedBytes', 'OSCPUVirtualTimeMicroseconds')`,
  )
  const of = (name: string): number => Number(rows.find(({ event }) => event === name)?.value ?? 0)
  return {
    statements: of('SelectQuery'),
    rows: of('SelectedRows'),
    bytes: of('SelectedBytes'),
    cpuMs: of('OSCPUVirtualTimeMicroseconds') / 1000,
  }
}

/** What was spent since, less the look itself. */
export async function costSince(store: Store, before: Cost): Promise<Cost> {
  const after = await spent(store)
  return {
    statements: after.statements - before.statements - 1,
    rows: after.rows - before.rows,
    bytes: after.bytes - before.bytes,
    cpuMs: after.cpuMs - before.cpuMs,
  }
}

const per = (cost: Cost, n: number): Cost => ({
  statements: cost.statements / n,
  rows: cost.rows / n,
  bytes: cost.bytes / n,
  cpuMs: cost.cpuMs / n,
})

/** Asks until whole days no longer come too late to answer: they are read beside the first questions that need them. */
async function untilKept(bench: Bench, question: Question): Promise<void> {
  const tooEarly = async (): Promise<string | undefined> => {
    const text = await (await fetch(`http://127.0.0.1:${bench.parts.query.opsPort}/metrics`)).text()
    return /query_kept_days_total\{[^}]*outcome="too early"[^}]*\} (\d+)/.exec(text)?.[1]
  }
  for (let i = 0; i < KEPT_TRIES; i++) {
    const before = await tooEarly()
    await ask(bench, bench.parts.queryUrl, question)
    if ((await tooEarly()) === before) return
    await delay(1_000)
  }
}

/** Measures one question with nothing beside it; `recount` also asks the node that reads rows only. */
export async function measure(
  bench: Bench,
  question: Question,
  { rounds, recount }: { rounds: number; recount: boolean },
): Promise<Measured> {
  const { store, parts, endMs } = bench
  await store.command('SYSTEM DROP MARK CACHE')
  await store.command('SYSTEM DROP UNCOMPRESSED CACHE')
  const cold = await ask(bench, parts.queryUrl, question)
  await untilKept(bench, question)
  const timed = async (of: (round: number) => Question): Promise<{ warmMs: number[]; cost: Cost }> => {
    const since = await spent(store)
    const warmMs: number[] = []
    for (let round = 0; round < rounds; round++) warmMs.push((await ask(bench, parts.queryUrl, of(round))).ms)
    return { warmMs, cost: per(await costSince(store, since), rounds) }
  }
  const again = await timed(() => question)
  const told = { question, coldMs: cold.ms, ...again, anew: await timed(round => askedAnew(question, round)) }
  if (!recount) return { ...told, raw: null, equal: null }
  // A fixed end, so that both answers speak of one window whenever they are asked; ragged on purpose.
  const to = question.range === undefined ? undefined : endMs - 5_003_000
  const ours = await ask(bench, parts.queryUrl, question, to)
  const rawSince = await spent(store)
  try {
    const raw = await ask(bench, parts.recountUrl, question, to)
    const rawCost = await costSince(store, rawSince)
    const equal = question.moving ? null : isDeepStrictEqual(ours.body, raw.body)
    return { ...told, raw: { ...rawCost, ms: raw.ms }, equal }
  } catch {
    return { ...told, raw: null, equal: null }
  }
}

/** Times of each question while something else goes on: rounds over all of them, so that each meets every phase of it. */
export async function timeAll(
  bench: Bench,
  questions: readonly Question[],
  rounds: number,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>(questions.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const question of questions)
      times.get(question.name)?.push((await ask(bench, bench.parts.queryUrl, question)).ms)
  }
  return times
}
