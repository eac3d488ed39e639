// Pairs of all days -> whose conversations are and how many events they have: settled anew when any day has changed.
import type { Pairs } from './rows.ts'
import type { Users } from './users.ts'

/** Conversations by their numbers. */
export interface People {
  /** 0 = nobody is known. */
  userOf(conversation: number): number
  eventsOf(conversation: number): number
  /** The same by number, as far as it reaches: walks over all conversations take a tenth of the time that calls for each would. */
  settled(): { readonly users: Uint32Array; readonly events: Uint32Array }
  /** Conversations that were known and have another user since: where their list ends, and those since an earlier end; null: too many. */
  changes(): { readonly end: number; since(end: number): readonly number[] | null }
  /** Seconds between which its events stand; precondition: it has some. */
  extentOf(conversation: number): { first: number; last: number }
  /** Precondition: numbers of conversations are below `size`. */
  settle(days: { size: number; captures: ReadonlyMap<string, Pairs>; events: ReadonlyMap<string, Pairs> }): void
  bytes(): number
}

/** Changes that are remembered; with more whoever asks looks at everybody. */
const CHANGES_MAX = 10_000

/** Nobody yet. */
export function createPeople(users: Users): People {
  let owners = new Uint32Array(0)
  let totals = new Uint32Array(0)
  let first = new Uint32Array(0)
  let last = new Uint32Array(0)
  let changed: number[] = []
  let dropped = 0
  return {
    userOf: conversation => owners[conversation] ?? 0,
    settled: () => ({ users: owners, events: totals }),
    changes: () => ({
      end: dropped + changed.length,
      since: end => (end < dropped ? null : changed.slice(end - dropped)),
    }),
    eventsOf: conversation => totals[conversation] ?? 0,
    extentOf: conversation => ({ first: first[conversation] as number, last: last[conversation] as number }),
    bytes: () => owners.byteLength * 4,
    settle({ size, captures, events }) {
      const captured = new Uint32Array(size)
      const seen = new Uint32Array(size)
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
      for (let i = 0; i < size; i++) if (captured[i] === 0) captured[i] = seen[i] as number
      for (let i = 0; i < owners.length; i++) if (captured[i] !== owners[i]) changed.push(i)
      owners = captured
      if (changed.length > CHANGES_MAX) {
        dropped += changed.length
        changed = []
      }
    },
  }
}
