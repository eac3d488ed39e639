// The units of a range in their order: those that are rows already, and those that are places in the bytes of a frame.
import type { PackedUnits, Unit } from './outcome.ts'

/** A unit and where its rows stand. `first` = indexes, by table, of its first rows within the frame. */
export interface PlacedUnit {
  readonly unit: Unit
  readonly organization: string
  readonly sequence: number
  readonly frame: number
  readonly first: { readonly sessions: number; readonly texts: number; readonly links: number; readonly events: number }
  /** The store refuses the frame's rows: counted, never encoded. */
  readonly refused: boolean
}

/** A frame whose units write themselves. */
export interface PackedFrame {
  readonly units: PackedUnits
  /** The ordinal of the first of them. */
  readonly first: number
  readonly organization: string
  readonly sequence: number
  readonly frame: number
  readonly refused: boolean
}

/** From here on numbers are those of packed frames. */
const PACKED = 2 ** 30

/** A list without an object for a unit that is read from bytes. */
export class Units {
  readonly sequences: number[] = []
  readonly frames: number[] = []
  readonly #placed: PlacedUnit[] = []
  readonly #packed: PackedFrame[] = []
  /** An index of `#placed`; from PACKED on one of `#packed`; or, below zero, twice the number of an event that is read from bytes, and one more for a session. */
  readonly #which: number[] = []

  get length(): number {
    return this.#which.length
  }

  addRows(placed: PlacedUnit): void {
    this.#which.push(this.#placed.length)
    this.#placed.push(placed)
    this.sequences.push(placed.sequence)
    this.frames.push(placed.frame)
  }

  /** All units of a packed frame. */
  addPacked({ units, organization, sequence, frame, refused }: Omit<PackedFrame, 'first'>): void {
    const which = PACKED + this.#packed.length
    this.#packed.push({ units, first: this.length, organization, sequence, frame, refused })
    for (let i = 0; i < units.count; i++) {
      this.#which.push(which)
      this.sequences.push(sequence)
      this.frames.push(frame)
    }
  }

  addEvent(event: number, sequence: number, frame: number): void {
    this.#which.push(-1 - event * 2)
    this.sequences.push(sequence)
    this.frames.push(frame)
  }

  addSession(session: number, sequence: number, frame: number): void {
    this.#which.push(-2 - session * 2)
    this.sequences.push(sequence)
    this.frames.push(frame)
  }

  /** The rows of a unit; undefined for one that is read from bytes. */
  rowsAt(ordinal: number): PlacedUnit | undefined {
    const which = this.#which[ordinal] as number
    return which >= 0 && which < PACKED ? this.#placed[which] : undefined
  }

  /** The frame of a unit that writes itself, where it is `ordinal - first`; undefined for all others. */
  packedAt(ordinal: number): PackedFrame | undefined {
    const which = this.#which[ordinal] as number
    return which >= PACKED ? this.#packed[which - PACKED] : undefined
  }

  /** The number of an event that is read from bytes, -1 for a session. Precondition: it has neither rows nor a packed frame. */
  eventAt(ordinal: number): number {
    const number = -1 - (this.#which[ordinal] as number)
    return (number & 1) === 0 ? number / 2 : -1
  }

  /** The number of a session that is read from bytes. Precondition: it is one. */
  sessionAt(ordinal: number): number {
    return (-2 - (this.#which[ordinal] as number)) / 2
  }

  /** All units that are rows. */
  get placed(): readonly PlacedUnit[] {
    return this.#placed
  }
}
