// Hashes of traces -> whether a trace may have been met: never no where it was, seldom yes where it was not. A Bloom filter in blocks of
// 256 bits: eight bits of one block a trace, so that each look reads one place of the memory.

/** Bits of a trace in a filter that is as full as it is made for: less than one of a thousand is taken for met that was not. */
const BITS = 16
/** What a filter takes at most: above eight million traces more are taken for met, 2.7 % at 16 million, a quarter at 30. */
const WORDS_MAX = 4 * 1024 * 1024
const BLOCK_WORDS = 8
/** Odd numbers without a pattern; those of Parquet's filters, which are made the same way. */
const SALTS = new Uint32Array([
  0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
])

/** The halves of a hash of 64 bits. */
export interface TraceHash {
  readonly low: number
  readonly high: number
}

/** Traces that were met. */
export class TraceFilter {
  readonly #words: Uint32Array
  readonly #made: number
  #added = 0

  /** `traces`: for so many at least, as far as a filter may grow. */
  constructor(traces: number) {
    const words = 2 ** Math.ceil(Math.log2(Math.max(1, (traces * BITS) / 32)))
    this.#words = new Uint32Array(Math.min(WORDS_MAX, Math.max(BLOCK_WORDS, words)))
    this.#made = (this.#words.length * 32) / BITS
  }

  /** More was added than it is made for, and a larger one may be made. */
  get isFull(): boolean {
    return this.#added > this.#made && this.#words.length < WORDS_MAX
  }

  add({ low, high }: TraceHash): void {
    const block = this.#blockOf(high)
    for (let i = 0; i < BLOCK_WORDS; i++) this.#words[block + i] = (this.#words[block + i] as number) | bitOf(low, i)
    this.#added++
  }

  has({ low, high }: TraceHash): boolean {
    const block = this.#blockOf(high)
    for (let i = 0; i < BLOCK_WORDS; i++) if (((this.#words[block + i] as number) & bitOf(low, i)) === 0) return false
    return true
  }

  #blockOf(high: number): number {
    return (high & (this.#words.length / BLOCK_WORDS - 1)) * BLOCK_WORDS
  }
}

const bitOf = (low: number, i: number): number => 1 << (Math.imul(low, SALTS[i] as number) >>> 27)
