// An owner as coroutines: every `yield` is a place where it may be left for ever. It decides by the real protocol and the real
// memory of identities; only the store, the bucket and the parser are models.
import {
  canDivide,
  canJoin,
  canSetAside,
  canSplit,
  divide,
  join,
  liveOf,
  replay,
  scopeOf,
  setAside,
  split,
  storedRanges,
} from '../lanes.ts'
import type { Cursor, Intent, IntentName, Lane, OrdinalRun } from '../protocol.ts'
import {
  endOf,
  finish,
  intentsOf,
  laneOf,
  propose,
  rangeTokenOf,
  sameBlocks,
  supersede,
  takeOver,
} from '../protocol.ts'
import { Verdicts } from '../verdicts.ts'
import { CursorModel } from './cursor-model.ts'
import { MoverModel } from './mover-model.ts'
import { PlacingModel } from './placing-model.ts'
import { type Homes, printsOf, recipeOf, remember } from './recipes.ts'
import { type Steps, Turns } from './statements.ts'
import { StoringModel } from './storing-model.ts'
import { ORGANIZATIONS, type World } from './world.ts'

/** What changes lanes. */
export type Chore = 'split' | 'divide' | 'join' | 'replay' | 'move'

const MEMORY = 1_000
const IN_FLIGHT = 2
/** One owner. `threads` are its coroutines: the first takes over, then there is one for each lane and for each insert. */
export class OwnerModel {
  readonly world: World
  readonly lease: number
  readonly build: number
  threads: Steps<void>[]
  readonly #cursor: CursorModel
  #verdicts = new Verdicts(MEMORY)
  /** A broken owner has one memory for each lane. */
  readonly #apart = new Map<number, Verdicts>()
  readonly #limits = new Map<number, number>()
  readonly #cuts = new Map<number, number>()
  readonly #launched = new Set<number>()
  readonly #placing: PlacingModel
  #settled = false
  #choring = false
  readonly #reversing = new Turns()
  readonly #mover: MoverModel
  readonly #storing: StoringModel

  constructor(world: World) {
    this.world = world
    this.lease = ++world.lease
    this.build = world.mode.builds && world.chance(0.3) ? 2 : 1
    this.#cursor = new CursorModel(world)
    const shared = { world, lease: this.lease, cursor: () => this.#cursor.value }
    this.#mover = new MoverModel(shared)
    this.#placing = new PlacingModel(shared)
    this.#storing = new StoringModel({
      ...shared,
      cursor: this.#cursor,
      placing: this.#placing,
      reversing: this.#reversing,
    })
    this.threads = [this.#takeOver()]
  }

