// The BLOCKS stream and the links in the store -> what became known lately of traces, of all partitions, in the memory of a process.
// Spans that come after the link of their trace are written at home by it. It knows nothing for sure but what it says: whoever uses it
// names the position up to which it had heard, and what was revealed since is looked at again (mover.ts).

import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { BLOCKS_STREAM } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'
import { Outage } from '#runtime/outage.ts'
import { insist } from './context.ts'
import { Stopped } from './cursor.ts'
import { followFinished, hasLinks, type PlacedRecord } from './finished-ranges.ts'
import type { LinkAnswers } from './link-answers.ts'
import { type Home, keyOf } from './loose.ts'
import { sleep } from './pause.ts'
import { Recent } from './recent.ts'

/** What is known of late links. */
export interface LinkMemory {
  /** Every link of a range whose record stands at most here was taken in. */
  readonly revision: number
  /** By the name of a trace's stand-in. */
  homeOf(key: string): Home | undefined
  /** Ranges with links whose records come after one position and before another; undefined when that is no longer known. */
  between(after: number, before: number): readonly PlacedRecord[] | undefined
  close(): void
}

/** Traces that are remembered: some twenty minutes of a busy machine. */
const TRACES = 400_000
const RECORDS = 20_000
/** Records of before the start that are taken in too. */
const BACK = 1_000
const PAUSE_MS = 100
const IDLE_MS = 5_000

interface LinkMemoryOptions {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly jsm: JetStreamManager
  readonly linked: LinkAnswers
  readonly log: Log
  /** Traces that are remembered at most; for tests. */
  readonly traces?: number
}

/** Starts following. */
export function followLinks({ nc, js, jsm, linked, log, traces = TRACES }: LinkMemoryOptions): LinkMemory {
  const closed = new AbortController()
  const { signal } = closed
  let homes = new Recent<Home>(Math.ceil(traces / 2))
  const outage = new Outage(log, 'learning the links of traces')
  let records: PlacedRecord[] = []
  /** All link records after this are in `records`. */
  let since = Number.POSITIVE_INFINITY
  let revision = 0

  /** Records up to here are not known, nor what they told of homes that were known before. */
  const beginAt = (position: number): void => {
    homes = new Recent<Home>(Math.ceil(traces / 2))
    records = []
    since = position
    revision = position
  }

  const learn = async (found: readonly PlacedRecord[]): Promise<void> => {
    for (const { provisional, home, session } of await linked.tracesOf(found)) {
      homes.set(keyOf(provisional), { conversation_id: home, session_id: session })
    }
    records.push(...found.filter(hasLinks))
    if (records.length > RECORDS) {
      since = (records[records.length - RECORDS / 2 - 1] as PlacedRecord).position
      records = records.slice(-RECORDS / 2)
    }
    revision = found.at(-1)?.position ?? revision
  }

  const follow = async (): Promise<void> => {
    const { state } = await insist(outage, signal, () => jsm.streams.info(BLOCKS_STREAM))
    beginAt(Math.max(0, state.first_seq - 1, state.last_seq - BACK))
    const { waiting, changed } = followFinished({ nc, js, signal, log }, revision)
    while (!signal.aborted) {
      if (waiting.length === 0) await changed(IDLE_MS)
      const found = waiting.slice()
      if (found.length === 0) continue
      const gap = found.findLastIndex(({ position }, i) => position > (found[i - 1]?.position ?? revision) + 1)
      if (gap >= 0) beginAt((found[gap] as PlacedRecord).position - 1)
      await insist(outage, signal, () => learn(found.slice(Math.max(0, gap))))
      waiting.splice(0, found.length)
      await sleep(PAUSE_MS, signal)
    }
  }

  follow().catch((error: unknown) => {
    if (!(error instanceof Stopped)) log.error({ err: error }, 'BUG: links of traces are not learned any more')
  })

  return {
    get revision() {
      return revision
    },
    homeOf: key => homes.get(key),
    between: (after, before) => {
      if (after < since) return undefined
      return records.filter(({ position }) => position > after && position < before)
    },
    close: () => closed.abort(),
  }
}
