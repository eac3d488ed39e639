// The BLOCKS stream -> the latest finished ranges in memory, in order: whoever waits learns what has just been stored, and where.
import { DeliverPolicy, jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { BLOCKS_STREAM } from '#proto/streams.ts'
import { endInTime, FOLLOWING } from '#runtime/following.ts'
import type { Log } from '#runtime/log.ts'

/** A finished range: rows of these positions and this generation are in the store. `position` orders ranges as they were finished. */
export interface StoredRange {
  readonly position: number
  readonly partition: number
  readonly generation: number
  readonly from: number
  readonly to: number
}

/** A message of a partition. */
export interface Place {
  readonly partition: number
  readonly sequence: number
}

/** Ranges after a position; `gap`: some of them are no longer remembered. */
export interface RangesAfter {
  readonly ranges: readonly StoredRange[]
  readonly gap: boolean
}

/** The latest ranges. */
export interface StoredRanges {
  /** Resolves once `last` is known. */
  readonly ready: Promise<void>
  /** Position of the last range. */
  last(): number
  after(position: number): RangesAfter
  /** Resolves when a range is added (with a `place`: one that holds it), when `ms` have passed, or when the signal aborts. */
  changed(signal: AbortSignal, ms: number, place?: Place): Promise<void>
  close(): void
}

/** Ranges that are remembered: half an hour of two busy partitions. */
const REMEMBERED = 8192
const PULL_MESSAGES = 200
const RETRY_MS = 250

/** Starts following, with what was finished last. Without a stream there is nothing to follow yet: it is tried again. */
export function followStoredRanges(nc: NatsConnection, log: Log): StoredRanges {
  const ranges: StoredRange[] = []
  const waiting = new Map<() => void, Place | undefined>()
  const closed = new AbortController()
  /** Up to here nothing is remembered. */
  let forgotten = 0
  let last = -1
  const { promise: ready, resolve: tellReady } = Promise.withResolvers<void>()

  const add = (position: number, text: string): void => {
    last = position
    const { partition, generation, from, to, rows } = JSON.parse(text) as StoredRange & { rows?: { events?: number } }
    if ((rows?.events ?? 0) > 0) ranges.push({ position, partition, generation, from, to })
    if (ranges.length > REMEMBERED) forgotten = ranges.shift()?.position ?? forgotten
    for (const [wake, place] of waiting) {
      if (place === undefined || (place.partition === partition && from <= place.sequence && place.sequence <= to))
        wake()
    }
  }

  /** Until it is closed, or until it is to be begun anew: true. */
  const follow = async (): Promise<boolean> => {
    if (last < 0) {
      const { state } = await (await jetstreamManager(nc)).streams.info(BLOCKS_STREAM)
      last = Math.max(state.first_seq - 1, state.last_seq - REMEMBERED, 0)
      forgotten = last
      tellReady()
    }
    const consumer = await jetstream(nc).consumers.get(BLOCKS_STREAM, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: last + 1,
    })
    const messages = await consumer.consume({
      ...FOLLOWING,
      callback: message => {
        try {
          add(message.seq, message.string())
        } catch (error) {
          log.error({ err: error, position: message.seq }, 'a record of a finished range cannot be read')
        }
      },
      max_messages: PULL_MESSAGES,
    })
    const consumed = endInTime(nc, consumer, messages, { signal: closed.signal })
    const error = await messages.closed()
    if (error) throw error
    return consumed.stale
  }

  void (async () => {
    let told = false
    while (!closed.signal.aborted && !nc.isClosed()) {
      try {
        const again = await follow()
        told = false
        if (again) continue
      } catch (error) {
        if (!closed.signal.aborted && !told) log.warn({ err: error }, 'finished ranges are not followed; trying again')
        told = true
      }
      if (!closed.signal.aborted) await new Promise(resolve => setTimeout(resolve, RETRY_MS).unref())
    }
  })()

  return {
    ready,
    last: () => last,
    after: position => ({ ranges: ranges.filter(range => range.position > position), gap: position < forgotten }),
    changed: (signal, ms, place) =>
      new Promise(resolve => {
        const done = (): void => {
          clearTimeout(timer)
          waiting.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        const timer = setTimeout(done, ms)
        waiting.set(done, place)
        signal.addEventListener('abort', done, { once: true })
        if (signal.aborted) done()
      }),
    close: () => closed.abort(),
  }
}
