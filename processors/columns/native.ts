// Columns -> a block in ClickHouse's Native format: the counts of columns and rows, then each column with its name, type and data.
import { type Column, varintBytes, writeVarint } from './column.ts'

/** Columns by name, in the order in which they are written. */
export type Columns = Readonly<Record<string, Column>>

/** Memory for blocks: of somebody else as long as there is room, then of their own. */
export class Room {
  readonly #lent: SharedArrayBuffer | undefined
  #used = 0

  constructor(lent?: SharedArrayBuffer) {
    this.#lent = lent
  }

  /** Memory of this size, with anything in it. */
  take(size: number): Uint8Array {
    const at = this.#used
    if (this.#lent === undefined || at + size > this.#lent.byteLength) {
      return new Uint8Array(Buffer.allocUnsafeSlow(size).buffer)
    }
    this.#used += size
    return new Uint8Array(this.#lent, at, size)
  }
}

/** Bytes of a block, in memory of their own or in `room`. Precondition: all columns have as many rows. */
export function nativeBlock(columns: Columns, rows: number, room = new Room()): Uint8Array {
  const named = Object.entries(columns)
  let size = varintBytes(named.length) + varintBytes(rows)
  for (const [name, column] of named) {
    if (column.rows !== rows) throw new Error(`${name} has ${column.rows} of ${rows} rows`)
    // Names and types are short and ASCII.
    size += 2 + name.length + column.type.length + column.byteLength()
  }
  const block = room.take(size)
  let at = writeVarint(block, writeVarint(block, 0, named.length), rows)
  for (const [name, column] of named) {
    at = column.write(block, writeWord(block, writeWord(block, at, name), column.type))
  }
  if (at !== size) throw new Error(`BUG: ${at} bytes of a block of ${size} are written`)
  return block
}

/** A word of less than 128 ASCII characters behind its length. */
function writeWord(into: Uint8Array, at: number, word: string): number {
  into[at] = word.length
  for (let i = 0; i < word.length; i++) into[at + 1 + i] = word.charCodeAt(i)
  return at + 1 + word.length
}
