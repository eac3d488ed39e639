// Rounds of the same events to one receiver or shared out among several, and the row that their medians make: what requests cost the
// receivers, NATS and the load.
import { UNIQUE_LUA } from './contest.ts'
import { cpuSeconds } from './process.ts'
import type { ReceiverRig } from './receiver.ts'
import { median } from './stats.ts'
import type { WrkResult } from './wrk.ts'
import { wrk } from './wrk.ts'

/** What is needed of a receiver. */
export interface Target {
  readonly pid: number
  readonly url: string
}

/** One round. CPU in seconds per million requests. */
export interface Round {
  readonly requestsPerSecond: number
  readonly receiversCpu: number
  readonly natsCpu: number
  readonly loadCpu: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failed: number
}

/** How a round is loaded. */
export interface Pressure {
  readonly templates: string
  readonly connections: number
  readonly seconds: number
  readonly nextRun: () => string
}

/** The columns of `rowOf`, behind the name of what was measured. */
export const ROUND_COLUMNS: readonly string[] = [
  ...['connections', 'requests/s', 'receivers, CPU s a million', 'NATS', 'load', 'all three'],
  ...['p50, ms', 'p99, ms', 'failed'],
]

/** One round; the connections are shared out among the targets. What was stored is removed afterwards. */
export async function loadRound(rig: ReceiverRig, targets: readonly Target[], how: Pressure): Promise<Round> {
  const pids = targets.map(target => target.pid)
  const cpu = async (): Promise<[number, number]> => {
    const [nats, ...receivers] = await Promise.all([rig.nats.pid, ...pids].map(cpuSeconds))
    return [nats as number, receivers.reduce((sum, seconds) => sum + seconds, 0)]
  }
  const before = await cpu()
  const results = await Promise.all(
    targets.map(({ url }) =>
      wrk({
        url,
        script: UNIQUE_LUA,
        args: [how.templates, how.nextRun()],
        connections: how.connections / targets.length,
        seconds: how.seconds,
      }),
    ),
  )
  const after = await cpu()
  await rig.purge()
  const sum = (of: (result: WrkResult) => number): number => results.reduce((all, result) => all + of(result), 0)
  const requests = sum(result => result.requests)
  return {
    requestsPerSecond: sum(result => result.requestsPerSecond),
    receiversCpu: ((after[1] - before[1]) / requests) * 1e6,
    natsCpu: ((after[0] - before[0]) / requests) * 1e6,
    loadCpu: (sum(result => result.generatorCores * how.seconds) / requests) * 1e6,
    p50Ms: Math.max(...results.map(result => result.p50Ms)),
    p99Ms: Math.max(...results.map(result => result.p99Ms)),
    failed: sum(result => result.refused + result.broken),
  }
}

/** The medians of rounds. */
export function rowOf(what: string, connections: number, rounds: readonly Round[]): (string | number)[] {
  const middle = (name: keyof Round): number => median(rounds.map(round => round[name]))
  const cpu = [middle('receiversCpu'), middle('natsCpu'), middle('loadCpu')]
  const all = cpu.reduce((sum, one) => sum + one, 0)
  return [
    ...[what, connections, Math.round(middle('requestsPerSecond'))],
    ...[...cpu, all].map(value => value.toPrecision(3)),
    ...[middle('p50Ms'), middle('p99Ms')].map(value => value.toPrecision(3)),
    rounds.reduce((sum, round) => sum + round.failed, 0),
  ]
}
