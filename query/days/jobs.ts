// Days that stand under other versions than the store says -> statements that read them, some at once or one after the other.
import type { Reader } from '../reader.ts'
import type { Ids } from './ids.ts'
import {
  beginOpen,
  endOpen,
  isOpen,
  type OpenDay,
  type Opened,
  type Pace,
  type Read,
  readOpen,
  type Unproven,
} from './open.ts'
import type { Refreshed } from './organization.ts'
import type { Shelf, StoreVersions, Versions } from './shelves.ts'
import { boundDays } from './sql.ts'

/** Days of one shelf that are read beside those of others. */
const CHANGED_DAYS = 2

/** Days that one statement reads: several of one shelf, or one on which events still arrive, of those shelves that are read together. */
interface Job {
  readonly shelves: OpenDay['shelves']
  readonly days: readonly string[]
  readonly open: boolean
}

/**
 * What some shelves lack, as far as `statements` go; each batch is read at once. What has changed since is little, and one batch; of a
 * load of many days each statement is one of its own. Days that the store no longer has are forgotten.
 */
function batchesOf(
  shelves: readonly Shelf[],
  versions: StoreVersions,
  { statements, nowMs }: { statements: number; nowMs: number },
): { batches: readonly (readonly Job[])[]; isAll: boolean } {
  const lacking = shelves.map(shelf => {
    const of = shelf.versionsOf(versions)
    forget(shelf, of)
    return { shelf, days: changed(shelf, of) }
  })
  const isClosed = (day: string): boolean => !isOpen(day, nowMs)
  const closed = lacking.flatMap(({ shelf, days }) => closedJobs(shelf, days.filter(isClosed)))
  const open = lacking.flatMap(({ shelf, days }) => days.filter(day => isOpen(day, nowMs)).map(day => ({ shelf, day })))
  const jobs = [...closed, ...openJobs(open)]
  const now = jobs.slice(0, statements)
  const isLittle = now.length > 0 && jobs.every(({ days }) => days.length <= CHANGED_DAYS)
  return { batches: isLittle ? [now] : now.map(job => [job]), isAll: now.length === jobs.length }
}

function closedJobs(shelf: Shelf, days: readonly string[]): Job[] {
  const places = Array.from({ length: Math.ceil(days.length / shelf.each) }, (_, i) => i * shelf.each)
  return places.map(from => ({ shelves: [shelf], days: days.slice(from, from + shelf.each), open: false }))
}

/** Keys of events: a statement has one list of them. */
const keysOf = ({ arrived }: Shelf): readonly string[] | undefined =>
  arrived.rows === 'events' ? arrived.keys : undefined

/** What is read whole comes first: of a load that goes statement by statement what came since would be all that it gets to. */
function openJobs(lacking: readonly { shelf: Shelf; day: string }[]): Job[] {
  const alone: OpenDay[] = []
  const together = new Map<string, OpenDay>()
  for (const { shelf, day } of lacking) {
    const { arrived, bases, kind } = shelf
    const cutMs = bases.get(day)?.cutMs
    if (cutMs === undefined) {
      alone.push({ shelves: [shelf], day })
      continue
    }
    const same = `${arrived.rows} ${day} ${cutMs}`
    const found = together.get(same)
    if (keysOf(shelf) && found?.shelves.some(keysOf)) together.set(`${same} ${kind}`, { shelves: [shelf], day })
    else together.set(same, { shelves: [shelf, ...(found?.shelves ?? [])], day })
  }
  return [...alone, ...together.values()].map(({ shelves, day }) => ({ shelves, days: [day], open: true }))
}

/** Reads of open days that have begun. */
export type Early = readonly Opened[]
export const NOTHING_EARLY: Early = []

/** Begins to read open days that had gained something whenever they were looked at: they will have gained something again. */
export function beginArriving(
  reader: Reader,
  shelves: readonly Shelf[],
  { nowMs, ...of }: Pick<Read, 'storedMs' | 'ids'> & { nowMs: number },
): Early {
  const days = shelves.flatMap(shelf => [...shelf.arriving].map(day => ({ shelf, day })))
  const begun = openJobs(days.filter(({ shelf, day }) => isOpen(day, nowMs) && shelf.bases.has(day))).map(job =>
    beginOpen(reader, of, { shelves: job.shelves, day: job.days[0] as string }),
  )
  // Whoever needs it hears of its failure.
  for (const { parts } of begun) parts.catch(() => undefined)
  return begun
}

/** Days that were read early and have not changed: next time nobody guesses so. */
function learnArriving(early: Early, jobs: readonly Job[]): void {
  for (const { shelves, day } of early) {
    const changed = new Set(jobs.flatMap(job => (job.days.includes(day) ? job.shelves : [])))
    for (const shelf of shelves) if (!changed.has(shelf)) shelf.arriving.delete(day)
  }
}

