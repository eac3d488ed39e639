// The envelopes of one partition and one kind of sender, from the first payload to the stream's answer. Senders that try again by
// themselves and senders that never do travel in envelopes of their own: when the stream refuses, the first are told at once, and
// surely nothing of theirs is stored; the second are held and tried again under the same message id until their time is over.

import type { Payload, PublishMeter, PublishOutcome, Refusal, Waiter } from '#ingest/payload.ts'
import type { Wire, WireAnswer } from '#ingest/wire.ts'
import type { EnvelopeWriter } from '#proto/envelope.ts'
import { ENVELOPE_HEADER_BYTES, FRAME_HEADER_BYTES } from '#proto/envelope.ts'
import { RESEND_WINDOW_MS, SESSION_ENTRY_CHARS, sessionsSubjectOf, subjectOf } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'

/** An envelope that was not acknowledged for this long is sent again; doubled each time up to the second figure. */
const FIRST_ACK_WAIT_MS = 2_000
const LONGEST_ACK_WAIT_MS = 10_000
/** Pause after an answer that means "not now". */
const RETRY_PAUSE_MS = 250
/** While nothing leaves, an envelope collects for this long: its senders' times run out together. */
const SPREAD_MS = 250

/** JetStream's numbers for "no room": stream, account or server limits, and its queue of messages to store. */
const FULL_CODES: ReadonlySet<number> = new Set([10002, 10023, 10028, 10047, 10077, 10122, 10167])

/** One message and those who wait for it. */
export interface Envelope {
  readonly lane: Lane
  /** Its acknowledgement carries it. */
  readonly number: number
  readonly messageId: string
  readonly writer: EnvelopeWriter
  readonly waiters: Waiter[]
  /** Where their payloads begin. */
  readonly starts: number[]
  readonly openedAtMs: number
  /** Entries of the sessions header. */
  sessions: string
  sends: number
  /** Attempts whose answer may still come. */
  unanswered: number
  /** What the last attempt was told; null = nothing yet. */
  refusal: Refusal | null
  closedAtMs: number
  dueAtMs: number
}

/** What lanes share. */
export interface LaneOptions {
  readonly wire: Wire
  /** An envelope that reaches this size leaves. */
  readonly envelopeBytes: number
  /** How long senders that never try again are held. */
  readonly holdMs: number
  /** Bytes that one lane may hold while it cannot send. */
  readonly maxHeldBytes: number
  readonly log: Log
  readonly meter: PublishMeter
  readonly now: () => number
  /** Envelopes that left and are not answered, by number. */
  readonly flying: Map<number, Envelope>
  /** Largest sessions header. */
  sessionsMaxChars(): number
  /** A new envelope with room for a payload of `bytes`. */
  open(lane: Lane, bytes: number): Envelope
  /** Calls `leave` of the lane once everything that has arrived by now has been read. */
  afterTurn(lane: Lane): void
  /** Takes back what a settled envelope used; `reusable`: nobody holds its buffer any more. */
  settled(envelope: Envelope, reusable: boolean): void
}

/** Group commit of one partition for one kind of sender. */
export class Lane {
  readonly partition: number
  readonly #options: LaneOptions
  readonly #retries: boolean
  #open: Envelope | null = null
  /** Closed ones that could not be sent or were refused for the moment, oldest first. */
  readonly #waiting: Envelope[] = []
  #inFlight = 0
  /** True from `afterTurn` to `leave`. */
  #leaves = false
  /** Set while the stream says "not now": then one envelope at a time asks whether that is over. */
  #refusing: Refusal | null = null
  #pausedUntilMs = 0
  /** Of payloads whose waiters were not told yet. */
  #bytes = 0
  #frames = 0

  /** `retries`: its senders try again by themselves. */
  constructor(partition: number, retries: boolean, options: LaneOptions) {
    this.partition = partition
    this.#retries = retries
    this.#options = options
  }

