// Columns of fixed width: integers, enums, times, uuids.
import { Bytes, type Column, Unfit, Words } from './column.ts'
import { half, halvesOfDecimal, halvesOfInstant, halvesOfNumber, halvesOfTime } from './halves.ts'

/** Integers of 8, 16 or 32 bits. Precondition of `add`: a whole number of that range. */
export class IntegerColumn implements Column {
  readonly type: string
  readonly #width: 1 | 2 | 4
  readonly #bytes = new Bytes()

  constructor(type: string, width: 1 | 2 | 4) {
    this.type = type
    this.#width = width
  }

  get rows(): number {
    return this.#bytes.length / this.#width
  }

  add(value: number): void {
    const bytes = this.#bytes
    bytes.reserve(4)
    const { data } = bytes
    let at = bytes.length
    data[at++] = value & 255
    if (this.#width > 1) data[at++] = (value >> 8) & 255
    if (this.#width > 2) {
      data[at++] = (value >> 16) & 255
      data[at++] = (value >>> 24) & 255
    }
    bytes.length = at
  }

  byteLength(): number {
    return this.#bytes.length
  }

  write(into: Uint8Array, at: number): number {
    return this.#bytes.write(into, at)
  }

  clear(): void {
    this.#bytes.clear()
  }
}

/** One of a few words, by number. */
export class EnumColumn<Name extends string> implements Column {
  readonly type: string
  readonly #numbers: ReadonlyMap<string, number>
  readonly #bytes = new Bytes()

  constructor(names: readonly Name[]) {
    this.#numbers = new Map(names.map((name, i) => [name, i + 1]))
    this.type = `Enum8(${names.map((name, i) => `'${name}' = ${i + 1}`).join(', ')})`
  }

  get rows(): number {
    return this.#bytes.length
  }

  /** @throws Unfit for a word that is none of them. */
  add(name: Name): void {
    const number = this.#numbers.get(name)
    if (number === undefined) throw new Unfit(`no value of ${this.type}: ${String(name).slice(0, 40)}`)
    this.#bytes.reserve(1)
    this.#bytes.data[this.#bytes.length++] = number
  }

  byteLength(): number {
    return this.#bytes.length
  }

  write(into: Uint8Array, at: number): number {
    return this.#bytes.write(into, at)
  }

  clear(): void {
    this.#bytes.clear()
  }
}

/** What 64-bit columns share: two words a value. */
class HalvesColumn implements Column {
  readonly type: string
  readonly #words = new Words()

  constructor(type: string) {
    this.type = type
  }

  get rows(): number {
    return this.#words.length / 2
  }

