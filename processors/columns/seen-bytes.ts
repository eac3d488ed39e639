// Bytes that come again and again -> the number that was kept with them, without a string.
import { Bytes } from './column.ts'
import { copyBytes, hashBytes, sameBytes } from './utf8.ts'

/** Slots at first: a power of two. */
const SLOTS = 64
/** Words a slot: hash, index, where the bytes are kept and how many. */
const SLOT = 4

/** Bytes -> the index that was kept with them: an open hash table, at most half full. */
export class SeenBytes {
  #slots = new Int32Array(SLOTS * SLOT).fill(-1)
  #count = 0
  #hash = 0
  readonly #bytes = new Bytes()

  /** The index, -1 for bytes that were not kept. */
  find(from: Uint8Array, start: number, end: number): number {
    const slots = this.#slots
    const mask = slots.length / SLOT - 1
    const hash = hashBytes(from, start, end)
    this.#hash = hash
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const at = slot * SLOT
      const index = slots[at + 1] as number
      if (index < 0) return -1
      if (slots[at] !== hash || slots[at + 3] !== end - start) continue
      if (sameBytes(from, start, end, this.#bytes.data, slots[at + 2] as number)) return index
    }
  }

  /** Keeps what `find` was asked for last and did not find. */
  keep(from: Uint8Array, start: number, end: number, index: number): void {
    const bytes = this.#bytes
    if ((this.#count + 1) * 2 * SLOT > this.#slots.length) this.#grow()
    bytes.reserve(end - start)
    copyBytes(from, start, end, bytes.data, bytes.length)
    this.#place(this.#hash, index, bytes.length, end - start)
    bytes.length += end - start
    this.#count++
  }

  #place(hash: number, index: number, at: number, length: number): void {
    const slots = this.#slots
    const mask = slots.length / SLOT - 1
    let slot = hash & mask
    while ((slots[slot * SLOT + 1] as number) >= 0) slot = (slot + 1) & mask
    slots[slot * SLOT] = hash
    slots[slot * SLOT + 1] = index
    slots[slot * SLOT + 2] = at
    slots[slot * SLOT + 3] = length
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Int32Array(old.length * 2).fill(-1)
    for (let at = 0; at < old.length; at += SLOT) {
      const [hash, index, start, length] = [old[at], old[at + 1], old[at + 2], old[at + 3]] as [
        number,
        number,
        number,
        number,
      ]
      if (index >= 0) this.#place(hash, index, start, length)
    }
  }

  clear(): void {
    if (this.#count === 0) return
    // A block of many words is rare: its table is not kept, so that no later block has to empty it.
    if (this.#slots.length > 64 * SLOTS * SLOT) this.#slots = new Int32Array(SLOTS * SLOT)
    this.#slots.fill(-1)
    this.#count = 0
    this.#bytes.clear()
  }
}
