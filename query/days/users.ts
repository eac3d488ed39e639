// Names, of users or of groups -> numbers from 1 on; 0 is the empty name, nobody.

/** A table of names. */
export interface Users {
  /** Numbers are below it. */
  size(): number
  bytes(): number
  numbersOf(names: readonly string[]): Uint32Array
  /** The number of a name that is known; undefined: nobody has it. */
  find(name: string): number | undefined
  nameOf(number: number): string
  /** The one whose name is larger, as the store compares: by bytes. */
  larger(a: number, b: number): number
}

/** An empty table. */
export function createUsers(): Users {
  const numbers = new Map<string, number>([['', 0]])
  const names = ['']
  let chars = 0
  const numberOf = (name: string): number => {
    const known = numbers.get(name)
    if (known !== undefined) return known
    numbers.set(name, names.length)
    chars += name.length
    return names.push(name) - 1
  }
  return {
    size: () => names.length,
    // What an entry of a Map and of a list takes besides its text.
    bytes: () => chars + names.length * 80,
    numbersOf: list => Uint32Array.from(list, numberOf),
    find: name => numbers.get(name),
    nameOf: number => names[number] ?? '',
    larger(a, b) {
      if (a === b || b === 0) return a
      if (a === 0) return b
      return Buffer.compare(Buffer.from(names[a] as string), Buffer.from(names[b] as string)) < 0 ? b : a
    },
  }
}
