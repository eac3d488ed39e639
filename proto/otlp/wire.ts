// Protobuf wire format over a byte view: varints, tags and lengths, bounds-checked, without objects per value.
//
//   message := (tag value)*        tag := varint(number << 3 | wire)
//   wire    := 0 varint | 1 fixed64 | 2 length-delimited | 5 fixed32     (3 and 4, groups, were never used by OTLP: refused)
//
// A method that meets broken bytes returns -1, leaves `fault` and `at` (where it stopped), and the caller gives up.

/** Wire types that OTLP uses. */
export const Wire = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const
export type Wire = (typeof Wire)[keyof typeof Wire]

/** A reading position in a buffer. Reused over a whole request. */
export class WireCursor {
  readonly bytes: Uint8Array
  at: number
  /** What was wrong, '' while nothing is. */
  fault = ''
  /** Bits 0..31 of the last varint, unsigned. */
  low = 0
  /** Bits 32..63 of the last varint, unsigned. */
  high = 0

  constructor(bytes: Uint8Array, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  /** Reads a varint into `low` and `high`; 0, or -1 when it is cut by `end`, longer than ten bytes or beyond 64 bits. */
  varint(end: number): 0 | -1 {
    const bytes = this.bytes
    let at = this.at
    if (at < end) {
      const only = bytes[at] as number
      if (only < 0x80) {
        this.at = at + 1
        this.low = only
        this.high = 0
        return 0
      }
    }
    let low = 0
    let high = 0
    for (let i = 0; i < 10; i++) {
      if (at >= end) return this.fail('a number is cut')
      const byte = bytes[at++] as number
      const bits = byte & 0x7f
      if (i < 4) low |= bits << (7 * i)
      else if (i === 4) {
        low |= bits << 28
        high = bits >>> 4
      } else high |= bits << (7 * i - 32)
      if (byte < 0x80) {
        if (i === 9 && byte > 1) return this.fail('a number is beyond 64 bits')
        this.at = at
        this.low = low >>> 0
        this.high = high >>> 0
        return 0
      }
    }
    return this.fail('a number is longer than ten bytes')
  }

  /** Reads a tag; the field number shifted by 3 with its wire type, or -1. */
  tag(end: number): number {
    const from = this.at
    if (this.varint(end) < 0) return -1
    const tag = this.low
    if (this.high !== 0 || this.at - from > 5) return this.failAt(from, 'a field tag is beyond 32 bits')
    if (tag >>> 3 === 0) return this.failAt(from, 'field number 0')
    const wire = tag & 7
    if (wire === 3 || wire === 4) return this.failAt(from, 'groups are not part of OTLP')
    if (wire > 5) return this.failAt(from, `wire type ${wire} does not exist`)
    return tag
  }

  /** Reads the length of a length-delimited value that must lie before `end`; the length, or -1. */
  length(end: number): number {
    const from = this.at
    if (this.varint(end) < 0) return -1
    if (this.high !== 0 || this.low > end - this.at) {
      return this.failAt(from, `a length of ${this.high * 0x1_0000_0000 + this.low} bytes runs past the end`)
    }
    return this.low
  }

  /** Steps over a value of a wire type; 0, or -1. */
  skip(wire: number, end: number): 0 | -1 {
    if (wire === Wire.varint) return this.varint(end)
    let size = wire === Wire.fixed64 ? 8 : 4
    if (wire === Wire.bytes) {
      size = this.length(end)
      if (size < 0) return -1
    }
    if (size > end - this.at) return this.fail('a fixed-size value is cut')
    this.at += size
    return 0
  }

  /** Notes a fault at the current position. */
  fail(fault: string): -1 {
    this.fault = fault
    return -1
  }

  /** Notes a fault at another position. */
  failAt(at: number, fault: string): -1 {
    this.at = at
    this.fault = fault
    return -1
  }
}
