// Days that stand under other versions than the store says -> statements that read them, some at once or one after the other.
import type { Reader } from '../reader.ts'
import {
  beginOpen,
  isKept,
  isOpen,
  keepRead,
  type Opened,
  type Pace,
  type Read,
  readOpen,
  type Unproven,
} from './open.ts'
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
    const changed = [...of.keys()].filter(day => !isKept(shelf, day, versions)).sort()
    return jobsOf(shelf, changed, nowMs)
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

/** Statements at most that begin before versions are told. */
const EARLY_MAX = 6

/** Reads of open days that have begun. */
export type Early = ReadonlyMap<Shelf, ReadonlyMap<string, Opened>>
export const NOTHING_EARLY: Early = new Map()

/** Begins to read open days that had gained something whenever they were looked at: they will have gained something again. */
export function beginArriving(
  reader: Reader,
  shelves: readonly Shelf[],
  { storedMs, nowMs }: { storedMs: number; nowMs: number },
): Early {
  const jobs = shelves
    .flatMap(shelf => [...shelf.arriving].map(day => ({ shelf, day })))
    .filter(({ shelf, day }) => isOpen(day, nowMs) && shelf.bases.has(day))
    .slice(0, EARLY_MAX)
  const begun = jobs.map(job => ({ ...job, opened: beginOpen(reader, storedMs, job) }))
  // Whoever needs it hears of its failure.
  for (const { opened } of begun) opened.rows.catch(() => undefined)
  const byShelf = [...Map.groupBy(begun, ({ shelf }) => shelf)]
  return new Map(byShelf.map(([shelf, its]) => [shelf, new Map(its.map(({ day, opened }) => [day, opened]))]))
}

/** Days that were read early and have not changed: next time nobody guesses so. */
export function learnArriving(early: Early, batches: readonly (readonly Job[])[]): void {
  const jobs = batches.flat()
  for (const [shelf, days] of early) {
    const changed = new Set(jobs.flatMap(job => (job.shelf === shelf ? job.days : [])))
    for (const day of days.keys()) if (!changed.has(day)) shelf.arriving.delete(day)
  }
}

/** Versions as they are told and as they are by now, where cuts are made, and what has begun. */
export interface Told {
  readonly versions: StoreVersions
  again(): Promise<StoreVersions>
  readonly pace: Pace
  readonly nowMs: number
  readonly early: Early
}

/** Reads a batch. Where one fails the others are waited for: what is under way would be kept while somebody already looks. */
export async function readAll(reader: Reader, told: Told, batch: readonly Job[]): Promise<void> {
  const { versions, pace, nowMs, early } = told
  const of = { versions, storedMs: pace.storedMs(nowMs) }
  const unproven = await all(batch.map(job => read(reader, of, job, early)))
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

async function read(reader: Reader, of: Read, job: Job, early: Early): Promise<Unproven | undefined> {
  const { shelf, days, open } = job
  // Whatever becomes of the read: a day that is not kept is read next time, and one that the store no longer has stays away.
  for (const day of days) shelf.kept.delete(day)
  if (open) return readArriving(reader, of, { shelf, day: days[0] as string }, early)
  const bound = { ...boundDays(days), ...shelf.parameters }
  const rows = await reader.read<{ readonly key: string }>(shelf.question, shelf.sql.whole, bound)
  const { versions } = of
  for (const [day, some] of Map.groupBy(rows, row => row.key)) {
    keepRead(shelf, { day, value: shelf.of(some, versions), versions })
  }
  return undefined
}

async function readArriving(
  reader: Reader,
  of: Read,
  one: { shelf: Shelf; day: string },
  early: Early,
): Promise<Unproven | undefined> {
  const { shelf, day } = one
  if (shelf.bases.has(day)) shelf.arriving.add(day)
  const opened = early.get(shelf)?.get(day)
  // What was read too early proves nothing, and is no reason to read the day whole.
  if (opened !== undefined && (await readOpen(reader, of, one, opened)) === undefined) return undefined
  return readOpen(reader, of, one)
}

/** Lets go of days that the store no longer has. */
function forget({ kept, bases, arriving }: Shelf, versions: Versions): void {
  for (const days of [kept, bases, arriving]) for (const day of days.keys()) if (!versions.has(day)) days.delete(day)
}
