// One storm: traffic and faults on a target until enough is acknowledged and every fault has happened; then the system comes to rest and
// everything is compared.
import { setTimeout as delay } from 'node:timers/promises'
import { randomOf } from '#runtime/seeded.ts'
import { Chaos } from './chaos.ts'
import { Clients } from './clients.ts'
import { kindsOf, scheduleOf, whole } from './faults.ts'
import type { StormOptions } from './options.ts'
import { Oracle } from './oracle.ts'
import type { Check, Target } from './target.ts'
import { Traffic } from './traffic.ts'
import { patiently } from './wait.ts'

/** How many shares of a fault traffic may go on before the next one. */
const AHEAD = 1.2
const PROGRESS_MS = 1_000
const GATE_MS = 10
/** Rows of a call of the traffic: two exchanges. */
const CALL_ROWS = 2

/** All that a run has to say. */
export interface StormResult {
  readonly target: string
  readonly oracle: Oracle
  readonly chaos: Chaos
  readonly clients: Clients
  readonly checks: readonly Check[]
  /** Kinds that could not be had here, with the reason. */
  readonly missing: readonly string[]
  readonly stormS: number
  readonly drainS: number
  readonly compareS: number
}

/** Runs a storm. The target is running, and keeps running. */
export async function runStorm(
  target: Target,
  options: StormOptions,
  say: (line: string) => void,
): Promise<StormResult> {
  const { seed, events, faults, rate, tag } = options
  const oracle = new Oracle(Math.max(1_024, events), CALL_ROWS)
  const known = kindsOf(target).filter(
    kind => options.kinds.length === 0 || options.kinds.some(name => kind.name.includes(name)),
  )
  const kinds = known.filter(kind => kind.unavailable === undefined)
  const missing = known.flatMap(({ name, unavailable }) =>
    unavailable === undefined ? [] : [`${name}: ${unavailable}`],
  )
  for (const line of missing) say(`NOT AVAILABLE, LEFT OUT: ${line}`)
  if (kinds.length === 0 && faults > 0) throw new Error('no kind of fault is left: see --kinds')
  const random = randomOf(seed + 1)
  const step = events / (faults + 1)
  /** Events at the end of the last fault. */
  const fault = { from: 0 }
  const chaos: Chaos = new Chaos({
    target,
    schedule: scheduleOf(kinds, faults, random),
    random,
    due: () => oracle.acknowledged >= fault.from + step,
    onOver: () => {
      fault.from = oracle.acknowledged
    },
  })
  const traffic = new Traffic({ seed, tag, organizations: target.organizations, oracle })
  const clients = new Clients({
    ...{ seed, rate, oracle, traffic, ways: target.ways },
    fault: () => chaos.current,
    onAnswer: (sentAt, accepted) => chaos.answered(sentAt, accepted),
  })
  const startedAt = performance.now()
  const progress = setInterval(() => say(lineOf(oracle, chaos, clients, startedAt)), PROGRESS_MS)
  const seconds = (since: number): number => (performance.now() - since) / 1_000
  try {
    const faulting = chaos.run()
    const over: { faults: boolean; error?: unknown } = { faults: false }
    faulting.then(
      () => (over.faults = true),
      error => Object.assign(over, { faults: true, error }),
    )
    while (!over.faults || oracle.acknowledged < events) {
      if (over.error !== undefined) throw over.error
      // Each fault gets its share of the events, however many came with the one before; only a rolling restart gets as many as it takes.
      const ahead = chaos.happening === undefined ? AHEAD : AHEAD + 1
      const limited = !over.faults && chaos.happening?.calm !== true
      if (limited && oracle.acknowledged >= fault.from + step * ahead) await delay(GATE_MS)
      else await clients.step()
    }
    await faulting
    await clients.settled()
    const stormS = seconds(startedAt)
    const drainedAt = performance.now()
    await whole(target)
    await patiently('everything is stored', async () => target.stored(await target.positions()))
    const drainS = seconds(drainedAt)
    const comparedAt = performance.now()
    say(`at rest after ${drainS.toFixed(1)} s; comparing`)
    const checks = await target.compare(oracle)
    return {
      target: target.name,
      oracle,
      chaos,
      clients,
      checks,
      missing,
      stormS,
      drainS,
      compareS: seconds(comparedAt),
    }
  } finally {
    clearInterval(progress)
  }
}

function lineOf(oracle: Oracle, chaos: Chaos, clients: Clients, startedAt: number): string {
  const s = Math.round((performance.now() - startedAt) / 1_000)
  const now = chaos.kinds[chaos.current - 1]?.name ?? 'calm'
  return `${s} s: ${oracle.acknowledged} events acknowledged, ${chaos.happened.length} faults, ${clients.open} requests open, ${now}`
}
