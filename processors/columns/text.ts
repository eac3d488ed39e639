// Columns of text: String, and LowCardinality(String) with its dictionary. What a JavaScript string cannot say in UTF-8 (half of a
// surrogate pair) becomes U+FFFD.
import { Bytes, type Column, varintBytes, Words, writeCount64, writeVarint } from './column.ts'
import { SeenBytes } from './seen-bytes.ts'
import { copyBytes, unescapeJson } from './utf8.ts'

/** Up to here a loop over the characters beats the call into the runtime (measured: bench/cases/process.ts). */
const SHORT = 24
const LONG = 4096
const LINE_FEED = 0x0a
/** Room for the length before the text, and for the guess of it. */
const LENGTH_BYTES = 10
/** From here on a copy costs more than a note of where the text stands. */
const NOTED_BYTES = 4096

/** A text that stands elsewhere until the column is written: its bytes belong before `at`. */
interface Noted {
  readonly at: number
  readonly from: Uint8Array
  readonly start: number
  readonly end: number
}

/** UTF-8 texts, each behind its length. */
export class TextColumn implements Column {
  readonly type = 'String'
  /** Where the text that came last begins, behind its length. */
  lastAt = 0
  #rows = 0
  readonly #bytes = new Bytes()
  #noted: Noted[] = []
  #notedBytes = 0

  get rows(): number {
    return this.#rows
  }

  add(text: string): void {
    const bytes = this.#bytes
    const { length } = text
    this.#rows++
    // A character takes at most three bytes; a long text is measured rather than given three times its room.
    bytes.reserve((length < LONG ? length * 3 : Buffer.byteLength(text)) + LENGTH_BYTES)
    const at = bytes.length
    if (length <= SHORT && writeAscii(bytes.data, at, text)) {
      this.lastAt = at + 1
      bytes.length = at + 1 + length
      return
    }
    // Room for the length as if all were ASCII; what is longer is moved.
    const guess = varintBytes(length)
    const size = bytes.data.write(text, at + guess, 'utf8')
    const prefix = varintBytes(size)
    if (prefix !== guess) bytes.data.copyWithin(at + prefix, at + guess, at + guess + size)
    this.lastAt = writeVarint(bytes.data, at, size)
    bytes.length = at + prefix + size
  }

  /** Adds UTF-8 as it is. */
  addBytes(from: Uint8Array, start: number, end: number): void {
    const bytes = this.#bytes
    const size = end - start
    this.#rows++
    bytes.reserve(size + LENGTH_BYTES)
    const at = writeVarint(bytes.data, bytes.length, size)
    copyBytes(from, start, end, bytes.data, at)
    this.lastAt = at
    bytes.length = at + size
  }

  /** The same of bytes that nobody changes until the column is cleared: long texts are copied only when it is written. Leaves `lastAt`. */
  addSteady(from: Uint8Array, start: number, end: number): void {
    const size = end - start
    if (size < NOTED_BYTES) {
      this.addBytes(from, start, end)
      return
    }
    const bytes = this.#bytes
    this.#rows++
    bytes.reserve(LENGTH_BYTES)
    bytes.length = writeVarint(bytes.data, bytes.length, size)
    this.#noted.push({ at: bytes.length, from, start, end })
    this.#notedBytes += size
  }

  /** Adds `count` texts at once, written as they stand in a column (see `encodedTexts`); `lastAt` stays what it was. */
  addEncoded(texts: Uint8Array, count: number): void {
    const bytes = this.#bytes
    bytes.reserve(texts.length)
    copyBytes(texts, 0, texts.length, bytes.data, bytes.length)
    bytes.length += texts.length
    this.#rows += count
  }

  /** Adds the text of a JSON string from the bytes between its quotes, which hold escapes. Precondition: a scanner passed over them. */
  addJson(from: Buffer, start: number, end: number): void {
    const at = this.#begin(end - start)
    this.#end(at, unescapeJson(from, start, end, this.#bytes.data, at))
  }

