// What captures and events say of keys by which conversations are grouped or chosen: of each key a column of numbers, by conversation.
import { GROUP_KEY, type Grouping } from '../reads/groups.ts'
import { addCaptures } from './add.ts'
import { saidIn } from './captures-arrived.ts'
import { type CapturedKey, dayValuesSql } from './captures-sql.ts'
import type { Ids } from './ids.ts'
import type { Kind, ValuesKind } from './organization.ts'
import { changesOf } from './people.ts'
import { keepRecent } from './recent.ts'
import { bytesOfPairs, capturePairsOf, type Pairs, type PairsRow } from './rows.ts'
import { createEventColumn, type EventColumn } from './said.ts'
import { capturesOf, type Shelf, unopened } from './shelves.ts'
import { createUsers } from './users.ts'

/** Keys that are kept, each of captures and of events apart; the one that was not asked for the longest time goes. */
const COLUMNS_MAX = 16
/**
 * What was not asked for so long may go where there is no room for what is asked for. Not sooner: two pages that are asked for in turn would
 * read all days anew each time.
 */
const IDLE_MS = 5 * 60_000

/** What conversations say. */
export interface Values {
  /** By conversation; 0 = nothing. */
  readonly numbers: Uint32Array
  /** Groups by number. */
  groupsOf(number: number): readonly string[]
  /** The value by number. */
  valueOf(number: number): string
}

/** One key of captures. */
interface CaptureColumn {
  readonly shelf: Shelf
  settled(conversations: number): Values
  bytes(): number
}

/** Keys of an organization. */
export interface Columns {
  of(kind: ValuesKind): CaptureColumn | EventColumn
  /** One of captures. */
  captures(kind: ValuesKind): CaptureColumn
  /** One of events. */
  events(kind: ValuesKind): EventColumn
  has(kind: ValuesKind): boolean
  forget(kind: ValuesKind): void
  /** Lets go of rows of edges of all days but some. */
  shrink(but: readonly string[]): void
  /** Lets go of those that were not asked for the longest time, as far as they may go. @returns whether there is room then. */
  makeRoom(isFull: () => boolean): boolean
  bytes(): number
}

/** The name under which a key of captures is kept. */
export const valuesKind = ({ source, key }: { source: Grouping['source']; key: string }): ValuesKind =>
  `values ${source} ${key}`

/** What precedes the keys in the name of some of events. */
const EVENT_VALUES = 'values event '

/** Whether it is what events say of keys: of what came that is a statement of its own, but for the first of several. */
export const isOfEvents = (kind: Kind): boolean => kind.startsWith(EVENT_VALUES)

/** The name under which some keys of events are kept together. */
export const eventValuesKind = (keys: readonly string[]): ValuesKind => `${EVENT_VALUES}${JSON.stringify(keys)}`

/** No keys yet. */
export function createColumns(ids: Ids, nowMs: () => number): Columns {
  const columns = new Map<ValuesKind, { readonly column: CaptureColumn | EventColumn; readonly askedAtMs: number }>()
  const of = <Column extends CaptureColumn | EventColumn>(kind: ValuesKind, create: Create<Column>): Column => {
    // Of one name there is always the same sort.
    const column = (columns.get(kind)?.column as Column | undefined) ?? create(ids, kind)
    keepRecent(columns, [kind, { column, askedAtMs: nowMs() }], COLUMNS_MAX)
    return column
  }
  const captures = (kind: ValuesKind) => of(kind, createCaptureColumn)
  const events = (kind: ValuesKind) => of(kind, eventColumn)
  return {
    of: kind => (isOfEvents(kind) ? events(kind) : captures(kind)),
    ...{ captures, events },
    has: kind => columns.has(kind),
    forget: kind => columns.delete(kind),
    shrink(but) {
      for (const { column } of columns.values()) if ('edges' in column) column.edges.days.shrink(but)
    },
    makeRoom(isFull) {
      for (const [kind, { askedAtMs }] of columns) {
        if (!isFull()) return true
        if (nowMs() - askedAtMs < IDLE_MS) return false
        columns.delete(kind)
      }
      return !isFull()
    },
    bytes: () => [...columns.values()].reduce((sum, { column }) => sum + column.bytes(), 0),
  }
}

type Create<Column> = (ids: Ids, kind: ValuesKind) => Column

/** The source and the key of a name; keys may hold spaces. */
function capturedKeyOf(kind: ValuesKind): CapturedKey {
  const [, source, ...words] = kind.split(' ')
  return { source: source as Grouping['source'], key: words.join(' ') }
}

function eventColumn(ids: Ids, kind: ValuesKind): EventColumn {
  return createEventColumn(ids, { kind, keys: JSON.parse(kind.slice(EVENT_VALUES.length)) as string[] })
}

function createCaptureColumn(ids: Ids, kind: ValuesKind): CaptureColumn {
  const says = capturedKeyOf(kind)
  const texts = createUsers()
  const kept = new Map<string, Pairs>()
  let numbers = new Uint32Array(0)
  /** The days that they were settled for. */
  let settled: ReadonlyMap<string, Pairs> = new Map()
  const shelf: Shelf = {
    ...{ kind, kept, ...unopened(), parameters: { [GROUP_KEY]: says.key }, versionsOf: capturesOf },
    ...{ question: 'day_values', sql: dayValuesSql(says.source), each: 128, describes: true },
    of: ([row]: readonly PairsRow[], { replaced }) => capturePairsOf(ids, texts, row as PairsRow, replaced),
    arrived: { rows: 'captures', says, of: (arrived, place) => saidIn(texts, arrived, place) },
    add: addCaptures,
  }
  return {
    shelf,
    settled(conversations) {
      const more = numbers.length < conversations ? null : addedTo(settled, kept)
      if (more === null) numbers = settle(kept, conversations)
      else for (const pairs of more) note(numbers, pairs)
      if (more?.length !== 0) settled = new Map(kept)
      const said = (number: number): string[] => JSON.parse(texts.nameOf(number)) as string[]
      return { numbers, groupsOf: number => said(number).slice(1), valueOf: number => said(number)[0] as string }
    },
    bytes: () =>
      texts.bytes() + numbers.byteLength + [...kept.values()].reduce((sum, day) => sum + bytesOfPairs(day), 0),
  }
}

/** The last day that says something stands. With room for conversations that are still to come. */
function settle(kept: ReadonlyMap<string, Pairs>, conversations: number): Uint32Array<ArrayBuffer> {
  const numbers = new Uint32Array(Math.ceil(conversations * 1.1))
  for (const day of [...kept.keys()].sort()) note(numbers, kept.get(day) as Pairs)
  return numbers
}

function note(numbers: Uint32Array, { conversations, users: said }: Pairs): void {
  for (let i = 0; i < conversations.length; i++) numbers[conversations[i] as number] = said[i] as number
}

/** The newest day, where nothing has changed but that something came to it; none, where not even that. Null: anything may have changed. */
function addedTo(known: ReadonlyMap<string, Pairs>, kept: ReadonlyMap<string, Pairs>): readonly Pairs[] | null {
  const changes = changesOf(known, kept)
  if (changes === null || changes.length > 1) return null
  const isAdded = changes.every(({ day, before, after }) => {
    const isNewest = [...kept.keys()].every(other => other <= day)
    // What came stands behind what was there.
    return isNewest && (before?.conversations.every((one, i) => after.conversations[i] === one) ?? true)
  })
  return isAdded ? changes.map(({ after }) => after) : null
}
