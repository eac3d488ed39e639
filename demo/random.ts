// A seeded source of chance: the same seed gives the same demo, ids included, so that sending it twice changes no number.
import { fractionsOf } from '#runtime/seeded.ts'

/** Draws from one seeded sequence. */
export interface Random {
  /** Uniform in [0, 1). */
  unit(): number
  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number
  chance(probability: number): boolean
  pick<T>(from: readonly T[]): T
  /** Like `pick`, but earlier entries come more often, as popular things do. */
  skewed<T>(from: readonly T[]): T
  /** `bytes` random bytes in lower-case hex. */
  hex(bytes: number): string
  /** A version 4 uuid. */
  uuid(): string
  /** Around `median`, with the long tail that latencies have. */
  latency(median: number): number
  /** An independent sequence, so that one story's length does not shift the next story's draws. */
  fork(name: string): Random
}

/** A sequence from a seed (mulberry32 over an FNV-1a hash of the seed's text). */
export function createRandom(seed: string): Random {
  let hash = 0x811c9dc5
  for (let i = 0; i < seed.length; i++) hash = Math.imul(hash ^ seed.charCodeAt(i), 0x01000193)
  const unit = fractionsOf(hash)
  const between = (min: number, max: number): number => min + Math.floor(unit() * (max - min + 1))
  const at = <T>(from: readonly T[], index: number): T => from[Math.min(index, from.length - 1)] as T
  const hex = (bytes: number): string => {
    let text = ''
    for (let i = 0; i < bytes; i++) text += between(0, 255).toString(16).padStart(2, '0')
    return text
  }
  return {
    unit,
    between,
    chance: probability => unit() < probability,
    pick: from => at(from, Math.floor(unit() * from.length)),
    skewed: from => at(from, Math.floor(unit() ** 2 * from.length)),
    hex,
    uuid: () => {
      const h = hex(16)
      return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-a${h.slice(17, 20)}-${h.slice(20)}`
    },
    latency: median => Math.round(median * Math.exp((unit() + unit() + unit() - 1.5) * 1.4)),
    fork: name => createRandom(`${seed}/${name}`),
  }
}
