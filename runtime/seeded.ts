// Chance that can be had again: mulberry32, from a seed. For demos, models, fuzzing and benches; nothing that must not be guessed.

/** 32 bits at a time; the same for the same seed. */
function wordsOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let x = Math.imul(state ^ (state >>> 15), 1 | state)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return (x ^ (x >>> 14)) >>> 0
  }
}

/** Whole numbers below a bound, good enough to choose mutations; the same for the same seed. */
export type Random = (below: number) => number

export function randomOf(seed: number): Random {
  const next = wordsOf(seed)
  return below => next() % below
}

/** Numbers from 0 to below 1; the same for the same seed. */
export function fractionsOf(seed: number): () => number {
  const next = wordsOf(seed)
  return () => next() / 4_294_967_296
}
