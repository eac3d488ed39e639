// Replays, from the owner's side: a request is checked and becomes a lane of the cursor; the record says how far it is. A new owner
// goes on with both.
import type { Subscription } from '@nats-io/transport-node'
import { type ReplayRecord, replayKeyOf } from '#proto/replay.ts'
import { CURSORS_BUCKET, streamOf } from '#proto/streams.ts'
import { getReplay, isUnderWay, spanOf } from '#streams/replay.ts'
import type { PartitionContext } from './context.ts'
import { replay } from './lanes.ts'
import type { Lane } from './protocol.ts'

/**
 * How often progress is told, and how often a request is looked for while there is none: it is heard when it is made, unless the
 * connection was away at that moment. An end is told at the next look.
 */
const TELL_MS = 2_000
const LOOK_MS = 30_000

/** Looks for requests and tells of their progress. */
export class ReplayDesk {
  readonly #context: PartitionContext
  readonly #begin: () => Promise<void>
  readonly #requests: Subscription
  #lookedAt = Number.NEGATIVE_INFINITY
  /** A replay is under way, as far as this owner knows. */
  #following = false

  /** `begin`: starts the lanes of the cursor that are not at work yet; `asked`: a look is worth while now. */
  constructor(context: PartitionContext, begin: () => Promise<void>, asked: () => void) {
    this.#context = context
    this.#begin = begin
    // A bucket's records are messages on subjects: whoever listens there is told of each, without a consumer.
    const subject = `$KV.${CURSORS_BUCKET}.${replayKeyOf(context.partition)}`
    this.#requests = context.shared.nc.subscribe(subject, {
      callback: (error, message) => {
        if (error || !message.string().includes('"state":"requested"')) return
        this.#lookedAt = Number.NEGATIVE_INFINITY
        asked()
      },
    })
  }

  /** Stops listening. */
  close(): void {
    if (!this.#context.shared.nc.isClosed()) this.#requests.unsubscribe()
  }

  /** To be called every second or so, never twice at once. @throws Lost, Stopped; what NATS doesn't answer is asked again later. */
  async look(): Promise<void> {
    const pause = this.#lane() ? TELL_MS : this.#following ? 0 : LOOK_MS
    if (performance.now() - this.#lookedAt < pause) return
    this.#lookedAt = performance.now()
    const { shared, partition } = this.#context
    const found = await getReplay(shared.cursors, partition).catch(() => undefined)
    // Unknown while NATS doesn't answer: then it is asked again.
    if (found !== undefined) this.#following = found !== null && isUnderWay(found.record)
    if (!found || !this.#following) return
    const { record, revision } = found
    const lane = this.#lane()
    if (lane) await this.#tell({ ...record, state: 'running', floor: lane.floor }, revision)
    else if (record.state === 'running')
      await this.#tell(this.#ended({ ...record, state: 'done', floor: record.to }), revision)
    else await this.#start(record, revision)
  }

  async #start(record: ReplayRecord, revision: number): Promise<void> {
    const { cursor, log, shared, partition } = this.#context
    const { from, to } = record
    let first: number
    try {
      first = (await spanOf(shared.jsm, streamOf(partition))).first
    } catch {
      return
    }
    const reason = refusalOf(record, first, cursor.value.floor)
    if (reason !== undefined) {
      log.warn({ from, to, reason }, 'a replay is refused')
      await this.#tell(this.#ended({ ...record, state: 'refused', reason }), revision)
      return
    }
    await cursor.write(value => replay(value, { from, to }))
    log.info({ from, to, generation: cursor.value.generation }, 'a stored range is read again')
    await this.#begin()
    await this.#tell({ ...record, state: 'running' }, revision)
  }

  #lane(): Lane | undefined {
    return this.#context.cursor.value.lanes.find(lane => lane.kind === 'replay')
  }

  #ended(record: ReplayRecord): ReplayRecord {
    return { ...record, endedAt: new Date().toISOString() }
  }

  /** The record only tells: when it cannot be written now, the next look writes it. */
  async #tell(record: ReplayRecord, revision: number): Promise<void> {
    const { shared, partition } = this.#context
    await shared.cursors.put(replayKeyOf(partition), JSON.stringify(record), { previousSeq: revision }).catch(() => 0)
  }
}

function refusalOf({ from, to }: ReplayRecord, first: number, floor: number): string | undefined {
  if (!Number.isInteger(from) || !Number.isInteger(to) || from < 1 || to < from) return 'the range is empty'
  if (from < first) return `the stream holds positions from ${first} on; what stood before is gone`
  if (to > floor) return `everything up to ${floor} is stored; the rest has not been read for the first time`
  return undefined
}
