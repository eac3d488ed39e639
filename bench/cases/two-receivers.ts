// What does a second receiver bring? The same events over the same number of connections to one receiver, and shared out among two, in
// turn within one run. Receivers, NATS and the load share the machine: on two cores a second one cannot double anything.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { eventLoad } from '../bodies.ts'
import { startReceiverRig } from '../receiver.ts'
import type { Round, Target } from '../rounds.ts'
import { loadRound, ROUND_COLUMNS, rowOf } from '../rounds.ts'
import { table } from '../stats.ts'
import { writeTemplates } from '../templates.ts'

const SESSIONS = 256
const EVENT_BYTES = 1024
const CONNECTIONS = [64, 512]

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
      loadRound(rig, targets, { templates, connections, seconds, nextRun: () => String(runs++) })
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
    console.log(table(['receivers', ...ROUND_COLUMNS], rows))
    console.log(`\n${rounds} rounds of ${seconds} s.`)
  } finally {
    await rig.close()
  }
}
