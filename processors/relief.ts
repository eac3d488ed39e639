// Cuts the lanes of a partition so that nobody waits for others longer than need be: what is old is left to a backlog, who sends more
// than a share of what waits is read beside the others, and what keeps its thread too long is looked at by itself.
import { streamOf } from '#proto/streams.ts'
import { positionAt } from '#streams/replay.ts'
import type { PartitionContext } from './context.ts'
import type { LaneLoop } from './lane.ts'
import { canDivide, canJoin, canSetAside, canSplit, divide, join, liveOf, setAside, split } from './lanes.ts'
import { endOf, laneOf } from './protocol.ts'
import { loudest } from './weight.ts'

/** What has waited this long is a backlog, when it is large as well … */
const BACKLOG_AGE_MS = 2_000
/** … and what arrived this lately is not left to it, unless it alone is too much. */
const RECENT_MS = 4_000
/** A bulk lane that has waited for nothing during this time is joined to the live lane. */
const CALM_MS = 3_000

/** Looks after the lanes of one partition. None of its methods may run beside another. */
export class Relief {
  readonly #context: PartitionContext
  readonly #loops: ReadonlyMap<number, LaneLoop>
  readonly #begin: () => Promise<void>
  /** Since when bulk lanes have been calm. */
  readonly #calm = new Map<number, number>()

  /** `begin`: starts the lanes of the cursor that are not at work yet. */
  constructor(context: PartitionContext, loops: ReadonlyMap<number, LaneLoop>, begin: () => Promise<void>) {
    this.#context = context
    this.#loops = loops
    this.#begin = begin
  }

  /** To be called every second or so. Not while nothing can be stored anyway. @throws Lost, Stopped. */
  async look(): Promise<void> {
    const { outage, inserts } = this.#context.settling
    if (outage.now || inserts.now) return
    await this.#relieveLive()
    for (const loop of this.#loops.values()) {
      if (loop.kind === 'backlog' && loop.lag().bytes >= this.#context.shared.backlogBytes) await this.#divide(loop)
    }
    for (const loop of this.#loops.values()) if (loop.kind === 'bulk') await this.#joinWhenCalm(loop)
  }

  /**
   * Leaves what is unread, but for the last seconds of it, to a backlog, so that what arrives now is not kept waiting by it. `bound`
   * is told where before anything is written, and may move it on. False when there is no reason to, or no answer from the stream.
   */
  async split(bound: (at: number) => number = at => at): Promise<boolean> {
    const { cursor, shared, partition, log } = this.#context
    const { jsm, backlogBytes } = shared
    const stream = streamOf(partition)
    let old: number
    try {
      const { state } = await jsm.streams.info(stream)
      const next = Math.max(endOf(cursor.value, liveOf(cursor.value).id) + 1, state.first_seq)
      const bytes = state.messages === 0 ? 0 : ((state.last_seq - next + 1) * state.bytes) / state.messages
      if (bytes < backlogBytes) return false
      const span = { first: next, last: state.last_seq }
      const byTime = (await positionAt(jsm, stream, span, Date.now() - RECENT_MS)) - 1
      // Messages are taken as equally large.
      const byBytes = state.last_seq - Math.floor((backlogBytes / 2) * (state.messages / state.bytes))
      old = Math.max(byTime, byBytes)
    } catch {
      return false
    }
    if (!canSplit(cursor.value, old)) return false
    const at = bound(old)
    await cursor.write(value => (canSplit(value, at) ? split(value, at) : value))
    log.info({ through: at }, 'a backlog is read beside what arrives now')
    return true
  }

  /** Makes the next range of a lane, up to `to`, a lane of its own. False when that can't be. @throws Lost, Stopped. */
  async setAside(lane: number, to: number): Promise<boolean> {
    const { cursor, log } = this.#context
    let done = false
    await cursor.write(value => {
      done = canSetAside(value, lane, to)
      return done ? setAside(value, lane, to) : value
    })
    if (!done) return false
    log.warn({ at: to }, 'a slow payload is looked at by itself; what stands behind it goes on')
    await this.#begin()
    return true
  }

  /** First what is new gets a lane; when that is not enough, those who send too much of it. */
  async #relieveLive(): Promise<void> {
    const { cursor, shared } = this.#context
    const loop = this.#loops.get(liveOf(cursor.value).id)
    const lag = loop?.lag()
    if (!loop || !lag || lag.bytes < shared.backlogBytes || lag.oldestMs === undefined) return
    if (Date.now() - lag.oldestMs < BACKLOG_AGE_MS) return
    const behind = cursor.value.lanes.some(({ kind }) => kind === 'backlog' || kind === 'bulk')
    if (behind && (await this.#divide(loop))) return
    if (await this.split(at => loop.bound(at))) {
      loop.unbound()
      loop.wake()
      await this.#begin()
    }
  }

  /** Leaves the organizations that take more than their share of a lane to a bulk lane. */
  async #divide(loop: LaneLoop): Promise<boolean> {
    const { cursor, shared, log } = this.#context
    const lane = laneOf(cursor.value, loop.id)
    if (!lane) return false
    const loud = loudest(loop.weights(), shared.bulkShare, lane)
    const at = loop.bound(0)
    let done = false
    if (canDivide(cursor.value, loop.id, at, loud)) {
      await cursor.write(value => {
        done = canDivide(value, loop.id, at, loud)
        return done ? divide(value, loop.id, at, loud) : value
      })
    }
    loop.unbound()
    loop.wake()
    if (!done) return false
    log.info({ after: at, organizations: loud }, 'who sends most of what waits is read beside the others')
    await this.#begin()
    return true
  }

  async #joinWhenCalm(bulk: LaneLoop): Promise<void> {
    const { cursor, log } = this.#context
    const live = this.#loops.get(liveOf(cursor.value).id)
    const open = laneOf(cursor.value, bulk.id)?.end === null
    if (!live || !open || !this.#isCalm(bulk) || !this.#isCalm(live)) {
      this.#calm.delete(bulk.id)
      return
    }
    const now = performance.now()
    const since = this.#calm.get(bulk.id) ?? now
    this.#calm.set(bulk.id, since)
    if (now - since < CALM_MS) return
    const at = bulk.bound(live.bound(0))
    live.bound(at)
    await cursor.write(value => (canJoin(value, bulk.id, at) ? join(value, bulk.id, at) : value))
    for (const loop of [bulk, live]) {
      loop.unbound()
      loop.wake()
    }
    this.#calm.delete(bulk.id)
    log.info({ after: at }, 'a bulk lane has caught up')
    await this.#begin()
  }

  #isCalm(loop: LaneLoop): boolean {
    const { bytes, oldestMs } = loop.lag()
    const ageMs = oldestMs === undefined ? 0 : Date.now() - oldestMs
    return bytes < this.#context.shared.backlogBytes / 2 && ageMs < BACKLOG_AGE_MS
  }
}
