// For tests and benches: the rows of a range as JSONEachRow, the plain form that the columns are compared with.
import { NIL_UUID } from '#proto/ids.ts'
import type { BlockTable, EventRow, Origin } from '#proto/rows.ts'
import { versionOf } from './columns/tables.ts'

/** A row as one line of JSONEachRow, with its origin and the columns of a first writing. */
export function jsonLine(table: BlockTable, row: object, origin: Origin): string {
  const signed = table === 'events' ? { move_id: NIL_UUID, version: versionOf(row as EventRow, origin), sign: 1 } : {}
  return `${JSON.stringify({ ...row, ...origin, ...signed }, mended)}\n`
}

/** ClickHouse refuses a text with half of a surrogate pair. */
function mended(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), inner]))
}
