// What a column builder is: values come in one by one, and the bytes of a column of a Native block go out. Builders are used again
// for block after block; what they keep between two blocks is bounded.

/** A column of a Native block. Numbers are little-endian there, as they are on every machine that Node and ClickHouse share. */
export interface Column {
  /** The column's type as the table declares it. */
  readonly type: string
  /** Values added so far. */
  readonly rows: number
  /** Bytes that `write` takes. */
  byteLength(): number
  /** Writes the column and returns the position behind it. Precondition: `byteLength()` bytes of room. */
  write(into: Uint8Array, at: number): number
  /** Empty again, ready for the next block. */
  clear(): void
}

/** A value that its column cannot hold. It is the row that is wrong: the frame it came from must not be stored. */
export class Unfit extends Error {}

/** Larger buffers are let go after a block: one huge payload must not stay in memory for ever. */
export const KEPT_BYTES = 16 * 1024 * 1024
/**
 * But bytes of columns whose blocks of late filled a quarter of what they have are kept up to here: the texts of one block of the default size
 * are 17 to 33 MiB, and each block would have to grow to them anew, which is a copy and a fault for every page. What was reserved and
 * never written takes no memory.
 */
export const KEPT_MOST_BYTES = 4 * KEPT_BYTES
/** What of an earlier block's length counts after the next. */
const REMEMBERED = 0.9

const FIRST_BYTES = 256

/** Growable bytes. `data` may be replaced by a longer buffer whenever `reserve` is called. */
export class Bytes {
  data: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  length = 0
  /** Bytes of the largest block of late. */
  #lately = 0

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.data.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.data.length * 2))
    larger.set(this.data.subarray(0, this.length))
    this.data = larger
  }

  clear(): void {
    this.#lately = Math.max(this.length, this.#lately * REMEMBERED)
    this.length = 0
    const size = this.data.length
    if (size <= KEPT_BYTES || (size <= KEPT_MOST_BYTES && this.#lately >= size / 4)) return
    this.data = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  write(into: Uint8Array, at: number): number {
    into.set(this.data.subarray(0, this.length), at)
    return at + this.length
  }
}

/** Growable 32-bit words. */
export class Words {
  data = new Uint32Array(FIRST_BYTES / 4)
  length = 0

  /** Makes room for `count` more words. */
  reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.data.length) return
    const larger = new Uint32Array(Math.max(needed, this.data.length * 2))
    larger.set(this.data.subarray(0, this.length))
    this.data = larger
  }

  clear(): void {
    this.length = 0
    if (this.data.byteLength > KEPT_BYTES) this.data = new Uint32Array(FIRST_BYTES / 4)
  }

  write(into: Uint8Array, at: number): number {
    const bytes = this.length * 4
    into.set(new Uint8Array(this.data.buffer, 0, bytes), at)
    return at + bytes
  }
}

/** Bytes of a length or count in LEB128. */
export function varintBytes(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

/** Writes LEB128 and returns the position behind it. Precondition: room for `varintBytes(value)`. */
export function writeVarint(into: Uint8Array, at: number, value: number): number {
  let position = at
  let rest = value
  while (rest >= 128) {
    into[position++] = (rest & 127) | 128
    rest = Math.floor(rest / 128)
  }
  into[position++] = rest
  return position
}

/** Writes a count below 2^53 as 64 bits and returns the position behind it. */
export function writeCount64(into: Uint8Array, at: number, value: number): number {
  let rest = value
  for (let i = 0; i < 8; i++) {
    into[at + i] = rest & 255
    rest = Math.floor(rest / 256)
  }
  return at + 8
}
