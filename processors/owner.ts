// One partition in the hands of this process: takes its cursor over, finishes what was left, and runs its lanes until it is told to
// stop or loses the partition. Everything here may end at any instant: the next owner continues from the cursor.

import { streamOf } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'
import { Outage } from '#runtime/outage.ts'
import { CallBook } from './calls.ts'
import type { OwnerShared, PartitionContext } from './context.ts'
import { insist } from './context.ts'
import { Corrector } from './corrector.ts'
import { type CursorKeeper, openCursor, Stopped } from './cursor.ts'
import { Fence } from './fence.ts'
import { Share } from './gate.ts'
import { Hold } from './hold.ts'
import { isHalt, LaneLoop } from './lane.ts'
import { freeOf, storedRanges } from './lanes.ts'
import type { Lease } from './lease.ts'
import { Mover } from './mover.ts'
import { sleep, within } from './pause.ts'
import { Placing } from './placing.ts'
import type { Lane, LaneKind } from './protocol.ts'
import { purgeStream, ReplayMarks } from './purge.ts'
import { openReader, type Reader } from './reader.ts'
import { rebuildWindow } from './rebuild.ts'
import { recoverIntents } from './recover.ts'
import { Relief } from './relief.ts'
import { ReplayDesk } from './replay.ts'
import { Verdicts } from './verdicts.ts'

/** A partition at work. */
export interface Owner {
  /** Resolves when nothing of the partition runs here any more: undefined after a stop, else why it ended. */
  readonly ended: Promise<unknown>
  /** What keeps a part of the partition from being worked on, while the rest is. */
  trouble(): string | undefined
  /** Lets the ranges in flight finish, up to `graceMs`; what isn't done by then is the next owner's to prove. */
  stop(graceMs: number): Promise<void>
}

/** How long what was aborted may take to notice it. */
const ABORT_MS = 1_000
const CHORES_MS = 1_000
const PURGE_MS = 10_000
/** Between two looks whether all lanes rest. */
const CALM_MS = 10
const LANE_KINDS: readonly LaneKind[] = ['live', 'backlog', 'bulk', 'suspect', 'replay']

/** Starts the work on `partition`; the caller holds `lease` and releases it after `ended`. */
export function startOwner(shared: OwnerShared, partition: number, lease: Lease, name: string): Owner {
  const owner = new PartitionOwner(shared, partition, lease, name)
  const ended = owner.run().then(
    () => undefined,
    (error: unknown) => error,
  )
  return {
    ended,
    trouble: () => owner.trouble(),
    stop: async graceMs => {
      owner.drain()
      const timer = setTimeout(() => owner.abort(), graceMs)
      // A question that nobody answers must not hold the stop up.
      await within(graceMs + ABORT_MS, ended)
      clearTimeout(timer)
    },
  }
}

class PartitionOwner {
  readonly #shared: OwnerShared
  readonly #partition: number
  readonly #lease: Lease
  readonly #name: string
  readonly #log: Log
  readonly #abort = new AbortController()
  readonly #signal: AbortSignal
  readonly #verdicts: Verdicts
  readonly #streamOutage: Outage
  readonly #storeOutage: Outage
  readonly #insertOutage: Outage
  readonly #marks: ReplayMarks
  /** Of lanes that have not begun. */
  readonly #readers = new Map<number, Reader>()
  readonly #loops = new Map<number, LaneLoop>()
  readonly #running = new Set<Promise<void>>()
  #context!: PartitionContext
  #desk!: ReplayDesk
  #relief!: Relief
  #hold: Hold | undefined
  #moving: Promise<unknown> = Promise.resolve()
  #draining = false
  #halted: Error | undefined
  #failure: { readonly error: unknown } | undefined
  #ended: () => void = () => {}
  /** Cuts, purges and the beginnings of replays, one after the other: each of them decides by what the others leave. */
  #turn: Promise<void> = Promise.resolve()
  #purgedAt = performance.now()

  constructor(shared: OwnerShared, partition: number, lease: Lease, name: string) {
    this.#shared = shared
    this.#partition = partition
    this.#lease = lease
    this.#name = name
    this.#log = shared.log.child({ partition })
    this.#signal = AbortSignal.any([this.#abort.signal, lease.lost])
    this.#verdicts = new Verdicts(shared.repeatWindow)
    this.#streamOutage = new Outage(this.#log, 'writing to the streams')
    this.#storeOutage = new Outage(this.#log, 'asking the store')
    this.#insertOutage = new Outage(this.#log, 'inserting')
    this.#marks = new ReplayMarks(shared.replayMs)
  }

  /** No new range after this. */
  drain(): void {
    this.#draining = true
    this.#hold?.close()
    this.#wake()
  }

  /** Leaves everything as it is. */
  abort(): void {
    this.#abort.abort()
    this.#wake()
  }

  trouble(): string | undefined {
    return this.#halted && `partition ${this.#partition}: ${this.#halted.message}`
  }