  /** Adds the texts of several as one, a line each. `runs`: where each begins and ends. Preconditions as for `addJson`; there is one. */
  addJsonLines(from: Buffer, runs: readonly number[]): void {
    let most = runs.length / 2 - 1
    for (let i = 0; i < runs.length; i += 2) most += (runs[i + 1] as number) - (runs[i] as number)
    const first = this.#begin(most)
    const { data } = this.#bytes
    let at = first
    for (let i = 0; i < runs.length; i += 2) {
      if (i > 0) data[at++] = LINE_FEED
      at = unescapeJson(from, runs[i] as number, runs[i + 1] as number, data, at)
    }
    this.#end(first, at)
  }

  /** Makes room for a text of at most so many bytes, and for its length as if it had as many; returns where it begins. */
  #begin(most: number): number {
    this.#bytes.reserve(most + LENGTH_BYTES)
    return this.#bytes.length + varintBytes(most)
  }

  /** The text stands from `from` to `end`; what is shorter than its length has room for is moved. */
  #end(from: number, end: number): void {
    const bytes = this.#bytes
    const size = end - from
    const at = bytes.length + varintBytes(size)
    if (at !== from) bytes.data.copyWithin(at, from, end)
    this.#rows++
    this.lastAt = writeVarint(bytes.data, bytes.length, size)
    bytes.length = this.lastAt + size
  }

  /** The bytes of the column so far: what was added last stands from `lastAt` to `end`, until the next is added. */
  get data(): Buffer {
    return this.#bytes.data
  }

  get end(): number {
    return this.#bytes.length
  }

  /** Where the column stands, to go back to. */
  mark(): { readonly rows: number; readonly length: number } {
    return { rows: this.#rows, length: this.#bytes.length }
  }

  /** Forgets what was added since `mark`. Precondition: nothing of it was steady. */
  rewind({ rows, length }: { readonly rows: number; readonly length: number }): void {
    this.#rows = rows
    this.#bytes.length = length
  }

  byteLength(): number {
    return this.#bytes.length + this.#notedBytes
  }

  write(into: Uint8Array, at: number): number {
    const { data, length } = this.#bytes
    let done = 0
    let position = at
    for (const noted of this.#noted) {
      copyBytes(data, done, noted.at, into, position)
      position += noted.at - done
      copyBytes(noted.from, noted.start, noted.end, into, position)
      position += noted.end - noted.start
      done = noted.at
    }
    copyBytes(data, done, length, into, position)
    return position + length - done
  }

  clear(): void {
    this.#rows = 0
    this.#bytes.clear()
    if (this.#notedBytes > 0) this.#noted = []
    this.#notedBytes = 0
  }
}

/** Texts as they stand in a column, for `addEncoded`. */
export function encodedTexts(texts: readonly string[]): Uint8Array {
  const column = new TextColumn()
  for (const text of texts) column.add(text)
  return Uint8Array.from(column.data.subarray(0, column.end))
}

/** Writes a short text with its length; false when a character is not ASCII. */
function writeAscii(data: Uint8Array, at: number, text: string): boolean {
  const { length } = text
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code > 127) return false
    data[at + 1 + i] = code
  }
  data[at] = length
  return true
}

/** Layout of a dictionary: the keys come with the block, no dictionary from before is used. */
const SHARED_DICTIONARIES = 1
const OWN_KEYS = 0x600

/** Words that are added together again and again, and their indexes in the column that took them last. */
export class WordRun {
  readonly words: readonly string[]
  readonly indexes: Uint32Array
  column: DictionaryColumn | null = null
  edition = -1

  constructor(words: readonly string[]) {
    this.words = words
    this.indexes = new Uint32Array(words.length)
  }
}

