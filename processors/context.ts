// What everything that works on one partition shares: the process's tools, the cursor, the memory of identities.

import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Log } from '#runtime/log.ts'
import type { Outage } from '#runtime/outage.ts'
import type { Store } from '#store/client.ts'
import type { CallBook } from './calls.ts'
import type { CursorKeeper } from './cursor.ts'
import { Stopped } from './cursor.ts'
import type { Gate } from './gate.ts'
import type { LinkAnswers } from './link-answers.ts'
import type { LinkMemory } from './link-memory.ts'
import type { ProcessorMetrics } from './metrics.ts'
import { Backoff } from './pause.ts'
import type { Placing } from './placing.ts'
import type { ParsePool } from './pool.ts'
import type { Readings } from './readings.ts'
import type { SettleContext } from './settle.ts'
import type { Verdicts } from './verdicts.ts'

/** What all owners of a process share. */
export interface OwnerShared {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  readonly cursors: KV
  readonly store: Store
  readonly pool: ParsePool
  readonly gate: Gate
  readonly log: Log
  readonly metrics: ProcessorMetrics
  /** Retention classes other than 0, by organization. */
  readonly classes: () => Readonly<Record<string, number>>
  readonly readings: Readings
  /** What the store says of links. */
  readonly linked: LinkAnswers
  /** Late links; left out: spans without a session are stored under their stand-ins, and moved. */
  readonly links?: LinkMemory
  /** Rows of one move; left out: as many as a statement may hold. */
  readonly moveRows?: number
  readonly insertIntervalMs: number
  /** Inserts of one lane at the same time. */
  readonly insertsInFlight: number
  readonly blockBytes: number
  /** Unread bytes from which on what is old is left to a lane of its own. */
  readonly backlogBytes: number
  /** Share (of 1) of what waits in a late lane from which on an organization is read in a lane of its own. */
  readonly bulkShare: number
  readonly repeatWindow: number
  readonly replayMs: number
  /** Rows that a correction looks at, and changes, in one turn of the owner's lock. */
  readonly correctionRows: number
}

/** One partition in the hands of this process. */
export interface PartitionContext {
  readonly shared: OwnerShared
  readonly partition: number
  readonly log: Log
  readonly signal: AbortSignal
  readonly cursor: CursorKeeper
  readonly settling: SettleContext
  readonly verdicts: Verdicts
  readonly calls: CallBook
  readonly placing: Placing
  /** Of writing to the streams. */
  readonly streamOutage: Outage
  /** True once there are to be no more ranges. */
  readonly draining: () => boolean
  /** True while no range is to be begun. */
  readonly holding: () => boolean
  /** Tells the cursor of every range that is stored. */
  readonly tell: () => Promise<void>
  /** Makes the next range of a lane, up to a position, a lane of its own; false when that can't be. */
  readonly setAside: (lane: number, to: number) => Promise<boolean>
  /** Called after the cursor moved. */
  readonly floorMoved: () => void
}

/** Asks until there is an answer. @throws Stopped when the signal aborts first. */
export async function insist<T>(outage: Outage, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
  const backoff = new Backoff()
  for (;;) {
    if (signal.aborted) throw new Stopped()
    try {
      const answer = await ask()
      outage.over()
      return answer
    } catch (error) {
      outage.failed(error)
    }
    await backoff.pause(signal)
  }
}
