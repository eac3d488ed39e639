// Payloads -> envelopes -> stream, by group commit. A payload's waiter hears `stored` only after the stream has acknowledged the
// envelope that holds it. No timer fills envelopes: one leaves when nothing of its lane is in flight, at the end of the event loop's
// turn (of the next one where several wait) with all that was read; or when it is full.
import { randomBytes } from 'node:crypto'
import type { Budget } from '#ingest/budget.ts'
import type { Envelope, LaneOptions } from '#ingest/lane.ts'
import { Lane } from '#ingest/lane.ts'
import type { Payload, PublishMeter, Refusal, Waiter } from '#ingest/payload.ts'
import type { Wire } from '#ingest/wire.ts'
import { ENVELOPE_HEADER_BYTES, EnvelopeWriter, FRAME_HEADER_BYTES } from '#proto/envelope.ts'
import { partitionOf } from '#proto/ids.ts'
import { SESSIONS_HEADER_MAX_BYTES } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'

/** Of a message's largest size, what is kept for the message id and the names of headers. */
const ID_ROOM_BYTES = 512
/** ... and for the sessions header, on servers that take small messages only: one part in so many. */
const HEADER_SHARE = 4
const TICK_MS = 100
/** Envelopes kept for reuse. */
const SPARE_WRITERS = 8

export interface Publisher {
  /** True when a payload of `bytes` fits one message. */
  fits(bytes: number): boolean
  /** Takes a payload (its waiter will be told), or says at once why not. Precondition: `fits(payload.bytes.length)`. */
  offer(payload: Payload, waiter: Waiter): Refusal | null
  /** False while the stream cannot be reached. */
  isUp(): boolean
  /** Envelopes not acknowledged yet. */
  inFlight(): number
  /** Payloads that were taken and whose waiters have not been told yet. */
  pending(): number
  /** Those of them that wait because nothing can be sent. */
  held(): number
  /** Sends what is open and waits for all acknowledgements, at most `timeoutMs`; what is left then is told ING_UNAVAILABLE. */
  close(timeoutMs: number): Promise<void>
}

export interface PublisherOptions {
  readonly wire: Wire
  readonly budget: Budget
  readonly partitions: number
  /** Shards of the store; left out: one. */
  readonly shards?: number
  /** An envelope that reaches this size leaves; a larger payload travels alone. */
  readonly envelopeBytes: number
  /** How long payloads of senders that never try again are held, from their arrival. */
  readonly holdMs: number
  /** Payloads that may wait at a time, and the bytes of them that one lane may hold while it cannot send. */
  readonly maxPending: number
  readonly maxHeldBytes: number
  readonly log: Log
  readonly meter: PublishMeter
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
  /** Runs a task at the end of the event loop's turn, after all sockets that have something were read. */
  readonly afterTurn?: (task: () => void) => void
}

/** A publisher over `wire`. */
export function createPublisher(options: PublisherOptions): Publisher {
  return new GroupCommit(options)
}

