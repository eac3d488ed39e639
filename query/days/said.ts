// What events of days say of keys -> flat arrays: groups of a conversation's events that say the same, and what these events came to; calls
// of tools besides with their tool and how long each took.

import { keptSaysOneOf } from '../reads/metadata-values.ts'
import { addSaid } from './add.ts'
import { saidArrived } from './arrived.ts'
import { createEdgeDays, type EdgeDays } from './edges.ts'
import type { Ids } from './ids.ts'
import { type Numbers, narrowed } from './narrow.ts'
import { numbersOf, type Versioned } from './rows.ts'
import { dayEventValuesSql, SAID_KEYS, saidSql } from './said-sql.ts'
import { eventsOf, type Shelf, unopened } from './shelves.ts'
import { dayRowsSql } from './sql.ts'
import { createUsers, type Users } from './users.ts'

/** Groups of a day's events, by place. */
export interface Said extends Versioned {
  readonly conversations: Uint32Array
  /** Numbers of what is said. */
  readonly said: Numbers
  /** What is of no tool: whole microseconds of what was timed, and how many entries there are of each group. */
  readonly us: Numbers
  readonly counts: Numbers
  /** An event each, group by group: see `bucketOf` and `hasFailed`. */
  readonly entries: Uint16Array
  /** How many calls of tools there are of each group. */
  readonly callCounts: Numbers
  /** Kind and name. */
  readonly tools: readonly string[]
  /** A call each, group by group: the place of its tool from 1 on, its entry, its whole microseconds, 0 where it was not timed. */
  readonly called: Numbers
  readonly callEntries: Uint16Array
  readonly callUs: Numbers
}

/** Groups as the store answers them; what is said is numbered from 1 on, in the order of `texts`. */
export interface SaidRow extends Versioned {
  readonly key: string
  readonly ids: string
  readonly texts: readonly string[]
  readonly said: readonly number[]
  readonly us: readonly number[]
  readonly counts: readonly number[]
  readonly entries: readonly number[]
  readonly call_counts: readonly number[]
  readonly tools: readonly string[]
  readonly called: readonly number[]
  readonly call_entries: readonly number[]
  readonly call_us: readonly number[]
}

/** The latency bucket of an entry, below 0 where nothing was timed. */
export const bucketOf = (entry: number): number => (entry >> 1) - 1
/** Whether the event of an entry failed. */
export const hasFailed = (entry: number): boolean => (entry & 1) === 1

/** Groups of a day; `texts` number what is said. */
export function saidOf(ids: Ids, texts: Users, row: SaidRow): Said {
  const numbers = texts.numbersOf(row.texts)
  return {
    version: row.version,
    conversations: numbersOf(ids, row.ids),
    said: narrowed(row.said.map(place => numbers[place - 1] as number)),
    us: narrowed(row.us),
    counts: narrowed(row.counts),
    entries: new Uint16Array(row.entries),
    callCounts: narrowed(row.call_counts),
    tools: row.tools,
    called: narrowed(row.called),
    callEntries: new Uint16Array(row.call_entries),
    callUs: narrowed(row.call_us),
  }
}

const bytesOf = (day: Said): number => {
  const { conversations, said, us, counts, entries, callCounts, tools, called, callEntries, callUs } = day
  const arrays = [conversations, said, us, counts, entries, callCounts, called, callEntries, callUs]
  return arrays.reduce((sum, { byteLength }) => sum + byteLength, 1_000) + tools.length * 60
}

/** Some keys of events together. */
export interface EventColumn {
  readonly shelf: Shelf
  readonly days: ReadonlyMap<string, Said>
  /** Rows of days that windows begin and end on. */
  readonly edges: { readonly days: EdgeDays; readonly sql: string }
  /** By number of what is said: whether it has one of some values under the key at a place. */
  meets(place: number, values: readonly string[]): (number: number) => boolean
  bytes(): number
}

/** Keys of which nothing was read yet. */
export function createEventColumn(
  ids: Ids,
  { kind, keys }: Pick<Shelf, 'kind'> & { keys: readonly string[] },
): EventColumn {
  const texts = createUsers()
  const kept = new Map<string, Said>()
  const edges = createEdgeDays(ids, texts)
  const bytesOfDays = new WeakMap<Said, number>()
  const valueAt = (number: number, place: number): string => {
    const text = texts.nameOf(number)
    return keys.length === 1 ? text : ((JSON.parse(text) as string[])[place] as string)
  }
  return {
    shelf: {
      ...{ kind, kept, ...unopened(), parameters: { [SAID_KEYS]: keys }, versionsOf: eventsOf },
      ...{ question: 'day_event_values', sql: dayEventValuesSql(keys.length), each: 8 },
      of: ([row]: readonly SaidRow[]) => saidOf(ids, texts, row as SaidRow),
      arrived: { rows: 'events', of: arrived => saidArrived(texts, arrived), keys },
      add: addSaid,
    },
    days: kept,
    edges: { days: edges, sql: dayRowsSql(saidSql(keys.length)) },
    meets: (place, values) => {
      const wanted = new Set(values)
      return remembered(texts.size(), number => keptSaysOneOf(valueAt(number, place), wanted))
    },
    bytes() {
      let sum = texts.bytes() + edges.bytes()
      for (const day of kept.values()) {
        const bytes = bytesOfDays.get(day) ?? bytesOf(day)
        bytesOfDays.set(day, bytes)
        sum += bytes
      }
      return sum
    },
  }
}

/** A question to numbers below `size`, asked once of each. */
export function remembered(size: number, ask: (number: number) => boolean): (number: number) => boolean {
  const [UNKNOWN, YES, NO] = [0, 1, 2]
  const known = new Uint8Array(size)
  return number => {
    if (known[number] === UNKNOWN) known[number] = ask(number) ? YES : NO
    return known[number] === YES
  }
}
