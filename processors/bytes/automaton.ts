// Words -> what finds them in bytes: Aho and Corasick's automaton over classes of letters, and tables by half a byte that tell where one
// may begin at all (the filter of Hyperscan's Teddy). Both are what look.wat reads.

/** Letters, one class for `-` and `_`, and everything else. */
export const CLASSES = 32
const JOINED = 27
/** The class of each byte value. */
export const classOf: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) => {
  const letter = byte | 32
  if (letter >= 97 && letter <= 122 && byte < 128) return letter - 96
  return byte === 0x2d || byte === 0x5f ? JOINED : 0
})

/** See above. */
export interface Automaton {
  /** The next state of each state and class, in rows; 0 = nothing is left of what may become a word. */
  readonly next: Uint16Array
  /** The state that means that a word was seen. */
  readonly found: number
  /** Three pairs of tables by the lower and the upper half of a byte: the groups of words that have it as their first letter, … */
  readonly beginnings: Uint8Array
  /** A word that these classes cannot say: every text may hold it. */
  readonly always: boolean
}

/** A word as classes; null when it has characters that are not told apart here. */
function classesOf(word: string): number[] | null {
  const plain = word.toLowerCase()
  return /^[a-z_-]+$/.test(plain) ? Array.from(plain, letter => classOf[letter.charCodeAt(0)] as number) : null
}

/** The automaton of some words; a state in which one was seen leads nowhere else. */
export function automatonOf(words: readonly string[]): Automaton {
  const spelled = words.map(classesOf)
  const rows: number[][] = [new Array<number>(CLASSES).fill(-1)]
  const ends = new Set<number>()
  for (const word of spelled) {
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
  return {
    ...{ next, found: found * CLASSES, beginnings: beginningsOf(spelled.filter(word => word !== null)) },
    always: spelled.includes(null) || ends.has(0) || next.length > 65_535,
  }
}

/** Fills in where a state goes on with what fits the beginning of another word. */
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

const LETTERS = 3
const GROUPS = 8
const HALVES = 16

/** Classes that the words of a group have as first, second and third letter; null: any byte, since a word is shorter. */
type Group = (Set<number> | null)[]

function beginningsOf(words: readonly (readonly number[])[]): Uint8Array {
  const groups = Array.from({ length: GROUPS }, (): Group => Array.from({ length: LETTERS }, () => new Set<number>()))
  // Each word goes where it adds least to what the group takes for a beginning.
  for (const word of words) {
    const added = groups.map(group => widthOf(joined(group, word)) - widthOf(group))
    const best = added.indexOf(Math.min(...added))
    groups[best] = joined(groups[best] as Group, word)
  }
  const tables = new Uint8Array(LETTERS * 2 * HALVES)
  for (const [bit, group] of groups.entries()) {
    for (const [letter, classes] of group.entries()) {
      for (let byte = 0; byte < 256; byte++) {
        if (classes !== null && !classes.has(classOf[byte] as number)) continue
        for (const at of [letter * 2 * HALVES + (byte & 15), (letter * 2 + 1) * HALVES + (byte >> 4)]) {
          tables[at] = (tables[at] as number) | (1 << bit)
        }
      }
    }
  }
  return tables
}

function joined(group: Group, word: readonly number[]): Group {
  return group.map((classes, i) => {
    const each = word[i]
    return classes === null || each === undefined ? null : new Set([...classes, each])
  })
}

function widthOf(group: Group): number {
  return group.reduce((product, classes) => product * (classes?.size ?? 256), 1)
}
