// What the streams themselves say of payloads: which of them no owner has finished yet, and what was written down of one position. For
// whoever asks what became of a request; nothing here is on the way of a payload.
import {
  type ConsumerMessages,
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  type OrderedConsumerOptions,
} from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'
import { DeadHeader } from '#proto/dead.ts'
import { frameAt, frameStarts } from '#proto/envelope.ts'
import { uuidText } from '#proto/ids.ts'
import { type Surface, surfaceOfKind } from '#proto/ledger.ts'
import type { RecordedRange } from '#proto/recorded-range.ts'
import { BLOCKS_STREAM, blocksSubjectOf, DEAD_STREAM, deadSubjectOf, streamOf } from '#proto/streams.ts'
import type { PayloadPosition } from './payloads.ts'

/** Payloads of one organization, hour and surface in a message that may not be finished. */
export interface WaitingPayloads {
  readonly partition: number
  readonly sequence: number
  readonly organization: string
  /** Hours since 1970. */
  readonly hour: number
  readonly surface: Surface
  readonly payloads: number
}

/** What stands behind the settled positions. */
export interface Waiting {
  readonly payloads: readonly WaitingPayloads[]
  /** False when there is more than is read for a question, or when a stream has given up what was asked for. */
  readonly complete: boolean
}

/** A dead letter's headers, as far as they answer. */
export interface Letter {
  readonly organization: string
  readonly code: string
  readonly reason: string
  readonly receivedAtMs: number
  readonly diedAt: string
}

/** The questions. Each rejects when the server does not answer. */
export interface Journal {
  /** Everything of an organization behind these positions, by partition. */
  waiting(organization: string, through: Readonly<Record<string, number>>, partitions: number): Promise<Waiting>
  /** The dead letter of a position; null when there is none among those written since. */
  letterAt(position: PayloadPosition, sinceMs: number): Promise<Letter | null>
  /** The record of the range that holds an organization's payload; null when it is not among those written since. */
  recordAt(position: PayloadPosition, organization: string, sinceMs: number): Promise<RecordedRange | null>
}

const HOUR_MS = 3_600_000
/** Bytes of one pull, and of what one question reads. */
const PULL_BYTES = 4 * 1024 * 1024
const READ_BYTES = 64 * 1024 * 1024
/** Messages that are remembered of a partition. */
const REMEMBERED = 200_000
/** Letters and records that are looked at for one position. */
const LOOKED_AT = 5_000
const PULL_MESSAGES = 500
const EXPIRES_MS = 5_000

/** What is remembered of a partition: every message is read once, however often is asked. */
interface Tail {
  /** Messages after it, in order, have been read … */
  from: number
  /** … up to here. */
  to: number
  messages: { readonly sequence: number; readonly payloads: readonly WaitingPayloads[] }[]
  reading: Promise<boolean>
}

/** Opens the journal over a connection. */
export function openJournal(nc: NatsConnection): Journal {
  const tails = new Map<number, Tail>()
  const tailOf = (partition: number): Tail => {
    const tail = tails.get(partition) ?? { from: 0, to: 0, messages: [], reading: Promise.resolve(true) }
    tails.set(partition, tail)
    return tail
  }
  return {
    waiting: async (organization, through, partitions) => {
      const found: WaitingPayloads[] = []
      let complete = true
      for (let partition = 0; partition < partitions; partition++) {
        const tail = tailOf(partition)
        const after = through[String(partition)] ?? 0
        // One after the other: they share what is remembered.
        tail.reading = tail.reading.catch(() => false).then(() => readOn(nc, partition, tail, after))
        complete = (await tail.reading) && complete
        for (const { sequence, payloads } of tail.messages) {
          if (sequence > after) found.push(...payloads.filter(one => one.organization === organization))
        }
      }
      return { payloads: found, complete }
    },
    letterAt: ({ partition, sequence, frame }, sinceMs) =>
      lookFor(nc, DEAD_STREAM, deadSubjectOf(partition), { sinceMs, headersOnly: true }, message => {
        const text = (name: string): string => message.headers?.get(name) ?? ''
        if (Number(text(DeadHeader.sequence)) !== sequence || Number(text(DeadHeader.frame)) !== frame) return null
        return {
          organization: text(DeadHeader.organization),
          code: text(DeadHeader.code),
          reason: text(DeadHeader.reason),
          receivedAtMs: Number(text(DeadHeader.receivedAt)),
          diedAt: message.time.toISOString(),
        }
      }),
    recordAt: ({ partition, sequence }, organization, sinceMs) =>
      lookFor(nc, BLOCKS_STREAM, blocksSubjectOf(partition), { sinceMs, headersOnly: false }, message => {
        const record = message.json<RecordedRange>()
        const { from, to, only, without } = record
        const speaks = only ? only.includes(organization) : !without?.includes(organization)
        return from <= sequence && sequence <= to && speaks ? record : null
      }),
  }
}

