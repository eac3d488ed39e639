// What is kept in memory of one organization: who was active on which day, whom captures and events name, what days came to, who called
// which tools, what was priced, what captures say of keys. Every day stands under its version, and each question asks for the versions
// first, or goes by those that were told shortly before: what they say has changed is read anew, and nothing else.

import type { Reader } from '../reader.ts'
import { createColumns, type Values } from './columns.ts'
import { createEdgeDays, type EdgeRows } from './edges.ts'
import { bytesOfDayFigures, type DayFigures } from './failures.ts'
import { createIds, type Ids } from './ids.ts'
import type { Early } from './jobs.ts'
import { createPeople, type People } from './people.ts'
import { createRefreshing, isValues, rowsFor } from './refresh.ts'
import * as held from './rows.ts'
import type { EventColumn } from './said.ts'
import { clear, type Days, shelvesOf } from './shelves.ts'
import { type Asked, createTelling, type How } from './told.ts'
import { createToolMonths, type ToolSum, toolSumOf } from './tool-months.ts'
import { createUsers, type Users } from './users.ts'

/** What may be kept: who was there and what days came to; that and tools, or prices, besides. Each is read when it is first asked for. */
export type Kind = 'figures' | More
/** What comes on top of who was there; what captures say of a key comes with prices. */
export type More = 'tools' | 'prices' | ValuesKind
/** `values <source> <key>`, of captures, or `values event <keys>`. */
export type ValuesKind = `values ${string}`

/** How far a refresh came: everything that was stored before it began is there; there is more to be read; it would take too much. */
export type Refreshed = 'done' | 'more' | 'full'

/** What a refresh may take. */
export interface Refresh {
  readonly kinds: readonly Kind[]
  /** Brought along, where anything is brought. */
  readonly along?: readonly Kind[]
  readonly maxBytes: number
  /** Days are read by so many statements at most; all of them, unless said otherwise. */
  readonly statements?: number
  /** Days of which rows are needed, too. */
  readonly edges?: readonly string[]
  /** And what these say of some keys, which must be kept. */
  readonly edgesOf?: ValuesKind | undefined
  /** What was read since then is new enough; left out: what is read from now on, or what the same request has read. */
  readonly since?: number
  /** Where events arrive densely, what was told so many milliseconds ago is new enough as well. */
  readonly lentMs?: number | undefined
  /** Is told how it came to what it goes by, and how many milliseconds ago that was told. */
  hear?(how: How, ageMs: number): void
  /** It has been looked already: see `look`. */
  readonly looked?: Looked
}

/** The same of a question that has read rows by now: whoever is named there has to be in memory afterwards. */
export const asOfNow = (memory: Pick<OrganizationDays, 'now'>, asked: Refresh): Refresh => ({
  ...asked,
  since: memory.now(),
  lentMs: undefined,
})

/** What the store said, and read of open days, while others went by memory. */
export interface Looked {
  readonly asked: Asked
  readonly early: Early
}

/** What is kept of an organization. */
export interface OrganizationDays {
  /** What is read from now on is no older than this. */
  now(): number
  /** How often what is kept of days has changed: until it does again, pages are what they are. */
  age(): number
  /** Nothing had arrived on any day when it was looked at last. */
  isQuiet(): boolean
  /** Brings what is kept of some kinds to what the store holds. */
  refresh(reader: Reader, asked: Refresh): Promise<Refreshed>
  /** Reads what `refresh` would begin with. Memory stays what it is, so that others may go by it meanwhile. */
  look(reader: Reader, kinds: readonly Kind[]): Promise<Looked>
  /** Whether so many events come that what was told shortly before is lent. */
  isDense(): boolean
  /** Whether the store was not asked within so many milliseconds, and no part of the request has gone by what it said before. */
  isTooOld(reader: Reader, ms: number): boolean
  /** The next question asks the store, whatever was told. */
  endLoans(): void
  /** Keeps some kinds no longer. */
  forget(kind: More): void
  /** Days with events, in no order. */
  days(): Iterable<string>
  conversationsOf(day: string): Uint32Array
  /** What a day came to, and what failed on it. */
  figuresOf(day: string): DayFigures | undefined
  /** Tools of some days, which are in order, with whoever called them. */
  toolSumsOf(days: readonly string[]): readonly ToolSum[]
  toolSumOf(tool: held.ToolDay): ToolSum
  pricesOf(day: string): readonly held.Priced[]
  /** Conversations of a day with all that is kept of them. */
  pairsOf(day: string): held.Pairs | undefined
  /** Whether rows of some days are, or would be, kept: not of the newest, which events arrive on, nor where they don't fit. */
  keepsRowsOf(days: readonly string[], maxBytes: number): boolean
  /** Rows of a day that the refresh was asked for, and of the keys that it was asked for. */
  rowsOf(day: string, edgesOf?: ValuesKind): readonly EdgeRows[]
  /** Whether a key is still kept. */
  holds(kind: Kind): boolean
  /** What captures say of a key; it must be kept. */
  valuesOf(kind: ValuesKind): Values
  /** What events say of a key; it must be kept. */
  saidOf(kind: ValuesKind): Pick<EventColumn, 'days' | 'meets'>
  /** Of a conversation; 0 = nobody is known. */
  userOf(conversation: number): number
  /** Whom captures of a conversation name; 0 = nobody. */
  capturedOf(conversation: number): number
  /** The day on which the first of its captures arrived, as `dayNumber` numbers it; 0 = it has none. */
  arrivedOn(conversation: number): number
  /** Both by number of a conversation: for walks over all of them. */
  settled(): ReturnType<People['settled']>
  /** Events of a conversation on all days. */
  eventsOf(conversation: number): number
  /** Seconds between which a conversation with events stands. */
  extentOf(conversation: number): { first: number; last: number }
  users: Users
  /** Ids of conversations; those of rows that were read elsewhere get their numbers, too. */
  ids: Ids
  bytes(): number
}

