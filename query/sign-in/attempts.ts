// Failed attempts by name -> whether one more is allowed. Counted by this process, in windows; names are bounded.

/** Failures that are counted per name. */
export interface Attempts {
  /** Seconds to wait; 0 = go on. */
  waitS(name: string): number
  failed(name: string): void
  /** Forgets a name: it was the right one after all. */
  passed(name: string): void
}

const NAMES_MAX = 50_000

/** At most `most` failures of a name in `windowMs`. */
export function createAttempts(options: { most: number; windowMs: number; clock?: () => number }): Attempts {
  const { most, windowMs, clock = Date.now } = options
  // In the order of their windows' beginnings, so the first are the ones to forget.
  const failures = new Map<string, { count: number; sinceMs: number }>()
  const current = (name: string) => {
    const found = failures.get(name)
    if (found === undefined || clock() - found.sinceMs < windowMs) return found
    failures.delete(name)
    return undefined
  }
  return {
    waitS: name => {
      const found = current(name)
      if (found === undefined || found.count < most) return 0
      return Math.max(1, Math.ceil((found.sinceMs + windowMs - clock()) / 1000))
    },
    failed: name => {
      const found = current(name)
      if (found !== undefined) {
        found.count++
        return
      }
      if (failures.size >= NAMES_MAX) {
        const [oldest] = failures.keys()
        if (oldest !== undefined) failures.delete(oldest)
      }
      failures.set(name, { count: 1, sinceMs: clock() })
    },
    passed: name => void failures.delete(name),
  }
}
