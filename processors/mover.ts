// The owner's look at finished ranges, of all partitions: when a link or a span without a conversation of its own has been stored,
// rows of this partition may have to go home. Up to where it has looked stands in a key, written by compare-and-set; looking twice
// does no harm, and so a move that was cut short is found by looking again.

import { randomUUID } from 'node:crypto'
import { movesKeyOf } from '#proto/streams.ts'
import { Outage } from '#runtime/outage.ts'
import type { BlockRecord } from './blocks.ts'
import { capturedOf, copyCaptures, dropCaptures } from './captures.ts'
import type { PartitionContext } from './context.ts'
import { insist } from './context.ts'
import { compareAndSet, Stopped } from './cursor.ts'
import type { Fence } from './fence.ts'
import { type FinishedRanges, followFinished, type PlacedRecord } from './finished-ranges.ts'
import { queryIdOf } from './insert.ts'
import { type Begun, type Part, slicesBySequence, slicesOf } from './move-slices.ts'
import {
  type AwayRows,
  countLost,
  hoursOf,
  type LinkedTrace,
  type Lost,
  MOVE_ROWS,
  moveHome,
  type Positions,
  positionsOf,
  type Slice,
  settledCondition,
} from './moves.ts'
import { OlderTraces } from './older-traces.ts'
import { sleep } from './pause.ts'
import { persevere } from './persevere.ts'
import { copy, leftOf } from './staged.ts'

/** What stands in the partition's key. */
export interface MoverState {
  readonly version: 1
  readonly owner: string
  /** Every record up to here was looked at. */
  readonly at: number
  /**
   * A move is under way, so that what rewrites rows from elsewhere waits. With pairs, of a build that staged them: they stand whole in
   * `corrections`, and may be in `events` in part.
   */
  readonly move: { readonly id: string; readonly pairs: number } | null
}

/** Between two rounds as long as the last one took, up to this: what is revealed meanwhile moves together. */
const ROUND_MS = 300
/** Until a range whose record is there already has been told to the cursor. */
const LOOK_MS = 20
const IDLE_MS = 5_000
/** Spans and links that one round looks at. */
const ROUND_UNITS = 200_000
const ROUND_RECORDS = 2_000
/** Records without anything to do are passed in memory, and told now and then: what a successor looks at again is bounded. */
const TELL_RECORDS = 2_000

const unitsOf = ({ loose = 0, rows: { links = 0 } }: BlockRecord): number => loose + links

/** Moves the rows of one partition until its signal aborts or it is drained. */
export class Mover {
  readonly #context: PartitionContext
  readonly #fence: Fence
  readonly #outage: Outage
  readonly #older: OlderTraces
  #state: MoverState
  #revision = 0
  #told = 0
  /** Units of the records since then. */
  #untold = 0

  constructor(context: PartitionContext, fence: Fence) {
    this.#context = context
    this.#fence = fence
    this.#outage = new Outage(context.log, 'moving rows')
    const { settling, partition, placing, log } = context
    this.#older = new OlderTraces({ store: settling.store, partition, firsts: placing.firsts, log })
    this.#state = { version: 1, owner: context.cursor.value.owner, at: 0, move: null }
  }

