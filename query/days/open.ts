// Days on which events still arrive: what had arrived at a cut is kept, and what came since is read and added to it. Versions are sums, so
// both together are the day if their versions add up to the one that the store says; else the day is read whole.
//
// A row keeps the instant at which it arrived, and so does its reversal, so that a cut never parts the two: what is added up are counts
// that stand. Clocks say only where a cut is made, and so how often a day is read whole.
import { sqlMillis } from '#proto/time.ts'
import type { Reader } from '../reader.ts'
import { type Parts, readAlone, readArrived } from './arriving.ts'
import type { Ids } from './ids.ts'
import type { Versioned } from './rows.ts'
import type { Shelf, StoreVersions } from './shelves.ts'
import { boundDays, LATER } from './sql.ts'

/** Days that began no longer ago are open: what is late by some hours comes to them. */
const OPEN_MS = 48 * 3_600_000
/** What arrived so long ago is stored, unless the processors are behind. */
const STORED_MS = 5_000
/** A cut is no further behind: what came since is read each time. */
const BEHIND_MS = 60_000
/** By so much a cut comes nearer with each reading that is proven. */
const NEARER = 0.97
/** Cuts stand at multiples of it, so that those of all kinds are one: what came since is read for all of them together. */
const CUTS_MS = 2_500

/** What of a day had arrived at a cut, and the version of its rows then. */
export interface Base {
  readonly cutMs: number
  readonly value: Versioned
}

/** How far behind the clock cuts are made: further where what came before them was missing, nearer again by and by. */
export interface Pace {
  storedMs(nowMs: number): number
  /** Something was missing, or not. */
  learn(wasMissing: boolean): void
}

/** As if processors were not behind. */
export function createPace(): Pace {
  let behindMs = STORED_MS
  return {
    storedMs: nowMs => Math.floor((nowMs - behindMs) / CUTS_MS) * CUTS_MS,
    learn(wasMissing) {
      behindMs = wasMissing ? Math.min(BEHIND_MS, behindMs * 2) : Math.max(STORED_MS, behindMs * NEARER)
    },
  }
}

/** What a read is made for; `storedMs`: what arrived until then should be stored. */
export interface Read {
  readonly versions: StoreVersions
  readonly storedMs: number
  readonly ids: Ids
  /** Is told of each day how many events stand behind the cut. */
  came(day: string, events: number): void
}

/** An open day of some shelves; several are read together and have the same cut. */
export interface OpenDay {
  readonly shelves: readonly [Shelf, ...Shelf[]]
  readonly day: string
}

/** A day of a shelf that was added up, and is not known to be all. */
export interface Unproven {
  readonly shelf: Shelf
  readonly day: string
  /** Keeps it if versions say that it is; else forgets what it was added to. */
  proves(versions: StoreVersions): boolean
}

/** Whether events may still arrive on a day. */
export const isOpen = (day: string, nowMs: number): boolean => Date.parse(day) > nowMs - OPEN_MS

/** What is being read of an open day. */
export interface Opened {
  readonly shelves: readonly Shelf[]
  readonly day: string
  readonly cutMs: number
  readonly parts: Promise<Parts>
  /** Whether a shelf still keeps what it kept when this began. */
  isOf(shelf: Shelf): boolean
}

/** Begins to read what is missing of an open day: what came since the cut, or all of it. */
export function beginOpen(
  reader: Reader,
  { storedMs, ids }: Pick<Read, 'storedMs' | 'ids'>,
  { shelves, day }: OpenDay,
): Opened {
  const bases = new Map(shelves.map(shelf => [shelf, shelf.bases.get(day)]))
  const baseMs = shelves[0].bases.get(day)?.cutMs
  const cutMs = Math.max(baseMs ?? 0, storedMs)
  const bound = { ...boundDays([day]), arrived: sqlMillis(baseMs ?? 0), cut: sqlMillis(cutMs) }
  const parts =
    baseMs === undefined
      ? readAlone(reader, { shelf: shelves[0], bound })
      : readArrived(reader, ids, { shelves, day, bound })
  return { shelves, day, cutMs, parts, isOf: shelf => bases.get(shelf) === shelf.bases.get(day) }
}

/** Adds up what was read. @returns the shelves of which the day is not known to be all. */
export async function endOpen(
  { shelves, day, cutMs, parts }: Omit<Opened, 'isOf'>,
  { versions, came }: Pick<Read, 'versions' | 'came'>,
): Promise<Unproven[]> {
  const read = await parts
  if (read.came !== undefined) came(day, read.came)
  return shelves.flatMap(shelf => addUp(shelf, { day, cutMs, versions }, read))
}

/** Both. */
export const readOpen = (reader: Reader, of: Read, day: OpenDay): Promise<Unproven[]> =>
  endOpen(beginOpen(reader, of, day), of)

/** Adds what came to what is kept. @returns the day, unless it is proven. */
function addUp(
  shelf: Shelf,
  { day, cutMs, versions }: { day: string; cutMs: number; versions: StoreVersions },
  parts: Parts,
): Unproven[] {
  const base = shelf.bases.get(day)
  const earlier = both(shelf, base?.value, parts.of(shelf, day, versions))
  const whole = both(shelf, earlier, parts.of(shelf, day + LATER, versions))
  const keep = (): void => {
    if (whole !== undefined) shelf.kept.set(day, whole)
    if (earlier !== undefined) shelf.bases.set(day, { cutMs, value: earlier })
  }
  const isIt = (now: StoreVersions): boolean => {
    const version = shelf.versionsOf(now).get(day)
    // The day's version of the moment of the read; what replaced captures is told beside it.
    const [, ...more] = version?.split(' ') ?? []
    const then = parts.proof && [parts.proof, ...more].join(' ')
    return whole !== undefined && (whole.version === version || whole.version === then)
  }
  if (base === undefined || isIt(versions)) {
    keep()
    return []
  }
  return [
    {
      ...{ shelf, day },
      proves(now) {
        if (!isIt(now)) return !shelf.bases.delete(day)
        keep()
        return true
      },
    },
  ]
}

function both(shelf: Shelf, one: Versioned | undefined, other: Versioned | undefined): Versioned | undefined {
  return one === undefined || other === undefined ? (one ?? other) : shelf.add(one, other)
}
