// What came to an open day since an instant -> the two parts of it for each of some shelves: one statement reads what is kept of its events,
// one what is kept of its captures, or a shelf asks its own.
import type { Parameters, Reader } from '../reader.ts'
import { type ArrivedRow, arrivedOf } from './arrived.ts'
import { arrivedSql } from './arrived-sql.ts'
import type { CapturesRow } from './captures-arrived.ts'
import { CAPTURED_KEYS, capturesArrivedSql } from './captures-sql.ts'
import type { Ids } from './ids.ts'
import type { OpenDay } from './open.ts'
import { numbersOf, type Versioned } from './rows.ts'
import { SAID_KEYS } from './said-sql.ts'
import type { OfCaptures, OfEvents, Shelf, StoreVersions } from './shelves.ts'
import { LATER } from './sql.ts'

/** What was read of a day in two parts, and the day's version of the moment of the read; undefined: nothing came. */
export interface Parts {
  readonly proof: string | undefined
  /** How many events stand behind the cut; undefined: they are not told apart. */
  readonly came?: number
  of(shelf: Shelf, key: string, versions: StoreVersions): Versioned | undefined
}

/** An open day, and the bounds of what is read of it. */
interface Arriving extends OpenDay {
  readonly bound: Parameters
}

/** Of one shelf, by its own statement. */
export async function readAlone(reader: Reader, { shelf, bound }: { shelf: Shelf; bound: Parameters }): Promise<Parts> {
  const parameters = { ...bound, ...shelf.parameters }
  const rows = await reader.read<{ readonly key: string; readonly proof: string }>(
    shelf.question,
    shelf.sql.open,
    parameters,
  )
  const byKey = Map.groupBy(rows, row => row.key)
  return {
    proof: rows[0]?.proof,
    of(shelf, key, versions) {
      const some = byKey.get(key)
      return some && shelf.of(some, versions)
    },
  }
}

/** Of several, which are all of events or all of captures. */
export function readArrived(reader: Reader, ids: Ids, of: Arriving): Promise<Parts> {
  return of.shelves[0].arrived.rows === 'captures' ? readCaptures(reader, ids, of) : readEvents(reader, ids, of)
}

async function readEvents(reader: Reader, ids: Ids, { shelves, day, bound }: Arriving): Promise<Parts> {
  const keys = shelves.flatMap(shelf => ofEvents(shelf)?.keys ?? [])
  const prices = shelves.some(shelf => ofEvents(shelf)?.prices)
  const parameters = { ...bound, ...(keys.length > 0 ? { [SAID_KEYS]: keys } : {}) }
  const rows = await reader.read<ArrivedRow>('day_arrived', arrivedSql({ prices, keys: keys.length }), parameters)
  const byKey = new Map(rows.map(row => [row.key, arrivedOf(ids, day, row)]))
  return {
    proof: rows[0]?.proof,
    came: (byKey.get(day + LATER)?.row.counts ?? []).reduce((sum, count) => sum + count, 0),
    of(shelf, key) {
      const arrived = byKey.get(key)
      return arrived && ofEvents(shelf)?.of(arrived)
    },
  }
}

async function readCaptures(reader: Reader, ids: Ids, { shelves, bound }: Arriving): Promise<Parts> {
  const says = shelves.flatMap(shelf => ofCaptures(shelf)?.says ?? [])
  const parameters = { ...bound, ...(says.length > 0 ? { [CAPTURED_KEYS]: says.map(({ key }) => key) } : {}) }
  const sql = capturesArrivedSql(says.map(({ source }) => source))
  const rows = await reader.read<CapturesRow>('day_captures', sql, parameters)
  const byKey = new Map(rows.map(row => [row.key, { row, conversations: numbersOf(ids, row.ids) }]))
  return {
    proof: rows[0]?.proof,
    of(shelf, key, { replaced }) {
      const arrived = byKey.get(key)
      const of = ofCaptures(shelf)
      const place = of?.says === undefined ? -1 : says.indexOf(of.says)
      return arrived && of?.of({ ...arrived, replaced }, place)
    },
  }
}

const ofEvents = ({ arrived }: Shelf): OfEvents | undefined => (arrived.rows === 'events' ? arrived : undefined)
const ofCaptures = ({ arrived }: Shelf): OfCaptures | undefined => (arrived.rows === 'captures' ? arrived : undefined)