  async run(): Promise<void> {
    const { cursors } = this.#shared
    const [partition, signal] = [this.#partition, this.#signal]
    signal.addEventListener('abort', () => this.#wake())
    const options = { kv: cursors, partition, owner: this.#name, signal, outage: this.#streamOutage }
    const cursor = await openCursor(options)
    this.#context = this.#contextOf(cursor)
    this.#relief = new Relief(this.#context, this.#loops, () => this.#launchAll())
    this.#desk = new ReplayDesk(
      this.#context,
      () => this.#launchAll(),
      () => this.#chores(),
    )
    const { floor, lanes, intents, epoch } = cursor.value
    const kinds = lanes.map(lane => lane.kind)
    this.#log.info({ floor, lanes: kinds, intents: intents.length, epoch }, 'partition taken over')
    await this.#remember()
    const readers = this.#readers
    for (const lane of lanes) readers.set(lane.id, this.#read(lane))
    const ended = new Promise<void>(resolve => {
      this.#ended = resolve
    })
    let chores: NodeJS.Timeout | undefined
    try {
      const fence = this.#fence(epoch)
      await fence.raise()
      await recoverIntents(this.#context, readers)
      await this.#relief.split()
      await this.#launchAll()
      this.#moving = Promise.all([
        this.#beside(new Mover(this.#context, fence)),
        this.#beside(new Corrector(this.#context, fence)),
      ])
      chores = setInterval(() => this.#chores(), CHORES_MS)
      if (!this.#draining) this.#hold = this.#listen()
      await ended
    } finally {
      clearInterval(chores)
      this.#hold?.close()
      this.#desk.close()
      this.#abort.abort()
      this.#wake()
      // A cut that is under way may begin a lane yet.
      await this.#turn
      while (this.#running.size > 0) await Promise.all([...this.#running, this.#turn])
      await within(ABORT_MS, this.#moving)
      await Promise.all([...readers.values()].map(reader => reader.close()))
      this.#forgetGauges()
    }
    if (this.#failure) throw this.#failure.error
    if (this.#halted) throw this.#halted
  }

  #contextOf(cursor: CursorKeeper): PartitionContext {
    const { store, metrics } = this.#shared
    const [partition, signal, log] = [this.#partition, this.#signal, this.#log]
    const outages = { outage: this.#storeOutage, inserts: this.#insertOutage }
    const reversing = new Share(1)
    return {
      shared: this.#shared,
      partition,
      log,
      signal,
      cursor,
      settling: { partition, store, cursor, lease: this.#lease, signal, reversing, ...outages, log, metrics },
      verdicts: this.#verdicts,
      calls: new CallBook(() => cursor.value),
      placing: new Placing({ kv: this.#shared.cursors, partition, cursor, links: this.#shared.links }),
      streamOutage: this.#streamOutage,
      draining: () => this.#draining,
      holding: () => this.#hold?.holds ?? false,
      setAside: (lane, to) => this.#inTurn(() => this.#relief.setAside(lane, to)),
      tell: async () => {
        for (const loop of this.#loops.values()) await loop.moveFloor()
      },
      floorMoved: () => this.#floorMoved(),
    }
  }

  #fence(epoch: number): Fence {
    const [partition, signal] = [this.#partition, this.#signal]
    return new Fence({ store: this.#shared.store, partition, epoch, outage: this.#storeOutage, signal })
  }

  /** Holds still when a backup asks for it. */
  #listen(): Hold {
    const { settling, partition, signal, log } = this.#context
    const calm = async (over: AbortSignal): Promise<void> => {
      // Chores that have begun; later ones leave at once.
      await this.#inTurn(async () => {})
      while (!over.aborted && [...this.#loops.values()].some(loop => !loop.rests)) await sleep(CALM_MS, over)
      if (over.aborted) throw new Stopped()
    }
    const { reversing } = settling
    const wake = (): void => this.#wake()
    return new Hold({ nc: this.#shared.nc, partition, name: this.#name, signal, log, reversing, calm, wake })
  }

  /** Work on rows that are stored, until the partition is given up. */
  async #beside(work: Mover | Corrector): Promise<void> {
    try {
      await work.run()
    } catch (error) {
      if (error instanceof Stopped) return
      this.#failure ??= { error }
      this.#ended()
    }
  }

  /** The memory of identities: what is stored, and for a replay what stood before its next position. */
  async #remember(): Promise<void> {
    const { cursor } = this.#context
    const { store, repeatWindow: max } = this.#shared
    const partition = this.#partition
    const ranges = storedRanges(cursor.value)
    await insist(this.#storeOutage, this.#signal, () =>
      rebuildWindow(store, this.#verdicts.main, { partition, ranges, max }),
    )
    const replay = cursor.value.lanes.find(lane => lane.kind === 'replay')
    if (replay) await this.#rememberBefore(replay)
  }

  async #rememberBefore(replay: Lane): Promise<void> {
    const { store, repeatWindow: max } = this.#shared
    const options = { partition: this.#partition, ranges: [{ after: 0, through: replay.floor }], max }
    await insist(this.#storeOutage, this.#signal, () => rebuildWindow(store, this.#verdicts.beginReplay(), options))
  }

  // ---- lanes --------------------------------------------------------------------------------------------------------------

  #read(lane: Lane): Reader {
    return openReader({
      nc: this.#shared.nc,
      stream: streamOf(this.#partition),
      from: lane.floor + 1,
      // One message is all that is looked at by itself.
      bufferBytes: lane.kind === 'suspect' ? 0 : this.#shared.blockBytes * 2,
      log: this.#log,
    })
  }

  #launch(lane: Lane, reader: Reader): void {
    const loop = new LaneLoop(this.#context, lane, reader)
    this.#loops.set(lane.id, loop)
    const running = loop
      .run()
      .catch((error: unknown) => {
        if (isHalt(error)) this.#halt(error)
        else this.#failure ??= { error }
      })
      .then(async () => {
        await reader.close()
        this.#loops.delete(lane.id)
        this.#forgetGauges(loop.kind)
        this.#running.delete(running)
        if (loop.kind === 'replay') this.#chores()
        if (this.#failure || this.#running.size === 0) this.#ended()
      })
    this.#running.add(running)
  }

  #halt(error: Error): void {
    this.#halted = error
    this.#log.error({ err: error }, 'a message of a newer version: what stands behind it waits for a newer build')
  }

  /** Starts the lanes of the cursor that are not at work yet. */
  async #launchAll(): Promise<void> {
    for (const lane of this.#context.cursor.value.lanes) {
      if (this.#loops.has(lane.id)) continue
      const reader = this.#readers.get(lane.id)
      this.#readers.delete(lane.id)
      // A replay that an earlier owner began is remembered already.
      if (lane.kind === 'replay' && !reader) await this.#rememberBefore(lane)
      this.#launch(lane, reader ?? this.#read(lane))
    }
  }

  // ---- chores -------------------------------------------------------------------------------------------------------------

  #chores(): void {
    this.#report()
    this.#inTurn(async () => {
      if (this.#draining || this.#signal.aborted || this.#hold?.holds) return
      await this.#relief.look()
      await this.#desk.look()
      // What a backup is reading stays.
      if (performance.now() - this.#purgedAt < PURGE_MS || this.#hold?.keeps) return
      this.#purgedAt = performance.now()
      await this.#purge()
      await this.#context.placing
        .clean()
        .catch((error: unknown) => this.#log.debug({ err: error }, 'slots are not emptied'))
    }).catch((error: unknown) => {
      if (error instanceof Stopped) return
      this.#failure ??= { error }
      this.#ended()
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work)
    this.#turn = turn.then(
      () => {},
      () => {},
    )
    return turn
  }

  async #purge(): Promise<void> {
    const { cursor } = this.#context
    const now = performance.now()
    this.#marks.reached(cursor.value.floor, now)
    const limits = { expired: this.#marks.expired(now), floor: freeOf(cursor.value) }
    try {
      const through = await purgeStream(this.#shared.jsm, streamOf(this.#partition), limits)
      if (through > 0) this.#log.debug({ through }, 'stream purged behind the floor')
    } catch (error) {
      // The next round tries again; what was expired stays expired.
      this.#log.debug({ err: error }, 'purge failed')
    }
  }

  #floorMoved(): void {
    const { floor } = this.#context.cursor.value
    this.#marks.reached(floor, performance.now())
    this.#shared.metrics.floor.set({ partition: String(this.#partition) }, floor)
  }

  #wake(): void {
    for (const loop of this.#loops.values()) loop.wake()
  }

  #report(): void {
    const { metrics } = this.#shared
    const partition = String(this.#partition)
    const sums = new Map<string, { messages: number; bytes: number; seconds: number }>()
    for (const loop of this.#loops.values()) {
      const { messages, bytes, oldestMs } = loop.lag()
      const seconds = oldestMs === undefined ? 0 : Math.max(0, Date.now() - oldestMs) / 1000
      const sum = sums.get(loop.kind) ?? { messages: 0, bytes: 0, seconds: 0 }
      sums.set(loop.kind, {
        messages: sum.messages + messages,
        bytes: sum.bytes + bytes,
        seconds: Math.max(sum.seconds, seconds),
      })
    }
    for (const [lane, { messages, bytes, seconds }] of sums) {
      metrics.lagMessages.set({ partition, lane }, messages)
      metrics.lagBytes.set({ partition, lane }, bytes)
      metrics.lagSeconds.set({ partition, lane }, seconds)
    }
    metrics.window.set({ partition }, this.#verdicts.size)
    metrics.bytesInFlight.set(this.#shared.gate.bytes.used)
  }

  /** Of a kind of lane that ended, or of all. */
  #forgetGauges(kind?: string): void {
    const { lagMessages, lagBytes, lagSeconds } = this.#shared.metrics
    const partition = String(this.#partition)
    const kinds = kind === undefined ? LANE_KINDS : [kind]
    for (const lane of kinds) for (const gauge of [lagMessages, lagBytes, lagSeconds]) gauge.remove({ partition, lane })
  }
}
