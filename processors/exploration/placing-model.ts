// Rows that are written at home at once, in a world: decided by links that are known up to some record, written down in a slot beside
// the cursor before an intent names it, and read from there by whoever finds the intent.
import type { Intent, IntentName, NamedHomes } from '../protocol.ts'
import type { MoverHost } from './mover-model.ts'
import { type Homes, positionsOf, type WorldRange } from './recipes.ts'
import { Gone } from './statements.ts'

/** Decisions that may be open. */
const SLOTS = 2
const KNOWN = 0.8
/** Of rows of which nothing is known: the range reveals where they belong. */
const REVEALED = 0.1

/** What a range itself reveals: positions of rows that it writes at home by links of its own. */
type Revealed = ReadonlySet<number>

/** What was decided about a range. */
export interface PlacedModel {
  readonly homes: Homes
  readonly named: NamedHomes
}

const keyOf = ({ lane, from }: IntentName): string => `${lane}/${from}`

/** One owner's decisions. */
export class PlacingModel {
  readonly #host: MoverHost
  readonly #homes = new Map<string, Homes>()
  readonly #revealed = new Map<string, Revealed>()
  /** Slots of ranges that are not recorded yet. */
  readonly #pending = new Set<number>()

  constructor(host: MoverHost) {
    this.#host = host
  }

  /** Decides which rows of a range are written at home. */
  *place(lane: number, range: WorldRange): Generator<void, PlacedModel | undefined, void> {
    const { world, lease, cursor } = this.#host
    const revision = Math.floor(world.random() * (world.finished.length + 1))
    const known = world.homesAt(revision)
    const homes = new Map<number, string>()
    const revealed = new Set<number>()
    for (const sequence of positionsOf(world, range)) {
      const home = known.get(world.ids[sequence - 1] as string)
      if (home !== undefined && world.chance(KNOWN)) homes.set(sequence, home)
      else if (home === undefined && world.chance(REVEALED)) {
        homes.set(sequence, `session${Math.floor(world.random() * 3)}`)
        revealed.add(sequence)
      }
    }
    const taken = new Set([...cursor().intents.map(intent => intent.homes?.slot), ...this.#pending])
    const slot = Array.from({ length: SLOTS }, (_, i) => i).find(one => !taken.has(one))
    if (homes.size === 0 || slot === undefined) return undefined
    this.#pending.add(slot)
    const text = JSON.stringify([[...homes], [...revealed]])
    yield
    // By compare-and-set: nobody who has lost the partition writes it.
    if (world.lease !== lease) throw new Gone()
    world.slots.set(slot, text)
    this.#homes.set(keyOf({ lane, from: range.from }), homes)
    this.#revealed.set(keyOf({ lane, from: range.from }), revealed)
    world.placed += homes.size
    return { homes, named: { slot, hash: text, revision, rows: homes.size } }
  }

  /** Its intent is recorded. */
  settled(placed: PlacedModel | undefined): void {
    if (placed) this.#pending.delete(placed.named.slot)
  }

  /** What an intent says that was decided; nothing when that is gone. */
  recorded(intent: Intent): Homes | undefined {
    const { world } = this.#host
    if (intent.homes === undefined) return undefined
    const text = world.slots.get(intent.homes.slot) ?? ''
    if (text !== intent.homes.hash) return undefined
    const [pairs, revealed] = JSON.parse(text) as [[number, string][], number[]]
    const homes = new Map(pairs)
    this.#homes.set(keyOf(intent), homes)
    this.#revealed.set(keyOf(intent), new Set(revealed))
    return homes
  }

  forget(name: IntentName): void {
    this.#homes.delete(keyOf(name))
    this.#revealed.delete(keyOf(name))
  }

  /** The links of a range become known with its record, and whoever has looked at less than that finds its rows stored. */
  tell(name: IntentName): void {
    const { world } = this.#host
    for (const sequence of this.#revealed.get(keyOf(name)) ?? []) {
      const id = world.ids[sequence - 1] as string
      const to = this.of(name).get(sequence) as string
      // Of two links of one trace the same one counts for ever: here the one that is known.
      if (!world.homes.has(id)) world.homes.set(id, to)
      world.finished.push({ link: id, to: world.homes.get(id) as string })
    }
  }

  of(name: IntentName): Homes {
    return this.#homes.get(keyOf(name)) ?? new Map()
  }
}
