// A seed -> the same numbers for ever: what a fuzz run did can be done again.

/** A source of random numbers. */
export interface Random {
  /** A whole number from 0 to `below - 1`. */
  below(below: number): number
  pick<T>(items: readonly T[]): T
}

/** sfc32, a small generator with a period beyond any run, seeded by splitting the seed. */
export function createRandom(seed: number): Random {
  let [a, b, c, counter] = [seed | 0, (seed ^ 0x9e3779b9) | 0, (seed ^ 0x85ebca6b) | 0, 1]
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return sum >>> 0
  }
  for (let i = 0; i < 16; i++) next()
  const below = (limit: number): number => next() % limit
  return { below, pick: items => items[below(items.length)] as (typeof items)[number] }
}
