// The BLOCKS stream -> the records of finished ranges in order, from a position on: what an owner has to look at.
import { DeliverPolicy, type JetStreamClient } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { BLOCKS_STREAM } from '#proto/streams.ts'
import { endInTime, FOLLOWING } from '#runtime/following.ts'
import type { Log } from '#runtime/log.ts'
import type { BlockRecord } from './blocks.ts'
import { sleep } from './pause.ts'

/** A record, and its place in the stream. */
export interface PlacedRecord {
  readonly position: number
  readonly record: BlockRecord
}

/** Whether a record tells of links. */
export const hasLinks = ({ record }: PlacedRecord): boolean => (record.rows.links ?? 0) > 0

/** Records that wait. */
export interface FinishedRanges {
  /** In order; whoever has dealt with the first ones takes them away. */
  readonly waiting: PlacedRecord[]
  /** Resolves when a record arrives, or after `ms`. */
  changed(ms: number): Promise<void>
}

/** More than this is left in the stream until some have been taken away. */
const WAITING_MAX = 4_000
const PULL_MESSAGES = 500
const RETRY_MS = 250

interface FollowOptions {
  readonly nc: NatsConnection
  readonly js: JetStreamClient
  readonly signal: AbortSignal
  readonly log: Log
}

/** Follows the stream behind `after`, until the partition's signal aborts. */
export function followFinished({ nc, js, signal, log }: FollowOptions, after: number): FinishedRanges {
  const waiting: PlacedRecord[] = []
  let last = after
  let wake: () => void = () => {}

  /** Until the signal aborts, or until it is to be begun anew: true. */
  const pull = async (): Promise<boolean> => {
    const consumer = await js.consumers.get(BLOCKS_STREAM, {
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: last + 1,
    })
    const messages = await consumer.consume({ ...FOLLOWING, max_messages: PULL_MESSAGES })
    const consumed = endInTime(nc, consumer, messages, { signal })
    for await (const message of messages) {
      if (message.seq > last + 1 && last > 0) {
        log.warn(
          { from: last + 1, to: message.seq - 1 },
          'records of finished ranges are gone: their traces stay where they are',
        )
      }
      last = message.seq
      waiting.push({ position: last, record: message.json<BlockRecord>() })
      wake()
      while (waiting.length >= WAITING_MAX && !signal.aborted) await sleep(RETRY_MS, signal)
    }
    return consumed.stale
  }

  void (async () => {
    let told = false
    while (!signal.aborted) {
      try {
        const again = await pull()
        told = false
        if (again) continue
      } catch (error) {
        if (!told && !signal.aborted) log.warn({ err: error }, 'finished ranges are not followed; trying again')
        told = true
      }
      await sleep(RETRY_MS, signal)
    }
  })()

  return {
    waiting,
    changed: ms =>
      new Promise(resolve => {
        const done = (): void => {
          clearTimeout(timer)
          signal.removeEventListener('abort', done)
          wake = () => {}
          resolve()
        }
        const timer = setTimeout(done, ms)
        wake = done
        signal.addEventListener('abort', done, { once: true })
        if (signal.aborted) done()
      }),
  }
}