/** Reads what has come since; false when that is too much, or gone. */
async function readOn(nc: NatsConnection, partition: number, tail: Tail, after: number): Promise<boolean> {
  const { state } = await (await jetstreamManager(nc)).streams.info(streamOf(partition))
  // Asked about what was forgotten, or of a stream that was made anew.
  if (after < tail.from || tail.to > state.last_seq || after > tail.to) {
    Object.assign(tail, { from: after, to: after, messages: [] })
  }
  tail.messages = tail.messages.filter(({ sequence }) => sequence > after)
  tail.from = after
  const isHeld = state.first_seq <= after + 1
  if (state.messages === 0 || tail.to >= state.last_seq) return isHeld || state.messages === 0
  const consumer = await jetstream(nc).consumers.get(streamOf(partition), {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: tail.to + 1,
  })
  let bytes = 0
  // By number, taken as equally large: a pull that is bounded by bytes ends when its time is over, however soon it has its hundred messages.
  const max_messages = Math.max(1, Math.min(PULL_MESSAGES, Math.floor(PULL_BYTES / (state.bytes / state.messages))))
  try {
    while (tail.to < state.last_seq && bytes < READ_BYTES && tail.messages.length < REMEMBERED) {
      const messages = await consumer.fetch({ max_messages, expires: EXPIRES_MS })
      for await (const { seq, data } of messages) {
        bytes += data.length
        tail.messages.push({ sequence: seq, payloads: payloadsOf(data, partition, seq) })
        tail.to = seq
        if (seq >= state.last_seq || tail.messages.length >= REMEMBERED) break
      }
    }
  } finally {
    await consumer.delete().catch(() => {})
  }
  return isHeld && tail.to >= state.last_seq
}

function payloadsOf(message: Uint8Array, partition: number, sequence: number): WaitingPayloads[] {
  const found = new Map<string, { -readonly [key in keyof WaitingPayloads]: WaitingPayloads[key] }>()
  let starts: number[]
  try {
    starts = frameStarts(message)
  } catch {
    return []
  }
  for (const at of starts) {
    const { kind, organization: bytes, receivedAtMs } = frameAt(message, at)
    const surface = surfaceOfKind(kind) ?? 'sdk'
    const [organization, hour] = [uuidText(bytes), Math.floor(receivedAtMs / HOUR_MS)]
    const name = `${organization}.${hour}.${surface}`
    const entry = found.get(name) ?? { partition, sequence, organization, hour, surface, payloads: 0 }
    entry.payloads++
    found.set(name, entry)
  }
  return [...found.values()]
}

type Message = ConsumerMessages extends AsyncIterable<infer M> ? M : never

/** The first message of a subject since a time that answers, among those that are looked at. */
async function lookFor<T>(
  nc: NatsConnection,
  stream: string,
  subject: string,
  { sinceMs, headersOnly }: { readonly sinceMs: number; readonly headersOnly: boolean },
  answer: (message: Message) => T | null,
): Promise<T | null> {
  const options: Partial<OrderedConsumerOptions> = {
    filter_subjects: subject,
    headers_only: headersOnly,
    ...(sinceMs > 0
      ? { deliver_policy: DeliverPolicy.StartTime, opt_start_time: new Date(sinceMs).toISOString() }
      : { deliver_policy: DeliverPolicy.All }),
  }
  const consumer = await jetstream(nc).consumers.get(stream, options)
  try {
    let { num_pending: pending } = await consumer.info()
    for (let seen = 0; seen < LOOKED_AT && pending > 0; ) {
      const messages = await consumer.fetch({ max_messages: Math.min(PULL_MESSAGES, pending), expires: EXPIRES_MS })
      let here = 0
      for await (const message of messages) {
        seen++
        here++
        pending = message.info.pending
        const found = answer(message)
        if (found !== null) return found
        if (pending === 0) break
      }
      if (here === 0) return null
    }
    return null
  } finally {
    await consumer.delete().catch(() => {})
  }
}
