// The loop of one lane: read a range, let a worker parse it, judge repeats, record the intent, insert, move the floor. Several
// ranges may be inserted at once while the next one is parsed. Everything here may end at any instant: the next owner continues
// from the cursor.
import { judgementOf } from './calls.ts'
import type { PartitionContext } from './context.ts'
import { Stopped } from './cursor.ts'
import { scopeOf } from './lanes.ts'
import { Halted, type Prepared, prepareRange, Slow } from './prepare.ts'
import {
  emptyIntent,
  endOf,
  finish,
  INTENTS_MAX,
  type Intent,
  intentsOf,
  type Lane,
  type LaneKind,
  laneOf,
  propose,
} from './protocol.ts'
import { storeRange, unplaced } from './range.ts'
import type { Reader, StreamMessage } from './reader.ts'
import { Rhythm } from './rhythm.ts'
import { organizationWeights } from './weight.ts'

/** What a lane has before it. */
export interface LaneLag {
  readonly messages: number
  readonly bytes: number
  /** When its oldest unstored message was stored in the stream, Unix ms; undefined when there is none. */
  readonly oldestMs: number | undefined
}

/** The cursor is one record, whose size the server bounds: a range whose intent is larger is cut in halves, … */
const INTENT_MAX_BYTES = 48 * 1024
/** … and smaller ones than this fill it in no case. */
const SMALL_BYTES = 8 * 1024

/** The range's intent is too large. */
class Large extends Error {}

const sizeOf = (record: object): number => Buffer.byteLength(JSON.stringify(record))

/** A recorded range on its way. */
interface Flight {
  readonly intent: Intent
  readonly messages: readonly StreamMessage[]
  readonly weight: number
  stored: boolean
}

/** One lane at work. */
export class LaneLoop {
  readonly id: number
  readonly reader: Reader
  readonly #context: PartitionContext
  /** Recorded and not yet behind the floor, in order. */
  #flights: Flight[] = []
  #failure: { readonly error: unknown } | undefined
  readonly #rhythm: Rhythm
  #preparing: readonly StreamMessage[] = []
  /** Cut, and put back to be cut anew: what stands from `#slowAt` on. */
  #held: readonly StreamMessage[] = []
  /** Messages that the next cuts of what was put back may hold. */
  #heldMax = Number.POSITIVE_INFINITY
  /** A message that keeps its thread for long. */
  #slowAt = 0
  /** Never read past this, whatever the cursor says yet. */
  #limit = Number.POSITIVE_INFINITY
  #cutThrough: number
  #rests = false
  #kind: LaneKind
  #wake: () => void = () => {}

  constructor(context: PartitionContext, lane: Lane, reader: Reader) {
    this.#context = context
    this.id = lane.id
    this.#rhythm = new Rhythm(context.shared.insertIntervalMs)
    this.#kind = lane.kind
    this.reader = reader
    this.#cutThrough = endOf(context.cursor.value, lane.id)
    reader.onArrival = () => this.wake()
  }

  /** What the lane is for, or was when it ended. */
  get kind(): LaneKind {
    this.#kind = this.#lane()?.kind ?? this.#kind
    return this.#kind
  }

  /** True while it holds still: nothing of it is on its way, and the cursor knows of all that is stored. */
  get rests(): boolean {
    return this.#rests
  }

  /** Something happened that the loop may wait for. */
  wake(): void {
    this.#wake()
  }

  /** Lets the lane end at `at` or, when it has read further, there; returns which. */
  bound(at: number): number {
    this.#limit = Math.max(at, this.#cutThrough)
    return this.#limit
  }

  /** Takes `bound` back: the cursor says where the lane ends, if it does. */
  unbound(): void {
    this.#limit = Number.POSITIVE_INFINITY
  }

