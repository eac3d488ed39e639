// Columns of lists: Map(LowCardinality(String), String) and Array(LowCardinality(String)). The ends of the rows' lists come first,
// then all their elements as columns of their own.
import { type Column, Words } from './column.ts'
import { DictionaryColumn, TextColumn } from './text.ts'

/** Where each row's list ends, as 64-bit counts. */
class Ends {
  readonly #words = new Words()

  get rows(): number {
    return this.#words.length / 2
  }

  add(end: number): void {
    const words = this.#words
    words.reserve(2)
    words.data[words.length] = end
    // The elements of one block are fewer than 2^32: they stand in one buffer.
    words.data[words.length + 1] = 0
    words.length += 2
  }

  byteLength(): number {
    return this.#words.length * 4
  }

  write(into: Uint8Array, at: number): number {
    return this.#words.write(into, at)
  }

  clear(): void {
    this.#words.clear()
  }
}

/** Lists of words that repeat. */
export class WordsColumn implements Column {
  readonly type = 'Array(LowCardinality(String))'
  readonly #ends = new Ends()
  readonly #elements = new DictionaryColumn()

  get rows(): number {
    return this.#ends.rows
  }

  add(list: readonly string[]): void {
    for (const element of list) this.#elements.add(element)
    this.#ends.add(this.#elements.rows)
  }

  byteLength(): number {
    return 8 + this.#ends.byteLength() + this.#elements.bodyLength()
  }

  write(into: Uint8Array, at: number): number {
    const ends = this.#elements.writePrefix(into, at)
    return this.#elements.writeBody(into, this.#ends.write(into, ends))
  }

  clear(): void {
    this.#ends.clear()
    this.#elements.clear()
  }
}

/** Objects whose keys repeat. Their own keys in their order, each once. */
export class MapColumn implements Column {
  readonly type = 'Map(LowCardinality(String), String)'
  readonly #ends = new Ends()
  /** Of the row that is being added; each key once, and as many values. */
  readonly keys: DictionaryColumn = new DictionaryColumn()
  readonly values: TextColumn = new TextColumn()

  get rows(): number {
    return this.#ends.rows
  }

  add(map: Readonly<Record<string, string>>): void {
    const rows = this.keys.rows
    const mark = this.values.mark()
    let wellFormed = true
    for (const key of Object.keys(map)) {
      wellFormed &&= key.isWellFormed()
      this.keys.add(key)
      this.values.add(map[key] as string)
    }
    if (!wellFormed) {
      // Mended keys may meet: the last one counts, as in an object.
      this.keys.rewind(rows)
      this.values.rewind(mark)
      this.add(Object.fromEntries(Object.entries(map).map(([key, value]) => [key.toWellFormed(), value])))
      return
    }
    this.endRow()
  }

  /** Ends a row whose keys and values were added to their columns one by one. */
  endRow(): void {
    this.#ends.add(this.keys.rows)
  }

  byteLength(): number {
    return 8 + this.#ends.byteLength() + this.keys.bodyLength() + this.values.byteLength()
  }

  write(into: Uint8Array, at: number): number {
    const ends = this.keys.writePrefix(into, at)
    const keys = this.#ends.write(into, ends)
    return this.values.write(into, this.keys.writeBody(into, keys))
  }

  clear(): void {
    this.#ends.clear()
    this.keys.clear()
    this.values.clear()
  }
}
