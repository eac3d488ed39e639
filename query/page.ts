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

/** How a list is read: where it begins to be shown, and the place of a row in it. */
interface List<T> {
  readonly position: (row: T) => Position
  readonly read: (slice: Slice) => Promise<readonly unknown[]>
}

/**
 * Page fields from what was found: one row was read ahead, so `total_pages` is a lower bound. Of a page behind the last one it is the
 * number of pages that there are.
 */
export async function pageOf<T>(
  request: PageRequest,
  found: readonly T[],
  { position, read }: List<T>,
): Promise<{ page: number; page_size: number; total_pages: number; has_more: boolean; next_cursor: string | null }> {
  const { page, page_size, cursor } = request
  const has_more = found.length > page_size
  const last = found[page_size - 1]
  const next_cursor = has_more && last !== undefined ? encodeCursor(position(last)) : null
  const isBehind = found.length === 0 && page > 1 && cursor === undefined
  const isThere = async (page: number): Promise<boolean> =>
    (await read({ offset: (page - 1) * page_size, limit: 1 })).length > 0
  const pages = found.length === 0 ? page - 1 : page + (has_more ? 1 : 0)
  return { page, page_size, total_pages: isBehind ? await lastBefore(page, isThere) : pages, has_more, next_cursor }
}

/** The last page before one that is empty; 0 where all are. Doubling finds it: there may be far fewer than were asked for. */
async function lastBefore(empty: number, isThere: (page: number) => Promise<boolean>): Promise<number> {
  let [last, beyond, doubling] = [0, empty, true]
  while (last + 1 < beyond) {
    const page = doubling ? Math.min(Math.max(last * 2, 1), beyond - 1) : Math.floor((last + beyond) / 2)
    if (await isThere(page)) last = page
    else [beyond, doubling] = [page, false]
  }
  return last
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
