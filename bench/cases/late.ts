// Traces of 2 to 60 spans that arrive in pieces at a steady rate, over two receivers, partitions and processors: the root last in a third
// and never in a hundredth, the session on any of the spans. How long after the revealing span each span is at home; every second all
// sums, distinct conversations and users against a recount; with --kills, while every process is killed again and again.
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fractionsOf } from '#runtime/seeded.ts'
import type { Store } from '#store/client.ts'
import type { Teardown } from '#test/rig.ts'
import { Lags } from '../late/lags.ts'
import { type LateRig, startLateRig } from '../late/parts.ts'
import { homeOf, type Plan, planOf, userOf } from '../late/plan.ts'
import { oddEvents, recount, type Wrong } from '../late/recount.ts'
import { send } from '../late/send.ts'
import { Watch } from '../late/watch.ts'
import { table } from '../stats.ts'
import { withTeardown } from '../teardown.ts'

const LOOK_MS = 500
const RECOUNT_MS = 1_000
const PROGRESS_MS = 20_000
const WATCH_MS = 1_000
/** After the last span was acknowledged. */
const END_MS = 900_000
/** The pause before a kill, of the mean that the run leaves for each. */
const PAUSES = { from: 0.3, to: 1.7 }

interface Wanted {
  readonly traces: number
  readonly rate: number
  readonly kills: number
  readonly seed: number
  /** Of windows with a span that took longer, ms, it is told what happened; 0 = of none. */
  readonly slowMs: number
}

/** Runs the case and prints its table. Options: --traces, --rate (spans a second), --kills (of any process), --seed, --slow (seconds). */
export async function late(args: readonly string[]): Promise<void> {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: { traces: text, rate: text, kills: text, seed: text, slow: text },
  })
  const { traces = 100_000, rate = 4_000, kills = 0, seed = 1, slow = 0 } = values
  const slowMs = Number(slow) * 1000
  const wanted = { traces: Number(traces), rate: Number(rate), kills: Number(kills), seed: Number(seed), slowMs }
  await withTeardown(t => run(t, wanted))
}

/** What the looks have found. */
interface Seen {
  recounts: number
  /** Looks and recounts that nobody answered, because the store was being killed. */
  unanswered: number
  rows: number
  readonly wrong: Wrong[]
}

async function run(t: Teardown, wanted: Wanted): Promise<void> {
  const plan = planOf(wanted.traces, wanted.seed)
  const rig = await startLateRig(t)
  const { organization, collectors, store } = rig
  const lags = new Lags(plan, organization)
  const startedAt = performance.now()
  const seconds = (): number => (performance.now() - startedAt) / 1000
  let [publishedS, again, over] = [0, 0, false]
  const acknowledged = (codes: Uint32Array): void => lags.acknowledged(codes)
  const publishing = send({ plan, organization, collectors, rate: wanted.rate, acknowledged }).then(n => {
    again = n
    publishedS = seconds()
  })
  const killed = new Map<string, number>()
  const killing = killAll(rig, wanted, plan.pieces.length, killed)
  // Why a run ends is told by what is awaited first.
  for (const beside of [killing, publishing]) beside.catch(() => {})
  const seen: Seen = { recounts: 0, unanswered: 0, rows: 0, wrong: [] }
  const watch = new Watch(rig, lags.startedAt)
  let [toldAt, toldFrom] = [0, 0]
  const tell = (): void => {
    if (seconds() * 1000 - toldAt < PROGRESS_MS) return
    toldAt = seconds() * 1000
    const { spans, p50, p99, max } = lags.told(toldFrom)
    toldFrom = spans
    const late = `home after p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} max ${max.toFixed(1)} s`
    console.log(
      `${seconds().toFixed(0)} s: ${seen.rows} rows, ${late}, ${lags.waiting} traces wait, ${sum(killed)} kills`,
    )
    const { at, lag } = lags.takeSlowest()
    if (wanted.slowMs > 0 && lag > wanted.slowMs) console.log(watch.told(at - lag, at))
  }
  // A span's time ends with the look that shows it, so looks don't wait for recounts.
  const looking = every(LOOK_MS, async () => {
    await answered(() => lags.look(store), seen)
    return over
  })
  const watching = every(WATCH_MS, async () => {
    if (wanted.slowMs > 0) await answered(() => watch.look(), seen)
    return over || wanted.slowMs === 0
  })
  try {
    await every(RECOUNT_MS, async () => {
      if (publishedS > 0) await publishing
      if (publishedS > 0 && (seconds() - publishedS) * 1000 > END_MS) return true
      await answered(() => recounted(store, plan, seen), seen)
      tell()
      return publishedS > 0 && lags.waiting === 0 && seen.rows === plan.pieces.length
    })
  } finally {
    over = true
  }
  const endedS = seconds()
  await Promise.all([publishing, killing, looking, watching])
  seen.wrong.push(...(await wrongHomes(store, plan, organization)), await oddEvents(store))
  await print({ rig, wanted, plan, lags, seen, publishedS, endedS, again, killed })
}

/** Takes a step every so often until one says that it was the last. */
async function every(ms: number, step: () => Promise<boolean>): Promise<void> {
  for (let last = false; !last; ) {
    const from = performance.now()
    last = await step()
    await delay(from + ms - performance.now())
  }
}

