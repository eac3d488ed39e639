// What does a second receiver bring? The same events over the same number of connections to one receiver, and shared out among two, in
// turn within one run. Receivers, NATS and the load share the machine: on two cores a second one cannot double anything.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { eventLoad } from '../bodies.ts'
import { UNIQUE_LUA } from '../contest.ts'
import { cpuSeconds } from '../process.ts'
import type { ReceiverRig } from '../receiver.ts'
import { startReceiverRig } from '../receiver.ts'
import { median, table } from '../stats.ts'
import { writeTemplates } from '../templates.ts'
import type { WrkResult } from '../wrk.ts'
import { wrk } from '../wrk.ts'

const SESSIONS = 256
const EVENT_BYTES = 1024
const CONNECTIONS = [64, 512]

/** What is needed of a receiver. */
interface Target {
  readonly pid: number
  readonly url: string
}

/** One round. CPU in seconds per million requests. */
interface Round {
  readonly requestsPerSecond: number
  readonly receiversCpu: number
  readonly natsCpu: number
  readonly loadCpu: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failed: number
}

/** Runs the case and prints its table. */
export async function twoReceivers(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: 'string', default: '7' }, seconds: { type: 'string', default: '2' } },
  })
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
  const rig = await startReceiverRig()
  try {
    const other = await rig.startReceiver()
    const templates = join(rig.dir, 'templates')
    await writeTemplates(templates, eventLoad(EVENT_BYTES, await rig.createSessions(SESSIONS)), rig.organization)
    const one = { pid: rig.pid, url: rig.urls.rest }
    const both = [one, { pid: other.pid, url: other.urls.rest }]
    let runs = 0
    const round = (targets: readonly Target[], connections: number): Promise<Round> =>
      load(rig, targets, { templates, connections, seconds, nextRun: () => String(runs++) })
    for (const target of both) await round([target], CONNECTIONS[0] ?? 1)
    const rows: (string | number)[][] = []
    for (const connections of CONNECTIONS) {
      const [alone, shared]: [Round[], Round[]] = [[], []]
      for (let i = 0; i < rounds; i++) {
        // Each round begins with the other one: what a round leaves behind is not always the same one's.
        const turns = [
          () => round([one], connections).then(r => alone.push(r)),
          () => round(both, connections).then(r => shared.push(r)),
        ]
        for (const turn of i % 2 === 0 ? turns : turns.toReversed()) await turn()
      }
      rows.push(rowOf('one', connections, alone), rowOf('two', connections, shared))
    }
    console.log(
      table(
        [
          ...['receivers', 'connections', 'requests/s', 'receivers, CPU s a million', 'NATS', 'load', 'all three'],
          ...['p50, ms', 'p99, ms', 'failed'],
        ],
        rows,
      ),
    )
    console.log(`\n${rounds} rounds of ${seconds} s.`)
  } finally {
    await rig.close()
  }
}

async function load(
  rig: ReceiverRig,
  targets: readonly Target[],
  how: { templates: string; connections: number; seconds: number; nextRun: () => string },
): Promise<Round> {
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

function rowOf(receivers: string, connections: number, rounds: readonly Round[]): (string | number)[] {
  const middle = (name: keyof Round): number => median(rounds.map(round => round[name]))
  const cpu = [middle('receiversCpu'), middle('natsCpu'), middle('loadCpu')]
  const all = cpu.reduce((sum, one) => sum + one, 0)
  return [
    ...[receivers, connections, Math.round(middle('requestsPerSecond'))],
    ...[...cpu, all].map(value => value.toPrecision(3)),
    ...[middle('p50Ms'), middle('p99Ms')].map(value => value.toPrecision(3)),
    rounds.reduce((sum, round) => sum + round.failed, 0),
  ]
}
