// What captures say of keys by which conversations are grouped: of each key a column of numbers, by conversation.
import { GROUP_KEY, type Grouping } from '../reads/groups.ts'
import type { Ids } from './ids.ts'
import type { ValuesKind } from './organization.ts'
import { bytesOfPairs, type Pairs, type PairsRow, pairsOf } from './rows.ts'
import { capturesOf, type Shelf } from './shelves.ts'
import { dayValuesSql } from './sql.ts'
import { createUsers } from './users.ts'

/** Keys that are kept; the one that was asked for first goes. */
const COLUMNS_MAX = 4

/** What conversations say. */
export interface Values {
  /** By conversation; 0 = nothing. */
  readonly numbers: Uint32Array
  /** Groups by number. */
  groupsOf(number: number): readonly string[]
}

/** One key. */
interface Column {
  readonly shelf: Shelf
  settled(conversations: number): Values
  bytes(): number
}

/** Keys of an organization. */
export interface Columns {
  of(kind: ValuesKind): Column
  forget(kind: ValuesKind): void
  bytes(): number
}

/** The name under which a key is kept. */
export const valuesKind = ({ source, key }: Pick<Grouping, 'source' | 'key'>): ValuesKind => `values ${source} ${key}`

/** No keys yet. */
export function createColumns(ids: Ids): Columns {
  const columns = new Map<ValuesKind, Column>()
  return {
    of(kind) {
      const found = columns.get(kind) ?? createColumn(ids, kind)
      columns.set(kind, found)
      for (const one of columns.keys()) {
        if (columns.size > COLUMNS_MAX) columns.delete(one)
      }
      return found
    },
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
    ...{ kind, kept, question: 'day_values', sql: dayValuesSql(source as Grouping['source']), each: 128 },
    parameters: { [GROUP_KEY]: words.join(' ') },
    versionsOf: capturesOf,
    keep(rows: readonly PairsRow[], { replaced }) {
      for (const row of rows) kept.set(row.key, pairsOf(ids, texts, row, ` ${replaced}`))
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
      return { numbers, groupsOf: number => JSON.parse(texts.nameOf(number)) as string[] }
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
