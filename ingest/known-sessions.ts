// The set of conversations a receiver knows, in at most 24 bytes each: two generations of open-addressing tables of 128-bit
// fingerprints. When the young one is full it becomes the old one and what was old is forgotten; a conversation that is asked for is
// young again. Forgotten ones are still found in the store.
import { randomFillSync } from 'node:crypto'

/** The set. Organization and conversation are 16 bytes each. */
export interface KnownSessions {
  has(organization: Uint8Array, conversation: Uint8Array): boolean
  add(organization: Uint8Array, conversation: Uint8Array): void
  /** Conversations remembered, over both generations. */
  size(): number
  /** Memory of the tables. */
  bytes(): number
}

/** Words of a fingerprint, and of a slot. */
const WORDS = 4
/** Tables of a generation: each grows by itself, so that growing a large set never holds up the event loop for long. */
const SHARDS = 64
const FIRST_SLOTS = 16
/** A table grows by a quarter when it is 85 % full: between 18.8 and 23.6 bytes an entry. */
const FULLEST = 0.85
const GROWTH = 1.25

/**
 * A set that remembers between `maxSessions / 2` and `maxSessions` conversations; an empty one takes 64 KiB.
 * A false "known" (two fingerprints alike) would accept an event that is else refused; seeds are random, so that nobody can look for
 * one, nor for conversations that meet in one slot.
 */
export function createKnownSessions(maxSessions: number): KnownSessions {
  const perGeneration = Math.max(8, Math.ceil(maxSessions / 2))
  const seeds = randomFillSync(new Uint32Array(WORDS))
  // The fingerprint of the last call: no BigInt and no object is made per request.
  const print = new Uint32Array(WORDS)
  const fingerprint = (organization: Uint8Array, conversation: Uint8Array): void => {
    let a = seeds[0] as number
    let b = seeds[1] as number
    let c = seeds[2] as number
    let d = seeds[3] as number
    for (let i = 0; i < 32; i += 4) {
      const word = i < 16 ? wordAt(organization, i) : wordAt(conversation, i - 16)
      a = mix(a, word, 0xcc9e2d51)
      b = mix(b, word, 0x85ebca6b)
      c = mix(c, word, 0x38b34ae5)
      d = mix(d, word, 0xa1e38b93)
    }
    print[0] = finish(a)
    print[1] = finish(b)
    print[2] = finish(c)
    // Zero in the last word marks a free slot.
    print[3] = finish(d) || 1
  }
  let young = new Generation(print)
  let old = new Generation(print)
  const insert = (): void => {
    if (young.count >= perGeneration) {
      old = young
      young = new Generation(print)
    }
    young.add()
  }
  return {
    has: (organization, conversation) => {
      fingerprint(organization, conversation)
      if (young.has()) return true
      if (!old.has()) return false
      insert()
      return true
    },
    add: (organization, conversation) => {
      fingerprint(organization, conversation)
      if (!young.has()) insert()
    },
    size: () => young.count + old.count,
    bytes: () => young.bytes() + old.bytes(),
  }
}

/** Tables of fingerprints; asked about the one in `print`. */
class Generation {
  count = 0
  readonly #print: Uint32Array
  readonly #shards: { words: Uint32Array; slots: number; count: number }[]

  constructor(print: Uint32Array) {
    this.#print = print
    this.#shards = Array.from({ length: SHARDS }, () => ({
      words: new Uint32Array(FIRST_SLOTS * WORDS),
      slots: FIRST_SLOTS,
      count: 0,
    }))
  }

  has(): boolean {
    const { words, slots } = this.#shard()
    return words[slotOf(words, slots, this.#print, 0) + 3] !== 0
  }

  /** Precondition: not there yet. */
  add(): void {
    const shard = this.#shard()
    if (shard.count + 1 > shard.slots * FULLEST) {
      const before = shard.words
      shard.slots = Math.ceil(shard.slots * GROWTH)
      shard.words = new Uint32Array(shard.slots * WORDS)
      for (let at = 0; at < before.length; at += WORDS) {
        if (before[at + 3] !== 0) put(shard.words, shard.slots, before, at)
      }
    }
    put(shard.words, shard.slots, this.#print, 0)
    shard.count++
    this.count++
  }

  bytes(): number {
    return this.#shards.reduce((sum, shard) => sum + shard.words.byteLength, 0)
  }

  #shard(): { words: Uint32Array; slots: number; count: number } {
    return this.#shards[(this.#print[1] as number) % SHARDS] as { words: Uint32Array; slots: number; count: number }
  }
}

/** Where the fingerprint at `from` of `print` stands in a table, or the free slot where it belongs. */
function slotOf(words: Uint32Array, slots: number, print: Uint32Array, from: number): number {
  const first = print[from] as number
  const second = print[from + 1] as number
  const third = print[from + 2] as number
  const fourth = print[from + 3] as number
  // By the high bits, so that the number of slots need not be a power of two.
  let at = Math.floor((first * slots) / 0x1_0000_0000) * WORDS
  while (words[at + 3] !== 0) {
    if (words[at] === first && words[at + 1] === second && words[at + 2] === third && words[at + 3] === fourth)
      return at
    at += WORDS
    if (at === words.length) at = 0
  }
  return at
}

function put(words: Uint32Array, slots: number, print: Uint32Array, from: number): void {
  const at = slotOf(words, slots, print, from)
  for (let i = 0; i < WORDS; i++) words[at + i] = print[from + i] as number
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  )
}

function mix(h: number, word: number, constant: number): number {
  let k = Math.imul(word, constant)
  k = (k << 15) | (k >>> 17)
  h ^= Math.imul(k, 0x1b873593)
  h = (h << 13) | (h >>> 19)
  return (Math.imul(h, 5) + 0xe6546b64) | 0
}

function finish(h: number): number {
  h ^= h >>> 16
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  h ^= h >>> 16
  return h >>> 0
}
