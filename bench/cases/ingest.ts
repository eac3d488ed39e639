// What does it cost to take a request durably? Parley's receiver between what the machine can do (a bare uWebSockets.js server that
// keeps nothing) and the ordinary design (Fastify, a schema, one awaited publish per request), all asked in turn within one run.
import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DiscardPolicy, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import { freePort } from '#local/ports.ts'
import type { Load } from '../bodies.ts'
import { eventLoad, exportLoad } from '../bodies.ts'
import type { Contender, Contest, Outcome } from '../contest.ts'
import { compete, OTHER_STREAM, OTHER_SUBJECT, warmUp } from '../contest.ts'
import { reportOf } from '../ingest-report.ts'
import type { ReceiverRig } from '../receiver.ts'
import { startReceiverRig } from '../receiver.ts'
import type { BenchServer } from '../server.ts'
import { startServer } from '../server.ts'
import { writeTemplates } from '../templates.ts'

const BASELINE = join(import.meta.dirname, '../baselines/ingest.json')
const SESSIONS = 256
/** Of a round: with all loads and five rounds the whole takes ten minutes. */
const SECONDS = 2
const KiB = 1024
const GiB = KiB * KiB * KiB

/** One load and the numbers of connections over which it is sent. */
interface Plan {
  readonly make: (sessions: readonly string[]) => Load
  readonly connections: readonly number[]
  /** Part of the quick run with these connections. */
  readonly quick?: readonly number[]
}

const event = (bytes: number, quick?: readonly number[]): Plan => ({
  make: sessions => eventLoad(bytes, sessions),
  connections: [1, 64, 512],
  ...(quick === undefined ? {} : { quick }),
})
const spans = (encoding: 'json' | 'protobuf', count: number, connections: number, quick = false): Plan => ({
  make: () => exportLoad(encoding, count),
  connections: [connections],
  ...(quick ? { quick: [connections] } : {}),
})
/** Over one connection it is also compared with a client that publishes by itself. */
const LONE = event(KiB, [1, 64, 512])
const PLANS: readonly Plan[] = [
  event(0.3 * KiB),
  LONE,
  event(8 * KiB),
  spans('protobuf', 1, 64),
  spans('protobuf', 100, 64),
  spans('protobuf', 512, 16, true),
  spans('json', 1, 64),
  spans('json', 100, 64, true),
  spans('json', 512, 16),
]

/** Runs the case, prints its tables and, with --save, writes the baseline. */
export async function ingest(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
    },
  })
  const rounds = Number(values.rounds ?? (values.quick ? 3 : 5))
  const seconds = Number(values.seconds ?? SECONDS)
  const rig = await startReceiverRig()
  const servers: BenchServer[] = []
  try {
    const contenders = await startContenders(rig, servers)
    let runs = 0
    const contest: Contest = { rig, contenders, rounds, seconds, nextRun: () => runs++ }
    const outcomes = await run(contest, { quick: values.quick, only: new RegExp(values.only) })
    console.log(`\n${rounds} rounds of ${seconds} s.\n\n${reportOf(outcomes)}`)
    if (values.save) await save(contest, outcomes)
  } finally {
    for (const server of servers) server.stop()
    await rig.close()
  }
}

async function startContenders(rig: ReceiverRig, servers: BenchServer[]): Promise<Contender[]> {
  await rig.jsm.streams.add({
    name: OTHER_STREAM,
    subjects: [OTHER_SUBJECT],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_bytes: 24 * GiB,
  })
  const server = async (name: 'bare' | 'ordinary', ...args: string[]): Promise<Contender> => {
    const started = await startServer(new URL(`ingest-${name}.ts`, import.meta.url), args)
    servers.push(started)
    const url = `http://127.0.0.1:${started.port}`
    return { name, pids: [started.pid], urls: { rest: url, otlp: url } }
  }
  return [
    await server('bare'),
    { name: 'parley', pids: [rig.pid], urls: rig.urls },
    await startPair(rig),
    await server('ordinary', rig.nats.url, OTHER_SUBJECT, rig.organization),
  ]
}

/** Two receivers on one port, as PARLEY_RECEIVERS=2 starts them. */
async function startPair(rig: ReceiverRig): Promise<Contender> {
  const port = await freePort()
  const first = await rig.startReceiver(port)
  const second = await rig.startReceiver(port)
  return { name: 'pair', pids: [first.pid, second.pid], urls: first.urls }
}

async function run(contest: Contest, which: { quick: boolean; only: RegExp }): Promise<Outcome[]> {
  const { rig, seconds } = contest
  const sessions = await rig.createSessions(SESSIONS)
  const outcomes: Outcome[] = []
  for (const [i, plan] of PLANS.entries()) {
    const load = plan.make(sessions)
    const chosen = (which.quick ? (plan.quick ?? []) : plan.connections).filter(connections =>
      which.only.test(`${load.name}, over ${connections}`),
    )
    if (chosen.length === 0) continue
    const templates = join(rig.dir, `templates-${i}`)
    await writeTemplates(templates, load, rig.organization)
    // Two receivers are compared where the aims are.
    const contenders = contest.contenders.filter(({ name }) => name !== 'pair' || plan === LONE)
    await warmUp({ ...contest, contenders }, { load, templates }, Math.min(2, seconds))
    for (const connections of chosen) {
      process.stderr.write(`${load.name}, over ${connections}\n`)
      // One connection goes to one of them.
      const several = contenders.filter(({ name }) => name !== 'pair' || connections > 1)
      const lone = plan === LONE && connections === 1
      outcomes.push(await compete({ ...contest, contenders: several }, { load, templates }, connections, lone))
    }
  }
  return outcomes
}

/** The figures as data, for comparing later runs on the same machine. */
async function save({ rig, rounds, seconds }: Contest, outcomes: readonly Outcome[]): Promise<void> {
  await mkdir(join(BASELINE, '..'), { recursive: true })
  const about = {
    case: 'ingest',
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    nats: rig.nc.info?.version,
    cores: availableParallelism(),
    rounds,
    seconds,
  }
  await writeFile(BASELINE, `${JSON.stringify({ ...about, outcomes }, rounded, 2)}\n`)
}

/** Four significant digits are more than the rounds agree on. */
function rounded(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(4)) : value
}
