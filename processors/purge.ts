// Frees a stream behind the floor: what was finished longer ago than the replay window goes. When the replay window alone would
// fill half of the stream, its oldest part goes earlier: new payloads are worth more than a second look at stored ones.
import type { JetStreamManager } from '@nats-io/jetstream'

/** Share of a stream's bytes that finished messages may hold. */
const REPLAY_MAX_SHARE = 0.5
const MARK_MS = 5_000

/** Remembers when floors were reached. */
export class ReplayMarks {
  readonly #replayMs: number
  readonly #marks: { readonly floor: number; readonly atMs: number }[] = []
  #expired = 0

  constructor(replayMs: number) {
    this.#replayMs = replayMs
  }

  /** The floor stood at `floor` at `atMs` (any clock that doesn't go back). Marks are kept a few seconds apart. */
  reached(floor: number, atMs: number): void {
    const last = this.#marks.at(-1)
    if (last && (last.floor === floor || atMs - last.atMs < MARK_MS)) return
    this.#marks.push({ floor, atMs })
  }

  /** The last position whose replay window is over, 0 when there is none. */
  expired(atMs: number): number {
    while (this.#marks[0] && this.#marks[0].atMs + this.#replayMs <= atMs) {
      this.#expired = (this.#marks.shift() as { floor: number }).floor
    }
    return this.#expired
  }
}

/**
 * Purges `stream` up to and including `expired`, or further when finished messages fill too much of it, but never past `floor`.
 * Returns the position purged up to. @throws when the server doesn't answer.
 */
export async function purgeStream(
  jsm: JetStreamManager,
  stream: string,
  { expired, floor }: { readonly expired: number; readonly floor: number },
): Promise<number> {
  const { config, state } = await jsm.streams.info(stream)
  const first = state.first_seq
  let through = Math.min(expired, floor)
  if (config.max_bytes > 0 && floor >= first && state.messages > 0) {
    // Messages are taken as equally large: wrong by some, right on the next round.
    const each = state.bytes / state.messages
    const surplus = (floor - first + 1) * each - config.max_bytes * REPLAY_MAX_SHARE
    if (surplus > 0) through = Math.max(through, Math.min(floor, first + Math.ceil(surplus / each) - 1))
  }
  if (through < first) return 0
  await jsm.streams.purge(stream, { seq: through + 1 })
  return through
}