  /** Begins one of the chores that change lanes; they never overlap. */
  chore(which: Chore): void {
    if (this.#choring) return
    this.#choring = true
    this.threads.push(this.#chore(which))
  }

  *#chore(which: Chore): Steps<void> {
    const chores = {
      split: () => this.#split(),
      replay: () => this.#replay(),
      divide: () => this.#divide(),
      join: () => this.#join(),
      move: () => this.#move(),
    }
    yield* chores[which]()
    this.#choring = false
  }

  /** Starts the lanes that are not at work yet. */
  #launch(): void {
    for (const { id } of this.#cursor.value.lanes) {
      if (this.#launched.has(id)) continue
      this.#launched.add(id)
      this.threads.push(this.#lane(id))
    }
  }

  /** Cuts lanes in one write, if that can be done then; true when it was. */
  *#cut(can: (cursor: Cursor) => boolean, edit: (cursor: Cursor) => Cursor): Generator<void, boolean, void> {
    let done = false
    yield* this.#cursor.write(cursor => {
      done = can(cursor)
      return done ? edit(cursor) : cursor
    })
    this.#launch()
    return done
  }

  /** Leaves one organization of a lane to a bulk lane, beside those that are left to others already. */
  *#divide(): Steps<void> {
    const open = this.#cursor.value.lanes.filter(({ kind }) => kind === 'live' || kind === 'backlog')
    const { id } = open[Math.floor(this.world.random() * open.length)] as Lane
    const loud = [ORGANIZATIONS[Math.floor(this.world.random() * ORGANIZATIONS.length)] as string]
    const at = this.#cutThrough(id)
    this.#limits.set(id, at)
    const done = yield* this.#cut(
      cursor => canDivide(cursor, id, at, loud),
      cursor => divide(cursor, id, at, loud),
    )
    this.#limits.delete(id)
    if (done) this.world.divisions++
  }

  /** Ends an open bulk lane. */
  *#join(): Steps<void> {
    const bulk = this.#cursor.value.lanes.find(({ kind, end }) => kind === 'bulk' && end === null)
    if (!bulk) return
    const both = [bulk.id, liveOf(this.#cursor.value).id]
    const at = Math.max(...both.map(id => this.#cutThrough(id)))
    if (at >= this.world.ids.length) return
    for (const id of both) this.#limits.set(id, at)
    yield* this.#cut(
      cursor => canJoin(cursor, bulk.id, at),
      cursor => join(cursor, bulk.id, at),
    )
    for (const id of both) this.#limits.delete(id)
  }

  /** Makes the next position of a lane a lane of its own, when no chore is under way. */
  *#setAside(id: number, to: number): Generator<void, boolean, void> {
    if (this.#choring) return false
    this.#choring = true
    const done = yield* this.#cut(
      cursor => canSetAside(cursor, id, to),
      cursor => setAside(cursor, id, to),
    )
    this.#choring = false
    if (done) this.world.asides++
    return done
  }

  /** Leaves what is unread to a backlog, as the real owner does when it is late. */
  *#split(): Steps<void> {
    const { id } = liveOf(this.#cursor.value)
    const at = Math.max(this.#cutThrough(id), 1 + Math.floor(this.world.random() * this.world.ids.length))
    if (at >= this.world.ids.length || !canSplit(this.#cursor.value, at)) return
    this.#limits.set(id, at)
    const done = yield* this.#cut(
      cursor => liveOf(cursor).id === id && canSplit(cursor, at),
      cursor => split(cursor, at),
    )
    this.#limits.delete(id)
    if (done) this.world.splits++
  }

  /** Begins to read a stored range again. */
  *#replay(): Steps<void> {
    const { floor, lanes } = this.#cursor.value
    if (floor < 1 || lanes.some(lane => lane.kind === 'replay')) return
    const from = 1 + Math.floor(this.world.random() * floor)
    const to = from + Math.floor(this.world.random() * (floor - from + 1))
    yield* this.#cursor.write(cursor => replay(cursor, { from, to }))
    const lane = this.#cursor.value.lanes.find(({ kind }) => kind === 'replay') as Lane
    remember(this.world, this.#verdicts.beginReplay(), [{ after: 0, through: lane.floor }])
    this.world.replays++
    this.#launch()
  }

  *#move(): Steps<void> {
    yield* this.#reversing.alone(() => this.#mover.round())
  }

  /** True once it has taken over. */
  get settled(): boolean {
    return this.#settled
  }

  *#takeOver(): Steps<void> {
    this.#cursor.read()
    yield* this.#cursor.write(cursor => takeOver(cursor, `owner${this.lease}`))
    yield* this.#mover.fence()
    remember(this.world, this.#verdicts.main, storedRanges(this.#cursor.value))
    const again = this.#cursor.value.lanes.find(lane => lane.kind === 'replay')
    if (again) remember(this.world, this.#verdicts.beginReplay(), [{ after: 0, through: again.floor }])
    const open = this.#cursor.value.intents.filter(intent => !intent.done)
    const others: Intent[] = []
    for (const intent of open) {
      const same = this.#recipe(intent, intent.to, intent.generation, intent.repeats, this.#placing.recorded(intent))
      if (this.world.mode.broken !== 'open intents not remembered by the next owner') {
        this.#verdicts.learn(printsOf(this.world, intent), intent.repeats)
      }
      if (!sameBlocks(same.blocks, intent.blocks)) others.push(intent)
    }
    for (const intent of open) {
      if (others.includes(intent)) continue
      yield* this.#storing.store(intent, true)
      this.#tell(intent)
      yield* this.#cursor.write(cursor => finish(cursor, intent))
    }
    for (const intent of others) yield* this.#anew(intent)
    this.#settled = true
    this.#launch()
  }

  *#anew(old: Intent): Steps<void> {
    const { world } = this
    // What was sent under the old recipe has arrived: the one thing that a new recipe takes for granted.
    while (world.running.some(({ token }) => token.startsWith(`${this.#storing.tokens(rangeTokenOf(0, old))}.`))) {
      world.advance()
      yield
    }
    const repeats = this.#verdicts.reopen(old).judge(printsOf(this.world, old))
    const recipe = this.#recipe(old, old.to, this.#cursor.value.generation + 1, repeats)
    this.#placing.forget(old)
    yield* this.#cursor.write(cursor => supersede(cursor, recipe))
    world.anew++
    yield* this.#storing.store(old, false)
    this.#tell(old)
    yield* this.#cursor.write(cursor => finish(cursor, old))
  }

  #cutThrough(lane: number): number {
    return Math.max(endOf(this.#cursor.value, lane), this.#cuts.get(lane) ?? 0)
  }

  *#lane(id: number): Steps<void> {
    const { world } = this
    const { broken } = world.mode
    for (;;) {
      const lane = laneOf(this.#cursor.value, id)
      if (!lane) return
      const end = Math.min(lane.end ?? world.ids.length, this.#limits.get(id) ?? Number.POSITIVE_INFINITY)
      const from = endOf(this.#cursor.value, id) + 1
      if (from > end) {
        if (from > (lane.end ?? Number.POSITIVE_INFINITY)) return
        if (lane.end === null && from > world.ids.length && !this.#limits.has(id)) return
        yield
        continue
      }
      if (intentsOf(this.#cursor.value, id).length >= IN_FLIGHT) {
        yield
        continue
      }
      const to = Math.min(end, from + Math.floor(world.random() * 3))
      this.#cuts.set(id, to)
      if (world.chance(0.08) && (yield* this.#setAside(id, from))) return
      const placed = lane.kind === 'replay' ? undefined : yield* this.#placing.place(id, { ...scopeOf(lane), from, to })
      const recipe = this.#recipe({ lane: id, from }, to, this.#cursor.value.generation, null, placed?.homes)
      const intent = placed === undefined ? recipe : { ...recipe, homes: placed.named }
      const clearing = lane.kind === 'replay' && broken !== 'nothing taken back before a replay' ? 1 : 0
      if (broken === 'floor before insert') {
        yield* this.#cursor.write(cursor => finish(propose(cursor, { ...intent, clearing }), intent))
        yield* this.#storing.insertAll(intent)
        continue
      }
      if (broken === 'intent after insert') yield* this.#storing.insertAll(intent)
      yield* this.#cursor.write(cursor => propose(cursor, { ...intent, clearing }))
      this.#placing.settled(placed)
      this.threads.push(this.#storeAndFinish(intent))
    }
  }

  *#storeAndFinish(name: IntentName): Steps<void> {
    yield* this.#storing.store(name, false)
    this.#tell(name)
    yield* this.#cursor.write(cursor => finish(cursor, name))
  }

  /** The record of a finished range; a second one does no harm. */
  #tell(name: IntentName): void {
    const intent = this.#cursor.intent(name)
    const { from, to, homes } = intent
    this.#placing.tell(name)
    this.world.finished.push({ from, to, scope: scopeOf(intent), revision: homes?.revision ?? null })
  }

  #recipe(
    { lane, from }: IntentName,
    to: number,
    generation: number,
    known: readonly OrdinalRun[] | null,
    homes: Homes = new Map(),
  ): Intent {
    const found = laneOf(this.#cursor.value, lane) as Lane
    const range = { from, to, generation, build: this.build }
    const asked = { replay: found.kind === 'replay', from, to }
    return recipeOf(this.world, found, range, homes, prints => known ?? this.#memoryOf(lane).open(asked).judge(prints))
  }

  #memoryOf(lane: number): Verdicts {
    if (this.world.mode.broken !== 'no repeats from the other lane') return this.#verdicts
    let memory = this.#apart.get(lane)
    if (!memory) {
      // Right about all that was stored when the lane began; of what the others do meanwhile it learns nothing.
      memory = new Verdicts(MEMORY)
      remember(this.world, memory.main, storedRanges(this.#cursor.value))
      this.#apart.set(lane, memory)
    }
    return memory
  }
}