  /** Bytes of what waits in memory, by organization; those that the lane leaves to others count too. */
  weights(): ReadonlyMap<string, number> {
    const weights = new Map<string, number>()
    for (const { data } of [...this.#held, ...this.reader.waiting]) organizationWeights(data, weights)
    return weights
  }

  /** What is not stored yet. */
  lag(): LaneLag {
    const lane = this.#lane()
    const flying = this.#flying()
    const oldest = flying[0]?.messages[0] ?? this.#preparing[0] ?? this.#held[0]
    const oldestMs = oldest?.storedAtMs ?? this.reader.oldestMs
    const inFlight = [...flying.map(flight => flight.messages), this.#preparing, this.#held].flat()
    const weight = inFlight.reduce((sum, message) => sum + message.data.length, 0)
    if (!lane) return { messages: 0, bytes: 0, oldestMs: undefined }
    const { weight: waiting, pendingBytes, length, pending } = this.reader
    if (lane.end === null)
      return { messages: inFlight.length + length + pending, bytes: weight + waiting + pendingBytes, oldestMs }
    // The reader sees beyond the end: positions tell.
    const messages = Math.max(0, lane.end - lane.floor)
    const each =
      inFlight.length + length + pending === 0
        ? 0
        : (weight + waiting + pendingBytes) / (inFlight.length + length + pending)
    return { messages, bytes: Math.round(messages * each), oldestMs: oldestMs ?? undefined }
  }

  /** Resolves when the lane is read to its end or drained. @throws Halted, Stopped, Lost. */
  async run(): Promise<void> {
    const ended = this.#context.shared.gate.courtesy.watch(() =>
      this.kind === 'live' ? this.lag().oldestMs : undefined,
    )
    try {
      await this.#follow()
    } catch (error) {
      // What stands before a message that only a newer build can read is brought to its end.
      if (isHalt(error)) await this.#finishFlights()
      throw error
    } finally {
      ended()
    }
  }

  async #follow(): Promise<void> {
    for (;;) {
      const messages = await this.#cut()
      if (!messages) break
      if (messages.length === 0) continue
      if (messages[0]?.sequence === this.#slowAt && (await this.#leave(this.#slowAt))) break
      this.#preparing = messages
      const weight = messages.reduce((sum, message) => sum + message.weight, 0)
      const ready = await this.#prepare(messages, weight)
      if (!ready) continue
      const [prepared, release] = ready
      await this.#roomForIntent(prepared.intent)
      const flight = await this.#record(prepared, weight)
      this.#preparing = []
      while (this.#flying().length > this.#context.shared.insertsInFlight) await this.#pause()
      void this.#rhythm.during(() => this.#insert(prepared, flight)).finally(release)
    }
    await this.#finishFlights()
  }

  async #finishFlights(): Promise<void> {
    while (this.#flying().length > 0) await this.#pause()
    await this.moveFloor()
  }

  /** Tells the cursor of everything that is stored. */
  async moveFloor(): Promise<void> {
    this.#check()
    if (!this.#flights.some(flight => flight.stored)) return
    await this.#write(cursor => cursor)
  }

  /**
   * The messages of the next range, null when there are to be no more. A full block is cut at once; less than that only when
   * nothing is being inserted and the last insert began an interval ago or more: group commit.
   */
  async #cut(): Promise<readonly StreamMessage[] | null> {
    const { shared, cursor, draining, holding } = this.#context
    const { reader } = this
    for (;;) {
      this.#check()
      const lane = this.#lane()
      if (draining() || !lane) return null
      if (holding()) {
        await this.#rest()
        continue
      }
      if (this.#held.length > 0) return this.#cutHeld()
      const end = Math.min(lane.end ?? Number.POSITIVE_INFINITY, this.#limit)
      if (endOf(cursor.value, this.id) >= end) {
        if (lane.end !== null && endOf(cursor.value, this.id) >= lane.end) return null
        // Cut short, perhaps, and not told so by the cursor yet.
        await this.#pause(50)
        continue
      }
      const waitMs = this.#rhythm.waitMs()
      const idle = this.#flying().length === 0
      if (reader.weight >= shared.blockBytes || (idle && reader.length > 0 && waitMs <= 0)) {
        const messages = reader.take(shared.blockBytes, end)
        if (messages.length === 0) await this.#passHole(end)
        else this.#cutThrough = (messages.at(-1) as StreamMessage).sequence
        return messages
      }
      // Nothing follows that could carry the floor along.
      if (idle && reader.length === 0) await this.moveFloor()
      if (reader.length > 0 && idle) await this.#pause(Math.max(1, waitMs))
      else if (reader.length === 0 || !idle) await this.#pause()
    }
  }

  /** Waits for what is on its way, and then for something to change. */
  async #rest(): Promise<void> {
    if (this.#flying().length === 0) await this.moveFloor()
    // It may be over by now, and nobody would wake the lane again.
    if (!this.#context.holding()) return
    this.#rests = this.#flying().length === 0
    await this.#pause()
    this.#rests = false
  }

  /** A slow message alone, and what stands before one without it. */
  #cutHeld(): readonly StreamMessage[] {
    const slow = this.#held.findIndex(message => message.sequence === this.#slowAt)
    const n = Math.min(this.#heldMax, slow === -1 ? this.#held.length : Math.max(1, slow))
    const messages = this.#held.slice(0, n)
    this.#held = this.#held.slice(n)
    if (this.#held.length === 0) this.#heldMax = Number.POSITIVE_INFINITY
    return messages
  }

  /** Leaves the next message to a lane of its own, and what stands behind it to another one; false when there can't be more lanes. */
  async #leave(sequence: number): Promise<boolean> {
    const left = await this.#context.setAside(this.id, sequence)
    if (left) this.#held = []
    else this.#check()
    return left
  }

  /** Undefined when the range has to be cut anew: before a slow message, or in halves, when its intent would be too large. */
  async #prepare(
    messages: readonly StreamMessage[],
    weight: number,
  ): Promise<readonly [Prepared, () => void] | undefined> {
    const { shared, partition, signal, cursor, verdicts, placing, log } = this.#context
    const { gate } = shared
    const lane = this.#lane() as Lane
    const urgent = lane.kind === 'live'
    const entitled = this.#flying().length === 0
    const alone = lane.kind === 'suspect'
    // What is read through in a moment gains nothing by waiting, and what stands in it is new.
    if (!urgent && !alone && this.lag().bytes * 2 > shared.backlogBytes) await gate.courtesy.yield(signal)
    const release = await gate.bytes.take(weight, { urgent, entitled, signal })
    const threads = alone ? gate.apart : gate.background
    const leave = urgent ? () => {} : await threads.take(1, { urgent, entitled: false, signal })
    // A range that is read again is nobody's to wait for.
    const waits = lane.kind === 'replay' || messages[0]?.sequence === this.#slowAt
    const slow = alone ? { slow: 'alone' as const } : waits ? {} : { slow: 'name' as const }
    try {
      const from = endOf(cursor.value, this.id) + 1
      const to = (messages.at(-1) as StreamMessage).sequence
      const { generation } = cursor.value
      const name = { lane: this.id, from }
      const units = verdicts.open({ replay: lane.kind === 'replay', from, to })
      const judgement = judgementOf(this.#context, units, { lane: this.id, from, to })
      const prepared = await prepareRange({ pool: shared.pool, partition, signal }, judgement, messages, {
        ...{ lane: this.id, from, ...scopeOf(lane), generation, dead: [], repeats: null, ...slow },
        classes: shared.classes(),
        reading: shared.readings.now(),
        // What is read again may no longer reveal what was known of it.
        place: lane.kind === 'replay' ? unplaced(this.#context) : loose => placing.place(loose, name),
      })
      if (messages.length > 1 && sizeOf(prepared.intent) > INTENT_MAX_BYTES) {
        judgement.undo()
        placing.settled(name)
        throw new Large()
      }
      shared.metrics.parseSeconds.observe(prepared.workMs / 1000)
      for (const [reason, count] of Object.entries(prepared.unpriced)) shared.metrics.unpriced.inc({ reason }, count)
      for (const [reason, count] of Object.entries(prepared.fallbacks)) shared.metrics.fallbacks.inc({ reason }, count)
      if (prepared.fault !== '')
        log.error({ from, to, reason: prepared.fault }, 'a packer failed; its payload was read as objects')
      shared.metrics.gcSeconds.inc(prepared.gcMs / 1000)
      return [prepared, release]
    } catch (error) {
      release()
      if (error instanceof Slow) this.#slowAt = error.sequence
      else if (error instanceof Large) this.#heldMax = Math.ceil(messages.length / 2)
      else throw error
      this.#held = [...messages, ...this.#held]
      this.#preparing = []
      return undefined
    } finally {
      leave()
    }
  }

  /** One write: the floor over what is stored, and the new intent. A replay takes back what stands there first. */
  async #record(prepared: Prepared, weight: number): Promise<Flight> {
    const clearing = this.#lane()?.kind === 'replay' ? 1 : 0
    const intent = { ...prepared.intent, clearing }
    const flight: Flight = { intent, messages: prepared.messages, weight, stored: false }
    await this.#write(cursor => propose(cursor, intent))
    this.#context.placing.settled(intent)
    this.#flights.push(flight)
    return flight
  }

  async #insert(prepared: Prepared, flight: Flight): Promise<void> {
    try {
      await storeRange(this.#context, { ...prepared, intent: flight.intent }, false)
      flight.stored = true
    } catch (error) {
      this.#failure = { error }
    }
    this.wake()
  }

  /** The messages up to the lane's end are gone from the stream: only an empty range can pass them. */
  async #passHole(end: number): Promise<void> {
    const { cursor, log } = this.#context
    const from = endOf(cursor.value, this.id) + 1
    log.error({ from, to: end }, 'the last messages of a lane are gone from the stream')
    const scope = scopeOf(this.#lane() as Lane)
    const range = { lane: this.id, ...scope, generation: cursor.value.generation, from, to: end }
    const intent: Intent = { ...emptyIntent(range), done: true }
    await this.#write(value => propose(value, intent))
  }

  /** Writes `edit` and, with it, that stored ranges are finished. */
  async #write(edit: Parameters<PartitionContext['cursor']['write']>[0]): Promise<void> {
    let told: readonly Flight[] = []
    await this.#context.cursor.write(cursor => {
      told = this.#flights.filter(flight => flight.stored)
      return edit(told.reduce((value, flight) => finish(value, flight.intent), cursor))
    })
    this.#flights = this.#flights.filter(flight => !told.includes(flight))
    this.#context.floorMoved()
  }

  /** One slow insert at the head of the lane must not let the list of intents behind it grow without end. */
  async #roomForIntent(intent: Intent): Promise<void> {
    const { cursor, shared } = this.#context
    const size = sizeOf(intent)
    const room = (shared.nc.info?.max_payload ?? 1024 * 1024) / 2 - size
    const isFull = (): boolean =>
      intentsOf(cursor.value, this.id).length >= INTENTS_MAX - 1 ||
      (size > SMALL_BYTES && this.#flights.length > 0 && sizeOf(cursor.value) > room)
    while (isFull()) {
      if (this.#flights.some(flight => flight.stored)) await this.moveFloor()
      else await this.#pause()
    }
  }

  /** Recorded, not stored. */
  #flying(): Flight[] {
    return this.#flights.filter(flight => !flight.stored)
  }

  #lane(): Lane | undefined {
    return laneOf(this.#context.cursor.value, this.id)
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error
    if (this.#context.signal.aborted) throw new Stopped()
  }

  /** Resolves at the next wake, after `ms` at the latest; throws what went wrong meanwhile. */
  async #pause(ms = 60_000): Promise<void> {
    this.#check()
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = () => {}
        resolve()
      }
    })
    this.#check()
  }
}

/** True for an error that leaves the other lanes of a partition unharmed. */
export const isHalt = (error: unknown): error is Halted => error instanceof Halted
