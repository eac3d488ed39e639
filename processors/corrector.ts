// Corrections, from the owner's side: a request in the cursors bucket -> reversed rows, and rows written anew. What reverses rows of a
// partition is its owner alone, one statement at a time; what was sent and not answered is fenced off before anything is decided anew.
// Every step begins with what is there, so a killed owner's successor goes on from the record.

import { randomUUID } from 'node:crypto'
import type { Subscription } from '@nats-io/transport-node'
import { type CorrectionRecord, correctionKeyOf, type RemapTask, type RepairTask } from '#proto/correction.ts'
import { CURSORS_BUCKET } from '#proto/streams.ts'
import { Outage } from '#runtime/outage.ts'
import { correctPositions, type Guard, slicesOf } from '#store/verify/repair.ts'
import { type FoundCorrection, getCorrection, isOpen } from '#streams/corrections.ts'
import type { PartitionContext } from './context.ts'
import { Lost, Stopped } from './cursor.ts'
import type { Fence } from './fence.ts'
import { queryIdOf } from './insert.ts'
import { settledCondition } from './moves.ts'
import { repriced } from './parsers/reprice.ts'
import { Backoff, sleep } from './pause.ts'
import { persevere } from './persevere.ts'
import { openReading } from './readings.ts'
import { type CostChange, type PageScope, readPage, stageCosts } from './reprice.ts'
import { copy, leftOf, stagedPairs } from './staged.ts'

/** A request is heard when it is made, unless the connection was away at that moment. */
const LOOK_MS = 30_000
const RETRY_MS = 1_000
/** Positions of one turn of the owner's lock; of events as many as one slice has. */
const REPAIR_SLICE = 500
/** A walk that changes nothing proves that nothing is left; new rows may come in between, but not for ever. */
const WALKS_MAX = 5

/** Somebody has asked for the end of the correction. */
class Cancelled extends Error {}

/** Works off the corrections of one partition until its signal aborts or it is drained. */
export class Corrector {
  readonly #context: PartitionContext
  readonly #fence: Fence
  readonly #outage: Outage
  readonly #owner: string
  #requests: Subscription | undefined
  #wake: () => void = () => {}
  #asked = true
  #found!: FoundCorrection

  constructor(context: PartitionContext, fence: Fence) {
    this.#context = context
    this.#fence = fence
    this.#outage = new Outage(context.log, 'correcting rows')
    this.#owner = `${context.cursor.value.owner}/${context.cursor.value.epoch}`
  }

