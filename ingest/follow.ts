// Follows the envelopes that create sessions, of every partition, headers only, and tells which conversations they create. Reads from
// the lowest message that is still stored, survives restarts of the server without a gap, and knows how far it has read.
import type { Consumer, JsMsg } from '@nats-io/jetstream'
import { DeliverPolicy, jetstream } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { SESSION_ENTRY_CHARS, SESSIONS_HEADER, sessionsSubjectOf, streamOf } from '#proto/streams.ts'
import { type Consumed, endInTime, FOLLOWING } from '#runtime/following.ts'
import type { Log } from '#runtime/log.ts'

/**
 * Messages asked for at a time. Headers hold at most 48 KiB, so 10 MB are under way at most: far below what makes the server
 * drop a connection as too slow.
 */
const PULL_MESSAGES = 200
const RETRY_MS = 250

export interface Follower {
  /** How many envelopes with sessions of a partition have been read. */
  position(partition: number): number
  /**
   * The position at which all that the partition holds now will have been read. Callers that ask while a question is open share
   * the next one's answer. Rejects when the server cannot say.
   */
  end(partition: number): Promise<number>
  /** Partitions that have not yet been read to the end they had at the start. */
  behind(): number[]
  close(): Promise<void>
}

export interface FollowerOptions {
  /** A connection of its own: a follower that cannot keep up must not take acknowledgements with it. */
  readonly nc: NatsConnection
  readonly partitions: number
  /** Called per entry; both are views of 16 bytes, valid during the call. */
  readonly onSession: (organization: Uint8Array, conversation: Uint8Array) => void
  readonly log: Log
}

/** Starts following; returns without waiting for the end of the streams. */
export function createFollower(options: FollowerOptions): Follower {
  const followed = Array.from({ length: options.partitions }, (_, number) => {
    const one = followPartition(options, number)
    return { ...one, end: shareNext(one.end) }
  })
  return {
    position: partition => followed[partition]?.position() ?? 0,
    end: partition => followed[partition]?.end() ?? Promise.resolve(0),
    behind: () => followed.flatMap((one, number) => (one.caughtUp() ? [] : [number])),
    close: async () => {
      await Promise.all(followed.map(one => one.close()))
    },
  }
}

interface Followed {
  position(): number
  end(): Promise<number>
  caughtUp(): boolean
  close(): Promise<void>
}

function followPartition(options: FollowerOptions, partition: number): Followed {
  const { nc, onSession, log } = options
  const js = jetstream(nc)
  let position = 0
  /** Of the last message: its place in the stream, the consumer that delivered it, and its number among that one's deliveries. */
  let last = { sequence: 0, consumer: '', delivery: 0 }
  let current: Consumer | undefined
  let caughtUp = false
  let closed = false
  let consumed: Consumed | undefined

  const read = (message: JsMsg): void => {
    const entries = message.headers?.get(SESSIONS_HEADER) ?? ''
    for (let at = 0; at + SESSION_ENTRY_CHARS <= entries.length; at += SESSION_ENTRY_CHARS) {
      const bytes = Buffer.from(entries.slice(at, at + SESSION_ENTRY_CHARS), 'base64url')
      onSession(bytes.subarray(0, 16), bytes.subarray(16, 32))
    }
    const { consumer, deliverySequence, pending } = message.info
    last = { sequence: message.seq, consumer, delivery: deliverySequence }
    // After the entries: whoever sees this position may conclude that they are known.
    position++
    if (pending === 0) caughtUp = true
  }
  // Positions are counted and not taken from stream sequences: what lies between two envelopes with sessions is never delivered, so
  // the last sequence of the stream may never be seen here.
  const end = async (): Promise<number> => {
    if (!current) throw new Error(`partition ${partition} is not followed at the moment`)
    const { name, num_pending, delivered } = await current.info()
    const received = name === last.consumer ? last.delivery : 0
    return position + Math.max(0, delivered.consumer_seq + num_pending - received)
  }
  const run = async (): Promise<void> => {
    while (!closed) {
      try {
        const start =
          last.sequence === 0
            ? { deliver_policy: DeliverPolicy.All }
            : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: last.sequence + 1 }
        const consumer = await js.consumers.get(streamOf(partition), {
          ...start,
          headers_only: true,
          filter_subjects: sessionsSubjectOf(partition),
        })
        current = consumer
        // What was pending when the consumer was made.
        if ((await consumer.info(true)).num_pending === 0) caughtUp = true
        // An ordered consumer: the client makes it anew after a gap or lost heartbeats.
        const messages = await consumer.consume({
          ...FOLLOWING,
          callback: read,
          max_messages: PULL_MESSAGES,
        })
        consumed = endInTime(nc, consumer, messages)
        if (closed) consumed.end()
        const error = await messages.closed()
        if (error) throw error
        // What is asked meanwhile the server still answers of the one that was given up.
        if (consumed.stale && !closed) continue
      } catch (error) {
        if (!closed) log.warn({ err: error, partition }, 'following a stream failed; starting again where it ended')
      }
      current = undefined
      if (!closed) await new Promise(resolve => setTimeout(resolve, RETRY_MS))
    }
  }
  const running = run()
  return {
    position: () => position,
    end,
    caughtUp: () => caughtUp,
    close: async () => {
      closed = true
      consumed?.end()
      // The connection may be gone, and with it the answer that `run` waits for: bounded.
      await Promise.race([running, new Promise(resolve => setTimeout(resolve, 1_000).unref())])
    },
  }
}

/**
 * One `run` at a time: callers that come while one is open share the next, so that every caller gets an answer that was asked
 * for after it called.
 */
function shareNext<T>(run: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | null = null
  return () => {
    next ??= current
      .catch(() => undefined)
      .then(() => {
        next = null
        const answer = run()
        current = answer
        return answer
      })
    return next
  }
}
