// What is read of days, kind by kind, and where it is kept: each shelf knows its statement, and the versions that its days stand under.
import type { Question } from '../questions.ts'
import type { Parameters } from '../reader.ts'
import * as add from './add.ts'
import { type Arrived, figuresArrived, pairsArrived, pricesArrived, toolsArrived } from './arrived.ts'
import { type CapturesArrived, namedIn } from './captures-arrived.ts'
import { type CapturedKey, DAY_CAPTURES_SQL } from './captures-sql.ts'
import { type DayFigures, type DayFiguresRow, dayFiguresOf } from './failures.ts'
import type { Ids } from './ids.ts'
import type { Base } from './open.ts'
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
  /** What open days are added to. */
  readonly bases: Map<string, Base>
  /** Open days that had gained something when they were last looked at. */
  readonly arriving: Set<string>
  readonly question: Question
  readonly sql: sql.DaySql
  readonly parameters?: Parameters
  /** It says of conversations what they are, and counts nothing: it may be newer than what is counted of them. */
  readonly describes?: true
  /** Days that are read by one statement: what it answers stays in the tens of MB. */
  readonly each: number
  versionsOf(versions: StoreVersions): Versions
  /** What rows of one key come to. */
  of(rows: readonly unknown[], versions: StoreVersions): held.Versioned
  /** How it is found among what came to an open day. */
  readonly arrived: OfEvents | OfCaptures
  /** Of two parts of a day the whole; what arrived later comes second. */
  add(one: held.Versioned, other: held.Versioned): held.Versioned
}

/** What is found among groups of all events that came to an open day. */
export interface OfEvents {
  readonly rows: 'events'
  /** The groups have to tell what was priced. */
  readonly prices?: true
  /** And what is said of these keys. */
  readonly keys?: readonly string[]
  of(arrived: Arrived): held.Versioned
}

/** What is found among all captures that came to it. */
export interface OfCaptures {
  readonly rows: 'captures'
  /** They have to tell what they say of this key. */
  readonly says?: CapturedKey
  /** Precondition: what they say of the key stands at the place. */
  of(arrived: CapturesArrived, place: number): held.Versioned
}

/** Of which nothing was read since a cut. */
export const unopened = (): Pick<Shelf, 'bases' | 'arriving'> => ({ bases: new Map(), arriving: new Set() })

/** Empties the shelves of a kind. */
export function clear(shelves: readonly Shelf[], of: Kind): void {
  for (const { kind, kept, bases, arriving } of shelves) {
    if (kind !== of) continue
    for (const days of [kept, bases, arriving]) days.clear()
  }
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
  readonly figures: Map<string, DayFigures>
  readonly tools: Map<string, held.ToolsOfDay>
  readonly prices: Map<string, held.PricesOfDay>
}

/** Versions of events, whatever is kept of them. */
export const eventsOf = ({ events }: StoreVersions): Versions => events

/** Versions of captures, which what replaced some of them is part of. */
export const capturesOf = ({ captures, replaced }: StoreVersions): Versions =>
  new Map([...captures].map(([day, version]) => [day, held.captureVersion({ version }, replaced)]))

/** Where days are kept, and how they are read. */
export function shelvesOf(days: Days, ids: Ids, users: Users): readonly Shelf[] {
  const ofEvents = { versionsOf: eventsOf }
  return [
    {
      ...{ ...ofEvents, kind: 'figures', kept: days.events, ...unopened() },
      ...{ question: 'day_conversations', sql: sql.DAY_CONVERSATIONS_SQL, each: 16 },
      of: ([row]: readonly held.PairsRow[]) => held.pairsOf(ids, users, row as held.PairsRow),
      arrived: { rows: 'events', of: arrived => pairsArrived(users, arrived) },
      add: (one: held.Pairs, other: held.Pairs) => add.addEvents(users, one, other),
    },
    {
      ...{ kind: 'figures', kept: days.captures, ...unopened(), versionsOf: capturesOf },
      // Captures lie by conversation, so that each look for those of some days looks through all of them.
      ...{ question: 'day_captures', sql: DAY_CAPTURES_SQL, each: 64 },
      of: ([row]: readonly held.PairsRow[], { replaced }) =>
        held.capturePairsOf(ids, users, row as held.PairsRow, replaced),
      arrived: { rows: 'captures', of: arrived => namedIn(users, arrived) },
      add: add.addCaptures,
    },
    {
      ...{ ...ofEvents, kind: 'figures', kept: days.figures, ...unopened() },
      ...{ question: 'day_figures', sql: sql.DAY_FIGURES_SQL, each: 32 },
      of: ([row]: readonly DayFiguresRow[]) => dayFiguresOf(ids, row as DayFiguresRow),
      arrived: { rows: 'events', of: figuresArrived },
      add: add.addFigures,
    },
    {
      ...{ ...ofEvents, kind: 'tools', kept: days.tools, ...unopened() },
      ...{ question: 'day_tools', sql: sql.DAY_TOOLS_SQL, each: 8 },
      of: (rows: readonly held.ToolRow[]) => held.toolsOf(ids, rows),
      arrived: { rows: 'events', of: toolsArrived },
      add: add.addTools,
    },
    {
      ...{ ...ofEvents, kind: 'prices', kept: days.prices, ...unopened() },
      ...{ question: 'day_prices', sql: sql.DAY_PRICES_SQL, each: 16 },
      of: (rows: readonly held.PricedRow[]) => held.pricesOf(ids, rows),
      arrived: { rows: 'events', of: pricesArrived, prices: true },
      add: add.addPrices,
    },
  ]
}