  /** Runs until it is told to stop. @throws Lost, Stopped. */
  async run(): Promise<void> {
    await this.#open()
    await this.#insist(() => this.#alone(() => this.#finish()))
    const finished = followFinished({ ...this.#context.shared, ...this.#context }, this.#state.at)
    while (!this.#context.draining()) {
      this.#check()
      const round = this.#next(finished)
      if (round.length === 0) await this.#wait(finished)
      else {
        const startedAt = performance.now()
        const moved = await this.#look(round)
        finished.waiting.splice(0, round.length)
        await this.#pass(round, moved)
        await sleep(Math.min(ROUND_MS, performance.now() - startedAt), this.#context.signal)
      }
    }
  }

  async #wait(finished: FinishedRanges): Promise<void> {
    if (finished.waiting.length === 0) return finished.changed(IDLE_MS)
    // A range that is stored is told to the cursor with the next one; rows that have to go home don't wait for that.
    await this.#context.tell()
    if (this.#next(finished).length === 0) await finished.changed(LOOK_MS)
  }

  /** The records of the next round, up to the first whose range is not finished in the cursor. */
  #next({ waiting }: FinishedRanges): PlacedRecord[] {
    let units = 0
    const end = waiting.findIndex(({ record }, i) => {
      units += unitsOf(record)
      return i === ROUND_RECORDS || units > ROUND_UNITS || this.#isOpen(record)
    })
    // One range is looked at however much it holds.
    if (end === 0 && !this.#isOpen((waiting[0] as PlacedRecord).record)) return waiting.slice(0, 1)
    return end === -1 ? waiting.slice() : waiting.slice(0, end)
  }

  /** Rows of a range may be moved once nobody comes back to count them. */
  #isOpen(record: BlockRecord): boolean {
    const { partition, cursor } = this.#context
    if (record.partition !== partition || ((record.loose ?? 0) === 0 && record.placed === undefined)) return false
    return cursor.value.intents.some(
      ({ done, from, to, only, without }) =>
        !done &&
        from === record.from &&
        to === record.to &&
        String([only, '', without]) === String([record.only, '', record.without]),
    )
  }

  /** True when there was something to look for. */
  async #look(round: readonly PlacedRecord[]): Promise<boolean> {
    const { cursor } = this.#context
    // Of whatever else is settled from now on another record tells: a row and its capture are both seen by a round, or neither.
    const settled = settledCondition(cursor.value)
    const touched = this.#touchedBy(round)
    const last = (round.at(-1) as PlacedRecord).position
    const traces = await this.#insist(() => this.#timed('links', () => this.#linked(touched, last)))
    let looked = false
    for (const some of slicesOf(traces)) {
      const split = await this.#insist(() => this.#timed('older', () => this.#split(some)))
      // Of most traces nothing stands in this partition that could go home.
      if (split.recent.length + split.older.length === 0) continue
      if (!looked) await this.#write({ ...this.#state, move: { id: randomUUID(), pairs: 0 } })
      looked = true
      await this.#bring(split, settled)
    }
    return looked
  }

  /** Brings rows of these traces home. */
  async #bring({ recent, older }: Split, settled: string): Promise<void> {
    const traces = [...recent.map(({ trace }) => trace), ...older]
    const captured = recent.flatMap(({ trace, begin }) => (begin.captured ? [trace] : []))
    // Before their rows: what still stands elsewhere is how whoever comes next finds a trace again.
    await this.#insist(() => this.#alone(() => this.#captures({ traces, captured, older, settled })))
    for (const part of [...slicesBySequence(recent), { traces: older, from: 0, spans: Number.POSITIVE_INFINITY }]) {
      // Others may take rows of this partition back between two moves.
      for (let more = part.traces.length > 0; more; ) {
        this.#check()
        more = await this.#insist(() => this.#alone(() => this.#home(part, settled)))
      }
    }
  }

