// Versions of days as the store told them last -> whether a question may go by them: it may if it came before the store was asked, and
// where events arrive densely also if it came soon after.
import type { Reader } from '../reader.ts'
import { type Shelf, type StoreVersions, type VersionRow, versionsOf } from './shelves.ts'
import { VERSIONS_SQL } from './sql.ts'

/** Events behind the cut, which is some seconds ago, from which on what has come by now says little: as many come with each second. */
export const DENSE_EVENTS = 1_000

/** Versions of one moment. */
export interface Told {
  readonly versions: StoreVersions
  /** Shelves that hold what the store did then, or later. */
  readonly brought: Set<Shelf>
  /** By day, how many events were found behind the cut. */
  readonly came: Map<string, number>
}

/** How a question comes to what it goes by: it asks, it goes by what was asked for after it came, or by what was told shortly before. */
export type How = 'asked' | 'shared' | 'lent'

/** What a question needs. */
export interface Needed {
  readonly shelves: readonly Shelf[]
  /** It may go by what was asked for since then; left out: from now on. */
  readonly since?: number | undefined
  /** Or so many milliseconds before now, where events arrive densely and all that is counted holds it; left out: it may not. */
  readonly lentMs?: number | undefined
}

/** What a question may go by without asking. */
export interface Found {
  readonly told: Told
  readonly how: Exclude<How, 'asked'>
  /** Milliseconds since the store was asked. */
  readonly ageMs: number
}

/** An answer of the store that nobody goes by yet. */
export interface Asked {
  readonly told: Told
  readonly nth: number
  readonly atMs: number
}

/** What the store said last. */
export interface Telling {
  /** How often the store was asked so far: what it is asked from now on is no older than this. */
  now(): number
  /** Asks the store. */
  ask(reader: Reader): Promise<Asked>
  /** From now on this is what the store said last; false: it has said something later. */
  take(asked: Asked): boolean
  /** Both: versions of now. */
  again(reader: Reader): Promise<Told>
  /** What a question may go by; parts of one request, for which a reader is made, go by what the first of them began with, or later. */
  find(reader: Reader, needed: Needed): Found | null
  /** Whether so many events come that nobody has to know the last second of them. */
  isDense(): boolean
  /** Whether the store was not asked within so many milliseconds, and no part of the request has gone by what it said before. */
  isTooOld(reader: Reader, ms: number): boolean
  /** Nothing that has been asked for so far is lent any more. */
  endLoans(): void
  /** Shelves may be anything from now on. */
  forget(): void
  /** The same for an error, which it throws. */
  fail(error: unknown): never
}

/** Where a request began: what it may go by has a greater number; `lent`: and what it may go by as its first part did. */
interface Began {
  readonly nth: number
  readonly lent: number
}

/** Nothing was told yet. `sinceMs` only ever grows. */
export function createTelling(sinceMs: () => number = () => performance.now()): Telling {
  let [asked, loansFrom] = [0, 0]
  let last: Asked | undefined
  const requests = new WeakMap<Reader, Began>()
  const ask = async (reader: Reader): Promise<Asked> => {
    const [nth, atMs] = [++asked, sinceMs()]
    const versions = versionsOf(await reader.read<VersionRow>('day_versions', VERSIONS_SQL))
    return { told: { versions, brought: new Set(), came: new Map() }, nth, atMs }
  }
  const take = (of: Asked): boolean => {
    if (last !== undefined && last.nth > of.nth) return false
    last = of
    return true
  }
  const isDense = (): boolean => last !== undefined && sum(last.told.came.values()) >= DENSE_EVENTS
  /** Told within so many milliseconds, or no earlier than what a part of the request has gone by. */
  const isYoung = ({ nth, atMs }: Asked, ms: number, lent = Number.POSITIVE_INFINITY): boolean =>
    nth > lent || sinceMs() - atMs < ms
  const isLent = (of: Asked, { shelves, lentMs }: Needed, lent: number): boolean =>
    lentMs !== undefined &&
    of.nth > loansFrom &&
    isDense() &&
    isYoung(of, lentMs, lent) &&
    shelves.every(shelf => shelf.describes || of.told.brought.has(shelf))
  const forget = (): void => {
    last = undefined
  }
  return {
    now: () => asked,
    ask,
    take,
    async again(reader) {
      const of = await ask(reader)
      take(of)
      return of.told
    },
    find(reader, needed) {
      const { since = asked } = needed
      const before = requests.get(reader) ?? { nth: since, lent: Number.POSITIVE_INFINITY }
      const nth = Math.min(before.nth, since)
      const how = last && (last.nth > nth ? 'shared' : isLent(last, needed, before.lent) ? 'lent' : undefined)
      const lent = last && how === 'lent' ? Math.min(before.lent, last.nth - 1) : before.lent
      requests.set(reader, { nth, lent })
      return last && how ? { told: last.told, how, ageMs: sinceMs() - last.atMs } : null
    },
    isDense,
    isTooOld: (reader, ms) => last === undefined || !isYoung(last, ms, requests.get(reader)?.lent),
    endLoans() {
      loansFrom = asked
    },
    forget,
    fail(error) {
      forget()
      throw error
    },
  }
}

const sum = (of: Iterable<number>): number => {
  let total = 0
  for (const one of of) total += one
  return total
}
