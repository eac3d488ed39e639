// The mover of one owner as a coroutine: rows of traces whose home has become known are reversed where they stand and written again
// at home, in pairs that the store takes as a whole. What it may touch, and when it may be sure of an answer, is what is explored.
import { isSettledAt } from '../lanes.ts'
import type { Cursor } from '../protocol.ts'
import { calm, Gone, type Steps, send } from './statements.ts'
import type { Row, World } from './world.ts'

/** One row on its way home. */
export interface StagedMove {
  readonly row: Row
  readonly to: string
}

/** What the mover shares with the rest of its owner. */
export interface MoverHost {
  readonly world: World
  readonly lease: number
  readonly cursor: () => Cursor
}

/** Fences of one owner: fewer than this. */
const ATTEMPTS = 10_000
/** Rows of one move, at most. */
const MOVE_ROWS = 4

/** Moves what is not at home, and says what late statements must not do any more. */
export class MoverModel {
  readonly #host: MoverHost
  #fence: number

  constructor(host: MoverHost) {
    this.#host = host
    this.#fence = host.lease * ATTEMPTS
  }

  /** Nothing that was sent before this can move a row afterwards. */
  *fence(): Steps<void> {
    const { world } = this.#host
    const number = this.#fence
    const raise = (): Row[] => {
      world.fence = Math.max(world.fence, number)
      return []
    }
    for (let i = 0; (yield* send(this.#host, `fence.${number}.${i}`, raise)) !== 'inserted'; i++) yield
    yield* calm(world, 'move.')
  }

  /** One round: what an earlier owner staged, else what is not at home now. */
  *round(): Steps<void> {
    const { world, lease } = this.#host
    let staged = world.staged
    // Only what is staged here and now can have been copied by nobody.
    let first = staged.length === 0 || world.mode.broken === 'moves found and copied unseen'
    if (staged.length === 0) {
      // A move is bounded: what is left over is another one's.
      staged = this.#lost().slice(0, 1 + Math.floor(world.random() * MOVE_ROWS))
      yield
      // The record is written by compare-and-set.
      if (world.lease !== lease) throw new Gone()
      world.staged = staged
    }
    yield
    for (; first || staged.some(move => this.#counts(move)); first = false) {
      // Whoever tries again for long learns that its lease is gone.
      if (!first && world.lease !== lease && world.chance(0.5)) throw new Gone()
      yield* this.#copy(staged, first)
    }
    if (world.lease !== lease) throw new Gone()
    world.staged = []
    world.moves += staged.length
  }

  *#copy(staged: readonly StagedMove[], first: boolean): Steps<void> {
    const { world } = this.#host
    const number = this.#fence
    const fenced = world.mode.broken !== 'moves that arrive late'
    const token = `move.${number}.${world.steps}`
    const pairs = (): Row[] =>
      fenced && world.fence !== number
        ? []
        : staged.flatMap(move => (first || this.#counts(move) ? this.#pair(move, token) : []))
    if ((yield* send(this.#host, token, pairs, 2)) === 'inserted' || !fenced) return
    this.#fence++
    yield* this.fence()
  }

  /** What was staged is written, whatever has become of the row. */
  #pair({ row, to }: StagedMove, part: string): Row[] {
    const moved = { ...row, part, moved: true }
    return [
      { ...moved, sign: -1 },
      { ...moved, version: row.version + 1, home: to },
    ]
  }

  #counts({ row: { sequence, generation, version } }: StagedMove): boolean {
    const same = (row: Row): boolean => row.generation === generation && row.version === version
    return this.#host.world.sum('events', sequence, same) > 0
  }

  /** Rows that stand elsewhere than at home, of positions that nobody is about to store or to count. */
  #lost(): StagedMove[] {
    const { world, cursor } = this.#host
    const anywhere = world.mode.broken === 'moves of what is under way'
    const value = cursor()
    const settled = (sequence: number): boolean => isSettledAt(value, sequence, world.organizationAt(sequence))
    const lost = new Map<string, StagedMove>()
    for (const row of world.rows) {
      const { table, sign, sequence, generation, version, id, home } = row
      const to = world.homes.get(id)
      if (table !== 'events' || sign !== 1 || to === undefined || home === to) continue
      const move = { row, to }
      if ((anywhere || settled(sequence)) && this.#counts(move)) lost.set(`${sequence}/${generation}/${version}`, move)
    }
    return [...lost.values()]
  }
}