  /** Records of which links are looked at, and what rows of theirs may be away from home. */
  #touchedBy(round: readonly PlacedRecord[]): Touched {
    const { partition, shared } = this.#context
    const own = round.filter(({ record }) => record.partition === partition)
    this.#older.stored(own.map(({ record }) => record))
    const records = [...round]
    const placed: Positions[] = []
    for (const { record, position } of own) {
      if (record.placed === undefined) continue
      // Links that were stored while the range was, and of which it may not have known.
      const missed = shared.links?.between(record.placed.revision, position)
      if (missed) records.push(...missed)
      else placed.push(record)
    }
    const loose = own.map(({ record }) => record).filter(record => (record.loose ?? 0) > 0)
    return { records, rows: positionsOf(loose), placed: positionsOf(placed) }
  }

  /** Traces of which a link is known. Links are asked for once a process, rows of this partition by their owner. */
  async #linked({ records, ...away }: Touched, last: number): Promise<readonly LinkedTrace[]> {
    const { linked } = this.#context.shared
    const told = await linked.tracesOf(records)
    const found = await linked.tracesAway(away, last)
    // What was asked for rows was asked last.
    return found.length === 0 ? told : [...new Map([...told, ...found].map(one => [one.provisional, one])).values()]
  }

  /** Traces by where their rows may stand: from the first that this owner has read on, or before that. */
  async #split(traces: readonly LinkedTrace[]): Promise<Split> {
    const { placing } = this.#context
    const recent = traces.flatMap(trace => {
      const begin = placing.firsts.of(trace.provisional)
      return begin === undefined ? [] : [{ trace, begin }]
    })
    const older = await this.#older.of(traces)
    if (older.length === 0) return { recent, older }
    const all = new Set(older)
    return { recent: recent.filter(({ trace }) => !all.has(trace)), older }
  }

  /** Does it until it succeeds; between two tries others may take rows of this partition back. */
  async #insist<T>(work: () => Promise<T>): Promise<T> {
    const check = (): void => this.#check()
    return persevere(work, { check, outage: this.#outage, signal: this.#context.signal })
  }

  /** Nobody else takes rows of this partition back meanwhile. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const { settling, signal } = this.#context
    const release = await settling.reversing.take(1, { urgent: false, entitled: false, signal })
    return work().finally(release)
  }

  /** Moves some of what is not at home; true when there may be more. May be repeated from anywhere. */
  async #home({ traces, from, hours, spans }: Part, settled: string): Promise<boolean> {
    const { partition, settling, signal } = this.#context
    const { store, lease } = settling
    const slice: Slice = { partition, traces, settled: this.#stillOf(settled), from }
    const standing = hours ?? (await this.#timed('hours', () => hoursOf(store, slice)))
    if (!standing) return false
    await lease.fresh(signal)
    return this.#move({ ...slice, ...standing, few: spans <= MOVE_ROWS })
  }

  /** What was settled and still is: a replay may have begun since. */
  #stillOf(settled: string): string {
    const now = settledCondition(this.#context.cursor.value)
    return now === settled ? settled : `(${settled}) AND (${now})`
  }

  /** Lets homes know what was captured under stand-ins: of what this owner has read it knows where that was. */
  async #captures({ traces, captured, older, settled }: Captures): Promise<void> {
    const { partition, settling } = this.#context
    const { store } = settling
    const slice: Slice = { partition, traces, settled: this.#stillOf(settled), from: 0 }
    await this.#timed('captures', async () => {
      const others = await capturedOf(store, { ...slice, traces: older })
      await copyCaptures(store, { ...slice, traces: [...captured, ...others] })
    })
    await this.#timed('drop', () => dropCaptures(store, slice))
  }

  /** Moves what is not at home, up to the size of one move; true when there may be more. */
  async #move(lost: Lost): Promise<boolean> {
    const { settling, shared, log } = this.#context
    const { store } = settling
    const { moveRows = MOVE_ROWS } = shared
    const { standing, token } = this.#fence
    const moving = { move: randomUUID(), rows: moveRows, standing, queryId: queryIdOf(store, token) }
    const rows = await this.#timed('move', () => moveHome(store, lost, moving)).catch(async (error: unknown) => {
      // It may run, or arrive only now: nothing else happens to the rows before that is out of the question.
      await this.#fence.raise()
      throw error
    })
    // An answer that does not say what was done proves nothing.
    if (rows === undefined) {
      const left = await this.#timed('count', () => countLost(store, lost))
      if (left > 0) throw new Error(`move ${moving.move} says nothing, and ${left} rows are not at home`)
      return false
    }
    if (rows > 0) {
      shared.metrics.moved.inc(rows)
      log.debug({ move: moving.move, rows }, 'spans moved to the conversation of their trace')
    }
    return rows >= moveRows
  }

  /** Copies the move that is found, if a build before has staged it, until nothing of it is left, and says so. */
  async #finish(): Promise<void> {
    const { move } = this.#state
    if (!move) return
    const { partition, settling, signal, log, shared } = this.#context
    const { store, lease } = settling
    while ((await this.#timed('left', () => leftOf(store, partition, move.id))) > 0) {
      this.#check()
      await lease.fresh(signal)
      const { standing, token } = this.#fence
      const copying = { partition, move: move.id, standing, queryId: queryIdOf(store, token) }
      await this.#timed('copy', () => copy(store, copying)).catch(async (error: unknown) => {
        await this.#fence.raise()
        throw error
      })
    }
    await this.#write({ ...this.#state, move: null })
    shared.metrics.moved.inc(move.pairs)
    if (move.pairs > 0)
      log.info({ move: move.id, rows: move.pairs }, 'a move that a build before has staged is finished')
  }

  // ---- the key ------------------------------------------------------------------------------------------------------------

  /** Takes the key over, so that whatever an earlier owner still writes fails. */
  async #open(): Promise<void> {
    const { shared, partition, signal, streamOutage, cursor } = this.#context
    const entry = await insist(streamOutage, signal, () => shared.cursors.get(movesKeyOf(partition)))
    this.#revision = entry?.revision ?? 0
    const found = entry?.operation === 'PUT' ? entry.json<MoverState>() : this.#state
    await this.#write({ ...found, owner: `${cursor.value.owner}/${cursor.value.epoch}` })
  }

  async #pass(round: readonly PlacedRecord[], tell: boolean): Promise<void> {
    const at = (round.at(-1) as PlacedRecord).position
    this.#state = { ...this.#state, at, move: null }
    this.#untold += round.reduce((sum, { record }) => sum + unitsOf(record), 0)
    const isFar = at - this.#told >= TELL_RECORDS || this.#untold >= ROUND_UNITS
    if (tell || isFar) await this.#write(this.#state)
  }

  async #write(state: MoverState): Promise<void> {
    const { shared, partition, signal, streamOutage: outage } = this.#context
    const options = { kv: shared.cursors, partition, signal, outage }
    this.#revision = await this.#timed('record', () =>
      compareAndSet(options, movesKeyOf(partition), JSON.stringify(state), this.#revision),
    )
    this.#state = state
    this.#told = state.at
    this.#untold = 0
  }

  async #timed<T>(step: string, work: () => Promise<T>): Promise<T> {
    const ended = this.#context.shared.metrics.moveSeconds.startTimer({ step })
    try {
      return await work()
    } finally {
      ended()
    }
  }

  #check(): void {
    if (this.#context.signal.aborted || this.#context.draining()) throw new Stopped()
  }
}

/** Traces of which captures go home. */
interface Captures {
  readonly traces: readonly LinkedTrace[]
  /** Of these something was captured that this owner has read. */
  readonly captured: readonly LinkedTrace[]
  /** Of these the store has to say. */
  readonly older: readonly LinkedTrace[]
  /** settledCondition */
  readonly settled: string
}

/** What a round's records touch. */
interface Touched extends AwayRows {
  /** Those of which links may be. */
  readonly records: readonly PlacedRecord[]
}

/** Traces with rows that may go home: those of which this owner has read where they begin, and those with rows from before. */
interface Split {
  readonly recent: readonly Begun[]
  readonly older: readonly LinkedTrace[]
}
