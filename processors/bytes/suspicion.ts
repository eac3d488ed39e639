// Bytes of a text -> may something in it be a secret, and is it ASCII: one look at each byte. A text that is not suspicious is stored
// as it was sent; any other becomes a string and is masked as everywhere (parsers/secrets.ts), whose patterns are compiled here.
import { isAscii, isUtf8 } from 'node:buffer'
import { secretBeginnings, secretsVersion, suspicionWords } from '../parsers/secrets.ts'

/** What was found: bits. */
export const Look = { ascii: 1, suspicious: 2 } as const

/** Letters, one class for `-` and `_`, and everything else. */
const CLASSES = 32
const JOINED = 27
const classOf = Uint8Array.from({ length: 256 }, (_, byte) => {
  const letter = byte | 32
  if (letter >= 97 && letter <= 122 && byte < 128) return letter - 96
  return byte === 0x2d || byte === 0x5f ? JOINED : 0
})

interface Automaton {
  readonly edition: number
  /** The next state of each state and class, in rows. */
  readonly next: Uint16Array
  /** States from here on mean that a pattern was seen. */
  readonly found: number
  /** A pattern that these classes cannot say: every text is suspicious. */
  readonly always: boolean
}

let automaton: Automaton | null = null

/** A pattern as classes; null when it has characters that are not told apart here. */
function classesOf(pattern: string): number[] | null {
  const plain = pattern.toLowerCase()
  return /^[a-z_-]+$/.test(plain) ? Array.from(plain, letter => classOf[letter.charCodeAt(0)] as number) : null
}

/** Aho and Corasick's automaton over the patterns; a state in which one was seen leads nowhere else. */
function compile(patterns: readonly string[], edition: number): Automaton {
  const words = patterns.map(classesOf)
  const rows: number[][] = [new Array<number>(CLASSES).fill(-1)]
  const ends = new Set<number>()
  for (const word of words) {
    let state = 0
    for (const each of word ?? []) {
      const row = rows[state] as number[]
      if (row[each] === -1) row[each] = rows.push(new Array<number>(CLASSES).fill(-1)) - 1
      state = row[each] as number
    }
    ends.add(state)
  }
  link(rows, ends)
  // One state stands for every end.
  const found = rows.length
  const next = new Uint16Array((found + 1) * CLASSES)
  for (const [state, row] of rows.entries()) {
    for (const [each, to] of row.entries()) next[state * CLASSES + each] = (ends.has(to) ? found : to) * CLASSES
  }
  return { edition, next, found: found * CLASSES, always: words.includes(null) || ends.has(0) || next.length > 65_535 }
}

/** Fills in where a state goes on with what fits the beginning of another pattern. */
function link(rows: number[][], ends: Set<number>): void {
  const fallback: number[] = []
  const queue: number[] = []
  for (const [each, to] of (rows[0] as number[]).entries()) {
    if (to === -1) (rows[0] as number[])[each] = 0
    else {
      fallback[to] = 0
      queue.push(to)
    }
  }
  for (const state of queue) {
    const back = rows[fallback[state] as number] as number[]
    if (ends.has(fallback[state] as number)) ends.add(state)
    for (const [each, to] of (rows[state] as number[]).entries()) {
      if (to === -1) (rows[state] as number[])[each] = back[each] as number
      else {
        fallback[to] = back[each] as number
        queue.push(to)
      }
    }
  }
}

const beginnings = new Set(secretBeginnings.map(two => (two.charCodeAt(0) << 8) | two.charCodeAt(1)))

/** Looks at a text. */
export function lookAt(bytes: Uint8Array, from: number, to: number): number {
  const edition = secretsVersion()
  if (automaton === null || automaton.edition !== edition) automaton = compile(suspicionWords, edition)
  const { next, found, always } = automaton
  if (always) return Look.suspicious
  if (to - from > 2 && beginnings.has((((bytes[from] as number) | 32) << 8) | ((bytes[from + 1] as number) | 32))) {
    return Look.suspicious
  }
  let state = 0
  let high = 0
  for (let i = from; i < to; i++) {
    const byte = bytes[i] as number
    high |= byte
    state = next[state + (classOf[byte] as number)] as number
    if (state === found) return Look.suspicious
  }
  return high < 128 ? Look.ascii : 0
}

/** What bytes are as a text. */
export const Letters = { none: 0, utf8: 1, ascii: 2 } as const

/** Up to here a loop beats the call into the runtime, which needs a view of the bytes. */
const SHORT_TEXT = 64

/** What the bytes are. Of all but `none` a text would become the same bytes again. */
export function lettersOf(bytes: Buffer, from: number, to: number): number {
  if (to - from <= SHORT_TEXT) {
    let high = 0
    for (let i = from; i < to; i++) high |= bytes[i] as number
    if (high < 128) return Letters.ascii
  }
  const view = bytes.subarray(from, to)
  if (isAscii(view)) return Letters.ascii
  return isUtf8(view) ? Letters.utf8 : Letters.none
}

/** True when the bytes are UTF-8. */
export const isText = (bytes: Buffer, from: number, to: number): boolean => lettersOf(bytes, from, to) !== Letters.none
