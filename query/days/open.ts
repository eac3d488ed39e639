// Days on which events still arrive: what had arrived at a cut is kept, and what came since is read and added to it. Versions are sums, so
// both together are the day if their versions add up to the one that the store says; else the day is read whole.
//
// A row keeps the instant at which it arrived, and so does its reversal, so that a cut never parts the two: what is added up are counts
// that stand. Clocks say only where a cut is made, and so how often a day is read whole.
import { sqlMillis } from '#proto/time.ts'
import type { Reader } from '../reader.ts'
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
/** How far behind that a cut may be before it is made anew: until then what came since is read each time. */
const MOVED_MS = 5_000

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
    storedMs: nowMs => nowMs - behindMs,
    learn(wasMissing) {
      behindMs = wasMissing ? Math.min(BEHIND_MS, behindMs * 2) : Math.max(STORED_MS, behindMs * NEARER)
    },
  }
}

/** What a read is made for; `storedMs`: what arrived until then should be stored. */
export interface Read {
  readonly versions: StoreVersions
  readonly storedMs: number
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
  readonly base: Base | undefined
  readonly cutMs: number
  readonly rows: Promise<readonly OpenRow[]>
}

interface OpenRow {
  readonly key: string
  /** The day's version at the moment of the read. */
  readonly proof: string
}

/** Begins to read what is missing of an open day: what came since the cut, or all of it. */
export function beginOpen(reader: Reader, storedMs: number, { shelf, day }: { shelf: Shelf; day: string }): Opened {
  const base = shelf.bases.get(day)
  const cutMs = base !== undefined && storedMs - base.cutMs < MOVED_MS ? base.cutMs : storedMs
  const bound = {
    ...boundDays([day]),
    ...shelf.parameters,
    arrived: sqlMillis(base?.cutMs ?? 0),
    cut: sqlMillis(cutMs),
  }
  return { base, cutMs, rows: reader.read<OpenRow>(shelf.question, shelf.sql.open, bound) }
}

/** Reads it, unless that has begun. */
export async function readOpen(
  reader: Reader,
  { versions, storedMs }: Read,
  { shelf, day }: { shelf: Shelf; day: string },
  opened = beginOpen(reader, storedMs, { shelf, day }),
): Promise<Unproven | undefined> {
  const { base, cutMs } = opened
  const rows = await opened.rows
  const byKey = Map.groupBy(rows, row => row.key)
  const partOf = (key: string): Versioned | undefined => {
    const some = byKey.get(key)
    return some && shelf.of(some, versions)
  }
  const earlier = both(shelf, base?.value, partOf(day))
  const whole = both(shelf, earlier, partOf(day + LATER))
  const keep = (now: StoreVersions): void => {
    if (whole !== undefined) keepRead(shelf, { day, value: whole, versions: now })
    if (earlier !== undefined) shelf.bases.set(day, { cutMs, value: earlier })
  }
  const isIt = (now: StoreVersions): boolean => {
    const version = shelf.versionsOf(now).get(day)
    // The day's version of the moment of the read; what replaced captures is told beside it.
    const [, ...more] = version?.split(' ') ?? []
    const then = rows[0] && [rows[0].proof, ...more].join(' ')
    return whole !== undefined && (whole.version === version || whole.version === then)
  }
  if (base === undefined || isIt(versions)) {
    keep(versions)
    return undefined
  }
  return {
    ...{ shelf, day },
    proves(now) {
      if (!isIt(now)) return !shelf.bases.delete(day)
      keep(now)
      return true
    },
  }
}

/** What was read for whoever was told some versions: it may be of another moment of the same request. */
const readFor = new WeakMap<Versioned, StoreVersions>()

/** Keeps a day that was read for whoever was told some versions. */
export function keepRead(
  { kept }: Shelf,
  { day, value, versions }: { day: string; value: Versioned; versions: StoreVersions },
): void {
  kept.set(day, value)
  readFor.set(value, versions)
}

/** Whether a day is as some versions say, or was read for whoever was told them. */
export function isKept({ kept, versionsOf }: Shelf, day: string, versions: StoreVersions): boolean {
  const value = kept.get(day)
  return value !== undefined && (value.version === versionsOf(versions).get(day) || readFor.get(value) === versions)
}

function both(shelf: Shelf, one: Versioned | undefined, other: Versioned | undefined): Versioned | undefined {
  return one === undefined || other === undefined ? (one ?? other) : shelf.add(one, other)
}