  /** Runs until it is told to stop. @throws Lost, Stopped. */
  async run(): Promise<void> {
    this.#listen()
    try {
      for (;;) {
        this.#check()
        const found = await this.#next()
        if (found) await this.#work(found)
      }
    } finally {
      if (!this.#context.shared.nc.isClosed()) this.#requests?.unsubscribe()
    }
  }

  /** A bucket's records are messages on subjects: whoever listens there is told of each, without a consumer. */
  #listen(): void {
    const { shared, partition, signal } = this.#context
    this.#requests = shared.nc.subscribe(`$KV.${CURSORS_BUCKET}.${correctionKeyOf(partition)}`, {
      callback: (error, message) => {
        if (error || !message.string().includes('"state":"requested"')) return
        this.#asked = true
        this.#wake()
      },
    })
    signal.addEventListener('abort', () => this.#wake())
  }

  async #next(): Promise<FoundCorrection | undefined> {
    if (!this.#asked) await this.#pause()
    this.#check()
    this.#asked = false
    const { shared, partition, signal } = this.#context
    const found = await getCorrection(shared.cursors, partition).catch(() => undefined)
    // Unknown while NATS doesn't answer: then it is asked again.
    if (found === undefined) {
      this.#asked = true
      await sleep(RETRY_MS, signal)
    }
    return found && isOpen(found.record) ? found : undefined
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#wake(), LOOK_MS)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = () => {}
        resolve()
      }
      if (this.#context.signal.aborted) this.#wake()
    })
  }

  async #work(found: FoundCorrection): Promise<void> {
    const { log } = this.#context
    this.#found = found
    const { record } = found
    const startedAt = record.startedAt ?? new Date().toISOString()
    await this.#tell({ ...record, state: 'running', owner: this.#owner, startedAt })
    log.info({ id: record.id, kind: record.task.kind }, 'a correction begins')
    let state: 'done' | 'cancelled' = 'done'
    try {
      this.#checkCancel()
      if (record.task.kind === 'repair') await this.#repair(record.task)
      else await this.#remap(record.task)
    } catch (error) {
      if (!(error instanceof Cancelled)) throw error
      state = 'cancelled'
    }
    const { looked, changed, left } = this.#found.record
    await this.#tell({ ...this.#found.record, state, endedAt: new Date().toISOString() })
    log.info({ id: record.id, kind: record.task.kind, state, looked, changed, left }, 'a correction has ended')
  }

  // ---- positions that count wrong -----------------------------------------------------------------------------------------

  async #repair({ positions, events }: RepairTask): Promise<void> {
    const slices = slicesOf(events)
    for (let turn = 0; turn < Math.max(positions.length / REPAIR_SLICE, slices.length); turn++) {
      const some = positions.slice(turn * REPAIR_SLICE, (turn + 1) * REPAIR_SLICE)
      const others = slices[turn] ?? []
      let changed = 0
      // Until a look finds nothing: an answer is no proof.
      for (let more = 1; more > 0; changed += more) {
        more = await this.#alone(async () => {
          const { partition, settling, cursor } = this.#context
          const { standing, token } = this.#fence
          const guard: Guard = { partition, settled: settledCondition(cursor.value), standing }
          const wrong = { positions: some, events: others }
          return correctPositions(settling.store, wrong, { ...guard, queryId: queryIdOf(settling.store, token) })
        })
      }
      await this.#count({ looked: some.length + others.length, changed })
    }
  }

  // ---- costs of now -------------------------------------------------------------------------------------------------------

  async #remap(task: RemapTask): Promise<void> {
    const walks = task.estimate ? 1 : WALKS_MAX
    while (this.#found.record.walks < walks) {
      const before = this.#found.record.changed
      const whole = this.#found.record.at === null
      while (await this.#page(task)) await this.#context.shared.gate.courtesy.yield(this.#context.signal)
      const { record } = this.#found
      await this.#tell({ ...record, walks: record.walks + 1, at: null })
      if (whole && record.changed === before) return
    }
  }

  /** False at the end of the walk. */
  async #page(task: RemapTask): Promise<boolean> {
    const { partition, settling, cursor, shared } = this.#context
    const { at, walks } = this.#found.record
    const left: Record<string, number> = {}
    const { count, last, changed } = await this.#insist(async () => {
      for (const why of Object.keys(left)) delete left[why]
      const scope: PageScope = { partition, task, settled: settledCondition(cursor.value) }
      const page = await readPage(settling.store, scope, { after: at, rows: shared.correctionRows })
      const { pricing } = openReading(shared.readings.now())(task.organization).context
      const changes: CostChange[] = []
      for (const one of page) {
        const now = pricing === undefined ? { is: 'same' as const } : repriced(one.row, pricing)
        if (now.is === 'priced') changes.push({ at: one, cost: now.cost, present: now.present, notes: now.notes })
        else if (now.is === 'unsure') left[now.why] = (left[now.why] ?? 0) + 1
      }
      if (!task.estimate && changes.length > 0) await this.#once(() => this.#write(scope, changes))
      return { count: page.length, last: page.at(-1)?.place, changed: changes.length }
    })
    if (last === undefined) return false
    // Later walks meet the same rows again.
    await this.#count({ looked: walks === 0 ? count : 0, changed, left: walks === 0 ? left : {}, at: last })
    return true
  }

  /** Both rows of every pair, or neither: what no longer counts as it was read makes the page be read again. */
  async #write(scope: PageScope, changes: readonly CostChange[]): Promise<void> {
    const { partition, settling, signal, shared } = this.#context
    const { store, lease } = settling
    const move = randomUUID()
    await lease.fresh(signal)
    await stageCosts(store, scope, changes, move)
    const pairs = await stagedPairs(store, move)
    if (pairs !== changes.length) throw new Error(`${pairs ?? 'broken'} pairs are staged for ${changes.length} rows`)
    while ((await leftOf(store, partition, move)) > 0) {
      this.#check()
      await lease.fresh(signal)
      const { standing, token } = this.#fence
      await copy(store, { partition, move, standing, queryId: queryIdOf(store, token) })
    }
    shared.metrics.corrected.inc(changes.length)
  }

  // ---- steps --------------------------------------------------------------------------------------------------------------

  #alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#insist(() => this.#once(work))
  }

  /** Nobody else reverses rows of this partition meanwhile, and nothing of a try that failed can happen later. */
  async #once<T>(work: () => Promise<T>): Promise<T> {
    const { settling, signal } = this.#context
    const release = await settling.reversing.take(1, { urgent: false, entitled: false, signal })
    try {
      await settling.lease.fresh(signal)
      return await work()
    } catch (error) {
      if (!(error instanceof Stopped)) await this.#fence.raise()
      throw error
    } finally {
      release()
    }
  }

  /** Does it until it succeeds. */
  async #insist<T>(work: () => Promise<T>): Promise<T> {
    const check = (): void => this.#check()
    return persevere(work, { check, outage: this.#outage, signal: this.#context.signal })
  }

  #check(): void {
    if (this.#context.signal.aborted || this.#context.draining()) throw new Stopped()
  }

  // ---- the record ---------------------------------------------------------------------------------------------------------

  async #count(more: Partial<Pick<CorrectionRecord, 'looked' | 'changed' | 'left' | 'at'>>): Promise<void> {
    const { record } = this.#found
    const left: Record<string, number> = { ...record.left }
    for (const [why, n] of Object.entries(more.left ?? {})) left[why] = (left[why] ?? 0) + n
    const looked = record.looked + (more.looked ?? 0)
    const changed = record.changed + (more.changed ?? 0)
    await this.#tell({ ...record, looked, changed, left, at: more.at ?? record.at })
    this.#checkCancel()
  }

  #checkCancel(): void {
    if (this.#found.record.cancel) throw new Cancelled()
  }

  /** Writes the record; a wish to cancel that came meanwhile is kept. @throws Lost when another owner works on it, Stopped. */
  async #tell(record: CorrectionRecord): Promise<void> {
    const { shared, partition, signal } = this.#context
    const key = correctionKeyOf(partition)
    const backoff = new Backoff()
    for (let next = record; ; ) {
      const text = JSON.stringify(next)
      const revision = await shared.cursors.put(key, text, { previousSeq: this.#found.revision }).catch(() => 0)
      if (revision > 0) {
        this.#found = { record: next, revision }
        return
      }
      const now = await getCorrection(shared.cursors, partition).catch(() => null)
      if (now && now.revision !== this.#found.revision) {
        const ours =
          now.record.id === record.id && [undefined, this.#owner, this.#found.record.owner].includes(now.record.owner)
        if (!ours) throw new Lost(`the correction of partition ${partition} is somebody else's`)
        if (now.record.cancel) next = { ...next, cancel: true }
        this.#found = { record: now.record, revision: now.revision }
        continue
      }
      await backoff.pause(signal)
      if (signal.aborted) throw new Stopped()
    }
  }
}
