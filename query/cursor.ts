// Where a page ended, as an opaque text: the next page begins after that row, whatever was added or corrected meanwhile.
import { ParleyError } from '#proto/errors.ts'
import { isDay } from '#proto/time.ts'

/** The sort key of a row: a time (ISO 8601, as the store answers) and what breaks ties. */
export interface Position {
  readonly at: string
  readonly id: string
}

const AT = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3,9}Z$/
/** Years that a time of the store can have; about others it cannot be asked. */
const [FIRST_YEAR, LAST_YEAR] = [1970, 2261]

/** True for what can be the time of a row. */
function isTime(at: string): boolean {
  const year = Number(at.slice(0, 4))
  return AT.test(at) && isDay(at.slice(0, 10)) && year >= FIRST_YEAR && year <= LAST_YEAR
}

/** A position as clients carry it. */
export function encodeCursor({ at, id }: Position): string {
  return Buffer.from(JSON.stringify([at, id])).toString('base64url')
}

/** @throws ParleyError REQ_BODY_INVALID when it was not made by `encodeCursor`. */
export function decodeCursor(cursor: string): Position {
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    const [at, id] = Array.isArray(read) ? (read as unknown[]) : []
    if (typeof at === 'string' && isTime(at) && typeof id === 'string') return { at, id }
  } catch {
    // What is no JSON is refused below, like JSON of another shape.
  }
  throw new ParleyError('REQ_BODY_INVALID', 'cursor must be a next_cursor of this endpoint', { field: 'cursor' })
}