class GroupCommit implements Publisher {
  readonly #options: PublisherOptions
  readonly #now: () => number
  readonly #afterTurn: (task: () => void) => void
  /** Per partition: senders that are held, senders that try again. */
  readonly #patient: readonly Lane[]
  readonly #retrying: readonly Lane[]
  readonly #lanes: readonly Lane[]
  readonly #flying = new Map<number, Envelope>()
  readonly #spare: EnvelopeWriter[] = []
  #timer: NodeJS.Timeout | undefined
  readonly #entry = Buffer.alloc(32)
  readonly #idPrefix = randomBytes(16).toString('base64url')
  /** Lanes whose envelopes leave at the end of the turn: together, so that both go to the server in one write. */
  #leaving: Lane[] = []
  #numbers = 0
  #pending = 0
  #drained: (() => void) | null = null

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
    this.#afterTurn = options.afterTurn ?? setImmediate
    const shared: LaneOptions = {
      ...options,
      now: this.#now,
      flying: this.#flying,
      sessionsMaxChars: () => this.#headerBytes() - ID_ROOM_BYTES,
      open: (lane, bytes) => this.#openEnvelope(lane, bytes),
      afterTurn: lane => this.#leaveAfterTurn(lane),
      settled: (envelope, reusable) => this.#settled(envelope, reusable),
    }
    const lanes = (retries: boolean): Lane[] =>
      Array.from({ length: options.partitions }, (_, partition) => new Lane(partition, retries, shared))
    this.#patient = lanes(false)
    this.#retrying = lanes(true)
    this.#lanes = [...this.#patient, ...this.#retrying]
    options.wire.onAnswer((number, answer) => {
      // Unknown: given up before, or the second acknowledgement of an envelope that was sent twice.
      const envelope = this.#flying.get(number)
      envelope?.lane.answered(envelope, answer)
    })
    options.wire.onDown(() => {
      for (const lane of this.#lanes) lane.down(this.#flightsOf(lane))
    })
    options.wire.onUp(() => {
      // The server may be another one, with another largest message.
      this.#spare.length = 0
      for (const lane of this.#lanes) lane.up(this.#flightsOf(lane))
    })
  }

  fits(bytes: number): boolean {
    return ENVELOPE_HEADER_BYTES + FRAME_HEADER_BYTES + bytes <= this.#maxBytes()
  }

  offer(payload: Payload, waiter: Waiter): Refusal | null {
    const { organization, accepted, bytes } = payload
    const { budget, maxPending, shards } = this.#options
    if (this.#pending >= maxPending) return 'ING_FULL'
    const partition = partitionOf(organization.bytes, accepted.identity, this.#patient.length, shards)
    const lane = (payload.retries ? this.#retrying : this.#patient)[partition] as Lane
    const refusal = lane.refusal(bytes.length)
    if (refusal !== null) return refusal
    if (!budget.take(FRAME_HEADER_BYTES + bytes.length)) return 'ING_FULL'
    this.#pending++
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
    const { creates } = accepted
    lane.take(payload, waiter, creates === null ? '' : this.#sessionEntry(organization.bytes, creates))
    return null
  }

  isUp(): boolean {
    return this.#options.wire.isUp()
  }

  inFlight(): number {
    return this.#flying.size
  }

  pending(): number {
    return this.#pending
  }

  held(): number {
    return this.#patient.reduce((sum, lane) => sum + lane.held(), 0)
  }

  async close(timeoutMs: number): Promise<void> {
    for (const lane of this.#lanes) lane.flush()
    if (this.#pending > 0) {
      await new Promise<void>(resolve => {
        this.#drained = resolve
        setTimeout(resolve, timeoutMs)
      })
    }
    clearInterval(this.#timer)
    for (const lane of this.#lanes) lane.giveUp(this.#flightsOf(lane))
    this.#options.wire.close()
  }

  #leaveAfterTurn(lane: Lane): void {
    this.#leaving.push(lane)
    if (this.#leaving.length > 1) return
    const leave = (): void => {
      const leaving = this.#leaving
      this.#leaving = []
      for (const one of leaving) one.leave()
    }
    // Where there are several senders, those who were answered in this turn are sending again already: one turn more for them.
    this.#afterTurn(() => (this.#pending > 1 ? this.#afterTurn(leave) : leave()))
  }

  #flightsOf(lane: Lane): Envelope[] {
    return [...this.#flying.values()].filter(envelope => envelope.lane === lane)
  }

  #headerBytes(): number {
    const largest = this.#options.wire.maxPayloadBytes()
    return Math.min(SESSIONS_HEADER_MAX_BYTES + ID_ROOM_BYTES, Math.floor(largest / HEADER_SHARE))
  }

  #maxBytes(): number {
    return this.#options.wire.maxPayloadBytes() - this.#headerBytes()
  }

  #openEnvelope(lane: Lane, bytes: number): Envelope {
    const spare = this.#spare.pop()
    const number = this.#numbers++
    return {
      lane,
      number,
      messageId: this.#idPrefix + number.toString(36),
      writer: spare?.fits(bytes) ? spare : new EnvelopeWriter(this.#maxBytes()),
      waiters: [],
      starts: [],
      openedAtMs: this.#now(),
      sessions: '',
      sends: 0,
      unanswered: 0,
      refusal: null,
      closedAtMs: 0,
      dueAtMs: 0,
    }
  }

  #settled(envelope: Envelope, reusable: boolean): void {
    const { writer, waiters } = envelope
    this.#options.budget.give(writer.length - ENVELOPE_HEADER_BYTES)
    this.#pending -= waiters.length
    // One that grew for a huge payload is not kept.
    const usual = writer.length <= this.#options.envelopeBytes
    if (reusable && usual && this.#spare.length < SPARE_WRITERS) {
      writer.reset()
      this.#spare.push(writer)
    }
    if (this.#pending === 0) this.#drained?.()
  }

  #sessionEntry(organization: Uint8Array, conversation: Uint8Array): string {
    this.#entry.set(organization, 0)
    this.#entry.set(conversation, 16)
    return this.#entry.toString('base64url')
  }

  #tick(): void {
    const at = this.#now()
    for (const envelope of [...this.#flying.values()]) envelope.lane.tickFlight(envelope, at)
    for (const lane of this.#lanes) lane.tick(at)
    // Without payloads there is nothing that time could bring about.
    if (this.#pending > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
