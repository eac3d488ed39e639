// Paging: page fields of a request -> which rows to read; rows read -> page fields of the answer.
import type { Position } from './cursor.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { Parameters } from './reader.ts'
import { sqlTime } from './reads/sql.ts'

/** Rows to skip and rows to find, after a row when the page is asked for by cursor. */
export interface Slice {
  readonly offset: number
  readonly limit: number
  readonly after?: Position | undefined
}

interface PageRequest {
  readonly page: number
  readonly page_size: number
  readonly cursor?: string | undefined
}

/** The rows of a page and one more. */
export function sliceOf({ page, page_size, cursor }: PageRequest): Slice {
  const limit = page_size + 1
  if (cursor !== undefined) return { offset: 0, limit, after: decodeCursor(cursor) }
  return { offset: (page - 1) * page_size, limit }
}

/** Page fields from what was found: one row was read ahead, so `total_pages` is a lower bound. */
export function pageOf<T>(
  request: PageRequest,
  found: readonly T[],
  position: (row: T) => Position,
): { page: number; page_size: number; total_pages: number; has_more: boolean; next_cursor: string | null } {
  const { page, page_size } = request
  const has_more = found.length > page_size
  const last = found[page_size - 1]
  const next_cursor = has_more && last !== undefined ? encodeCursor(position(last)) : null
  const total_pages = found.length === 0 && page === 1 ? 0 : page + (has_more ? 1 : 0)
  return { page, page_size, total_pages, has_more, next_cursor }
}

/** What a slice binds. */
export function sliceParameters({ offset, limit, after }: Slice): Parameters {
  return { offset, limit, ...(after ? { after_at: sqlTime(after.at), after_id: after.id } : {}) }
}

/** Condition: the row comes after the slice's cursor in order of `at` (newest or oldest first), ties by `id` ascending. */
export function afterCursor(slice: Slice, at: string, id: string, sort: 'newest' | 'oldest' = 'newest'): string {
  if (slice.after === undefined) return '1'
  const cursor = `{after_at:DateTime64(9, 'UTC')}`
  return `${at} ${sort === 'newest' ? '<' : '>'} ${cursor} OR (${at} = ${cursor} AND ${id} > {after_id:String})`
}

/** ORDER BY and LIMIT of a slice. */
export const sliceSql = (at: string, id: string, sort: 'newest' | 'oldest' = 'newest'): string => `
  ORDER BY ${at} ${sort === 'newest' ? 'DESC' : 'ASC'}, ${id}
  LIMIT {limit:UInt64} OFFSET {offset:UInt64}`
