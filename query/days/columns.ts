// What captures and events say of keys by which conversations are grouped or chosen: of each key a column of numbers, by conversation.
import { GROUP_KEY, type Grouping } from '../reads/groups.ts'
import type { Ids } from './ids.ts'
import type { ValuesKind } from './organization.ts'
import { bytesOfPairs, type Pairs, type PairsRow, pairsOf } from './rows.ts'
import { capturesOf, type Shelf } from './shelves.ts'
import { DAY_EVENT_VALUES_SQL, dayValuesSql } from './sql.ts'
import { createUsers } from './users.ts'

/** Keys that are kept, each of captures and of events apart; the one that was not asked for the longest time goes. */
const COLUMNS_MAX = 12

/** What conversations say. */
export interface Values {
  /** By conversation; 0 = nothing. */
  readonly numbers: Uint32Array
  /** Groups by number. */
  groupsOf(number: number): readonly string[]
  /** The value by number. */
  valueOf(number: number): string
}

/** One key. */
interface Column {
  readonly shelf: Shelf
  settled(conversations: number): Values
  /** Marks conversations with events on some days that say one of the values. */
  mark(marks: Uint8Array, values: readonly string[], isAsked: (day: string) => boolean): void
  bytes(): number
}

/** Keys of an organization. */
export interface Columns {
  of(kind: ValuesKind): Column
  has(kind: ValuesKind): boolean
  forget(kind: ValuesKind): void
  bytes(): number
}

/** The name under which a key is kept. */
export const valuesKind = ({ source, key }: { source: Grouping['source'] | 'event'; key: string }): ValuesKind =>
  `values ${source} ${key}`

/** No keys yet. */
export function createColumns(ids: Ids): Columns {
  const columns = new Map<ValuesKind, Column>()
  return {
    of(kind) {
      const found = columns.get(kind) ?? createColumn(ids, kind)
      columns.delete(kind)
      columns.set(kind, found)
      for (const one of columns.keys()) {
        if (columns.size > COLUMNS_MAX) columns.delete(one)
      }
      return found
    },
    has: kind => columns.has(kind),
    forget: kind => columns.delete(kind),
    bytes: () => [...columns.values()].reduce((sum, column) => sum + column.bytes(), 0),
  }
}

function createColumn(ids: Ids, kind: ValuesKind): Column {
  const [, source, ...words] = kind.split(' ')
  const texts = createUsers()
  const kept = new Map<string, Pairs>()
  let numbers = new Uint32Array(0)
  // By version of each day, so that a column is settled anew only when some day of it is another.
  let settledFor = ''
  const shelf: Shelf = {
    ...(source === 'event'
      ? { question: 'day_event_values', sql: DAY_EVENT_VALUES_SQL, each: 16, versionsOf: ({ metadata }) => metadata }
      : { question: 'day_values', sql: dayValuesSql(source as Grouping['source']), each: 128, versionsOf: capturesOf }),
    ...{ kind, kept, parameters: { [GROUP_KEY]: words.join(' ') } },
    keep(rows: readonly PairsRow[], { replaced }) {
      const more = source === 'event' ? '' : ` ${replaced}`
      for (const row of rows) kept.set(row.key, pairsOf(ids, texts, row, more))
    },
  }
  return {
    shelf,
    settled(conversations) {
      const state = [...kept].map(([day, { version }]) => `${day} ${version}`).join()
      if (state !== settledFor || numbers.length < conversations) {
        numbers = settle(kept, conversations)
        settledFor = state
      }
      const said = (number: number): string[] => JSON.parse(texts.nameOf(number)) as string[]
      return { numbers, groupsOf: number => said(number).slice(1), valueOf: number => said(number)[0] as string }
    },
    mark(marks, values, isAsked) {
      const wanted = new Set(values.flatMap(value => texts.find(value) ?? []))
      if (wanted.size === 0) return
      for (const [day, { conversations, users: said }] of kept) {
        if (!isAsked(day)) continue
        for (let i = 0; i < conversations.length; i++) {
          if (wanted.has(said[i] as number)) marks[conversations[i] as number] = 1
        }
      }
    },
    bytes: () =>
      texts.bytes() + numbers.byteLength + [...kept.values()].reduce((sum, day) => sum + bytesOfPairs(day), 0),
  }
}

/** The last day that says something stands. */
function settle(kept: ReadonlyMap<string, Pairs>, conversations: number): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(conversations)
  for (const day of [...kept.keys()].sort()) {
    const { conversations: of, users: said } = kept.get(day) as Pairs
    for (let i = 0; i < of.length; i++) numbers[of[i] as number] = said[i] as number
  }
  return numbers
}
