// Hashes of ids in the order in which they come -> which of them were there before, among the newest ones. A wrong "yes" is possible, as two
// hashes of 53 bits may be equal; who asks makes sure.

/** Slots of an empty table: 8 bytes each, at most half of them are taken. */
const INITIAL = 4_096

/** Whole numbers from 1 to 2^53 - 1, in slots that they name; their low bits are as random as a hash. */
class Table {
  #slots = new Float64Array(INITIAL)
  size = 0

  has(hash: number): boolean {
    return this.#slots[this.#find(hash)] === hash
  }

  add(hash: number): void {
    const slot = this.#find(hash)
    if (this.#slots[slot] === hash) return
    this.#slots[slot] = hash
    if (++this.size * 2 > this.#slots.length) this.#grow()
  }

  #find(hash: number): number {
    const mask = this.#slots.length - 1
    let slot = (hash % 4_294_967_296) & mask
    while (this.#slots[slot] !== 0 && this.#slots[slot] !== hash) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Float64Array(before.length * 2)
    for (const hash of before) if (hash !== 0) this.#slots[this.#find(hash)] = hash
  }
}

/** Remembers at least the newest `max` hashes and at most twice as many. */
export class SeenIds {
  readonly #max: number
  #young = new Table()
  #old = new Table()

  constructor(max: number) {
    this.#max = max
  }

  /** Hashes remembered now. */
  get size(): number {
    return this.#young.size + this.#old.size
  }

  has(hash: number): boolean {
    return this.#young.has(hash) || this.#old.has(hash)
  }

  add(hash: number): void {
    this.#young.add(hash)
    if (this.#young.size < this.#max) return
    this.#old = this.#young
    this.#young = new Table()
  }
}
