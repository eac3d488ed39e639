// What is read of days, kind by kind, and where it is kept: each shelf knows its statement, and the versions that its days stand under.
import type { Question } from '../questions.ts'
import type { Parameters } from '../reader.ts'
import type { Ids } from './ids.ts'
import type { Kind } from './organization.ts'
import * as held from './rows.ts'
import * as sql from './sql.ts'
import type { Users } from './users.ts'

/** Versions by day. */
export type Versions = ReadonlyMap<string, string>

export interface VersionRow {
  readonly of: 'events' | 'captures' | 'replaced'
  readonly day: string
  readonly version: string
}

export interface StoreVersions {
  readonly events: Versions
  readonly captures: Versions
  readonly replaced: string
}

/** Days of one kind of rows. */
export interface Shelf {
  readonly kind: Kind
  readonly kept: Map<string, held.Versioned>
  readonly question: Question
  readonly sql: string
  readonly parameters?: Parameters
  /** Days that are read by one statement: what it answers stays in the tens of MB. */
  readonly each: number
  versionsOf(versions: StoreVersions): Versions
  /** Keeps what was read of some days. */
  keep(rows: readonly unknown[], versions: StoreVersions): void
}

/** Versions as the store answers them. */
export function versionsOf(rows: readonly VersionRow[]): StoreVersions {
  const of = (kind: VersionRow['of']): Map<string, string> =>
    new Map(rows.flatMap(row => (row.of === kind ? [[row.day, row.version] as const] : [])))
  return { events: of('events'), captures: of('captures'), replaced: of('replaced').get('') ?? '' }
}

/** Days by what is kept of them. */
export interface Days {
  readonly events: Map<string, held.Pairs>
  readonly captures: Map<string, held.Pairs>
  readonly figures: Map<string, held.Figures>
  readonly tools: Map<string, held.ToolsOfDay>
  readonly prices: Map<string, held.PricesOfDay>
}

/** Versions of events, whatever is kept of them. */
export const eventsOf = ({ events }: StoreVersions): Versions => events

/** Versions of captures, which what replaced some of them is part of. */
export const capturesOf = ({ captures, replaced }: StoreVersions): Versions =>
  new Map([...captures].map(([day, one]) => [day, `${one} ${replaced}`]))

/** Where days are kept, and how they are read. */
export function shelvesOf(days: Days, ids: Ids, users: Users): readonly Shelf[] {
  return [
    {
      ...{
        kind: 'figures',
        kept: days.events,
        question: 'day_conversations',
        sql: sql.DAY_CONVERSATIONS_SQL,
        each: 16,
      },
      versionsOf: eventsOf,
      keep(rows: readonly held.PairsRow[]) {
        for (const row of rows) days.events.set(row.key, held.pairsOf(ids, users, row))
      },
    },
    {
      // Captures lie by conversation, so that each look for those of some days looks through all of them.
      ...{ kind: 'figures', kept: days.captures, question: 'day_captures', sql: sql.DAY_CAPTURES_SQL, each: 64 },
      versionsOf: capturesOf,
      keep(rows: readonly held.PairsRow[], versions) {
        for (const row of rows) days.captures.set(row.key, held.pairsOf(ids, users, row, ` ${versions.replaced}`))
      },
    },
    {
      ...{ kind: 'figures', kept: days.figures, question: 'day_figures', sql: sql.DAY_FIGURES_SQL, each: 32 },
      versionsOf: eventsOf,
      keep(rows: readonly held.Figures[]) {
        for (const row of rows) days.figures.set(row.key, held.figuresOf(row))
      },
    },
    {
      ...{ kind: 'tools', kept: days.tools, question: 'day_tools', sql: sql.DAY_TOOLS_SQL, each: 8 },
      versionsOf: eventsOf,
      keep(rows: readonly held.ToolRow[]) {
        for (const [day, some] of Map.groupBy(rows, row => row.key)) days.tools.set(day, held.toolsOf(ids, some))
      },
    },
    {
      ...{ kind: 'prices', kept: days.prices, question: 'day_prices', sql: sql.DAY_PRICES_SQL, each: 16 },
      versionsOf: eventsOf,
      keep(rows: readonly held.PricedRow[]) {
        for (const [day, some] of Map.groupBy(rows, row => row.key)) days.prices.set(day, held.pricesOf(ids, some))
      },
    },
  ]
}