async function recounted(store: Store, plan: Plan, seen: Seen): Promise<void> {
  const { rows, wrong } = await recount(store)
  seen.recounts++
  seen.rows = rows
  seen.wrong.push(...wrong)
  if (rows > plan.pieces.length)
    seen.wrong.push({ what: 'rows that nobody sent', is: rows, counted: plan.pieces.length })
}

/** A store that is killed answers nothing for a while; whatever else it says has to be seen. */
async function answered(ask: () => Promise<void>, seen: Seen): Promise<void> {
  try {
    await ask()
  } catch (error) {
    if (seen.unanswered++ === 0) console.error(`a look was not answered: ${String(error).slice(0, 300)}`)
  }
}

/** Kills whatever is up, spread over the time that the run takes. */
async function killAll(
  { victims }: LateRig,
  wanted: Wanted,
  spans: number,
  killed: Map<string, number>,
): Promise<void> {
  const random = fractionsOf(wanted.seed + 1)
  const meanMs = ((spans / wanted.rate) * 1000) / Math.max(1, wanted.kills)
  const returning: Promise<void>[] = []
  for (let n = 0; n < wanted.kills; ) {
    await delay(meanMs * (PAUSES.from + random() * (PAUSES.to - PAUSES.from)))
    const up = victims.filter(victim => victim.up())
    const victim = up[Math.floor(random() * up.length)]
    if (victim === undefined) continue
    n++
    killed.set(victim.name, (killed.get(victim.name) ?? 0) + 1)
    returning.push(victim.kill())
  }
  await Promise.all(returning)
}

/** Conversations that have not exactly their spans, and users that their conversation doesn't know. */
async function wrongHomes(store: Store, plan: Plan, organization: string): Promise<Wrong[]> {
  const rows = await store.read<{ id: string; n: string }>(
    'SELECT conversation_id AS id, sum(sign) AS n FROM events GROUP BY conversation_id HAVING n != 0',
  )
  const found = new Map(rows.map(({ id, n }) => [id, Number(n)]))
  const captured = await store.read<{ id: string; user: string }>(
    "SELECT DISTINCT conversation_id AS id, user_id AS user FROM sessions WHERE user_id != ''",
  )
  const known = new Set(captured.map(({ id, user }) => `${id} ${user}`))
  let [away, unknown] = [0, 0]
  for (let trace = 0; trace < plan.traces; trace++) {
    const home = homeOf(plan, organization, trace)
    if (plan.sent[trace] !== 0 && found.get(home) !== plan.sent[trace]) away++
    if (plan.telling[trace] !== 0 && !known.has(`${home} ${userOf(trace)}`)) unknown++
  }
  return [
    { what: 'traces away from home', is: away, counted: 0 },
    { what: 'users that their conversation does not know', is: unknown, counted: 0 },
    { what: 'conversations', is: found.size, counted: plan.sent.filter(n => n > 0).length },
  ].filter(({ is, counted }) => is !== counted)
}

const sum = (of: ReadonlyMap<string, number>): number => [...of.values()].reduce((a, b) => a + b, 0)

async function print(told: {
  readonly rig: LateRig
  readonly wanted: Wanted
  readonly plan: Plan
  readonly lags: Lags
  readonly seen: Seen
  readonly publishedS: number
  readonly endedS: number
  readonly again: number
  readonly killed: ReadonlyMap<string, number>
}): Promise<void> {
  const { rig, wanted, plan, lags, seen, publishedS, endedS, again, killed } = told
  const wrong = seen.wrong.filter(({ is, counted }) => is !== counted)
  const { p50, p99, max } = lags.told()
  const metrics = await rig.metrics()
  const steps = [...metrics].flatMap(([name, value]) => {
    const step = /move_seconds_sum\{.*step="(\w+)"/.exec(name)?.[1]
    return step === undefined ? [] : [`${step} ${value.toFixed(1)} s`]
  })
  const kinds = [...killed].map(([name, n]) => `${name} ${n}`).join(', ')
  console.log(
    table(
      ['', ''],
      [
        ['traces; spans', `${wanted.traces} of 2 to 60; ${plan.pieces.length}`],
        ['acknowledged in', `${publishedS.toFixed(0)} s: ${Math.round(plan.pieces.length / publishedS)} spans/s`],
        ['exports sent again', `${again}`],
        ['all stored and at home, after the last was acknowledged', `${(endedS - publishedS).toFixed(1)} s`],
        [
          'at home after its revealing span',
          `p50 ${p50.toFixed(2)} s, p99 ${p99.toFixed(2)} s, max ${max.toFixed(2)} s`,
        ],
        [
          'moves of a span (by processors that live)',
          `${sum(new Map([...metrics].filter(([name]) => name.startsWith('parley_moved_total'))))}`,
        ],
        ['time of the moves (processors that live)', steps.join(', ')],
        ['kills', killed.size === 0 ? '0' : `${sum(killed)}: ${kinds}`],
        ['recounts of one state; not answered', `${seen.recounts}; ${seen.unanswered}`],
        ['what was not exact', `${wrong.length}`],
      ],
    ),
  )
  for (const { what, is, counted } of wrong.slice(0, 20)) console.log(`NOT EXACT: ${what}: ${is}, recounted ${counted}`)
  if (wrong.length > 0) process.exitCode = 1
}
