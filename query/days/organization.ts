// What is kept in memory of one organization: who was active on which day, whom captures and events name, what days came to, who called
// which tools, what was priced. Every day stands under its version, and each question asks for the versions first: what they say has changed is read anew,
// and nothing else.

import type { Question } from '../questions.ts'
import type { Parameters, Reader } from '../reader.ts'
import { createIds, type Ids } from './ids.ts'
import { createPeople } from './people.ts'
import * as held from './rows.ts'
import * as sql from './sql.ts'
import { createUsers, type Users } from './users.ts'

/** What may be kept: who was there and what days came to; that and tools, or prices, besides. Each is read when it is first asked for. */
export type Kind = 'figures' | More
/** What comes on top of who was there. */
export type More = 'tools' | 'prices'

/** How far a refresh came: everything that was stored before it began is there; there is more to be read; it would take too much. */
export type Refreshed = 'done' | 'more' | 'full'

/** What a refresh may take. */
export interface Refresh {
  readonly kind: Kind
  readonly maxBytes: number
  /** Days are read by so many statements at most; all of them, unless said otherwise. */
  readonly statements?: number
}

/** What is kept of an organization. */
export interface OrganizationDays {
  /** Brings what is kept of a kind to what the store holds. */
  refresh(reader: Reader, asked: Refresh): Promise<Refreshed>
  /** Keeps some kinds no longer. */
  forget(kind: More): void
  /** Days with events, in no order. */
  days(): Iterable<string>
  conversationsOf(day: string): Uint32Array
  figuresOf(day: string): held.Figures | undefined
  toolsOf(day: string): readonly held.ToolDay[]
  pricesOf(day: string): readonly held.Priced[]
  /** Of a conversation; 0 = nobody is known. */
  userOf(conversation: number): number
  /** Events of a conversation on all days. */
  eventsOf(conversation: number): number
  /** Seconds between which a conversation with events stands. */
  extentOf(conversation: number): { first: number; last: number }
  users: Users
  /** Ids of conversations; those of rows that were read elsewhere get their numbers, too. */
  ids: Ids
  bytes(): number
}

const DAY_MS = 86_400_000
const NOBODY = new Uint32Array(0)

/** Versions by day. */
type Versions = ReadonlyMap<string, string>

interface VersionRow {
  readonly of: 'events' | 'captures' | 'replaced' | 'prices'
  readonly day: string
  readonly version: string
}

interface StoreVersions {
  readonly events: Versions
  readonly captures: Versions
  readonly replaced: string
  readonly prices: Versions
}

/** Days of one kind of rows. */
interface Shelf {
  readonly kind: Kind
  readonly kept: Map<string, held.Versioned>
  readonly question: Question
  readonly sql: string
  /** Days that are read by one statement: what it answers stays in the tens of MB. */
  readonly each: number
  versionsOf(versions: StoreVersions): Versions
  /** Keeps what was read of some days. */
  keep(rows: readonly unknown[], versions: StoreVersions, days: readonly string[]): void
}

/** Nothing kept yet. */
export function createOrganizationDays(): OrganizationDays {
  const ids = createIds()
  const users = createUsers()
  const people = createPeople(users)
  const days = {
    events: new Map<string, held.Pairs>(),
    captures: new Map<string, held.Pairs>(),
    figures: new Map<string, held.Figures>(),
    tools: new Map<string, held.ToolsOfDay>(),
    prices: new Map<string, held.PricesOfDay>(),
  }
  const shelves = shelvesOf(days, ids, users)
  let unsettled = true
  let told: { reader: Reader; priced: boolean; versions: StoreVersions } | undefined

  const bytes = (): number => {
    const sum = <T>(kept: ReadonlyMap<string, T>, bytesOf: (value: T) => number): number =>
      [...kept.values()].reduce((total, value) => total + bytesOf(value), 0)
    const pairs = sum(days.events, held.bytesOfPairs) + sum(days.captures, held.bytesOfPairs)
    const more = sum(days.tools, held.bytesOfTools) + sum(days.prices, held.bytesOfPrices)
    return ids.bytes() + users.bytes() + people.bytes() + pairs + sum(days.figures, held.bytesOfFigures) + more
  }

  /** Days of a shelf that do not stand under the version that the store says, oldest first; what it no longer knows is forgotten. */
  const changed = ({ kept }: Shelf, versions: Versions): string[] => {
    for (const day of kept.keys()) {
      if (!versions.has(day)) unsettled = kept.delete(day)
    }
    return [...versions].flatMap(([day, version]) => (kept.get(day)?.version === version ? [] : [day])).sort()
  }

  /** Versions of now, or what the same request has been told: a reader is made for one request. */
  const versionsFor = async (reader: Reader, kind: Kind): Promise<StoreVersions> => {
    const priced = kind === 'prices' || days.prices.size > 0
    if (told?.reader !== reader || (priced && !told.priced)) {
      const rows = await reader.read<VersionRow>('day_versions', priced ? sql.ALL_VERSIONS_SQL : sql.VERSIONS_SQL)
      told = { reader, priced, versions: versionsOf(rows) }
    }
    return told.versions
  }

  async function refresh(reader: Reader, { kind, maxBytes, statements = Infinity }: Refresh): Promise<Refreshed> {
    const versions = await versionsFor(reader, kind)
    let read = 0
    for (const shelf of shelves) {
      if (shelf.kind !== 'figures' && shelf.kind !== kind) continue
      const missing = changed(shelf, shelf.versionsOf(versions))
      for (let i = 0; i < missing.length; i += shelf.each) {
        if (bytes() > maxBytes) return 'full'
        if (read++ >= statements) return 'more'
        const some = missing.slice(i, i + shelf.each)
        unsettled ||= shelf.kind === 'figures'
        // Whatever becomes of the read: a day that is not kept is read next time, and one that the store no longer has stays away.
        for (const day of some) shelf.kept.delete(day)
        shelf.keep(await reader.read<unknown>(shelf.question, shelf.sql, boundDays(some)), versions, some)
      }
    }
    if (bytes() > maxBytes) return 'full'
    if (unsettled) people.settle({ size: ids.size(), ...days })
    unsettled = false
    return 'done'
  }

  return {
    refresh,
    forget: kind => days[kind].clear(),
    days: () => days.events.keys(),
    conversationsOf: day => days.events.get(day)?.conversations ?? NOBODY,
    figuresOf: day => days.figures.get(day),
    toolsOf: day => days.tools.get(day)?.tools ?? [],
    pricesOf: day => days.prices.get(day)?.priced ?? [],
    userOf: people.userOf,
    eventsOf: people.eventsOf,
    extentOf: people.extentOf,
    users,
    ids,
    bytes,
  }
}

