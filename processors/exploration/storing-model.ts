// What one owner does to the rows of its intents, as coroutines: blocks are inserted, counted and taken back until the count is right. What the
// store answers is the world's; what is done next is decided by the real protocol.
import { scopeOf } from '../lanes.ts'
import type { BlockCommand, BlockEvent, BlockRecipe, BlockState, Intent, IntentName, Scope } from '../protocol.ts'
import { beginBlock, raiseAttempt, raiseClearing, rangeNameOf, rangeTokenOf, stepBlock, tokenOf } from '../protocol.ts'
import type { CursorModel } from './cursor-model.ts'
import type { PlacingModel } from './placing-model.ts'
import { droppedBy, positionsOf, rowsOf } from './recipes.ts'
import { calm, type Steps, send, type Turns } from './statements.ts'
import { type Row, TABLES, type Table, type World } from './world.ts'

/** What storing shares with the rest of its owner. */
export interface StoringHost {
  readonly world: World
  readonly lease: number
  readonly cursor: CursorModel
  readonly placing: PlacingModel
  /** Taking back and moving never overlap: each would not see what the other one writes. */
  readonly reversing: Turns
}

/** Stores intents. */
export class StoringModel {
  readonly #host: StoringHost

  constructor(host: StoringHost) {
    this.#host = host
  }

  /** Stores what an intent names, once; `found`: an owner before may have begun. @throws Gone. */
  *store(name: IntentName, found: boolean): Steps<void> {
    yield* this.#clear(name)
    for (const index of this.#host.cursor.intent(name).blocks.keys()) yield* this.#settleBlock(name, index, found)
  }

  /** Takes back what older generations stored of the range. */
  *#clear(name: IntentName): Steps<void> {
    if (this.#host.cursor.intent(name).clearing === 0) return
    yield* this.#host.reversing.alone(() => this.#clearTables(name))
  }

  *#clearTables(name: IntentName): Steps<void> {
    const { from, to, generation } = this.#host.cursor.intent(name)
    const scope = this.#scopeOfRows(this.#host.cursor.intent(name))
    const within = new Set(positionsOf(this.#host.world, { from, to, ...scope }))
    const older = (row: Row): boolean => within.has(row.sequence) && row.generation < generation
    for (const table of [...TABLES].reverse()) {
      for (let answered = false; ; ) {
        yield* calm(this.#host.world, `${this.tokens(rangeNameOf(0, this.#host.cursor.intent(name)))}.`)
        const rows = this.#host.world.rows.filter(row => row.table === table && older(row))
        const standing = new Map<string, number>()
        for (const row of rows) {
          const key = `${row.sequence}/${row.generation}/${row.version}`
          standing.set(key, (standing.get(key) ?? 0) + row.sign)
        }
        if ([...standing.values()].every(sum => sum === 0)) break
        if (answered) yield* this.#host.cursor.write(cursor => raiseClearing(cursor, name))
        const intent = this.#host.cursor.intent(name)
        const token = `${this.tokens(rangeTokenOf(0, intent))}.${table}.clear${intent.clearing}`
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
    const { world } = this.#host
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
    return yield* send(this.#host, name, table === 'texts' ? remove : reverse)
  }

  *#settleBlock(name: IntentName, index: number, found: boolean): Steps<void> {
    const parts = new Set<string>()
    let [state, command]: readonly [BlockState, BlockCommand] = beginBlock(this.#blockOf(name, index).rows, found)
    while (command !== 'done') {
      const event: BlockEvent = yield* this.#perform(command, name, index, parts)
      if (this.#host.world.mode.broken === 'no proof by count' && event.is === 'inserted') return
      ;[state, command] = stepBlock(state, event)
    }
    if (state.doubt) this.#host.world.healed++
  }

  #blockOf(name: IntentName, index: number): BlockRecipe {
    return this.#host.cursor.intent(name).blocks[index] as BlockRecipe
  }

  *#perform(
    command: BlockCommand,
    name: IntentName,
    index: number,
    parts: Set<string>,
  ): Generator<void, BlockEvent, void> {
    const { world } = this.#host
    const [intent, block] = [this.#host.cursor.intent(name), this.#blockOf(name, index)]
    const table = block.table as Table
    const token = this.tokens(tokenOf(0, intent, block))
    const counted = positionsOf(this.#host.world, { from: intent.from, to: intent.to, ...this.#scopeOfRows(intent) })
    const dropped = droppedBy(this.#host.world, intent)
    const sequences = counted.filter(sequence => !dropped.has(sequence))
    const which = (row: Row): boolean =>
      row.generation === intent.generation && sequences.includes(row.sequence) && !row.moved
    yield
    switch (command) {
      case 'insert':
        return { is: yield* send(this.#host, token, () => this.#rowsOf(intent, table, token)) }
      case 'settle':
        yield* calm(this.#host.world, `${this.tokens(rangeTokenOf(0, intent))}.`)
        return { is: 'settled' }
      case 'count': {
        const sums = sequences.map(sequence => world.sum(table, sequence, which))
        parts.clear()
        for (const row of world.rows) if (row.table === table && which(row)) parts.add(row.part)
        const total = sums.reduce((a, b) => a + b, 0)
        return { is: 'counted', counted: { total, exact: sums.filter(sum => sum === 1).length } }
      }
      case 'raise':
        yield* this.#host.cursor.write(cursor => raiseAttempt(cursor, name, index))
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
    return this.#host.world.mode.broken === 'rows of other organizations counted' ? {} : scopeOf(intent)
  }

  /** A token as the store hears it. */
  tokens(token: string): string {
    return this.#host.world.mode.broken === 'lanes not told apart by tokens' ? token.replace(/\.l\d+/, '') : token
  }

  #rowsOf(intent: Intent, table: Table, part: string): Row[] {
    return rowsOf(this.#host.world, intent, this.#host.placing.of(intent), { table, part })
  }

  /** Inserts without proof, as only broken owners do. @throws Gone. */
  *insertAll(intent: Intent): Steps<void> {
    for (const block of intent.blocks) {
      const token = this.tokens(tokenOf(0, intent, block))
      yield* send(this.#host, token, () => this.#rowsOf(intent, block.table as Table, token))
    }
  }
}
