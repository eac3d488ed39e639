// Many who compare and set the same keys of a bucket with three copies, while its servers are killed, stopped and told to step down.
// The stream behind the bucket keeps every revision, so that afterwards each answer can be held against what is there.
import { AckPolicy, DeliverPolicy, jetstreamManager, StorageType } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { Kvm } from '@nats-io/kv'
import { headers } from '@nats-io/transport-node'
import { connectNats, eventually, type Teardown } from '#test/rig.ts'
import type { Cluster, ClusterServer } from './servers.ts'

const BUCKET = 'race'
const STREAM = `KV_${BUCKET}`
const PAUSE_MS = 20
const EXPECTED = 'Nats-Expected-Last-Subject-Sequence'

/** A writer was told that its value stands at `revision`, over `before`. */
export interface Win {
  readonly key: string
  readonly text: string
  readonly before: number
  readonly revision: number
}

/** What stands in the stream. */
export interface Stored {
  readonly key: string
  readonly text: string
  readonly revision: number
  /** The revision that its writer had named. */
  readonly before: number
}

/** Every way in which the answers and what is there contradict each other; empty = one winner a revision, and nothing lost. */
export function contradictions(wins: readonly Win[], stored: readonly Stored[]): string[] {
  const wrong: string[] = []
  const winners = new Map<string, Win>()
  const at = new Map(stored.map(one => [one.revision, one]))
  for (const win of wins) {
    const name = `${win.key} over ${win.before}`
    const other = winners.get(name)
    if (other !== undefined) wrong.push(`two winners of ${name}: ${other.text} and ${win.text}`)
    winners.set(name, win)
    const found = at.get(win.revision)
    if (found?.text !== win.text || found.key !== win.key) {
      wrong.push(`${win.text} won ${name} and is lost: ${found?.text ?? 'nothing'} at ${win.revision}`)
    }
  }
  const last = new Map<string, number>()
  for (const { key, text, revision, before } of stored) {
    if ((last.get(key) ?? 0) !== before) wrong.push(`${text} stands over ${last.get(key) ?? 0} and named ${before}`)
    last.set(key, revision)
  }
  return wrong
}

/** One thing that is done to the servers, from its beginning to its healing. */
export type RaceFault = 'step down' | 'kill leader' | 'kill follower' | 'freeze leader' | 'freeze follower'

export interface RaceResult {
  readonly wins: readonly Win[]
  readonly stored: readonly Stored[]
  /** Attempts that lost against another writer. */
  readonly lost: number
  /** Attempts that nobody answered. */
  readonly unanswered: number
}

/** What a race is run with. */
export interface RaceOptions {
  readonly cluster: Cluster
  readonly faults: readonly RaceFault[]
  readonly writers: number
  readonly keys: number
  /** Wins between two faults, and after the last. */
  readonly winsBetween: number
}

/** Runs the faults one after the other under writers, then reads all that is there. */
export async function race(t: Teardown, options: RaceOptions): Promise<RaceResult> {
  const { cluster, winsBetween } = options
  const jsm = await jetstreamManager(cluster.nc)
  // As a bucket of parley's, but that it forgets no revision.
  await eventually('the bucket', () =>
    jsm.streams.add({
      name: STREAM,
      subjects: [`$KV.${BUCKET}.>`],
      storage: StorageType.File,
      num_replicas: 3,
      max_msgs_per_subject: -1,
      allow_direct: false,
      allow_rollup_hdrs: true,
    }),
  )
  const wins: Win[] = []
  const counts = { lost: 0, unanswered: 0 }
  const going = { on: true }
  const writers = await Promise.all(
    Array.from({ length: options.writers }, async (_, i) => {
      const nc = await connectNats(t, cluster.url, { hasty: true })
      const kv = await new Kvm(nc).open(BUCKET)
      return () => write({ kv, name: `writer-${i}`, keys: options.keys, wins, counts, going })
    }),
  )
  const writing = Promise.all(writers.map(each => each()))
  const more = async (): Promise<void> => {
    const goal = wins.length + winsBetween
    await eventually(`${winsBetween} more writes that won`, () => wins.length >= goal, 120_000)
  }
  await more()
  for (const fault of options.faults) {
    const heal = await inflict(cluster, fault)
    await more()
    await heal()
    await cluster.whole()
  }
  await more()
  going.on = false
  await writing
  return { wins, stored: await readAll(cluster), ...counts }
}

async function inflict({ rolesOf, nc }: Cluster, fault: RaceFault): Promise<() => Promise<void>> {
  const { leader, followers } = await rolesOf(STREAM)
  const victim = fault.endsWith('follower') ? (followers[0] as ClusterServer) : leader
  if (fault === 'step down') {
    await nc.request(`$JS.API.STREAM.LEADER.STEPDOWN.${STREAM}`)
    return async () => {}
  }
  if (fault.startsWith('kill')) {
    await victim.kill9()
    return async () => victim.start()
  }
  victim.freeze()
  return async () => victim.wake()
}

interface Writer {
  readonly kv: KV
  readonly name: string
  readonly keys: number
  readonly wins: Win[]
  readonly counts: { lost: number; unanswered: number }
  readonly going: { on: boolean }
}

/** Reads, sets over what was read, and notes what it is told. What nobody answers is not tried again: it may stand or not. */
async function write({ kv, name, keys, wins, counts, going }: Writer): Promise<void> {
  for (let n = 0; going.on; n++) {
    const key = `key-${n % keys}`
    const text = `${name} ${n}`
    try {
      const before = (await kv.get(key))?.revision ?? 0
      try {
        const revision = await kv.put(key, text, { previousSeq: before })
        wins.push({ key, text, before, revision })
      } catch (error) {
        if (isOvertaken(error)) counts.lost++
        else counts.unanswered++
      }
    } catch {
      // Nobody could be asked: nothing was tried.
    }
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
}

const isOvertaken = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === WRONG_LAST_SEQUENCE

/** JetStream's number for "somebody else was first". */
const WRONG_LAST_SEQUENCE = 10071

async function readAll({ nc }: Cluster): Promise<Stored[]> {
  const jsm = await jetstreamManager(nc)
  const { state } = await eventually('the stream', () => jsm.streams.info(STREAM))
  const stored: Stored[] = []
  const { name } = await jsm.consumers.add(STREAM, { ack_policy: AckPolicy.None, deliver_policy: DeliverPolicy.All })
  const consumer = await jsm.jetstream().consumers.get(STREAM, name)
  while ((stored.at(-1)?.revision ?? 0) < state.last_seq) {
    for await (const message of await consumer.fetch({ max_messages: 1_000, expires: 5_000 })) {
      const before = Number((message.headers ?? headers()).get(EXPECTED))
      const key = message.subject.slice(`$KV.${BUCKET}.`.length)
      stored.push({ key, text: message.string(), revision: message.seq, before })
      if (message.seq >= state.last_seq) break
    }
  }
  return stored
}