interface Days {
  readonly events: Map<string, held.Pairs>
  readonly captures: Map<string, held.Pairs>
  readonly figures: Map<string, held.Figures>
  readonly tools: Map<string, held.ToolsOfDay>
  readonly prices: Map<string, held.PricesOfDay>
}

/** Where days are kept, and how they are read. */
function shelvesOf(days: Days, ids: Ids, users: Users): readonly Shelf[] {
  const ofEvents = (versions: StoreVersions): Versions => versions.events
  const replaced = (versions: StoreVersions): string => ` ${versions.replaced}`
  return [
    {
      ...{
        kind: 'figures',
        kept: days.events,
        question: 'day_conversations',
        sql: sql.DAY_CONVERSATIONS_SQL,
        each: 16,
      },
      versionsOf: ofEvents,
      keep(rows: readonly held.PairsRow[]) {
        for (const row of rows) days.events.set(row.key, held.pairsOf(ids, users, row))
      },
    },
    {
      // Captures lie by conversation, so that each look for those of some days looks through all of them.
      ...{ kind: 'figures', kept: days.captures, question: 'day_captures', sql: sql.DAY_CAPTURES_SQL, each: 64 },
      versionsOf: versions => new Map([...versions.captures].map(([day, one]) => [day, one + replaced(versions)])),
      keep(rows: readonly held.PairsRow[], versions) {
        for (const row of rows) days.captures.set(row.key, held.pairsOf(ids, users, row, replaced(versions)))
      },
    },
    {
      ...{ kind: 'figures', kept: days.figures, question: 'day_figures', sql: sql.DAY_FIGURES_SQL, each: 32 },
      versionsOf: ofEvents,
      keep(rows: readonly held.Figures[]) {
        for (const row of rows) days.figures.set(row.key, held.figuresOf(row))
      },
    },
    {
      ...{ kind: 'tools', kept: days.tools, question: 'day_tools', sql: sql.DAY_TOOLS_SQL, each: 8 },
      versionsOf: ofEvents,
      keep(rows: readonly held.ToolRow[]) {
        for (const [day, some] of Map.groupBy(rows, row => row.key)) days.tools.set(day, held.toolsOf(ids, some))
      },
    },
    {
      ...{ kind: 'prices', kept: days.prices, question: 'day_prices', sql: sql.DAY_PRICES_SQL, each: 16 },
      versionsOf: versions => versions.prices,
      keep(rows: readonly held.PricedRow[], _, asked) {
        // Of a day on which nothing was priced there is no row, and the sum of none is its version.
        const byDay = Map.groupBy(rows, row => row.key)
        for (const day of asked) days.prices.set(day, held.pricesOf(ids, byDay.get(day) ?? []))
      },
    },
  ]
}

function versionsOf(rows: readonly VersionRow[]): StoreVersions {
  const of = (kind: VersionRow['of']): Map<string, string> =>
    new Map(rows.flatMap(row => (row.of === kind ? [[row.day, row.version] as const] : [])))
  return {
    events: of('events'),
    captures: of('captures'),
    replaced: of('replaced').get('') ?? '',
    prices: of('prices'),
  }
}

/** `days` are in order and not empty. */
function boundDays(days: readonly string[]): Parameters {
  const until = new Date(Date.parse(days.at(-1) as string) + DAY_MS).toISOString()
  return { days, since: `${days[0]} 00:00:00.000`, until: `${until.slice(0, 10)} 00:00:00.000` }
}
