// One look at everything that may grow: each process's resident size and file handles, parts, lag, and how long answers took since the
// look before.
import { readdir } from 'node:fs/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { streamOf } from '#proto/streams.ts'
import type { Store } from '#store/client.ts'
import type { Buckets } from '#streams/apply.ts'
import { readSettled } from '#streams/settled.ts'
import { residentBytes } from '../../bench/process.ts'
import { percentile } from '../../bench/stats.ts'
import { type Instance, processesOf } from './instance.ts'

const MiB = 1024 * 1024

/** A look. Values that could not be had are left out. */
export interface Sample {
  readonly atS: number
  readonly values: ReadonlyMap<string, number>
}

/** What a sampler looks at. */
export interface SamplerOptions {
  readonly instance: Instance
  readonly nc: NatsConnection
  readonly cursors: Buckets['cursors']
  readonly store: Store
  readonly partitions: number
}

/** Looks, one after the other. */
export interface Sampler {
  look(atS: number): Promise<Sample>
  /** An answer took so long. */
  answered(ms: number): void
  /** Processes that have another id than before. */
  restarts(): readonly string[]
  /** Messages that no owner has stored yet. */
  lag(): Promise<{ messages: number; seconds: number }>
}

export const memoryOf = (name: string): string => `${name} MiB`
export const handlesOf = (name: string): string => `${name} handles`

/** Makes a sampler. */
export function createSampler(options: SamplerOptions): Sampler {
  const known = new Map<string, number>()
  const restarts: string[] = []
  let latencies: number[] = []
  const processes = async (values: Map<string, number>): Promise<void> => {
    for (const [name, pid] of processesOf(await options.instance.local())) {
      const before = known.get(name)
      if (before !== undefined && before !== pid) restarts.push(name)
      known.set(name, pid)
      try {
        const [bytes, handles] = await Promise.all([residentBytes(pid), readdir(`/proc/${pid}/fd`)])
        values.set(memoryOf(name), bytes / MiB)
        values.set(handlesOf(name), handles.length)
      } catch {
        // It has just ended; the next look sees another id.
      }
    }
  }
  const parts = async (values: Map<string, number>): Promise<void> => {
    const { store } = options
    const [row] = await store.read<{ all: string; most: string }>(
      `SELECT toString(sum(n)) AS all, toString(max(n)) AS most FROM (
         SELECT count() AS n FROM system.parts WHERE database = {database:String} AND active GROUP BY table, partition)`,
      { parameters: { database: store.database } },
    )
    values.set('parts', Number(row?.all ?? 0))
    values.set('most parts of a month', Number(row?.most ?? 0))
  }
  const lag = (): Promise<{ messages: number; seconds: number }> => lagOf(options)
  return {
    answered: ms => void latencies.push(ms),
    restarts: () => restarts,
    lag,
    look: async atS => {
      const values = new Map<string, number>()
      const taken = latencies
      latencies = []
      if (taken.length > 0) {
        values.set('answer p50', percentile(taken, 50))
        values.set('answer p99', percentile(taken, 99))
      }
      values.set('answers', taken.length)
      await Promise.all([
        processes(values),
        parts(values).catch(() => {}),
        lag().then(
          ({ messages, seconds }) => values.set('lag messages', messages).set('lag', seconds),
          () => {},
        ),
      ])
      return { atS, values }
    },
  }
}

async function lagOf({ nc, cursors, partitions }: SamplerOptions): Promise<{ messages: number; seconds: number }> {
  const jsm = await jetstreamManager(nc)
  const settled = await readSettled(cursors, partitions)
  let [messages, seconds] = [0, 0]
  for (let partition = 0; partition < partitions; partition++) {
    const { state } = await jsm.streams.info(streamOf(partition))
    const first = Math.max((settled.get(partition) ?? 0) + 1, state.first_seq)
    if (state.messages === 0 || state.last_seq < first) continue
    messages += state.last_seq - first + 1
    const oldest = await jsm.streams.getMessage(streamOf(partition), { seq: first })
    if (oldest) seconds = Math.max(seconds, (Date.now() - oldest.time.getTime()) / 1_000)
  }
  return { messages, seconds }
}
