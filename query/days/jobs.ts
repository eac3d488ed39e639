// Days that stand under other versions than the store says -> statements that read them, some at once or one after the other.
import type { Reader } from '../reader.ts'
import { isOpen, type Pace, type Read, readOpen, type Unproven } from './open.ts'
import type { Shelf, StoreVersions, Versions } from './shelves.ts'
import { boundDays } from './sql.ts'

/** Days of one shelf that are read beside those of others. */
const CHANGED_DAYS = 2

/** Days of a shelf that one statement reads. */
export interface Job {
  readonly shelf: Shelf
  readonly days: readonly string[]
  /** Events still arrive on it: it is one day. */
  readonly open: boolean
}

/**
 * What some shelves lack, as far as `statements` go; each batch is read at once. What has changed since is little, and one batch; of a
 * load of many days each statement is one of its own. Days that the store no longer has are forgotten.
 */
export function batchesOf(
  shelves: readonly Shelf[],
  versions: StoreVersions,
  { statements, nowMs }: { statements: number; nowMs: number },
): { batches: readonly (readonly Job[])[]; isAll: boolean } {
  const jobs = shelves.flatMap(shelf => {
    const of = shelf.versionsOf(versions)
    forget(shelf, of)
    return jobsOf(shelf, changed(shelf, of), nowMs)
  })
  const now = jobs.slice(0, statements)
  const isLittle = now.length > 0 && jobs.every(({ days }) => days.length <= CHANGED_DAYS)
  return { batches: isLittle ? [now] : now.map(job => [job]), isAll: now.length === jobs.length }
}

function jobsOf(shelf: Shelf, days: readonly string[], nowMs: number): Job[] {
  const [open, closed] = [days.filter(day => isOpen(day, nowMs)), days.filter(day => !isOpen(day, nowMs))]
  const places = Array.from({ length: Math.ceil(closed.length / shelf.each) }, (_, i) => i * shelf.each)
  return [
    ...places.map(from => ({ shelf, days: closed.slice(from, from + shelf.each), open: false })),
    ...open.map(day => ({ shelf, days: [day], open: true })),
  ]
}

/** Versions as they are told and as they are by now, and where cuts are made. */
export interface Told {
  readonly versions: StoreVersions
  again(): Promise<StoreVersions>
  readonly pace: Pace
  readonly nowMs: number
}

/** Reads a batch. Where one fails the others are waited for: what is under way would be kept while somebody already looks. */
export async function readAll(reader: Reader, told: Told, batch: readonly Job[]): Promise<void> {
  const { versions, pace, nowMs } = told
  const unproven = await all(batch.map(job => read(reader, { versions, storedMs: pace.storedMs(nowMs) }, job)))
  const left = unproven.filter(one => one !== undefined)
  // Something came between the versions and the read; or something of before has changed.
  const now = left.length === 0 ? versions : await told.again()
  const changed = left.filter(one => !one.proves(now))
  if (batch.some(({ open }) => open)) pace.learn(changed.length > 0)
  const storedMs = pace.storedMs(nowMs)
  await all(changed.map(({ shelf, day }) => readOpen(reader, { versions: now, storedMs }, { shelf, day })))
}

async function all<T>(reads: readonly Promise<T>[]): Promise<T[]> {
  const ends = await Promise.allSettled(reads)
  return ends.map(end => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}

async function read(reader: Reader, of: Read, { shelf, days, open }: Job): Promise<Unproven | undefined> {
  // Whatever becomes of the read: a day that is not kept is read next time, and one that the store no longer has stays away.
  for (const day of days) shelf.kept.delete(day)
  if (open) return readOpen(reader, of, { shelf, day: days[0] as string })
  const bound = { ...boundDays(days), ...shelf.parameters }
  const rows = await reader.read<{ readonly key: string }>(shelf.question, shelf.sql.whole, bound)
  for (const [day, some] of Map.groupBy(rows, row => row.key)) shelf.kept.set(day, shelf.of(some, of.versions))
  return undefined
}

/** Lets go of days that the store no longer has. */
function forget({ kept, bases }: Shelf, versions: Versions): void {
  for (const days of [kept, bases]) for (const day of days.keys()) if (!versions.has(day)) days.delete(day)
}

/** Days of a shelf that do not stand under the version that the store says, oldest first. */
const changed = ({ kept }: Shelf, versions: Versions): string[] =>
  [...versions].flatMap(([day, version]) => (kept.get(day)?.version === version ? [] : [day])).sort()
