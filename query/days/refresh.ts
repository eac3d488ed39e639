// Kinds of days -> memory that holds of them what the store says: versions are asked for, or are those that a question may go by, and days
// that stand under others are read.
import type { Parameters, Reader } from '../reader.ts'
import type { Columns } from './columns.ts'
import type { EdgeDays, EdgeRow } from './edges.ts'
import type { Ids } from './ids.ts'
import { beginArriving, bring, type Early, NOTHING_EARLY } from './jobs.ts'
import { createPace } from './open.ts'
import type { Kind, Looked, Refresh, Refreshed, ValuesKind } from './organization.ts'
import type { People } from './people.ts'
import type { Days, Shelf } from './shelves.ts'
import { boundDays, dayRowsSql } from './sql.ts'
import type { Telling, Told } from './told.ts'

/** Where rows of edges are kept: those of all events, and those with what they say of some keys. */
interface Edges {
  readonly edgeDays: EdgeDays
  readonly columns: Columns
}

/** What is refreshed. */
interface RefreshingOptions {
  readonly ids: Ids
  readonly people: People
  readonly days: Days
  readonly shelves: readonly Shelf[]
  readonly edges: Edges
  readonly telling: Telling
  clock(): number
  bytes(): number
  /** Lets go of what each question can read or add up itself, but for rows of some days. */
  shrink(but: readonly string[]): void
}

/** Both ways to memory that is up to date; see `OrganizationDays`. */
interface Refreshing {
  refresh(reader: Reader, asked: Refresh): Promise<Refreshed>
  look(reader: Reader, kinds: readonly Kind[]): Promise<Looked>
}

/** Nothing was read yet. */
export function createRefreshing(options: RefreshingOptions): Refreshing {
  const { ids, people, days, shelves, edges, telling, clock, bytes, shrink } = options
  const pace = createPace()

  /** What a question needs: all that is of the kinds it asks for. */
  function shelvesFor(kinds: readonly Kind[]): Shelf[] {
    const ofKeys = [...new Set(kinds)].filter(isValues).map(kind => edges.columns.of(kind).shelf)
    return [...shelves, ...ofKeys].filter(shelf => kinds.some(kind => isOf(shelf.kind, kind)))
  }

  /** Nobody's question may come between these and that for versions. */
  const beginEarly = (reader: Reader, shelves: readonly Shelf[]): Early => {
    const nowMs = clock()
    return beginArriving(reader, shelves, { storedMs: pace.storedMs(nowMs), nowMs, ids })
  }

  async function look(reader: Reader, kinds: readonly Kind[]): Promise<Looked> {
    const early = beginEarly(reader, shelvesFor(kinds))
    const asked = await telling.ask(reader)
    await Promise.allSettled(early.map(({ parts }) => parts))
    return { asked, early }
  }

  async function refresh(reader: Reader, asked: Refresh): Promise<Refreshed> {
    const { kinds, along = [], maxBytes, statements = Infinity, looked } = asked
    // Whatever was asked for later is there by now.
    if (looked && !telling.take(looked.asked)) return 'done'
    const nowMs = clock()
    const found = looked ? null : telling.find(reader, { ...asked, shelves: shelvesFor(kinds) })
    const needed = shelvesFor(found?.how === 'lent' ? kinds : [...kinds, ...along])
    const isFirst = statements === Infinity && found === null && looked === undefined
    const begun = looked?.early ?? (isFirst ? beginEarly(reader, needed) : NOTHING_EARLY)
    asked.hear?.(found?.how ?? 'asked', found?.ageMs ?? 0)
    const { versions, brought, came, newer } = await bringEdges(
      reader,
      { telling, rows: rowsFor(edges, asked.edgesOf) },
      { ...asked, told: looked?.asked.told ?? found?.told },
    )
    if (bytes() > maxBytes) shrink(asked.edges ?? [])
    const hasRoom = (): boolean => edges.columns.makeRoom(() => bytes() > maxBytes)
    const lacking = needed.filter(shelf => !brought.has(shelf))
    // Nobody goes by these: not all shelves are brought to them.
    const again = async () => (await telling.ask(reader)).told.versions
    // Rows of edges may name whom nothing names that was read before them.
    const told = { ...{ versions, again, pace, nowMs, ids }, early: newer ? NOTHING_EARLY : begun, came: noting(came) }
    const refreshed = await bring(reader, told, { shelves: lacking, statements, hasRoom })
    if (refreshed !== 'done') return refreshed
    for (const shelf of lacking) brought.add(shelf)
    people.settle({ size: ids.size(), ...days })
    return 'done'
  }

  return { refresh, look }
}

/** Whether it is a key, of captures or of events. */
export const isValues = (kind: Kind): kind is ValuesKind => kind.startsWith('values ')

/** Whether one kind is part of another. */
const isOf = (one: Kind, kind: Kind): boolean =>
  one === 'figures' || one === kind || (one === 'prices' && isValues(kind))

/** Rows of edges, and how they are read. */
interface EdgeShelf {
  readonly days: EdgeDays
  readonly sql: string
  readonly parameters?: Parameters | undefined
}

/** Where rows of edges are kept, or rows with what they say of some keys. */
export function rowsFor({ edgeDays, columns }: Edges, edgesOf?: ValuesKind): EdgeShelf {
  if (edgesOf === undefined) return { days: edgeDays, sql: dayRowsSql() }
  const { edges, shelf } = columns.events(edgesOf)
  return { ...edges, parameters: shelf.parameters }
}

/**
 * Reads rows of some days where others are kept than the store has. @returns versions that are not older than any of them, and whether
 * they were asked for after those.
 */
async function bringEdges(
  reader: Reader,
  { telling, rows }: { telling: Telling; rows: EdgeShelf },
  { edges = [], told: known }: Refresh & { told: Told | undefined },
): Promise<Told & { newer: boolean }> {
  const told = known ?? (await telling.again(reader))
  const newer = await rows.days.refresh(edges, told.versions.events, day =>
    reader.read<EdgeRow>('day_rows', rows.sql, { ...boundDays([day]), ...rows.parameters }),
  )
  // Who is named in those rows only must be in memory afterwards.
  return { ...(newer ? await telling.again(reader) : told), newer }
}

/** Of what is read several times for the sake of some kinds, the most that was found. */
const noting =
  (came: Told['came']) =>
  (day: string, events: number): void => {
    came.set(day, Math.max(came.get(day) ?? 0, events))
  }
