// Pairs of all days -> whose conversations are and how many events they have: settled anew when any day has changed.
import type { Pairs } from './rows.ts'
import type { Users } from './users.ts'

/** Conversations by their numbers. */
export interface People {
  /** 0 = nobody is known. */
  userOf(conversation: number): number
  eventsOf(conversation: number): number
  /** Seconds between which its events stand; precondition: it has some. */
  extentOf(conversation: number): { first: number; last: number }
  /** Precondition: numbers of conversations are below `size`. */
  settle(days: { size: number; captures: ReadonlyMap<string, Pairs>; events: ReadonlyMap<string, Pairs> }): void
  bytes(): number
}

/** Nobody yet. */
export function createPeople(users: Users): People {
  let captured = new Uint32Array(0)
  let seen = new Uint32Array(0)
  let totals = new Uint32Array(0)
  let first = new Uint32Array(0)
  let last = new Uint32Array(0)
  return {
    userOf: conversation => captured[conversation] || seen[conversation] || 0,
    eventsOf: conversation => totals[conversation] ?? 0,
    extentOf: conversation => ({ first: first[conversation] as number, last: last[conversation] as number }),
    bytes: () => captured.byteLength * 5,
    settle({ size, captures, events }) {
      captured = new Uint32Array(size)
      seen = new Uint32Array(size)
      totals = new Uint32Array(size)
      first = new Uint32Array(size).fill(0xffffffff)
      last = new Uint32Array(size)
      // A capture is later than all of an earlier day, so that the last day that names somebody stands.
      for (const day of [...captures.keys()].sort()) {
        const { conversations, users: named } = captures.get(day) as Pairs
        for (let i = 0; i < conversations.length; i++) captured[conversations[i] as number] = named[i] as number
      }
      for (const { conversations, users: named, counts, firsts, lasts } of events.values()) {
        for (let i = 0; i < conversations.length; i++) {
          const conversation = conversations[i] as number
          seen[conversation] = users.larger(seen[conversation] as number, named[i] as number)
          totals[conversation] = (totals[conversation] as number) + (counts[i] as number)
          if ((firsts[i] as number) < (first[conversation] as number)) first[conversation] = firsts[i] as number
          if ((lasts[i] as number) > (last[conversation] as number)) last[conversation] = lasts[i] as number
        }
      }
    },
  }
}
