// Byte strings that come again and again -> small numbers, so that two of them are compared once and never become text again.
// Bounded: what is full is emptied by its owner, together with everything that holds its numbers.
import { randomInt } from 'node:crypto'

// Senders choose the bytes: without a seed one could make them all meet in one place.
const SEED = randomInt(2 ** 31)

/** A hash of bytes. */
export function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let h = SEED ^ (to - from)
  for (let i = from; i < to; i++) h = Math.imul(h ^ (bytes[i] as number), 0x01000193)
  h ^= h >>> 15
  h = Math.imul(h, 0x85ebca6b)
  return h ^ (h >>> 13)
}

/** True when both ranges hold the same bytes. Precondition: the second is as long as the first. */
export function sameBytes(a: Uint8Array, from: number, to: number, b: Uint8Array, at: number): boolean {
  for (let i = from, j = at; i < to; i++, j++) if (a[i] !== b[j]) return false
  return true
}

/** Numbers from 0 for byte strings, with what `make` makes of each. */
export class Interned<T> {
  readonly #max: number
  readonly #make: (text: string, bytes: Buffer) => T
  #slots: Int32Array
  #hashes: number[] = []
  #bytes: Buffer[] = []
  readonly values: T[] = []

  /** `max`: byte strings that are kept. */
  constructor(max: number, make: (text: string, bytes: Buffer) => T) {
    this.#max = max
    this.#make = make
    let slots = 64
    while (slots < max * 2) slots *= 2
    this.#slots = new Int32Array(slots)
  }

  get size(): number {
    return this.values.length
  }

  /** True when nothing new finds room. */
  get isFull(): boolean {
    return this.values.length >= this.#max
  }

  /** The number of a byte string; -1 when it is not known and there is no room. `guess`: the number that it may well have. */
  of(bytes: Buffer, from: number, to: number, guess = 0): number {
    const likely = this.#bytes[guess]
    if (likely !== undefined && likely.length === to - from && sameBytes(bytes, from, to, likely, 0)) return guess
    const hash = hashOf(bytes, from, to)
    const mask = this.#slots.length - 1
    let slot = hash & mask
    for (let found = this.#slots[slot] as number; found !== 0; found = this.#slots[slot] as number) {
      const known = this.#bytes[found - 1] as Buffer
      if (this.#hashes[found - 1] === hash && known.length === to - from && sameBytes(bytes, from, to, known, 0)) {
        return found - 1
      }
      slot = (slot + 1) & mask
    }
    if (this.isFull) return -1
    const own = Buffer.from(bytes.subarray(from, to))
    const index = this.values.length
    this.values.push(this.#make(own.toString('utf8'), own))
    this.#hashes.push(hash)
    this.#bytes.push(own)
    this.#slots[slot] = index + 1
    return index
  }

  clear(): void {
    this.#slots.fill(0)
    this.#hashes = []
    this.#bytes = []
    this.values.length = 0
  }
}
