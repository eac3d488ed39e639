// The repeat window: fingerprints of what a partition has seen, in the order in which they were judged, the newest `max` of them,
// each with its position in the stream. Exact, no false positives; some 28 bytes an entry when full, a few kilobytes when idle.
//
// A ring holds the fingerprints in order (three 32-bit words and a position each); an open-addressing table of ring positions finds
// them. Linear probing with deletion by shifting back: no tombstones, so that years of dropping the oldest leave nothing behind.
import { randomInt } from 'node:crypto'
import { FINGERPRINT_BYTES } from '#proto/ids.ts'
import type { CallReport } from './calls.ts'
import type { OrdinalRun } from './protocol.ts'

const WORDS = FINGERPRINT_BYTES / 4
const INITIAL = 1024

/** Fingerprints of a range's units, one after the other; zeros = a unit without identity, which is never a repeat. */
export interface Fingerprints {
  readonly list: Uint8Array
  /** Stream position of each unit. */
  readonly sequences: ArrayLike<number>
  /** Units that are reports of calls: they are judged by what they say (calls.ts), their fingerprints here are zeros. */
  readonly calls?: readonly CallReport[]
}

/** Entries that one judgement added, for `undo`. */
export interface Batch {
  readonly from: number
  readonly to: number
}

/** One fingerprint, read. */
type Words = readonly [a: number, b: number, c: number]

/** Calls `visit` for every unit that has an identity; those it answers true for are returned as runs of ordinals. */
export function runsOf(
  { list, sequences }: Fingerprints,
  isRepeat: (words: Words, sequence: number, ordinal: number) => boolean,
): OrdinalRun[] {
  const view = new DataView(list.buffer, list.byteOffset, list.byteLength)
  const runs: [number, number][] = []
  const n = list.byteLength / FINGERPRINT_BYTES
  for (let i = 0; i < n; i++) {
    const at = i * FINGERPRINT_BYTES
    const words = [view.getUint32(at, true), view.getUint32(at + 4, true), view.getUint32(at + 8, true)] as const
    if ((words[0] | words[1] | words[2]) === 0) continue
    if (!isRepeat(words, sequences[i] ?? 0, i)) continue
    const last = runs.at(-1)
    if (last && last[1] === i - 1) last[1] = i
    else runs.push([i, i])
  }
  return runs
}

/** Remembers fingerprints. What is added is provisional only in that it can be undone as a batch. */
export class RepeatWindow {
  readonly #max: number
  // Senders choose the ids behind the fingerprints: without seeds one could make them all probe from the same slot.
  readonly #seeds = [randomInt(2 ** 32 - 1), randomInt(2 ** 32 - 1)] as const
  #capacity = INITIAL
  #ring = new Uint32Array(INITIAL * WORDS)
  /** Stream positions, modulo 2^32. */
  #positions = new Uint32Array(INITIAL)
  #table = new Uint32Array(INITIAL * 2)
  #head = 0
  /** Slots in use, and how many of them are empty since they were undone. */
  #count = 0
  #undone = 0
  /** Number of the oldest entry: entries are numbered for ever. */
  #first = 0

  /** `max`: fingerprints to remember. */
  constructor(max: number) {
    this.#max = max
  }

  /** Fingerprints remembered now. */
  get size(): number {
    return this.#count - this.#undone
  }

  /** Bytes of memory held. */
  get bytes(): number {
    return this.#ring.byteLength + this.#positions.byteLength + this.#table.byteLength
  }

  /** Number of the next entry: a batch is what lies between two of these. */
  get mark(): number {
    return this.#first + this.#count
  }

