// How near to a bare server can a durable receiver come? The same events to servers that do one duty more each (see ingest-step.ts), in
// turn with the bare one and with parley's receiver: what each duty costs, and which ratio is left when all three processes share two
// cores.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import { eventLoad } from '../bodies.ts'
import type { Contender, ContenderName, Contest, Figures } from '../contest.ts'
import { compete, OTHER_STREAM, OTHER_SUBJECT, warmUp } from '../contest.ts'
import { startReceiverRig } from '../receiver.ts'
import type { BenchServer } from '../server.ts'
import { startServer } from '../server.ts'
import { table } from '../stats.ts'
import { writeTemplates } from '../templates.ts'

const SESSIONS = 256
const EVENT_BYTES = 1024
const STREAM_BYTES = 24 * 1024 ** 3
const STEPS = ['later', 'stored', 'checked'] as const
const ORDER: readonly ContenderName[] = ['bare', ...STEPS, 'parley']
const WARM_UP_SECONDS = 2

/** Runs the case and prints its table. */
export async function ingestFloor(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '7' },
      seconds: { type: 'string', default: '2' },
      connections: { type: 'string', default: '64,512' },
    },
  })
  const rig = await startReceiverRig()
  const servers: BenchServer[] = []
  try {
    await rig.jsm.streams.add({
      name: OTHER_STREAM,
      subjects: [OTHER_SUBJECT],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.New,
      max_bytes: STREAM_BYTES,
    })
    const server = async (name: ContenderName, file: string, ...rest: string[]): Promise<Contender> => {
      const started = await startServer(new URL(file, import.meta.url), rest)
      servers.push(started)
      const url = `http://127.0.0.1:${started.port}`
      return { name, pids: [started.pid], urls: { rest: url, otlp: url } }
    }
    const contenders = [
      await server('bare', 'ingest-bare.ts'),
      ...(await Promise.all(STEPS.map(step => server(step, 'ingest-step.ts', step, rig.nats.url, OTHER_SUBJECT)))),
      { name: 'parley', pids: [rig.pid], urls: rig.urls } as const,
    ]
    let runs = 0
    const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)]
    const contest: Contest = { rig, contenders, rounds, seconds, nextRun: () => runs++ }
    const load = eventLoad(EVENT_BYTES, await rig.createSessions(SESSIONS))
    const templates = join(rig.dir, 'templates')
    await writeTemplates(templates, load, rig.organization)
    await warmUp(contest, { load, templates }, Math.min(WARM_UP_SECONDS, seconds))
    const rows: (string | number)[][] = []
    for (const connections of values.connections.split(',').map(Number)) {
      const { figures } = await compete(contest, { load, templates }, connections, false)
      rows.push(...rowsOf(connections, figures))
    }
    console.log(table(HEADER, rows))
    console.log(`\n${rounds} rounds of ${seconds} s, events of ${EVENT_BYTES} bytes.`)
  } finally {
    for (const server of servers) server.stop()
    await rig.close()
  }
}

const HEADER = [
  ...['connections', 'server', 'requests/s', 'of the bare one', 'server, CPU s a million', 'NATS', 'load', 'all three'],
  ...["the bare one's sum / this sum", 'failed'],
]

function rowsOf(
  connections: number,
  figures: Readonly<Partial<Record<ContenderName, Figures>>>,
): (string | number)[][] {
  const { bare } = figures
  return ORDER.flatMap(name => {
    const one = figures[name]
    if (one === undefined || bare === undefined) return []
    const costs = [one.serverCpu, one.natsCpu, loadCpu(one)]
    const all = sumOf(one)
    return [
      [
        ...[connections, name, Math.round(one.requestsPerSecond)],
        (one.requestsPerSecond / bare.requestsPerSecond).toFixed(2),
        ...[...costs, all].map(cost => cost.toPrecision(3)),
        ...[(sumOf(bare) / all).toFixed(2), one.failed],
      ],
    ]
  })
}

function sumOf(figures: Figures): number {
  return figures.serverCpu + figures.natsCpu + loadCpu(figures)
}

/** Of the load, in seconds per million requests. */
function loadCpu({ generatorCores, requestsPerSecond }: Figures): number {
  return (generatorCores / requestsPerSecond) * 1e6
}