/** Versions as they are told and as they are by now, where cuts are made, and what has begun. */
export interface Told {
  readonly versions: StoreVersions
  again(): Promise<StoreVersions>
  readonly pace: Pace
  readonly nowMs: number
  readonly ids: Ids
  readonly early: Early
  readonly came: Read['came']
}

/** What is brought to what the store holds, and how. */
interface Bringing {
  readonly shelves: readonly Shelf[]
  readonly statements: number
  /** Asked before and after each batch. */
  hasRoom(): boolean
}

/** Reads what some shelves lack. */
export async function bring(
  reader: Reader,
  told: Told,
  { shelves, statements, hasRoom }: Bringing,
): Promise<Refreshed> {
  const { batches, isAll } = batchesOf(shelves, told.versions, { statements, nowMs: told.nowMs })
  learnArriving(told.early, batches.flat())
  for (const batch of batches) {
    if (!hasRoom()) return 'full'
    await readAll(reader, told, batch)
  }
  if (!isAll) return 'more'
  return hasRoom() ? 'done' : 'full'
}

/** Reads a batch. Where one fails the others are waited for: what is under way would be kept while somebody already looks. */
async function readAll(reader: Reader, told: Told, batch: readonly Job[]): Promise<void> {
  const { versions, pace, nowMs, ids, early, came } = told
  const of = { versions, storedMs: pace.storedMs(nowMs), ids, came }
  const unproven = (await all(batch.map(job => read(reader, of, job, early)))).flat()
  // Something of before the cut has changed; or something came between the versions and a read of captures.
  const now = unproven.length === 0 ? versions : await told.again()
  const changed = unproven.filter(one => !one.proves(now))
  if (batch.some(({ open }) => open)) pace.learn(changed.length > 0)
  const anew = { ...of, versions: now, storedMs: pace.storedMs(nowMs) }
  await all(changed.map(({ shelf, day }) => readOpen(reader, anew, { shelves: [shelf], day })))
}

async function all<T>(reads: readonly Promise<T>[]): Promise<T[]> {
  const ends = await Promise.allSettled(reads)
  return ends.map(end => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}

async function read(reader: Reader, of: Read, { shelves, days, open }: Job, early: Early): Promise<Unproven[]> {
  // Whatever becomes of the read: a day that is not kept is read next time, and one that the store no longer has stays away.
  for (const { kept } of shelves) for (const day of days) kept.delete(day)
  if (open) return readArriving(reader, of, { shelves, day: days[0] as string }, early)
  const [shelf] = shelves
  const bound = { ...boundDays(days), ...shelf.parameters }
  const rows = await reader.read<{ readonly key: string }>(shelf.question, shelf.sql.whole, bound)
  for (const [day, some] of Map.groupBy(rows, row => row.key)) shelf.kept.set(day, shelf.of(some, of.versions))
  return []
}

/** Takes what has begun, and reads the rest. */
async function readArriving(reader: Reader, of: Read, { shelves, day }: OpenDay, early: Early): Promise<Unproven[]> {
  for (const { bases, arriving } of shelves) if (bases.has(day)) arriving.add(day)
  const begun = early
    .filter(opened => opened.day === day)
    // What began beside other questions is no part of a day that one of them has added to.
    .map(opened => ({ ...opened, shelves: opened.shelves.filter(one => shelves.includes(one) && opened.isOf(one)) }))
  const isBegun = (shelf: Shelf): boolean => begun.some(opened => opened.shelves.includes(shelf))
  const readSome = (some: readonly Shelf[]): Promise<Unproven[]> =>
    isSome(some) ? readOpen(reader, of, { shelves: some, day }) : Promise.resolve([])
  const [unproven = [], ...tooEarly] = await all([
    readSome(shelves.filter(shelf => !isBegun(shelf))),
    ...begun.map(opened => endOpen(opened, of)),
  ])
  // What was read too early proves nothing, and is no reason to read the day whole.
  return [...unproven, ...(await readSome(tooEarly.flat().map(({ shelf }) => shelf)))]
}

const isSome = (shelves: readonly Shelf[]): shelves is OpenDay['shelves'] => shelves.length > 0

/** Lets go of days that the store no longer has. */
function forget({ kept, bases, arriving }: Shelf, versions: Versions): void {
  for (const days of [kept, bases, arriving]) for (const day of days.keys()) if (!versions.has(day)) days.delete(day)
}

/** Days of a shelf that do not stand under the version that the store says, oldest first. */
const changed = ({ kept }: Shelf, versions: Versions): string[] =>
  [...versions].flatMap(([day, version]) => (kept.get(day)?.version === version ? [] : [day])).sort()