  /** Adds a value by its halves, each modulo 2^32. */
  push(low: number, high: number): void {
    const words = this.#words
    words.reserve(2)
    words.data[words.length] = low
    words.data[words.length + 1] = high
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

/** 64-bit integers of either sign that a double holds. */
export class LongColumn extends HalvesColumn {
  /** Precondition: a whole number, its size below 2^53 or a power of two times that. */
  add(value: number): void {
    if (value >= 0 && value < 0x1_0000_0000) {
      this.push(value, 0)
      return
    }
    halvesOfNumber(value)
    this.push(half.low, half.high)
  }
}

/** 64-bit integers from their decimal digits. */
export class DecimalTextColumn extends HalvesColumn {
  /** @throws Unfit for anything but an unsigned 64-bit integer. */
  add(text: string): void {
    if (text === '0') {
      this.push(0, 0)
      return
    }
    halvesOfDecimal(text)
    this.push(half.low, half.high)
  }
}

/** Times as text, in nanoseconds (9) or milliseconds (3). */
export class TimeColumn extends HalvesColumn {
  readonly #fraction: 3 | 9
  #last = ''
  #lastMs = Number.NaN
  #lastNs = 0
  #low = 0
  #high = 0

  constructor(fraction: 3 | 9) {
    super(`DateTime64(${fraction}, 'UTC')`)
    this.#fraction = fraction
  }

  /** @throws Unfit for another form than sqlNanos or sqlMillis. */
  add(text: string): void {
    // Rows of one request arrived together.
    if (text !== this.#last) {
      halvesOfTime(text, this.#fraction)
      this.#low = half.low
      this.#high = half.high
      this.#last = text
      this.#lastMs = Number.NaN
    }
    this.push(this.#low, this.#high)
  }

  /** What `add` makes of the instant's text. Precondition: whole milliseconds, at least 0 and before the year 2262; 0 <= ns < 10^6. */
  addInstant(ms: number, ns: number): void {
    if (ms !== this.#lastMs || ns !== this.#lastNs) {
      if (this.#fraction === 3) halvesOfNumber(ms)
      else halvesOfInstant(ms, ns)
      this.#low = half.low
      this.#high = half.high
      this.#lastMs = ms
      this.#lastNs = ns
      this.#last = ''
    }
    this.push(this.#low, this.#high)
  }
}

/** Digit values by character code; 16 and above for characters that are no hex digit. */
const HEX = Uint8Array.from({ length: 128 }, (_, code) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase())
  return digit < 0 ? 16 : digit
})

/** Uuids from their text: the two 64-bit halves of the number, each little-endian. */
export class UuidColumn implements Column {
  readonly type = 'UUID'
  readonly #words = new Words()
  #last = ''

  get rows(): number {
    return this.#words.length / 4
  }

  /** @throws Unfit for anything but a uuid of 36 characters. */
  add(text: string): void {
    const words = this.#words
    words.reserve(4)
    const { data, length } = words
    // Neighbours often belong together.
    if (text === this.#last && length > 0) {
      data.copyWithin(length, length - 4, length)
    } else {
      if (text.length !== 36) throw new Unfit(`no uuid: ${text.slice(0, 40)}`)
      data[length + 1] = word(text, 0, 4)
      data[length] = word(text, 9, 14)
      data[length + 3] = word(text, 19, 24)
      data[length + 2] = word(text, 28, 32)
      this.#last = text
    }
    words.length = length + 4
  }

  /** Sixteen bytes at `at`, as they stand in a frame or an id. */
  addBytes(from: Uint8Array, at: number): void {
    this.#push(word32(from, at), word32(from, at + 4), word32(from, at + 8), word32(from, at + 12))
  }

  /** The 36 characters of a uuid at `at`, in either case. Precondition: they are one. */
  addCharacters(from: Uint8Array, at: number): void {
    const a = hexWord(from, at, at + 4)
    const b = hexWord(from, at + 9, at + 14)
    this.#push(a, b, hexWord(from, at + 19, at + 24), hexWord(from, at + 28, at + 32))
  }

  /** The four words of a uuid's number, the highest first. */
  addWords(a: number, b: number, c: number, d: number): void {
    this.#push(a, b, c, d)
  }

  /** The same from four words at `at`. */
  addFrom(from: Uint32Array, at: number): void {
    const words = this.#words
    words.reserve(4)
    const { data, length } = words
    // From array to array: between them numbers above 2^31 would be objects.
    data[length + 1] = from[at] as number
    data[length] = from[at + 1] as number
    data[length + 3] = from[at + 2] as number
    data[length + 2] = from[at + 3] as number
    words.length = length + 4
    this.#last = ''
  }

  #push(a: number, b: number, c: number, d: number): void {
    const words = this.#words
    words.reserve(4)
    const { data, length } = words
    data[length + 1] = a
    data[length] = b
    data[length + 3] = c
    data[length + 2] = d
    words.length = length + 4
    this.#last = ''
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

/** The bits of a word, as a number of either sign: one above 2^31 would be an object on its way. */
function word32(from: Uint8Array, at: number): number {
  const high = ((from[at] as number) << 24) | ((from[at + 1] as number) << 16)
  return high | ((from[at + 2] as number) << 8) | (from[at + 3] as number)
}

/** Eight characters that are hex digits: four at `a`, four at `b`. */
function hexWord(from: Uint8Array, a: number, b: number): number {
  return ((hexFour(from, a) << 16) | hexFour(from, b)) >>> 0
}

function hexFour(from: Uint8Array, at: number): number {
  const high = ((HEX[from[at] as number] as number) << 12) | ((HEX[from[at + 1] as number] as number) << 8)
  return high | ((HEX[from[at + 2] as number] as number) << 4) | (HEX[from[at + 3] as number] as number)
}

/** Eight hex digits of a uuid: four at `a`, four at `b`. */
function word(text: string, a: number, b: number): number {
  return ((fourDigits(text, a) << 16) | fourDigits(text, b)) >>> 0
}

function fourDigits(text: string, at: number): number {
  const a = text.charCodeAt(at)
  const b = text.charCodeAt(at + 1)
  const c = text.charCodeAt(at + 2)
  const d = text.charCodeAt(at + 3)
  const ha = HEX[a & 127] as number
  const hb = HEX[b & 127] as number
  const hc = HEX[c & 127] as number
  const hd = HEX[d & 127] as number
  if ((a | b | c | d) > 127 || (ha | hb | hc | hd) > 15) throw new Unfit(`no uuid: ${text}`)
  return (ha << 12) | (hb << 8) | (hc << 4) | hd
}
