// A model of the store and of the cursor's bucket, which fail in every way we know; owners are in owner-model.ts. A world takes one
// step at a time; between any two steps an owner may die, be stopped while another takes over, or lose an answer, and the store may
// crash with whatever was running. The same seed gives the same world.
import { createHash } from 'node:crypto'
import { fractionsOf } from '#runtime/seeded.ts'
import type { Cursor, Scope } from '../protocol.ts'
import { freshCursor } from '../protocol.ts'

export type Table = 'texts' | 'events'
/** By their share of the payloads. */
export const ORGANIZATIONS: readonly string[] = ['loud', 'loud', 'less', 'quiet']
export const TABLES: readonly Table[] = ['texts', 'events']

/** Deliberately wrong owners. */
export type Broken =
  | 'no proof by count'
  | 'floor before insert'
  | 'intent after insert'
  | 'no repeats from the other lane'
  | 'open intents not remembered by the next owner'
  | 'nothing taken back before a replay'
  | 'rows of other organizations counted'
  | 'lanes not told apart by tokens'
  | 'moves of what is under way'
  | 'moves that arrive late'
  | 'moves repeated unseen'
  | 'moved rows not remembered'
  | 'links that a placed range missed not looked at'
  | 'answers from before their record'

/** How this world misbehaves. */
export interface Mode {
  /** Does the store log a token before the rows are there (as seen on 26.7), or after? */
  readonly log: 'before' | 'after'
  /** Whether an insert that is cut short may leave some of its rows. */
  readonly torn: boolean
  /** Whether an owner that lost its lease may still send what it was about to send. */
  readonly zombies: boolean
  /** Whether the next owner may be of a build that reads the same payloads otherwise. */
  readonly builds: boolean
  /** Which the exploration must catch. */
  readonly broken?: Broken
}

export interface Row {
  readonly table: Table
  readonly generation: number
  readonly sequence: number
  readonly id: string
  readonly sign: number
  /** Raised by each move of the row. */
  readonly version: number
  /** The conversation that it stands in. */
  readonly home: string
  /** Written by a move: not what the range's intent promised. */
  readonly moved: boolean
  /** The part that holds it: merges rename parts. */
  readonly part: string
}

/** What stands in the stream of finished ranges: a link that became known, or a range of the partition. */
export type FinishedRecord =
  | { readonly link: string; readonly to: string }
  | { readonly from: number; readonly to: number; readonly scope: Scope; readonly revision: number | null }

export interface Running {
  readonly token: string
  /** What it does when it begins: the rows that it will make visible. */
  readonly begin: () => readonly Row[]
  /** Rows that are there together or not at all, even where an insert is torn. */
  readonly together: number
  rows: readonly Row[]
  stage: 'sent' | 'begun' | 'half' | 'visible' | 'ended'
  answer: 'none' | 'ok' | 'error'
}

export class World {
  readonly random: () => number
  readonly mode: Mode
  readonly ids: readonly string[]
  cursor: { value: Cursor; revision: number } = { value: freshCursor(), revision: 0 }
  rows: Row[] = []
  log = new Set<string>()
  running: Running[] = []
  lease = 0
  /** Moves under a smaller number copy nothing. */
  fence = 0
  /** What became known of the conversations of payloads. */
  readonly homes = new Map<string, string>()
  /** Records of finished ranges, and those up to which an owner has looked. */
  readonly finished: FinishedRecord[] = []
  looked = 0
  /** Which rows an intent places at home, by slot. */
  readonly slots = new Map<number, string>()
  steps = 0
  healed = 0
  splits = 0
  divisions = 0
  asides = 0
  replays = 0
  moves = 0
  placed = 0
  anew = 0

  constructor(seed: number, mode: Mode) {
    this.random = fractionsOf(seed)
    this.mode = mode
    // A few payloads, some of them sent again.
    const distinct = Array.from({ length: 7 }, (_, i) => `id${i}`)
    const ids = [...distinct, ...distinct.slice(0, 4)]
    this.ids = ids
      .map(id => ({ id, at: this.random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ id }) => id)
  }

