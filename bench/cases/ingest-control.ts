// Do changes of the control plane cost ingestion anything? The same events to a receiver while organizations are made, renamed and closed
// beside it, and while they are not, in turn. Every receiver hears of each change; none is asked for when a request comes.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { KV } from '@nats-io/kv'
import { createOrganization, putOrganization } from '#control/admin.ts'
import { openBuckets } from '#streams/apply.ts'
import { eventLoad } from '../bodies.ts'
import { cpuSeconds } from '../process.ts'
import { startReceiverRig } from '../receiver.ts'
import type { Round } from '../rounds.ts'
import { loadRound, ROUND_COLUMNS, rowOf } from '../rounds.ts'
import { median, table } from '../stats.ts'
import { writeTemplates } from '../templates.ts'

const SESSIONS = 256
const EVENT_BYTES = 1024
const CONNECTIONS = [64, 512]
/** A second, and for how long: as fast as the server takes them. */
const MANY_CHANGES = 1_000
const MANY_CHANGES_MS = 5_000

/** Runs the case and prints its table. */
export async function ingestControl(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '9' },
      seconds: { type: 'string', default: '2' },
      changes: { type: 'string', default: '20' },
    },
  })
  const [rounds, seconds, perSecond] = [Number(values.rounds), Number(values.seconds), Number(values.changes)]
  const rig = await startReceiverRig()
  try {
    const { control } = await openBuckets(rig.nc)
    const templates = join(rig.dir, 'templates')
    await writeTemplates(templates, eventLoad(EVENT_BYTES, await rig.createSessions(SESSIONS)), rig.organization)
    const target = { pid: rig.pid, url: rig.urls.rest }
    let runs = 0
    let changes = 0
    const round = (connections: number): Promise<Round> =>
      loadRound(rig, [target], { templates, connections, seconds, nextRun: () => String(runs++) })
    const changing = async (connections: number): Promise<Round> => {
      const stop = startChanges(control, perSecond)
      try {
        return await round(connections)
      } finally {
        changes += await stop()
      }
    }
    await round(CONNECTIONS[0] ?? 1)
    const rows: (string | number)[][] = []
    const ratios: string[] = []
    for (const connections of CONNECTIONS) {
      const [quiet, busy]: [Round[], Round[]] = [[], []]
      for (let i = 0; i < rounds; i++) {
        // Each round begins with the other one: what a round leaves behind is not always the same one's.
        const turns = [
          () => round(connections).then(r => quiet.push(r)),
          () => changing(connections).then(r => busy.push(r)),
        ]
        for (const turn of i % 2 === 0 ? turns : turns.toReversed()) await turn()
      }
      rows.push(rowOf('none', connections, quiet), rowOf(`${perSecond} a second`, connections, busy))
      const pairs = busy.map((one, i) => one.receiversCpu / (quiet[i] as Round).receiversCpu)
      ratios.push(`${connections} connections: ${median(pairs).toFixed(3)}`)
    }
    console.log(table(['changes', ...ROUND_COLUMNS], rows))
    console.log(`\nThe receiver's CPU a request beside changes, median of pairs: ${ratios.join('; ')}.`)
    console.log(`${rounds} rounds of ${seconds} s each way, ${changes} changes.`)
    const costMs = await costOfChange(control, rig.pid)
    console.log(`A change costs a receiver without requests ${costMs.toFixed(2)} ms of CPU.`)
  } finally {
    await rig.close()
  }
}

/** Milliseconds of the process's CPU for each of a thousand changes and more, made one after the other. */
async function costOfChange(control: KV, pid: number): Promise<number> {
  const before = await cpuSeconds(pid)
  const stop = startChanges(control, MANY_CHANGES)
  await new Promise(resolve => setTimeout(resolve, MANY_CHANGES_MS))
  const changes = await stop()
  return ((await cpuSeconds(pid)) - before) * (1000 / changes)
}

/** Makes, renames and closes organizations until it is stopped, which tells how many changes there were. */
function startChanges(control: KV, perSecond: number): () => Promise<number> {
  let going = true
  let count = 0
  const run = async (): Promise<void> => {
    const started = performance.now()
    let made: Awaited<ReturnType<typeof createOrganization>> | null = null
    while (going) {
      if (made === null) made = await createOrganization(control, { name: 'beside' })
      else {
        const closes = count % 3 === 2
        await putOrganization(control, { ...made, name: 'renamed', active: !closes })
        if (closes) made = null
      }
      count++
      const aheadMs = started + (count * 1000) / perSecond - performance.now()
      await new Promise(resolve => setTimeout(resolve, Math.max(0, aheadMs)))
    }
  }
  const running = run()
  return async () => {
    going = false
    await running
    return count
  }
}
