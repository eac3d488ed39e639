// Fields of protobuf messages -> bytes. Lengths of messages take four bytes whatever they are, so that nothing has to be moved once a message
// is complete; every reader takes that.

import { Wire } from '#proto/otlp/wire.ts'
import { HEX } from '#proto/scan/json.ts'
import { KEPT_BYTES } from '../columns/column.ts'
import { copyBytes } from '../columns/utf8.ts'

const FIRST_BYTES = 64 * 1024
/** A tag and a length, or a tag and a number. */
const HEAD_BYTES = 16
const LENGTH_BYTES = 4
const BACKSLASH = 0x5c

/** After a backslash: the byte that is meant. */
const PLAIN = new Uint8Array(128)
for (const [letter, meant] of Object.entries({
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
})) {
  PLAIN[letter.charCodeAt(0)] = meant.charCodeAt(0)
}

/** Growable bytes of one message. */
export class WireWriter {
  #data = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0

  clear(): void {
    this.#length = 0
    if (this.#data.length > KEPT_BYTES) this.#data = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** What was written, in bytes of its own. */
  copy(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.#length)
    this.#data.copy(bytes, 0, 0, this.#length)
    return bytes
  }

  /** Begins a message; `close` is given what this returns. */
  open(field: number): number {
    this.#reserve(HEAD_BYTES)
    this.#tag(field, Wire.bytes)
    this.#length += LENGTH_BYTES
    return this.#length
  }

  close(from: number): void {
    let rest = this.#length - from
    for (let i = from - LENGTH_BYTES; i < from - 1; i++) {
      this.#data[i] = (rest & 127) | 128
      rest >>>= 7
    }
    this.#data[from - 1] = rest
  }

  /** Bytes as they are. */
  bytes(field: number, from: Uint8Array, start: number, end: number): void {
    this.#reserve(HEAD_BYTES + end - start)
    this.#tag(field, Wire.bytes)
    this.#varint(end - start)
    copyBytes(from, start, end, this.#data, this.#length)
    this.#length += end - start
  }

  /** The text of a JSON string; false for one that UTF-8 has no form for. Precondition: the scanner has passed it. */
  unescaped(field: number, from: Uint8Array, start: number, end: number): boolean {
    // No escape is shorter than what it means.
    this.#reserve(HEAD_BYTES + end - start)
    const message = this.open(field)
    let at = start
    while (at < end) {
      const byte = from[at] as number
      if (byte !== BACKSLASH) {
        this.#data[this.#length++] = byte
        at++
        continue
      }
      const letter = from[at + 1] as number
      if (letter !== 0x75) {
        this.#data[this.#length++] = PLAIN[letter] as number
        at += 2
        continue
      }
      const unit = unitAt(from, at + 2)
      at += 6
      if (unit < 0xd800 || unit > 0xdfff) this.#character(unit)
      else {
        const second = unit < 0xdc00 && from[at] === BACKSLASH && from[at + 1] === 0x75 ? unitAt(from, at + 2) : 0
        if (second < 0xdc00 || second > 0xdfff) return false
        this.#character(0x10000 + ((unit - 0xd800) << 10) + (second - 0xdc00))
        at += 6
      }
    }
    this.#shorten(message)
    return true
  }

  /** Gives a text the length that it would have without escapes: the same text is the same bytes, however it was sent. */
  #shorten(from: number): void {
    const to = this.#length
    this.#length = from - LENGTH_BYTES
    this.#varint(to - from)
    this.#data.copyWithin(this.#length, from, to)
    this.#length += to - from
  }

  /** Bytes given as hex digits. */
  hex(field: number, from: Uint8Array, start: number, size: number): void {
    this.#reserve(HEAD_BYTES + size)
    this.#tag(field, Wire.bytes)
    this.#varint(size)
    for (let i = 0; i < size; i++) {
      const first = HEX[from[start + 2 * i] as number] as number
      this.#data[this.#length++] = (first << 4) | (HEX[from[start + 2 * i + 1] as number] as number)
    }
  }

  /** A varint of 64 bits, given as halves. */
  long(field: number, low: number, high: number): void {
    this.#reserve(HEAD_BYTES)
    this.#tag(field, Wire.varint)
    let [rest, above] = [low >>> 0, high >>> 0]
    while (above !== 0 || rest > 127) {
      this.#data[this.#length++] = (rest & 127) | 128
      rest = ((rest >>> 7) | (above << 25)) >>> 0
      above >>>= 7
    }
    this.#data[this.#length++] = rest
  }

  fixed64(field: number, low: number, high: number): void {
    this.#reserve(HEAD_BYTES)
    this.#tag(field, Wire.fixed64)
    this.#data.writeUInt32LE(low >>> 0, this.#length)
    this.#data.writeUInt32LE(high >>> 0, this.#length + 4)
    this.#length += 8
  }

  double(field: number, value: number): void {
    this.#reserve(HEAD_BYTES)
    this.#tag(field, Wire.fixed64)
    this.#data.writeDoubleLE(value, this.#length)
    this.#length += 8
  }

  /** Precondition: field numbers are below 16, so that a tag is one byte. */
  #tag(field: number, wire: number): void {
    this.#data[this.#length++] = (field << 3) | wire
  }

  #varint(value: number): void {
    let rest = value
    while (rest > 127) {
      this.#data[this.#length++] = (rest & 127) | 128
      rest >>>= 7
    }
    this.#data[this.#length++] = rest
  }

  #character(code: number): void {
    const data = this.#data
    if (code < 0x80) data[this.#length++] = code
    else if (code < 0x800) {
      data[this.#length++] = 0xc0 | (code >> 6)
      data[this.#length++] = 0x80 | (code & 63)
    } else {
      if (code < 0x10000) data[this.#length++] = 0xe0 | (code >> 12)
      else {
        data[this.#length++] = 0xf0 | (code >> 18)
        data[this.#length++] = 0x80 | ((code >> 12) & 63)
      }
      data[this.#length++] = 0x80 | ((code >> 6) & 63)
      data[this.#length++] = 0x80 | (code & 63)
    }
  }

  #reserve(count: number): void {
    const needed = this.#length + count
    if (needed <= this.#data.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#data.length * 2))
    this.#data.copy(larger, 0, 0, this.#length)
    this.#data = larger
  }
}

/** The code unit of four hex digits. */
function unitAt(from: Uint8Array, at: number): number {
  let unit = 0
  for (let i = at; i < at + 4; i++) unit = (unit << 4) | (HEX[from[i] as number] as number)
  return unit
}