/** Texts that are often the same: a dictionary in the order of first use, and an index a row. */
export class DictionaryColumn implements Column {
  readonly type = 'LowCardinality(String)'
  readonly #keys = new TextColumn()
  readonly #known = new Map<string, number>()
  readonly #indexes = new Words()
  readonly #seen = new SeenBytes()
  #last = ''
  #lastIndex = -1
  /** Another one for every dictionary. */
  #edition = 0

  get rows(): number {
    return this.#indexes.length
  }

  add(text: string): void {
    if (text !== this.#last || this.#lastIndex < 0) {
      this.#lastIndex = this.#known.get(text) ?? this.#learn(text)
      this.#last = text
    }
    this.#indexes.reserve(1)
    this.#indexes.data[this.#indexes.length++] = this.#lastIndex
  }

  /** Adds UTF-8: the same as `add` of its text. */
  addBytes(from: Uint8Array, start: number, end: number): void {
    let index = this.#seen.find(from, start, end)
    if (index < 0) {
      const text = Buffer.from(from.buffer, from.byteOffset + start, end - start).toString('utf8')
      index = this.#known.get(text) ?? this.#learn(text)
      this.#seen.keep(from, start, end, index)
    }
    this.#indexes.reserve(1)
    this.#indexes.data[this.#indexes.length++] = index
  }

  /** Adds the words of a run: the same as `add` of each. */
  addRun(run: WordRun): void {
    const { words, indexes } = run
    if (run.column !== this || run.edition !== this.#edition) {
      for (let i = 0; i < words.length; i++) {
        const word = words[i] as string
        indexes[i] = this.#known.get(word) ?? this.#learn(word)
      }
      run.column = this
      run.edition = this.#edition
    }
    const to = this.#indexes
    to.reserve(indexes.length)
    const { data, length } = to
    for (let i = 0; i < indexes.length; i++) data[length + i] = indexes[i] as number
    to.length = length + indexes.length
  }

  #learn(text: string): number {
    // Two malformed texts may be the same in UTF-8.
    const whole = text.toWellFormed()
    let index = this.#known.get(whole)
    if (index === undefined) {
      index = this.#keys.rows
      this.#keys.add(whole)
      this.#known.set(whole, index)
    }
    return index
  }

  /** Takes back all rows but the first `rows`; the dictionary keeps what it learned. */
  rewind(rows: number): void {
    this.#indexes.length = rows
  }

  #indexWidth(): 1 | 2 | 4 {
    return this.#keys.rows <= 256 ? 1 : this.#keys.rows <= 65_536 ? 2 : 4
  }

  byteLength(): number {
    return 8 + this.bodyLength()
  }

  write(into: Uint8Array, at: number): number {
    return this.writeBody(into, this.writePrefix(into, at))
  }

  /** The version, which stands before everything else where the column is a part of another one. */
  writePrefix(into: Uint8Array, at: number): number {
    return writeCount64(into, at, SHARED_DICTIONARIES)
  }

  bodyLength(): number {
    // A column without rows has no body.
    return this.rows === 0 ? 0 : 24 + this.#keys.byteLength() + this.rows * this.#indexWidth()
  }

  writeBody(into: Uint8Array, at: number): number {
    if (this.rows === 0) return at
    const width = this.#indexWidth()
    let position = writeCount64(into, at, OWN_KEYS + (width >> 1))
    position = writeCount64(into, position, this.#keys.rows)
    position = this.#keys.write(into, position)
    position = writeCount64(into, position, this.rows)
    const { data, length } = this.#indexes
    for (let i = 0; i < length; i++) {
      const index = data[i] as number
      into[position++] = index & 255
      if (width > 1) into[position++] = (index >>> 8) & 255
      if (width > 2) {
        into[position++] = (index >>> 16) & 255
        into[position++] = index >>> 24
      }
    }
    return position
  }

  clear(): void {
    this.#keys.clear()
    this.#known.clear()
    this.#indexes.clear()
    this.#seen.clear()
    this.#last = ''
    this.#lastIndex = -1
    this.#edition++
  }
}
