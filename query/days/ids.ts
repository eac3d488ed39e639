// Ids of 16 bytes -> small numbers, in the order in which they come: an open-addressing table over flat arrays, since a Map of a million
// strings would take a hundred bytes for each.

/** Bytes of one id. */
export const ID_BYTES = 16
const WORDS = 4
/** Where the words of a uuid's text stand: the store holds it as two numbers of 64 bits, the smallest byte first. */
const HALVES = [1, 0, 3, 2] as const

/** A table of ids. */
export interface Ids {
  size(): number
  bytes(): number
  /** The number of the id whose four words stand at `at`; it gets the next one where it has none. */
  numberOf(words: Uint32Array, at: number): number
  /** The number of a uuid; undefined: it has none. */
  find(uuid: string): number | undefined
  /** The uuid of a number below `size`. */
  textOf(number: number): string
  /** Which of two numbers' uuids comes first as text: below 0 = that of `a`; 0 = they are one. */
  compare(a: number, b: number): number
}

/** An empty table. */
export function createIds(): Ids {
  let keys = new Uint32Array(WORDS * 1024)
  // Numbers by place, one more than they are; 0 = free. At most half of the places are taken.
  let places = new Uint32Array(2048)
  let size = 0

  const placeOf = (words: Uint32Array, at: number): number => {
    const [a, b, c, d] = [words[at], words[at + 1], words[at + 2], words[at + 3]] as [number, number, number, number]
    const mask = places.length - 1
    // Ids are hashes or drawn by chance; some senders count, which the multiplications spread.
    let place = (Math.imul(a ^ (d >>> 7), 0x9e3779b1) ^ Math.imul(b ^ c, 0x85ebca6b)) >>> 0
    for (place ^= place >>> 15; ; place++) {
      const found = places[place & mask] as number
      if (found === 0) return place & mask
      const key = (found - 1) * WORDS
      if (keys[key] === a && keys[key + 1] === b && keys[key + 2] === c && keys[key + 3] === d) return place & mask
    }
  }

  const grow = (): void => {
    const larger = new Uint32Array(keys.length * 2)
    larger.set(keys)
    keys = larger
    places = new Uint32Array(places.length * 2)
    for (let number = 0; number < size; number++) places[placeOf(keys, number * WORDS)] = number + 1
  }

  return {
    size: () => size,
    bytes: () => keys.byteLength + places.byteLength,
    numberOf(words, at) {
      const place = placeOf(words, at)
      const found = places[place] as number
      if (found > 0) return found - 1
      if ((size + 1) * WORDS > keys.length) {
        grow()
        return this.numberOf(words, at)
      }
      keys.set(words.subarray(at, at + WORDS), size * WORDS)
      places[place] = size + 1
      return size++
    },
    find(uuid) {
      const hex = uuid.replaceAll('-', '')
      const words = Uint32Array.from(HALVES, i => Number.parseInt(hex.slice(i * 8, i * 8 + 8), 16))
      const found = places[placeOf(words, 0)] as number
      return found === 0 ? undefined : found - 1
    },
    textOf: number => uuidOf(keys, number * WORDS),
    compare(a, b) {
      for (const half of HALVES) {
        const difference = (keys[a * WORDS + half] as number) - (keys[b * WORDS + half] as number)
        if (difference !== 0) return difference
      }
      return 0
    },
  }
}

/** The uuid whose four words stand at `at`. */
export function uuidOf(words: Uint32Array, at: number): string {
  const hexOf = (half: number): string => (words[at + half] as number).toString(16).padStart(8, '0')
  const [a, b, c, d] = [hexOf(HALVES[0]), hexOf(HALVES[1]), hexOf(HALVES[2]), hexOf(HALVES[3])]
  return `${a}-${b.slice(0, 4)}-${b.slice(4)}-${c.slice(0, 4)}-${c.slice(4)}${d}`
}

/** Ids as the store sends them, one after the other in base64, as words. */
export function wordsOf(base64: string): Uint32Array {
  const bytes = Buffer.from(base64, 'base64')
  // Decoded bytes may stand anywhere in a shared buffer, and words need their place.
  const words = new Uint32Array(bytes.length / 4)
  new Uint8Array(words.buffer).set(bytes)
  return words
}
