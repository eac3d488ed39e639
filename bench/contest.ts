// One load, one number of connections, several servers in turn: rounds of wrk with the CPU that each round cost, and their medians.
import { join } from 'node:path'
import type { Load } from './bodies.ts'
import { cpuSeconds } from './process.ts'
import { awaitedPublishes } from './publishes.ts'
import type { ReceiverRig } from './receiver.ts'
import { median } from './stats.ts'
import { wrk } from './wrk.ts'

/** The script that sends prepared loads; its arguments: the templates and the number of the run. */
export const UNIQUE_LUA = join(import.meta.dirname, 'unique.lua')
const WARM_UP_CONNECTIONS = 64
/** Bodies of a load that are tried first: enough to see each of its shapes. */
const PROBES = 8
/** Stream of what goes past parley's receiver: the ordinary design and the lone publisher. */
export const OTHER_STREAM = 'ORDINARY'
export const OTHER_SUBJECT = 'ordinary'

/** A server that takes part. */
export interface Contender {
  readonly name: ContenderName
  /** Its processes. */
  readonly pids: readonly number[]
  readonly urls: { readonly rest: string; readonly otlp: string }
}

/**
 * `publish` is no server: a client that publishes to JetStream itself. `later`, `stored` and `checked`: see ingest-step.ts. `pair`: two
 * receivers on one port.
 */
export type ContenderName = 'bare' | 'later' | 'stored' | 'checked' | 'parley' | 'pair' | 'ordinary' | 'publish'

/** One round, or the medians of several. CPU in seconds per million requests. */
export interface Figures {
  /** Answered with 2xx. */
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly serverCpu: number
  readonly natsCpu: number
  /** CPU of the load, in cores. */
  readonly generatorCores: number
  /** The sum over rounds. */
  readonly failed: number
}

/** What one load gave over one number of connections. */
export interface Outcome {
  readonly load: string
  readonly bodyBytes: number
  readonly spans: number
  readonly connections: number
  readonly figures: Readonly<Partial<Record<ContenderName, Figures>>>
}

/** Everything that stays the same over a run. */
export interface Contest {
  readonly rig: ReceiverRig
  readonly contenders: readonly Contender[]
  readonly rounds: number
  readonly seconds: number
  /** A number that no other run of wrk has: ids differ between runs, too. */
  readonly nextRun: () => number
}

/** A load whose templates are written. */
export interface PreparedLoad {
  readonly load: Load
  readonly templates: string
}

/**
 * Lets every server compile its code for this load, outside the measurement.
 * Throws when one of them does not take it: its figures would mean nothing.
 */
export async function warmUp(contest: Contest, prepared: PreparedLoad, seconds: number): Promise<void> {
  for (const contender of contest.contenders) {
    await probe(contest.rig.organization, contender, prepared.load)
    await post(contest, contender, prepared, { connections: WARM_UP_CONNECTIONS, seconds })
  }
}

/** The rounds of one load. With `lone`, a client that publishes one message at a time takes its turn among the servers. */
export async function compete(
  contest: Contest,
  prepared: PreparedLoad,
  connections: number,
  lone: boolean,
): Promise<Outcome> {
  const samples = new Map<ContenderName, Figures[]>()
  const keep = (name: ContenderName, figures: Figures): void => {
    samples.set(name, [...(samples.get(name) ?? []), figures])
  }
  for (let round = 0; round < contest.rounds; round++) {
    // Each round begins with another one: what a round leaves behind (dirty pages, a hot core) is not always the same one's.
    const at = round % contest.contenders.length
    for (const contender of [...contest.contenders.slice(at), ...contest.contenders.slice(0, at)]) {
      keep(contender.name, await post(contest, contender, prepared, { connections, seconds: contest.seconds }))
    }
    if (lone) keep('publish', await publish(contest, prepared))
  }
  const bodies = prepared.load.bodies.map(body => body.bytes.length)
  return {
    load: prepared.load.name,
    bodyBytes: Math.round(bodies.reduce((a, b) => a + b) / bodies.length),
    spans: prepared.load.spans,
    connections,
    figures: Object.fromEntries([...samples].map(([name, rounds]) => [name, medians(rounds)])),
  }
}

async function probe(organization: string, { name, urls }: Contender, load: Load): Promise<void> {
  for (const { bytes } of load.bodies.slice(0, PROBES)) {
    const answer = await fetch(urls[load.protocol] + load.path, {
      method: 'POST',
      headers: { [load.organizationHeader]: organization, 'content-type': load.contentType },
      body: new Uint8Array(bytes),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${name} answers ${answer.status} to ${load.name}: ${text}`)
  }
}

async function post(
  { rig, nextRun }: Contest,
  contender: Contender,
  { load, templates }: PreparedLoad,
  pressure: { connections: number; seconds: number },
): Promise<Figures> {
  const before = await Promise.all([cpuOf(contender.pids), cpuSeconds(rig.nats.pid)])
  const url = contender.urls[load.protocol]
  const result = await wrk({ url, script: UNIQUE_LUA, args: [templates, String(nextRun())], ...pressure })
  const after = await Promise.all([cpuOf(contender.pids), cpuSeconds(rig.nats.pid)])
  await rig.purge(OTHER_STREAM)
  const answered = result.requests - result.refused
  return {
    ...result,
    requestsPerSecond: result.requestsPerSecond * (answered / result.requests),
    serverCpu: ((after[0] - before[0]) / answered) * 1e6,
    natsCpu: ((after[1] - before[1]) / answered) * 1e6,
    failed: result.refused + result.broken,
  }
}

async function cpuOf(pids: readonly number[]): Promise<number> {
  return (await Promise.all(pids.map(cpuSeconds))).reduce((sum, seconds) => sum + seconds, 0)
}

async function publish({ rig, seconds }: Contest, { load }: PreparedLoad): Promise<Figures> {
  const before = await cpuSeconds(rig.nats.pid)
  const bytes = (load.bodies[0] as Load['bodies'][number]).bytes
  const result = await awaitedPublishes({ nc: rig.nc, subject: OTHER_SUBJECT, bytes, seconds })
  const cpu = (await cpuSeconds(rig.nats.pid)) - before
  await rig.purge(OTHER_STREAM)
  const natsCpu = (cpu / (result.requestsPerSecond * seconds)) * 1e6
  return { ...result, serverCpu: 0, natsCpu, generatorCores: 0, failed: 0 }
}

function medians(rounds: readonly Figures[]): Figures {
  const middle = (name: keyof Figures): number => median(rounds.map(round => round[name]))
  return {
    requestsPerSecond: middle('requestsPerSecond'),
    p50Ms: middle('p50Ms'),
    p99Ms: middle('p99Ms'),
    p999Ms: middle('p999Ms'),
    serverCpu: middle('serverCpu'),
    natsCpu: middle('natsCpu'),
    generatorCores: middle('generatorCores'),
    failed: rounds.reduce((sum, round) => sum + round.failed, 0),
  }
}