  /** Who sent what stands at a position: one sends more than the others. */
  organizationAt(sequence: number): string {
    return ORGANIZATIONS[Number((this.ids[sequence - 1] as string).slice(2)) % ORGANIZATIONS.length] as string
  }

  chance(p: number): boolean {
    return this.random() < p
  }

  /** Signed rows of a position that `which` picks. */
  sum(table: Table, sequence: number, which: (row: Row) => boolean = () => true): number {
    let sum = 0
    for (const row of this.rows) if (row.table === table && row.sequence === sequence && which(row)) sum += row.sign
    return sum
  }

  /** Names the state that the world is in, owners' memories aside. */
  fingerprint(): string {
    const { epoch: _epoch, owner: _owner, ...cursor } = this.cursor.value
    const rows = this.rows.map(
      ({ table, sequence, generation, sign, version, home }) =>
        `${table[0]}${sequence}.${generation}.${sign}.${version}${home}`,
    )
    const running = this.running.map(({ token, stage }) => `${token}${stage}`)
    const state = JSON.stringify([this.ids, cursor, rows.sort(), running.sort(), [...this.log].sort()])
    return createHash('sha1').update(state).digest('base64').slice(0, 16)
  }

  /** What was known of homes when so many records stood there. */
  homesAt(revision: number): Map<string, string> {
    const homes = new Map<string, string>()
    for (const record of this.finished.slice(0, revision)) if ('link' in record) homes.set(record.link, record.to)
    return homes
  }

  /** One step of one statement inside the store. */
  advance(): void {
    const insert = this.running[Math.floor(this.random() * this.running.length)]
    if (!insert) return
    const { log } = this.mode
    if (insert.stage === 'sent') {
      // The server refuses a query whose id is running already.
      const twin = this.running.some(
        other => other !== insert && other.token === insert.token && other.stage !== 'sent',
      )
      if (twin) this.end(insert, 'error')
      else if (this.log.has(insert.token)) this.end(insert, 'ok')
      else {
        insert.stage = 'begun'
        insert.rows = insert.begin()
        if (log === 'before') this.log.add(insert.token)
      }
    } else if (insert.stage === 'begun' && this.mode.torn && this.chance(0.3)) {
      insert.stage = 'half'
    } else if (insert.stage === 'begun' || insert.stage === 'half') {
      this.rows.push(...insert.rows)
      insert.stage = 'visible'
    } else {
      this.log.add(insert.token)
      this.end(insert, 'ok')
    }
  }

  end(insert: Running, answer: 'ok' | 'error'): void {
    if (insert.stage === 'half' && answer === 'error') this.rows.push(...insert.rows.slice(0, insert.together))
    insert.stage = 'ended'
    insert.answer = answer
    this.running = this.running.filter(other => other !== insert)
  }

  /** A merge: the same rows under another part's name, without those that their reversals cancel. */
  merge(): void {
    const part = `merged${this.steps}`
    const open = new Map<string, Row>()
    const left = new Set(this.rows)
    for (const row of this.rows) {
      if (row.table !== 'events') continue
      const key = `${row.sequence}/${row.generation}/${row.version}/${row.home}`
      const other = open.get(key)
      if (other === undefined || other.sign === row.sign) open.set(key, row)
      else {
        left.delete(row)
        left.delete(other)
        open.delete(key)
      }
    }
    this.rows = [...left].map(row => ({ ...row, part }))
  }

  /** A span reveals, or reveals better, whose conversation a payload belongs to. */
  reveal(): void {
    const id = this.ids[Math.floor(this.random() * this.ids.length)] as string
    const to = `session${Math.floor(this.random() * 3)}`
    this.homes.set(id, to)
    this.finished.push({ link: id, to })
  }

  /** kill -9 of the store: what runs is gone, with whatever it had done so far. */
  crash(): void {
    for (const insert of [...this.running]) this.end(insert, 'error')
  }
}
