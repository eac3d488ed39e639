// Rows of one range -> request bodies, one for each part that the range makes: (table, retention class, month). A body is a block of
// ClickHouse's Native format; the same rows in the same order give the same bytes, whatever was encoded before.
import type { BlockTable, Origin } from '#proto/rows.ts'
import { blockTables } from '#proto/rows.ts'
import { checksumOf } from './checksum.ts'
import { Unfit } from './columns/column.ts'
import { nativeBlock, Room } from './columns/native.ts'
import { columnsOf, type TableColumns, type TableRows, type TableSets } from './columns/tables.ts'
import type { BlockRecipe } from './protocol.ts'

/** A body and the recipe that it must always reproduce. `body`: shared memory, or all of a buffer, which may be transferred. */
export interface EncodedBlock extends BlockRecipe {
  readonly body: Uint8Array
}

/** Collects the rows of one range. */
export interface BlockEncoder {
  add<T extends BlockTable>(table: T, row: TableRows[T], origin: Origin): void
  /** Begins a row of a block whose values the caller adds to each of these columns. Precondition: they fit. `month` as YYYYMM. */
  row<T extends BlockTable>(table: T, retention: number, month: number): TableSets[T]
  /** The blocks in the order in which they are inserted. The encoder is used up. */
  finish(): EncodedBlock[]
}

/** Name of the input format of the bodies. */
export const BODY_FORMAT = 'Native'

/** Columns of each table that wait for their next block; they keep their buffers. */
const idle: { readonly [T in BlockTable]: TableColumns<T>[] } = { sessions: [], texts: [], links: [], events: [] }
/** More than one block of a table at a time is rare (two months, two retention classes). */
const IDLE_MAX = 2

interface OpenBlock<T extends BlockTable = BlockTable> {
  readonly table: T
  readonly retention: number
  readonly month: number
  readonly columns: TableColumns<T>
  rows: number
  /** Why the store can never take one of the rows. */
  unfit: string | undefined
}

/** Encodes as Native blocks. `lent`: where they are written as long as there is room. */
export function createEncoder(lent?: SharedArrayBuffer): BlockEncoder {
  const room = new Room(lent)
  const open = new Map<string, OpenBlock>()
  const latest: { [T in BlockTable]?: OpenBlock } = {}
  const blockOf = (table: BlockTable, retention: number, month: number): OpenBlock => {
    const last = latest[table]
    if (last && last.retention === retention && last.month === month) return last
    const key = `${table} ${retention} ${month}`
    let block = open.get(key)
    if (!block) {
      const columns = idle[table].pop() ?? columnsOf[table]()
      block = { table, retention, month, columns: columns as TableColumns<BlockTable>, rows: 0, unfit: undefined }
      open.set(key, block)
    }
    latest[table] = block
    return block
  }
  return {
    add: (table, row, origin) => {
      const month = 'ts' in row ? monthOfSql(row.ts) : 0
      const block = blockOf(table, row.retention, month)
      block.rows++
      if (block.unfit !== undefined) return
      try {
        ;(block.columns as unknown as TableColumns<typeof table>).add(row, origin)
      } catch (error) {
        if (!(error instanceof Unfit)) throw error
        block.unfit = error.message
      }
    },
    row: (table, retention, month) => {
      const block = blockOf(table, retention, month)
      block.rows++
      return (block.columns as unknown as TableColumns<typeof table>).columns
    },
    finish: () => {
      const rank = (table: BlockTable): number => blockTables.indexOf(table)
      const blocks = [...open.values()].sort(
        (a, b) => rank(a.table) - rank(b.table) || a.retention - b.retention || a.month - b.month,
      )
      open.clear()
      return blocks.map(block => encoded(block, room))
    },
  }
}

function encoded({ table, retention, month, columns, rows, unfit }: OpenBlock, room: Room): EncodedBlock {
  const body = unfit === undefined ? nativeBlock(columns.columns, rows, room) : unfitBody(unfit)
  for (const column of Object.values(columns.columns)) column.clear()
  const waiting = idle[table] as TableColumns<BlockTable>[]
  if (waiting.length < IDLE_MAX) waiting.push(columns)
  return { table, retention, month, rows, checksum: checksumOf(body), attempt: 1, body }
}

/** YYYYMM of a `YYYY-MM-DD …` text. */
function monthOfSql(ts: string): number {
  return Number(ts.slice(0, 4)) * 100 + Number(ts.slice(5, 7))
}

/**
 * What stands for a block with a row that no column can hold: never sent, refused as if the store had said so. It begins with zero, as
 * no block does: one without columns is none.
 */
function unfitBody(reason: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(`\0${reason}`))
}

/** Why a body can never be stored; undefined for one that may be sent. */
export function unfitReason(body: Uint8Array): string | undefined {
  return body[0] === 0 ? Buffer.from(body.subarray(1)).toString() : undefined
}
