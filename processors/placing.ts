// Spans without a session -> at home from their first writing on, where a link of their trace is known. What is decided has to be the
// same when the range is stored again by another owner: it is kept in a key beside the cursor, one of a few a partition, and named in
// the intent by slot and hash before anything is inserted. A record that is gone makes the range one that is not reproduced.
import { hash } from 'node:crypto'
import type { KV } from '@nats-io/kv'
import { homesKeyOf } from '#proto/streams.ts'
import type { CursorKeeper } from './cursor.ts'
import type { LinkMemory } from './link-memory.ts'
import { type Home, keyOf, keysOf, type LooseUnits, type Placement } from './loose.ts'
import type { Intent, IntentName, NamedHomes } from './protocol.ts'
import { Recent } from './recent.ts'

/** What was decided about a range, and how its intent names it. */
export interface Placed {
  readonly placement: Placement
  readonly named: NamedHomes
}

/** Decisions that may be open at once; further ranges are moved home instead. */
export const SLOTS = 4
/** Homes of one range: their record stays far below what a key may hold. What is beyond is moved home. */
const HOMES_MAX = 2_000
/** Characters of session ids of one record. */
const SESSIONS_MAX = 64 * 1024
/** Stand-ins whose first position is remembered. */
const STAND_INS = 400_000

/** Where spans of a trace stand that name no session, as far as this owner has read them. */
export interface Begin {
  /** Position of the first. */
  readonly from: number
  /** First and last hour, since 1970, of their rows. */
  readonly first: number
  readonly last: number
  /** Something was captured under the stand-in. */
  readonly captured: boolean
  /** At least as many as there are. */
  readonly spans: number
}

/** Where loose spans of a partition begin, of those that this owner has read. */
class FirstPositions {
  readonly #begins: Recent<{ -readonly [K in keyof Begin]: Begin[K] }>
  #last: number
  #lastOfOlder: number
  #since: number
  #turns = 0

  /** `since`: what stands up to here was read by others. */
  constructor(since: number) {
    this.#since = since
    this.#last = since
    this.#lastOfOlder = since
    this.#begins = new Recent(STAND_INS / 2, () => {
      // What is forgotten now was not met since the last time that something was.
      this.#since = Math.max(this.#since, this.#lastOfOlder)
      this.#lastOfOlder = this.#last
      this.#turns++
    })
  }

  /** Of spans above this position the beginning of each trace is known. */
  get since(): number {
    return this.#since
  }

  /** How often some were forgotten. */
  get turns(): number {
    return this.#turns
  }

  of(standIn: string): Begin | undefined {
    return this.#begins.get(keyOf(standIn))
  }

  note(keys: readonly string[], { sequences, hours, free }: LooseUnits): void {
    for (const [i, key] of keys.entries()) {
      const sequence = sequences[i] as number
      const hour = hours[i] as number
      const captured = free[i] === 0
      this.#last = Math.max(this.#last, sequence)
      const known = this.#begins.get(key)
      if (known === undefined) this.#begins.set(key, { from: sequence, first: hour, last: hour, captured, spans: 1 })
      else {
        known.from = Math.min(sequence, known.from)
        known.first = Math.min(hour, known.first)
        known.last = Math.max(hour, known.last)
        known.captured ||= captured
        known.spans++
      }
    }
  }
}

/** What `Placing` needs. `links`: absent = everything is written under its stand-in. */
export interface PlacingOptions {
  readonly kv: KV
  readonly partition: number
  readonly cursor: CursorKeeper
  readonly links: LinkMemory | undefined
}

/** One owner's decisions. */
export class Placing {
  readonly firsts: FirstPositions
  readonly #options: PlacingOptions
  /** Slots whose range is not recorded yet. */
  readonly #pending = new Map<number, string>()
  readonly #revisions = new Map<number, number>()
  /** Slots that hold something; undefined: nobody has looked yet what others left. */
  #written: Set<number> | undefined

  constructor(options: PlacingOptions) {
    this.#options = options
    const { lanes, intents } = options.cursor.value
    this.firsts = new FirstPositions(Math.max(0, ...lanes.map(lane => lane.floor), ...intents.map(intent => intent.to)))
  }

  /** Notes spans that are about to be stored under their stand-ins. */
  note(loose: LooseUnits): void {
    this.firsts.note(keysOf(loose), loose)
  }