const NOBODY = new Uint32Array(0)

/** What time it is: `sinceMs` only ever grows, `clock` is the time of the day. */
interface Times {
  readonly sinceMs?: () => number
  readonly clock?: () => number
}

/** Nothing kept yet. */
export function createOrganizationDays({
  sinceMs = () => performance.now(),
  clock = Date.now,
}: Times = {}): OrganizationDays {
  const ids = createIds()
  const users = createUsers()
  const people = createPeople(users)
  const { userOf, capturedOf, arrivedOn, settled, eventsOf, extentOf } = people
  const days = noDays()
  const columns = createColumns(ids, sinceMs)
  const shelves = shelvesOf(days, ids, users)
  const edgeDays = createEdgeDays(ids)
  const toolMonths = createToolMonths(people)
  const bytesOfWhatMustBe = (): number =>
    ids.bytes() + users.bytes() + people.bytes() + columns.bytes() + bytesOfDays(days)
  const bytes = (): number => bytesOfWhatMustBe() + edgeDays.bytes() + toolMonths.bytes()
  const telling = createTelling(sinceMs)
  const edges = { edgeDays, columns }
  /** Rows of edges can be read by each question, and months be added up; what else is kept can't. */
  const shrink = (but: readonly string[]): void => {
    edgeDays.shrink(but)
    columns.shrink(but)
    toolMonths.clear()
  }
  const { refresh, look } = createRefreshing({ ids, people, days, shelves, edges, telling, clock, bytes, shrink })

  return {
    now: telling.now,
    age: people.age,
    isQuiet: () => shelves.every(({ kind, arriving }) => kind !== 'figures' || arriving.size === 0),
    // Days that were about to be read are not there.
    refresh: (reader, asked) => refresh(reader, asked).catch(telling.fail),
    ...{ look, isDense: telling.isDense, isTooOld: telling.isTooOld, endLoans: telling.endLoans },
    forget(kind) {
      telling.forget()
      if (kind === 'tools') toolMonths.clear()
      if (isValues(kind)) columns.forget(kind)
      clear(shelves, kind)
    },
    days: () => days.events.keys(),
    conversationsOf: day => days.events.get(day)?.conversations ?? NOBODY,
    figuresOf: day => days.figures.get(day),
    toolSumsOf: asked =>
      toolMonths.of(asked, day => days.tools.get(day), { conversations: ids.size(), users: users.size() }),
    toolSumOf: tool => toolSumOf(tool, people),
    pricesOf: day => days.prices.get(day)?.priced ?? [],
    pairsOf: day => days.events.get(day),
    keepsRowsOf(of, maxBytes) {
      const free = maxBytes - bytesOfWhatMustBe() - toolMonths.bytes()
      const rows = of.map(day => days.figures.get(day)?.events ?? 0)
      return !of.includes(newestOf(days)) && edgeDays.fits(rows, free)
    },
    rowsOf: (day, edgesOf) => rowsFor(edges, edgesOf).days.rowsOf(day),
    holds: kind => !isValues(kind) || columns.has(kind),
    valuesOf: kind => columns.captures(kind).settled(ids.size()),
    saidOf: columns.events,
    ...{ userOf, capturedOf, arrivedOn, settled, eventsOf, extentOf },
    ...{ users, ids, bytes },
  }
}

const newestOf = ({ events }: Days): string => [...events.keys()].reduce((a, b) => (a > b ? a : b), '')

const noDays = (): Days => ({
  ...{ events: new Map(), captures: new Map(), figures: new Map() },
  ...{ tools: new Map(), prices: new Map() },
})

/** A day that has changed is another object: of the hundreds that each question asks for, one or two have to be measured. */
const measured = new WeakMap<object, number>()

function bytesOfDays({ events, captures, figures, tools, prices }: Days): number {
  const sum = <T extends object>(kept: ReadonlyMap<string, T>, bytesOf: (value: T) => number): number => {
    let total = 0
    for (const value of kept.values()) {
      const known = measured.get(value)
      const bytes = known ?? bytesOf(value)
      if (known === undefined) measured.set(value, bytes)
      total += bytes
    }
    return total
  }
  const pairs = sum(events, held.bytesOfPairs) + sum(captures, held.bytesOfPairs)
  return pairs + sum(figures, bytesOfDayFigures) + sum(tools, held.bytesOfTools) + sum(prices, held.bytesOfPrices)
}
