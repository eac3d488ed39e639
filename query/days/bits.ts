// Sets of small numbers as bits: unions of sets that were made before are a walk over words, and not over members.

/** A set that is not changed any more: words from one on, without those before and behind in which nothing is. */
export interface Bits {
  readonly from: number
  readonly words: Uint32Array
}

/** A set that is filled, told of and emptied again and again. */
export interface Marks {
  add(number: number): void
  addAll(bits: Bits): void
  has(number: number): boolean
  count(): number
  /** What is in it, as a set that stays. */
  keep(): Bits
  clear(): void
}

/** An empty set of numbers below `size`. */
export function createMarks(size: number): Marks {
  const words = new Uint32Array((size >>> 5) + 1)
  let [first, last] = [words.length, -1]
  return {
    add(number) {
      const at = number >>> 5
      words[at] = (words[at] as number) | (1 << (number & 31))
      if (at < first) first = at
      if (at > last) last = at
    },
    addAll({ from, words: of }) {
      if (of.length === 0) return
      for (let i = 0; i < of.length; i++) words[from + i] = (words[from + i] as number) | (of[i] as number)
      first = Math.min(first, from)
      last = Math.max(last, from + of.length - 1)
    },
    has: number => (((words[number >>> 5] as number) >>> (number & 31)) & 1) === 1,
    count() {
      let count = 0
      for (let at = first; at <= last; at++) count += ones(words[at] as number)
      return count
    },
    keep: () => ({ from: first, words: words.slice(first, last + 1) }),
    clear() {
      if (last >= 0) words.fill(0, first, last + 1)
      ;[first, last] = [words.length, -1]
    },
  }
}

/** How many bits of a word are set. */
function ones(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** Whether a number is in a set. */
export function contains({ from, words }: Bits, number: number): boolean {
  return (((words[(number >>> 5) - from] ?? 0) >>> (number & 31)) & 1) === 1
}

/** Every number of a set, in ascending order. */
export function forEachOf({ from, words }: Bits, see: (number: number) => void): void {
  for (let i = 0; i < words.length; i++) {
    for (let left = words[i] as number; left !== 0; left &= left - 1)
      see((from + i) * 32 + 31 - Math.clz32(left & -left))
  }
}

/** What a set takes. */
export const bytesOfBits = ({ words }: Bits): number => words.byteLength + 100