  /** Decides about a range that is about to be recorded; null: all of it stays under stand-ins. */
  async place(loose: LooseUnits, name: IntentName): Promise<Placed | null> {
    const keys = keysOf(loose)
    this.firsts.note(keys, loose)
    const { links } = this.#options
    if (links === undefined) return null
    const { revision } = links
    const placement = placementOf(keys, loose, links)
    const slot = placement === null ? undefined : this.#freeSlot(nameOf(name))
    if (placement === null || slot === undefined) return null
    this.#pending.set(slot, nameOf(name))
    const text = textOf(placement)
    if (!(await this.#write(slot, text))) return null
    const rows = placement.of.reduce((n, home) => n + (home > 0 ? 1 : 0), 0)
    return { placement, named: { slot, hash: hashOf(text), revision, rows } }
  }

  /** The range is recorded, or given up. */
  settled(name: IntentName): void {
    for (const [slot, of] of this.#pending) if (of === nameOf(name)) this.#pending.delete(slot)
  }

  /** What an intent says that was decided; null when it is gone, or not about these spans. */
  async recorded(loose: LooseUnits, { homes }: Intent): Promise<Placed | null> {
    this.note(loose)
    if (homes === undefined) return null
    const entry = await this.#options.kv.get(this.#keyOf(homes.slot))
    const text = entry?.operation === 'PUT' ? entry.string() : ''
    if (hashOf(text) !== homes.hash) return null
    const placement = placementIn(text)
    return placement.of.length === loose.free.length ? { placement, named: homes } : null
  }

  /** Empties slots that no open intent names: what stands there is nobody's any more. */
  async clean(): Promise<void> {
    this.#written ??= await this.#found()
    for (const slot of [...this.#written]) {
      if (this.#isTaken(slot)) continue
      this.#pending.set(slot, '')
      const emptied = await this.#write(slot, '')
      this.#pending.delete(slot)
      if (emptied) this.#written.delete(slot)
    }
  }

  async #found(): Promise<Set<number>> {
    const slots = Array.from({ length: SLOTS }, (_, slot) => slot)
    const entries = await Promise.all(slots.map(slot => this.#options.kv.get(this.#keyOf(slot))))
    return new Set(slots.filter(slot => entries[slot]?.operation === 'PUT' && entries[slot].string() !== ''))
  }

  #freeSlot(name: string): number | undefined {
    for (const [slot, of] of this.#pending) if (of === name) return slot
    return Array.from({ length: SLOTS }, (_, slot) => slot).find(slot => !this.#isTaken(slot))
  }

  #isTaken(slot: number): boolean {
    const { intents } = this.#options.cursor.value
    return this.#pending.has(slot) || intents.some(({ homes }) => homes?.slot === slot)
  }

  /** By compare-and-set, so that nobody who has lost the partition writes what an intent names. */
  async #write(slot: number, text: string): Promise<boolean> {
    const { kv } = this.#options
    const key = this.#keyOf(slot)
    try {
      const known = this.#revisions.get(slot) ?? (await kv.get(key))?.revision ?? 0
      this.#revisions.set(slot, await kv.put(key, text, { previousSeq: known }))
      if (text !== '') this.#written?.add(slot)
      return true
    } catch {
      // Without an answer it may stand or not: nothing names it, and the next one asks first.
      this.#revisions.delete(slot)
      return false
    }
  }

  #keyOf(slot: number): string {
    return homesKeyOf(this.#options.partition, slot)
  }
}

const nameOf = ({ lane, from }: IntentName): string => `${lane}/${from}`
const hashOf = (text: string): string => hash('sha1', text, 'hex').slice(0, 16)

/**
 * What is known of a trace says where its spans belong, else what the range itself reveals. That need not be the link which counts in
 * the end: the range has links, so its traces are looked at when it is finished.
 */
function placementOf(
  keys: readonly string[],
  { free, revealed, homes: known }: LooseUnits,
  links: LinkMemory,
): Placement | null {
  const numbers = new Map<string, number>()
  const homes: Home[] = []
  let sessions = 0
  const of = Uint16Array.from(keys, (key, i) => {
    if (free[i] === 0) return 0
    const number = numbers.get(key)
    if (number !== undefined) return number
    const home = links.homeOf(key) ?? known[(revealed[i] as number) - 1]
    if (home === undefined || homes.length === HOMES_MAX || sessions > SESSIONS_MAX) return 0
    sessions += home.session_id.length
    numbers.set(key, homes.push(home))
    return homes.length
  })
  return homes.length === 0 ? null : { of, homes }
}

function textOf({ of, homes }: Placement): string {
  const bytes = Buffer.alloc(of.length * 2)
  for (const [i, number] of of.entries()) bytes.writeUInt16LE(number, i * 2)
  return JSON.stringify({
    of: bytes.toString('base64'),
    homes: homes.map(home => [home.conversation_id, home.session_id]),
  })
}

function placementIn(text: string): Placement {
  const { of, homes } = JSON.parse(text) as { of: string; homes: readonly (readonly [string, string])[] }
  const bytes = Buffer.from(of, 'base64')
  return {
    of: Uint16Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readUInt16LE(i * 2)),
    homes: homes.map(([conversation_id, session_id]) => ({ conversation_id, session_id })),
  }
}
