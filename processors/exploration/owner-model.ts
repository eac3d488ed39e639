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
import type {
  BlockCommand,
  BlockEvent,
  BlockRecipe,
  BlockState,
  Cursor,
  Intent,
  IntentName,
  Lane,
  OrdinalRun,
  Scope,
} from '../protocol.ts'
import {
  beginBlock,
  endOf,
  finish,
  intentsOf,
  isNamed,
  laneOf,
  propose,
  raiseAttempt,
  raiseClearing,
  rangeNameOf,
  rangeTokenOf,
  sameBlocks,
  stepBlock,
  supersede,
  takeOver,
  tokenOf,
} from '../protocol.ts'
import { Verdicts } from '../verdicts.ts'
import { MoverModel } from './mover-model.ts'
import { PlacingModel } from './placing-model.ts'
import { droppedBy, type Homes, positionsOf, printsOf, recipeOf, remember, rowsOf } from './recipes.ts'
import { calm, Gone, type Steps, send } from './statements.ts'
import { ORGANIZATIONS, type Row, TABLES, type Table, type World } from './world.ts'

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
  #value!: Cursor
  #revision = 0
  #writing = false
  #verdicts = new Verdicts(MEMORY)
  /** A broken owner has one memory for each lane. */
  readonly #apart = new Map<number, Verdicts>()
  readonly #limits = new Map<number, number>()
  readonly #cuts = new Map<number, number>()
  readonly #launched = new Set<number>()
  readonly #placing: PlacingModel
  #settled = false
  #choring = false
  /** Taking back and moving never overlap: each would not see what the other one writes. */
  #reversing = false
  readonly #mover: MoverModel

  constructor(world: World) {
    this.world = world
    this.lease = ++world.lease
    this.build = world.mode.builds && world.chance(0.3) ? 2 : 1
    this.#mover = new MoverModel({ world, lease: this.lease, cursor: () => this.#value })
    this.#placing = new PlacingModel({ world, lease: this.lease, cursor: () => this.#value })
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
    for (const { id } of this.#value.lanes) {
      if (this.#launched.has(id)) continue
      this.#launched.add(id)
      this.threads.push(this.#lane(id))
    }
  }

  /** Cuts lanes in one write, if that can be done then; true when it was. */
  *#cut(can: (cursor: Cursor) => boolean, edit: (cursor: Cursor) => Cursor): Generator<void, boolean, void> {
    let done = false
    yield* this.#write(cursor => {
      done = can(cursor)
      return done ? edit(cursor) : cursor
    })
    this.#launch()
    return done
  }

  /** Leaves one organization of a lane to a bulk lane, beside those that are left to others already. */
  *#divide(): Steps<void> {
    const open = this.#value.lanes.filter(({ kind }) => kind === 'live' || kind === 'backlog')
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
    const bulk = this.#value.lanes.find(({ kind, end }) => kind === 'bulk' && end === null)
    if (!bulk) return
    const both = [bulk.id, liveOf(this.#value).id]
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
    const { id } = liveOf(this.#value)
    const at = Math.max(this.#cutThrough(id), 1 + Math.floor(this.world.random() * this.world.ids.length))
    if (at >= this.world.ids.length || !canSplit(this.#value, at)) return
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
    const { floor, lanes } = this.#value
    if (floor < 1 || lanes.some(lane => lane.kind === 'replay')) return
    const from = 1 + Math.floor(this.world.random() * floor)
    const to = from + Math.floor(this.world.random() * (floor - from + 1))
    yield* this.#write(cursor => replay(cursor, { from, to }))
    const lane = this.#value.lanes.find(({ kind }) => kind === 'replay') as Lane
    remember(this.world, this.#verdicts.beginReplay(), [{ after: 0, through: lane.floor }])
    this.world.replays++
    this.#launch()
  }

  *#move(): Steps<void> {
    while (this.#reversing) yield
    this.#reversing = true
    yield* this.#mover.round()
    this.#reversing = false
  }

  /** True once it has taken over. */
  get settled(): boolean {
    return this.#settled
  }

  *#takeOver(): Steps<void> {
    ;({ value: this.#value, revision: this.#revision } = this.world.cursor)
    yield* this.#write(cursor => takeOver(cursor, `owner${this.lease}`))
    yield* this.#mover.fence()
    remember(this.world, this.#verdicts.main, storedRanges(this.#value))
    const again = this.#value.lanes.find(lane => lane.kind === 'replay')
    if (again) remember(this.world, this.#verdicts.beginReplay(), [{ after: 0, through: again.floor }])
    const open = this.#value.intents.filter(intent => !intent.done)
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
      yield* this.#store(intent, true)
      this.#tell(intent)
      yield* this.#write(cursor => finish(cursor, intent))
    }
    for (const intent of others) yield* this.#anew(intent)
    this.#settled = true
    this.#launch()
  }

  *#anew(old: Intent): Steps<void> {
    const { world } = this
    // What was sent under the old recipe has arrived: the one thing that a new recipe takes for granted.
    while (world.running.some(({ token }) => token.startsWith(`${this.#tokens(rangeTokenOf(0, old))}.`))) {
      world.advance()
      yield
    }
    const repeats = this.#verdicts.reopen(old).judge(printsOf(this.world, old))
    const recipe = this.#recipe(old, old.to, this.#value.generation + 1, repeats)
    this.#placing.forget(old)
    yield* this.#write(cursor => supersede(cursor, recipe))
    world.anew++
    yield* this.#store(old, false)
    this.#tell(old)
    yield* this.#write(cursor => finish(cursor, old))
  }

  #cutThrough(lane: number): number {
    return Math.max(endOf(this.#value, lane), this.#cuts.get(lane) ?? 0)
  }

  *#lane(id: number): Steps<void> {
    const { world } = this
    const { broken } = world.mode
    for (;;) {
      const lane = laneOf(this.#value, id)
      if (!lane) return
      const end = Math.min(lane.end ?? world.ids.length, this.#limits.get(id) ?? Number.POSITIVE_INFINITY)
      const from = endOf(this.#value, id) + 1
      if (from > end) {
        if (from > (lane.end ?? Number.POSITIVE_INFINITY)) return
        if (lane.end === null && from > world.ids.length && !this.#limits.has(id)) return
        yield
        continue
      }
      if (intentsOf(this.#value, id).length >= IN_FLIGHT) {
        yield
        continue
      }
      const to = Math.min(end, from + Math.floor(world.random() * 3))
      this.#cuts.set(id, to)
      if (world.chance(0.08) && (yield* this.#setAside(id, from))) return
      const placed = lane.kind === 'replay' ? undefined : yield* this.#placing.place(id, { ...scopeOf(lane), from, to })
      const recipe = this.#recipe({ lane: id, from }, to, this.#value.generation, null, placed?.homes)
      const intent = placed === undefined ? recipe : { ...recipe, homes: placed.named }
      const clearing = lane.kind === 'replay' && broken !== 'nothing taken back before a replay' ? 1 : 0
      if (broken === 'floor before insert') {
        yield* this.#write(cursor => finish(propose(cursor, { ...intent, clearing }), intent))
        yield* this.#insertAll(intent)
        continue
      }
      if (broken === 'intent after insert') yield* this.#insertAll(intent)
      yield* this.#write(cursor => propose(cursor, { ...intent, clearing }))
      this.#placing.settled(placed)
      this.threads.push(this.#storeAndFinish(intent))
    }
  }

  *#storeAndFinish(name: IntentName): Steps<void> {
    yield* this.#store(name, false)
    this.#tell(name)
    yield* this.#write(cursor => finish(cursor, name))
  }

  /** The record of a finished range; a second one does no harm. */
  #tell(name: IntentName): void {
    const intent = this.#intent(name)
    const { from, to, homes } = intent
    this.#placing.tell(name)
    this.world.finished.push({ from, to, scope: scopeOf(intent), revision: homes?.revision ?? null })
  }

  // ---- recipes ------------------------------------------------------------------------------------------------------------

  #recipe(
    { lane, from }: IntentName,
    to: number,
    generation: number,
    known: readonly OrdinalRun[] | null,
    homes: Homes = new Map(),
  ): Intent {
    const found = laneOf(this.#value, lane) as Lane
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
      remember(this.world, memory.main, storedRanges(this.#value))
      this.#apart.set(lane, memory)
    }
    return memory
  }

  // ---- the cursor ---------------------------------------------------------------------------------------------------------

  /** Compare-and-set whose answer may get lost before or after it took effect. Writes queue. */
  *#write(edit: (cursor: Cursor) => Cursor): Steps<void> {
    const { world } = this
    while (this.#writing) yield
    this.#writing = true
    const next = edit(this.#value)
    for (;;) {
      yield
      const applies = world.cursor.revision === this.#revision && !world.chance(0.1)
      if (applies) world.cursor = { value: next, revision: this.#revision + 1 }
      if (!applies || world.chance(0.15)) {
        yield
        if (JSON.stringify(world.cursor.value) !== JSON.stringify(next)) {
          if (world.cursor.revision !== this.#revision) throw new Gone()
          continue
        }
      }
      this.#revision = world.cursor.revision
      this.#value = next
      this.#writing = false
      return
    }
  }

  #intent(name: IntentName): Intent {
    return this.#value.intents.find(open => isNamed(open, name) && !open.done) as Intent
  }

  // ---- storing ------------------------------------------------------------------------------------------------------------

  *#store(name: IntentName, found: boolean): Steps<void> {
    yield* this.#clear(name)
    for (const index of this.#intent(name).blocks.keys()) yield* this.#settleBlock(name, index, found)
  }

  /** Takes back what older generations stored of the range. */
  *#clear(name: IntentName): Steps<void> {
    if (this.#intent(name).clearing === 0) return
    while (this.#reversing) yield
    this.#reversing = true
    yield* this.#clearTables(name)
    this.#reversing = false
  }

  *#clearTables(name: IntentName): Steps<void> {
    const { from, to, generation } = this.#intent(name)
    const scope = this.#scopeOfRows(this.#intent(name))
    const within = new Set(positionsOf(this.world, { from, to, ...scope }))
    const older = (row: Row): boolean => within.has(row.sequence) && row.generation < generation
    for (const table of [...TABLES].reverse()) {
      for (let answered = false; ; ) {
        yield* calm(this.world, `${this.#tokens(rangeNameOf(0, this.#intent(name)))}.`)
        const rows = this.world.rows.filter(row => row.table === table && older(row))
        const standing = new Map<string, number>()
        for (const row of rows) {
          const key = `${row.sequence}/${row.generation}/${row.version}`
          standing.set(key, (standing.get(key) ?? 0) + row.sign)
        }
        if ([...standing.values()].every(sum => sum === 0)) break
        if (answered) yield* this.#write(cursor => raiseClearing(cursor, name))
        const intent = this.#intent(name)
        const token = `${this.#tokens(rangeTokenOf(0, intent))}.${table}.clear${intent.clearing}`
        answered = (yield* this.#takeBack(table, token, older, new Set(rows.map(row => row.part)))) === 'inserted'
      }
    }
  }

  *#takeBack(
    table: Table,
    token: string,
    which: (row: Row) => boolean,
    parts: ReadonlySet<string>,
  ): Generator<void, 'inserted' | 'unknown', void> {
    const { world } = this
    // What it finds when it begins, which may be much later, of what was seen when it was sent.
    const seen = (row: Row): boolean => row.table === table && which(row) && parts.has(row.part)
    const name = `${token}.${[...parts].sort().join()}`
    const reverse = (): Row[] => {
      const counts = (row: Row): boolean =>
        world.sum(table, row.sequence, other => other.generation === row.generation && other.version === row.version) >
        0
      const found = world.rows.filter(row => seen(row) && row.sign === 1 && counts(row))
      const firsts = new Map(found.map(row => [`${row.sequence}/${row.generation}/${row.version}`, row]))
      return [...firsts.values()].map(row => ({ ...row, sign: -1, part: name }))
    }
    const remove = (): Row[] => {
      world.rows = world.rows.filter(row => !seen(row))
      return []
    }
    return yield* send(this, name, table === 'texts' ? remove : reverse)
  }

  *#settleBlock(name: IntentName, index: number, found: boolean): Steps<void> {
    const parts = new Set<string>()
    let [state, command]: readonly [BlockState, BlockCommand] = beginBlock(this.#blockOf(name, index).rows, found)
    while (command !== 'done') {
      const event: BlockEvent = yield* this.#perform(command, name, index, parts)
      if (this.world.mode.broken === 'no proof by count' && event.is === 'inserted') return
      ;[state, command] = stepBlock(state, event)
    }
    if (state.doubt) this.world.healed++
  }

  #blockOf(name: IntentName, index: number): BlockRecipe {
    return this.#intent(name).blocks[index] as BlockRecipe
  }

  *#perform(
    command: BlockCommand,
    name: IntentName,
    index: number,
    parts: Set<string>,
  ): Generator<void, BlockEvent, void> {
    const { world } = this
    const [intent, block] = [this.#intent(name), this.#blockOf(name, index)]
    const table = block.table as Table
    const token = this.#tokens(tokenOf(0, intent, block))
    const counted = positionsOf(this.world, { from: intent.from, to: intent.to, ...this.#scopeOfRows(intent) })
    const dropped = droppedBy(this.world, intent)
    const sequences = counted.filter(sequence => !dropped.has(sequence))
    const which = (row: Row): boolean =>
      row.generation === intent.generation && sequences.includes(row.sequence) && !row.moved
    yield
    switch (command) {
      case 'insert':
        return { is: yield* send(this, token, () => this.#rowsOf(intent, table, token)) }
      case 'settle':
        yield* calm(this.world, `${this.#tokens(rangeTokenOf(0, intent))}.`)
        return { is: 'settled' }
      case 'count': {
        const sums = sequences.map(sequence => world.sum(table, sequence, which))
        parts.clear()
        for (const row of world.rows) if (row.table === table && which(row)) parts.add(row.part)
        const total = sums.reduce((a, b) => a + b, 0)
        return { is: 'counted', counted: { total, exact: sums.filter(sum => sum === 1).length } }
      }
      case 'raise':
        yield* this.#write(cursor => raiseAttempt(cursor, name, index))
        return { is: 'raised' }
      case 'reduce': {
        const is = yield* this.#takeBack(table, `${token}.reduce`, which, new Set(parts))
        return { is: is === 'inserted' ? 'reduced' : 'unknown' }
      }
      default:
        throw new Error(`${command} in a world where nothing is refused`)
    }
  }

  /** Whose rows are counted and taken back. */
  #scopeOfRows(intent: Intent): Scope {
    return this.world.mode.broken === 'rows of other organizations counted' ? {} : scopeOf(intent)
  }

  /** A token as the store hears it. */
  #tokens(token: string): string {
    return this.world.mode.broken === 'lanes not told apart by tokens' ? token.replace(/\.l\d+/, '') : token
  }

  #rowsOf(intent: Intent, table: Table, part: string): Row[] {
    return rowsOf(this.world, intent, this.#placing.of(intent), { table, part })
  }

  *#insertAll(intent: Intent): Steps<void> {
    for (const block of intent.blocks) {
      const token = this.#tokens(tokenOf(0, intent, block))
      yield* send(this, token, () => this.#rowsOf(intent, block.table as Table, token))
    }
  }
}
