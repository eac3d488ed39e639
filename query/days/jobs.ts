// Days that stand under other versions than the store says -> statements that read them, some at once or one after the other.
import type { Parameters, Reader } from '../reader.ts'
import type { Shelf, StoreVersions, Versions } from './shelves.ts'

const DAY_MS = 86_400_000
/** Days of one shelf that are read beside those of others. */
const CHANGED_DAYS = 2

/** Days of a shelf that one statement reads. */
export interface Job {
  readonly shelf: Shelf
  readonly days: readonly string[]
}

/**
 * What some shelves lack, as far as `statements` go; each batch is read at once. What has changed since is little, and one batch; of a
 * load of many days each statement is one of its own. Days that the store no longer has are forgotten.
 */
export function batchesOf(
  shelves: readonly Shelf[],
  versions: StoreVersions,
  statements: number,
): { batches: readonly (readonly Job[])[]; isAll: boolean; hasForgotten: boolean } {
  let hasForgotten = false
  const jobs = shelves.flatMap(shelf => {
    const of = shelf.versionsOf(versions)
    hasForgotten = forget(shelf, of) || hasForgotten
    return jobsOf(shelf, changed(shelf, of))
  })
  const now = jobs.slice(0, statements)
  const isLittle = now.length > 0 && jobs.every(({ days }) => days.length <= CHANGED_DAYS)
  return { batches: isLittle ? [now] : now.map(job => [job]), isAll: now.length === jobs.length, hasForgotten }
}

function jobsOf(shelf: Shelf, days: readonly string[]): Job[] {
  const places = Array.from({ length: Math.ceil(days.length / shelf.each) }, (_, i) => i * shelf.each)
  return places.map(from => ({ shelf, days: days.slice(from, from + shelf.each) }))
}

/** Reads a batch. Where one fails the others are waited for: what is under way would be kept while somebody already looks. */
export async function readAll(reader: Reader, versions: StoreVersions, batch: readonly Job[]): Promise<void> {
  const ends = await Promise.allSettled(batch.map(job => read(reader, versions, job)))
  const failed = ends.find(end => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function read(reader: Reader, versions: StoreVersions, { shelf, days }: Job): Promise<void> {
  // Whatever becomes of the read: a day that is not kept is read next time, and one that the store no longer has stays away.
  for (const day of days) shelf.kept.delete(day)
  const bound = { ...boundDays(days), ...shelf.parameters }
  shelf.keep(await reader.read<unknown>(shelf.question, shelf.sql, bound), versions)
}

/** Lets go of days that the store no longer has. @returns whether there were any. */
function forget({ kept }: Shelf, versions: Versions): boolean {
  const gone = [...kept.keys()].filter(day => !versions.has(day))
  for (const day of gone) kept.delete(day)
  return gone.length > 0
}

/** Days of a shelf that do not stand under the version that the store says, oldest first. */
const changed = ({ kept }: Shelf, versions: Versions): string[] =>
  [...versions].flatMap(([day, version]) => (kept.get(day)?.version === version ? [] : [day])).sort()

/** What a statement over some days binds; they are in order and not empty. */
export function boundDays(days: readonly string[]): Parameters {
  const until = new Date(Date.parse(days.at(-1) as string) + DAY_MS).toISOString()
  return { days, since: `${days[0]} 00:00:00.000`, until: `${until.slice(0, 10)} 00:00:00.000` }
}
