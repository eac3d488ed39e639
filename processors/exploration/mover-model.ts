// The mover of one owner as a coroutine: rows of traces whose home has become known are reversed where they stand and written again
// at home, in pairs that the store takes as a whole, by one statement that finds out itself what is not at home. What it may touch, and
// when it may be sure of an answer, is what is explored.
import { isSettledAt, scopeOf } from '../lanes.ts'
import type { Cursor } from '../protocol.ts'
import { positionsOf } from './recipes.ts'
import { calm, Gone, type Steps, send } from './statements.ts'
import type { FinishedRecord, Row, World } from './world.ts'

/** A row that is not at home. */
interface LostRow {
  readonly row: Row
  readonly to: string
}

/** What was answered about the homes of payloads. */
type Answers = ReadonlyMap<string, string>

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
/** Moves of one round, far above what any needs. */
const MOVES_MAX = 100

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

  /** One round: whatever the next records touch is brought home. */
  *round(): Steps<void> {
    const { world, lease, cursor } = this.#host
    const from = world.looked
    const to = this.#next(from)
    const touched = this.#touched(from, to)
    // A move is bounded, and an answer may be none: it is over when nothing is left. Who is wrong on purpose may chase rows for ever.
    for (let i = 0; i === 0 || (i < MOVES_MAX && this.#lost(touched, cursor()).length > 0); i++) {
      yield* this.#move(touched)
    }
    yield
    if (world.lease !== lease) throw new Gone()
    world.looked = Math.max(world.looked, to)
  }

  /** Records up to the first whose range somebody may come back to count. */
  #next(from: number): number {
    const { world, cursor } = this.#host
    let to = from
    for (; to < world.finished.length; to++) {
      const record = world.finished[to] as FinishedRecord
      if ('link' in record) continue
      const isOpen = cursor().intents.some(intent => {
        return (
          !intent.done &&
          intent.from === record.from &&
          JSON.stringify(scopeOf(intent)) === JSON.stringify(record.scope)
        )
      })
      if (isOpen) break
    }
    return to
  }

  /** Homes of payloads of which something was revealed or stored, as far as the records say. */
  #touched(from: number, to: number): Answers {
    const { world } = this.#host
    const told = new Map<number, string>()
    const rows = new Set<string>()
    const missed = world.mode.broken !== 'links that a placed range missed not looked at'
    for (let at = from; at < to; at++) {
      const record = world.finished[at] as FinishedRecord
      if ('link' in record) {
        told.set(at, record.link)
        continue
      }
      const within = new Set(positionsOf(world, { ...record.scope, from: record.from, to: record.to }))
      for (const { sequence, home, id } of world.rows) if (within.has(sequence) && home === '') rows.add(id)
      if (record.revision === null || !missed) continue
      for (let other = record.revision; other < at; other++) {
        const link = world.finished[other] as FinishedRecord
        if ('link' in link) told.set(other, link.link)
      }
    }
    const answers = new Map<string, string>()
    const answer = (id: string, known: ReadonlyMap<string, string>): void => {
      const home = known.get(id)
      if (home !== undefined) answers.set(id, home)
    }
    // Of several answers about a payload the one about the last record holds; what is asked for rows knows all records of the round.
    for (const [at, id] of [...told].sort(([a], [b]) => a - b)) answer(id, world.homesAt(this.#askedAt(at)))
    for (const id of rows) answer(id, world.homesAt(this.#askedAt(to - 1)))
    return answers
  }

  /** Somebody of the process has asked about a record when it stood there, or at any time since. */
  #askedAt(at: number): number {
    const { world } = this.#host
    if (world.mode.broken === 'answers from before their record') return at
    return at + 1 + Math.floor(world.random() * (world.finished.length - at))
  }

  *#move(touched: Answers): Steps<void> {
    const { world, cursor } = this.#host
    const unseen = world.mode.broken === 'moves repeated unseen'
    // The statement says what is settled as the cursor stands when it is sent; what counts where is found out when it begins.
    const value = cursor()
    const rows = 1 + Math.floor(world.random() * MOVE_ROWS)
    const find = (): readonly LostRow[] => this.#lost(touched, value).slice(0, rows)
    const seen = find()
    while (!(yield* this.#send(unseen ? () => seen : find)) && unseen) yield
  }

  /** Sends a statement; false when nobody knows what became of it, and nothing will any more. */
  *#send(find: () => readonly LostRow[]): Steps<boolean> {
    const { world } = this.#host
    const number = this.#fence
    const fenced = world.mode.broken !== 'moves that arrive late'
    const token = `move.${number}.${world.steps}`
    const pairs = (): Row[] => {
      if (fenced && world.fence !== number) return []
      const lost = find()
      world.moves += lost.length
      return lost.flatMap(one => this.#pair(one, token))
    }
    if ((yield* send(this.#host, token, pairs, 2)) === 'inserted') return true
    if (!fenced) return false
    this.#fence++
    yield* this.fence()
    return false
  }

  /** The row is reversed where it stands, and written at home. */
  #pair({ row, to }: LostRow, part: string): Row[] {
    const moved = { ...row, part, moved: true }
    return [
      { ...moved, sign: -1 },
      { ...moved, version: row.version + 1, home: to },
    ]
  }

  #counts({ row: { sequence, generation, version } }: LostRow): boolean {
    const same = (row: Row): boolean => row.generation === generation && row.version === version
    return this.#host.world.sum('events', sequence, same) > 0
  }

  /** Rows that stand elsewhere than at home, of positions that nobody is about to store or to count. */
  #lost(touched: Answers, value: Cursor): LostRow[] {
    const { world } = this.#host
    const anywhere = world.mode.broken === 'moves of what is under way'
    const settled = (sequence: number): boolean => isSettledAt(value, sequence, world.organizationAt(sequence))
    const lost = new Map<string, LostRow>()
    for (const row of world.rows) {
      const { table, sign, sequence, generation, version, id, home } = row
      const to = touched.get(id)
      if (table !== 'events' || sign !== 1 || to === undefined || home === to) continue
      const move = { row, to }
      if ((anywhere || settled(sequence)) && this.#counts(move)) lost.set(`${sequence}/${generation}/${version}`, move)
    }
    return [...lost.values()]
  }
}