  /** Adds one fingerprint; false when it was there. */
  add([a, b, c]: Words, sequence: number): boolean {
    if (this.#count === this.#capacity) {
      // Slots that were undone may stand in the middle: room for them too, within reason.
      if (this.size < this.#max && this.#count < this.#max * 4) this.#grow()
      else this.#dropOldest()
    }
    const slot = this.#find(a, b, c)
    if (this.#table[slot] !== 0) return false
    const position = (this.#head + this.#count) & (this.#capacity - 1)
    this.#ring[position * WORDS] = a
    this.#ring[position * WORDS + 1] = b
    this.#ring[position * WORDS + 2] = c
    this.#positions[position] = sequence
    this.#table[slot] = position + 1
    this.#count++
    return true
  }

  /** The stream position (modulo 2^32) at which a fingerprint was seen; undefined when it was not. */
  positionOf([a, b, c]: Words): number | undefined {
    const found = this.#table[this.#find(a, b, c)] as number
    return found === 0 ? undefined : this.#positions[found - 1]
  }

  /** True when what is not remembered was never seen: nothing had to be forgotten. */
  get isComplete(): boolean {
    return this.size < this.#max
  }

  /** Notes that a remembered fingerprint stands at another position now. */
  move([a, b, c]: Words, sequence: number): void {
    const found = this.#table[this.#find(a, b, c)] as number
    if (found !== 0) this.#positions[found - 1] = sequence
  }

  /** Drops the oldest beyond `max`. */
  trim(): void {
    while (this.size > this.#max) this.#dropOldest()
  }

  /** Forgets a batch, wherever it stands by now. */
  undo({ from, to }: Batch): void {
    for (let n = Math.min(to, this.mark) - 1; n >= Math.max(from, this.#first); n--) {
      const position = (this.#head + n - this.#first) & (this.#capacity - 1)
      if (this.#isEmpty(position)) continue
      this.#unlink(position)
      this.#ring.fill(0, position * WORDS, position * WORDS + WORDS)
      this.#undone++
    }
    // Empty slots at the end are free again.
    for (; this.#count > 0; this.#count--, this.#undone--) {
      if (!this.#isEmpty((this.#head + this.#count - 1) & (this.#capacity - 1))) break
    }
  }

  #isEmpty(position: number): boolean {
    const at = position * WORDS
    return ((this.#ring[at] as number) | (this.#ring[at + 1] as number) | (this.#ring[at + 2] as number)) === 0
  }

  /** The slot of a fingerprint, or the free one where it would stand. */
  #find(a: number, b: number, c: number): number {
    const mask = this.#table.length - 1
    let slot = this.#slot(a, b, c)
    for (let found = this.#table[slot] as number; found !== 0; found = this.#table[slot] as number) {
      const at = (found - 1) * WORDS
      if (this.#ring[at] === a && this.#ring[at + 1] === b && this.#ring[at + 2] === c) break
      slot = (slot + 1) & mask
    }
    return slot
  }

  #slot(a: number, b: number, c: number): number {
    let h = Math.imul(a ^ this.#seeds[0], 0x9e3779b1) ^ Math.imul(b ^ this.#seeds[1], 0x85ebca6b) ^ c
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d)
    return (h ^ (h >>> 13)) & (this.#table.length - 1)
  }

  #slotOf(position: number): number {
    const at = position * WORDS
    return this.#slot(this.#ring[at] as number, this.#ring[at + 1] as number, this.#ring[at + 2] as number)
  }

  #dropOldest(): void {
    if (this.#isEmpty(this.#head)) this.#undone--
    else this.#unlink(this.#head)
    this.#head = (this.#head + 1) & (this.#capacity - 1)
    this.#count--
    this.#first++
  }

  /** Takes a position out of the table, shifting back whatever probed past it. */
  #unlink(position: number): void {
    const mask = this.#table.length - 1
    let hole = this.#slotOf(position)
    while (this.#table[hole] !== position + 1) hole = (hole + 1) & mask
    for (let slot = (hole + 1) & mask; ; slot = (slot + 1) & mask) {
      const found = this.#table[slot] as number
      if (found === 0) break
      const home = this.#slotOf(found - 1)
      // May move back only when its home is not between the hole and where it stands.
      if (((slot - home) & mask) >= ((slot - hole) & mask)) {
        this.#table[hole] = found
        hole = slot
      }
    }
    this.#table[hole] = 0
  }

  #grow(): void {
    const ring = new Uint32Array(this.#capacity * 2 * WORDS)
    const split = (this.#capacity - this.#head) * WORDS
    ring.set(this.#ring.subarray(this.#head * WORDS))
    ring.set(this.#ring.subarray(0, this.#head * WORDS), split)
    const positions = new Uint32Array(this.#capacity * 2)
    positions.set(this.#positions.subarray(this.#head))
    positions.set(this.#positions.subarray(0, this.#head), this.#capacity - this.#head)
    this.#ring = ring
    this.#positions = positions
    this.#capacity *= 2
    this.#head = 0
    this.#table = new Uint32Array(this.#capacity * 2)
    const mask = this.#table.length - 1
    for (let position = 0; position < this.#count; position++) {
      if (this.#isEmpty(position)) continue
      let slot = this.#slotOf(position)
      while (this.#table[slot] !== 0) slot = (slot + 1) & mask
      this.#table[slot] = position + 1
    }
  }
}
