// What events of days say of a key -> flat arrays: groups of a conversation's events that say the same, and what these events came to.
import type { Ids } from './ids.ts'
import { numbersOf, type Versioned } from './rows.ts'
import { eventsOf, type Shelf } from './shelves.ts'
import { DAY_EVENT_VALUES_SQL } from './sql.ts'
import { createUsers, type Users } from './users.ts'

/** Groups of a day's events, by place. */
export interface Said extends Versioned {
  readonly conversations: Uint32Array
  /** Numbers of what is said; 0 = nothing of the key. */
  readonly said: Uint32Array
  /** Whole microseconds of what was timed. */
  readonly us: Float64Array
  /** Where the entries of each group end. */
  readonly ends: Uint32Array
  /** An event each: see `bucketOf` and `hasFailed`. */
  readonly entries: Uint16Array
}

/** Groups as the store answers them. */
export interface SaidRow extends Versioned {
  readonly key: string
  readonly ids: string
  readonly said: readonly string[]
  readonly us: readonly number[]
  readonly counts: readonly number[]
  readonly entries: readonly number[]
}

/** The latency bucket of an entry, below 0 where nothing was timed. */
export const bucketOf = (entry: number): number => (entry >> 1) - 1
/** Whether the event of an entry failed. */
export const hasFailed = (entry: number): boolean => (entry & 1) === 1

/** Groups of a day; `texts` number what is said. */
export function saidOf(ids: Ids, texts: Users, row: SaidRow): Said {
  let end = 0
  return {
    version: row.version,
    conversations: numbersOf(ids, row.ids),
    said: texts.numbersOf(row.said),
    us: Float64Array.from(row.us),
    ends: Uint32Array.from(row.counts, count => (end += count)),
    entries: Uint16Array.from(row.entries),
  }
}

const bytesOf = ({ conversations, us, entries }: Said): number =>
  conversations.byteLength * 3 + us.byteLength + entries.byteLength + 400

/** One key of events. */
export interface EventColumn {
  readonly shelf: Shelf
  readonly days: ReadonlyMap<string, Said>
  /** Numbers of some values, as far as any event says them. */
  numbersOf(values: readonly string[]): ReadonlySet<number>
  bytes(): number
}

/** A value as the store tells it from a key that is missing. */
const SAYS = '='

/** A key of which nothing was read yet. */
export function createEventColumn(
  ids: Ids,
  { kind, parameters }: Required<Pick<Shelf, 'kind' | 'parameters'>>,
): EventColumn {
  const texts = createUsers()
  const kept = new Map<string, Said>()
  return {
    shelf: {
      ...{
        kind,
        kept,
        parameters,
        question: 'day_event_values',
        sql: DAY_EVENT_VALUES_SQL,
        each: 8,
        versionsOf: eventsOf,
      },
      keep(rows: readonly SaidRow[]) {
        for (const row of rows) kept.set(row.key, saidOf(ids, texts, row))
      },
    },
    days: kept,
    numbersOf: values => new Set(values.flatMap(value => texts.find(SAYS + value) ?? [])),
    bytes: () => texts.bytes() + [...kept.values()].reduce((sum, day) => sum + bytesOf(day), 0),
  }
}