  /** Why a payload of `bytes` cannot be taken now; null when it can. */
  refusal(bytes: number): Refusal | null {
    const { wire, maxHeldBytes } = this.#options
    if (!this.#retries) return this.#isHolding() && this.#bytes + bytes > maxHeldBytes ? 'ING_FULL' : null
    if (!wire.isUp()) return 'ING_UNAVAILABLE'
    return this.#maySend() ? null : this.#refusing
  }

  /** Appends a payload. Precondition: it fits a message, and `refusal` has said null. */
  take(payload: Payload, waiter: Waiter, sessionEntry: string): void {
    const { accepted, bytes } = payload
    const envelope = this.#roomFor(bytes.length, sessionEntry !== '')
    const { writer } = envelope
    const { kind, mintedId } = accepted
    envelope.starts.push(writer.length + FRAME_HEADER_BYTES)
    writer.append(kind, payload.encoding, payload.organization.bytes, payload.receivedAtMs, mintedId, bytes)
    envelope.waiters.push(waiter)
    if (sessionEntry !== '') envelope.sessions += sessionEntry
    this.#bytes += FRAME_HEADER_BYTES + bytes.length
    this.#frames++
    if (writer.length >= this.#options.envelopeBytes) this.flush()
    else this.#leaveSoon()
  }

  /** The open envelope's time has come, unless another one left meanwhile. */
  leave(): void {
    this.#leaves = false
    if (this.#isIdle()) this.flush()
  }

  /** Closes the open envelope and sends what may be sent. */
  flush(): void {
    this.#close()
    this.#pump()
  }

  /** Requests that wait because nothing can be sent. */
  held(): number {
    return this.#isHolding() ? this.#frames : 0
  }

  /** What the server said to one of its envelopes. */
  answered(envelope: Envelope, answer: WireAnswer): void {
    const { meter, log, now } = this.#options
    envelope.unanswered = Math.max(0, envelope.unanswered - 1)
    if (answer.kind === 'stored') {
      const seconds = (now() - envelope.closedAtMs) / 1000
      const { duplicate, sequence } = answer
      meter.acked({ frames: envelope.waiters.length, bytes: envelope.writer.length, seconds, duplicate })
      this.#refusing = null
      return this.#settle(envelope, { stored: true, receiptHead: `${this.partition}-${sequence}-` })
    }
    const full = FULL_CODES.has(answer.code)
    if (!full && answer.status !== 503) {
      const { code, description } = answer
      log.error({ code, reason: description, partition: this.partition }, 'the stream refused an envelope')
      return this.#fail(envelope, 'ING_UNAVAILABLE')
    }
    // Sent twice, and the other answer is still to come: that one decides.
    if (envelope.unanswered > 0) return
    // "Full" is said after the look for a repeat: whatever became of earlier attempts, none of them is stored.
    const refusal = full ? 'ING_FULL' : 'ING_UNAVAILABLE'
    envelope.refusal = refusal
    this.#refusing = refusal
    this.#pausedUntilMs = now() + RETRY_PAUSE_MS
    if (this.#retries) this.#refuseAll(refusal, envelope)
    else this.#putBack(envelope)
  }

  /** Time goes by: envelopes are closed, sent again or given up. */
  tick(at: number): void {
    if (this.#open !== null && at - this.#open.openedAtMs >= SPREAD_MS) this.#close()
    while (this.#waiting[0] !== undefined && at - this.#waiting[0].closedAtMs > this.#options.holdMs) {
      this.#expire(this.#waiting[0])
    }
    this.#pump()
  }

  /** The same for an envelope in flight. */
  tickFlight(envelope: Envelope, at: number): void {
    const limitMs = this.#retries ? RESEND_WINDOW_MS : this.#options.holdMs
    if (at - envelope.closedAtMs > limitMs) this.#expire(envelope)
    else if (at >= envelope.dueAtMs) this.#send(envelope)
  }

  /** The connection is lost: what was under way may be stored or not. */
  down(envelopes: readonly Envelope[]): void {
    for (const envelope of envelopes) envelope.unanswered = 0
    if (!this.#retries) return
    for (const envelope of envelopes) this.#fail(envelope, 'ING_UNAVAILABLE')
    this.#failOpen('ING_UNAVAILABLE')
  }

  /** The connection is back. */
  up(envelopes: readonly Envelope[]): void {
    this.#refusing = null
    for (const envelope of envelopes) this.#send(envelope)
    if (this.#inFlight === 0) this.flush()
    else this.#pump()
  }

  /** Tells everybody who still waits. */
  giveUp(envelopes: readonly Envelope[]): void {
    this.#close()
    for (const envelope of [...envelopes, ...this.#waiting]) this.#fail(envelope, 'ING_UNAVAILABLE')
  }

  #isIdle(): boolean {
    return this.#inFlight === 0 && this.#waiting.length === 0 && this.#maySend()
  }

  /** Nothing is in flight: what is open leaves, but only after all that the sockets hold by now is in it. */
  #leaveSoon(): void {
    if (this.#leaves || this.#open === null || !this.#isIdle()) return
    this.#leaves = true
    this.#options.afterTurn(this)
  }

  #isHolding(): boolean {
    return this.#refusing !== null || !this.#options.wire.isUp()
  }

  /** False while the stream cannot be reached, and in the pause after it said "not now". */
  #maySend(): boolean {
    const { wire, now } = this.#options
    return wire.isUp() && (this.#refusing === null || now() >= this.#pausedUntilMs)
  }

  /** The open envelope, or a new one when a payload of `bytes` (or its session entry) no longer fits. */
  #roomFor(bytes: number, createsSession: boolean): Envelope {
    const envelope = this.#open
    if (envelope !== null) {
      const { writer, sessions } = envelope
      const full = !writer.fits(bytes) || writer.length + FRAME_HEADER_BYTES + bytes > this.#options.envelopeBytes
      const headerFull = createsSession && sessions.length + SESSION_ENTRY_CHARS > this.#options.sessionsMaxChars()
      if (!full && !headerFull) return envelope
      this.flush()
    }
    this.#open = this.#options.open(this, bytes)
    return this.#open
  }

  #close(): void {
    const envelope = this.#open
    if (envelope === null) return
    this.#open = null
    envelope.closedAtMs = this.#options.now()
    this.#waiting.push(envelope)
  }

  /** Sends what waits: all of it, or one at a time while the stream says "not now". */
  #pump(): void {
    if (this.#waiting.length === 0 || !this.#maySend()) return
    if (this.#refusing !== null && this.#inFlight > 0) return
    do {
      const envelope = this.#waiting.shift()
      if (envelope === undefined) return
      this.#inFlight++
      this.#options.flying.set(envelope.number, envelope)
      this.#send(envelope)
    } while (this.#refusing === null)
  }

  #send(envelope: Envelope): void {
    const { wire, meter, log, now } = this.#options
    envelope.dueAtMs = now() + Math.min(FIRST_ACK_WAIT_MS * 2 ** envelope.unanswered, LONGEST_ACK_WAIT_MS)
    // While the connection is down nothing is handed to the client: it might keep a reference to a buffer that is used again.
    if (!wire.isUp()) return
    if (envelope.sends++ > 0) meter.resent()
    const { messageId, sessions, number } = envelope
    try {
      const subject = sessions === '' ? subjectOf(this.partition) : sessionsSubjectOf(this.partition)
      wire.send(number, { subject, messageId, sessions, bytes: envelope.writer.finish() })
      envelope.unanswered++
      envelope.refusal = null
    } catch (error) {
      log.warn({ err: error, partition: this.partition }, 'an envelope could not be sent; it will be tried again')
    }
  }

  /** An envelope that was refused for the moment waits for its turn again, in order. */
  #putBack(envelope: Envelope): void {
    this.#options.flying.delete(envelope.number)
    this.#inFlight--
    const later = this.#waiting.findIndex(other => other.number > envelope.number)
    this.#waiting.splice(later < 0 ? this.#waiting.length : later, 0, envelope)
  }

  /** Refuses an envelope and the payloads that were collected behind it: they would be refused as well. */
  #refuseAll(refusal: Refusal, envelope: Envelope): void {
    const open = this.#open
    this.#open = null
    this.#fail(envelope, refusal)
    if (open !== null) this.#fail(open, refusal)
  }

  #failOpen(refusal: Refusal): void {
    const open = this.#open
    this.#open = null
    if (open !== null) this.#fail(open, refusal)
  }

  /** The time is over. "Full" only when nothing of it is in the stream, nor on its way there. */
  #expire(envelope: Envelope): void {
    const surelyAbsent = envelope.sends === 0 || (envelope.refusal === 'ING_FULL' && envelope.unanswered === 0)
    this.#fail(envelope, surelyAbsent && this.#refusing === 'ING_FULL' ? 'ING_FULL' : 'ING_UNAVAILABLE')
  }

  #fail(envelope: Envelope, code: Refusal): void {
    this.#options.meter.failed({ frames: envelope.waiters.length, code })
    this.#settle(envelope, { stored: false, code })
  }

  #settle(envelope: Envelope, outcome: PublishOutcome): void {
    if (this.#options.flying.delete(envelope.number)) this.#inFlight--
    else {
      const at = this.#waiting.indexOf(envelope)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
    this.#bytes -= envelope.writer.length - ENVELOPE_HEADER_BYTES
    this.#frames -= envelope.waiters.length
    if (outcome.stored && this.#inFlight === 0) {
      if (this.#waiting.length > 0) this.flush()
      else this.#leaveSoon()
    }
    const { waiters, starts } = envelope
    const bytes = envelope.writer.finish()
    for (let frame = 0; frame < waiters.length; frame++) {
      waiters[frame]?.settled(outcome, frame, bytes, starts[frame] as number)
    }
    const answered = outcome.stored || envelope.refusal !== null || envelope.sends === 0
    this.#options.settled(envelope, answered && envelope.unanswered === 0)
  }
}
