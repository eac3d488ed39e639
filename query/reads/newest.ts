// What pages of raw logs have read of an organization's newest events -> where the next page begins to look, before anything was asked. It
// is a guess: events have come since, and a page that is not full looks again.
import { keepRecent } from '../days/recent.ts'

/** Organizations of which it is remembered: those that were asked for last. */
const ORGANIZATIONS_MAX = 256
/** What is older says too little of now: what came since is looked at, too. */
const KNOWN_MS = 5 * 60_000

/** How many events stand in 15 minutes. */
export interface Bucket {
  readonly atMs: number
  readonly events: number
}

/** Buckets with events since an instant, newest first. */
export interface Sums {
  readonly readAtMs: number
  readonly sinceMs: number
  readonly buckets: readonly Bucket[]
}

/** A page of the newest events, when somebody looked: from which instant to which, and how many came before it. */
export interface Seen {
  readonly atMs: number
  readonly newestMs: number
  /** How old the newest one was, or has been of late: it is when a block is stored, and grows until the next one is. */
  readonly behindMs: number
  readonly oldestMs: number
  readonly events: number
  readonly before: number
}

/** What is remembered of one organization. */
export interface Newest {
  /** The sums that were read lately; undefined when none were. */
  sums(nowMs: number): Sums | undefined
  keep(sums: Sums): void
  /** A page that was read lately: the first one, if somebody looked at that. */
  seen(nowMs: number): Seen | undefined
  see(seen: Seen): void
}

/** Gives what is remembered of organizations. */
export type NewestOf = (organization: string) => Newest

/** Remembers nothing yet. */
export function createNewest(): NewestOf {
  const sumsOf = new Map<string, Sums>()
  const seenOf = new Map<string, Seen>()
  return organization => ({
    sums(nowMs) {
      const sums = sumsOf.get(organization)
      return sums !== undefined && nowMs - sums.readAtMs < KNOWN_MS ? sums : undefined
    },
    keep: sums => keepRecent(sumsOf, [organization, sums], ORGANIZATIONS_MAX),
    seen(nowMs) {
      const seen = seenOf.get(organization)
      return seen !== undefined && nowMs - seen.atMs < KNOWN_MS ? seen : undefined
    },
    see: seen => keepRecent(seenOf, [organization, seen], ORGANIZATIONS_MAX),
  })
}
