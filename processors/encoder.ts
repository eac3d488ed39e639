// Rows of one range -> request bodies, one for each part that the range makes: (table, retention class, month).
// The interface is what the rest knows; how rows become bytes is behind it.
import { hash } from 'node:crypto'
import { NIL_UUID } from '#proto/ids.ts'
import type { BlockTable, EventRow, Origin, SessionRow, TextRow } from '#proto/rows.ts'
import { blockTables } from '#proto/rows.ts'
import type { BlockRecipe } from './protocol.ts'

/** A body and the recipe that it must always reproduce. `body` may be transferred between threads. */
export interface EncodedBlock extends BlockRecipe {
  readonly body: Uint8Array<ArrayBuffer>
}

/** The row type of each table. */
export interface TableRows {
  sessions: SessionRow
  texts: TextRow
  events: EventRow
}

/** Collects the rows of one range. The same rows in the same order give the same bytes. */
export interface BlockEncoder {
  add<T extends BlockTable>(table: T, row: TableRows[T], origin: Origin): void
  /** The blocks in the order in which they are inserted. The encoder is used up. */
  finish(): EncodedBlock[]
}

/** Name of the input format that `createJsonEncoder` writes. */
export const BODY_FORMAT = 'JSONEachRow'

/** Encodes as JSONEachRow: one row a line. */
export function createJsonEncoder(): BlockEncoder {
  const open = new Map<string, { table: BlockTable; retention: number; month: number; lines: string[] }>()
  return {
    add: (table, row, origin) => {
      const month = 'ts' in row && table !== 'sessions' ? monthOfSql(row.ts) : 0
      const key = `${table} ${row.retention} ${month}`
      let block = open.get(key)
      if (!block) {
        block = { table, retention: row.retention, month, lines: [] }
        open.set(key, block)
      }
      block.lines.push(lineOf(table, row, origin))
    },
    finish: () => {
      const rank = (table: BlockTable): number => blockTables.indexOf(table)
      return [...open.values()]
        .sort((a, b) => rank(a.table) - rank(b.table) || a.retention - b.retention || a.month - b.month)
        .map(({ table, retention, month, lines }) => {
          const text = lines.join('')
          // A buffer of its own, not a slice of the pool: it is transferred to the owner's thread.
          const body = new Uint8Array(Buffer.byteLength(text))
          Buffer.from(body.buffer).write(text)
          const checksum = hash('sha1', body, 'hex').slice(0, 16)
          return { table, retention, month, rows: lines.length, checksum, attempt: 1, body }
        })
    },
  }
}

/** YYYYMM of a `YYYY-MM-DD …` text. */
function monthOfSql(ts: string): number {
  return Number(ts.slice(0, 4)) * 100 + Number(ts.slice(5, 7))
}

function lineOf(table: BlockTable, row: object, o: Origin): string {
  const text = jsonOf(row)
  const origin =
    `"origin_partition":${o.origin_partition},"origin_generation":${o.origin_generation},` +
    `"origin_sequence":${o.origin_sequence},"origin_frame":${o.origin_frame},"origin_index":${o.origin_index}`
  // First writings of a row: no move made them, and a replay's rows outrank those that it replaces.
  const signed =
    table === 'events' ? `,"move_id":"${NIL_UUID}","version":${versionOf(row as EventRow, o)},"sign":1` : ''
  return `${text.slice(0, -1)},${origin}${signed}}\n`
}

/**
 * The version of a row: its generation (exact in a double up to 2^21) and, where the events of one identity may be written from
 * several positions, the position. A call's later report writes the same event ids at the same times as the one it replaces; with
 * one version for both, a merge would be free to fold the reversal of the old row with the new one.
 */
function versionOf({ source }: EventRow, { origin_generation, origin_sequence }: Origin): number {
  return origin_generation * 2 ** 32 + (source === 'voice' ? origin_sequence % 2 ** 32 : 0)
}

/** JSON text whose strings are all well-formed: ClickHouse refuses a row with half of a surrogate pair. */
function jsonOf(row: object): string {
  const text = JSON.stringify(row)
  // JSON.stringify writes lone surrogates, and only them, as \ud8xx..\udfxx.
  if (!/\\ud[89a-f]/.test(text)) return text
  return JSON.stringify(row, (_key, value: unknown) => {
    if (typeof value === 'string') return value.toWellFormed()
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), inner]))
  })
}
