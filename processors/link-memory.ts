// The BLOCKS stream and the links in the store -> what became known lately of traces, of all partitions, in the memory of a process.
// Spans that come after the link of their trace are written at home by it. It knows nothing for sure but what it says: whoever uses it
// names the position up to which it had heard, and what was revealed since is looked at again (mover.ts).

import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { BLOCKS_STREAM } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'
import { Outage } from '#runtime/outage.ts'
import { followFinished, type PlacedRecord } from './finished-ranges.ts'
import { hasLinks, type LinkAnswers } from './link-answers.ts'
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
const RETRY_MS = 500

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
  const homes = new Recent<Home>(Math.ceil(traces / 2))
  const outage = new Outage(log, 'learning the links of traces')
  let records: PlacedRecord[] = []
  /** All link records after this are in `records`. */
  let since = Number.POSITIVE_INFINITY
  let revision = 0

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
    const { state } = await jsm.streams.info(BLOCKS_STREAM)
    since = Math.max(0, state.first_seq - 1, state.last_seq - BACK)
    revision = since
    const { waiting, changed } = followFinished({ nc, js, signal, log }, since)
    while (!signal.aborted) {
      if (waiting.length === 0) await changed(IDLE_MS)
      const found = waiting.slice()
      if (found.length === 0) continue
      await learn(found)
      outage.over()
      waiting.splice(0, found.length)
      await sleep(PAUSE_MS, signal)
    }
  }

  void (async () => {
    while (!signal.aborted) {
      try {
        await follow()
      } catch (error) {
        if (!signal.aborted) outage.failed(error)
      }
      await sleep(RETRY_MS, signal)
    }
  })()

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
