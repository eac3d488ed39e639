// The bytes of an OTLP protobuf body -> numbers: where each span's fields and attributes stand, in typed arrays that are used again.
// Precondition of everything here: the scanner has passed the bytes, so bounds, wire types and depth are good and no read can fail.
import { isIdAt, isZeroAt, SPAN_ID_BYTES, TRACE_ID_BYTES } from '#proto/otlp/span-ids.ts'
import { Wire } from '#proto/otlp/wire.ts'
import { KEPT_BYTES } from '../columns/column.ts'

/** What stands of a span at `span * SPAN_INTS + …`. Places are offsets into the body; -1 where there is nothing. */
export const S = {
  from: 0,
  to: 1,
  resource: 2,
  scope: 3,
  trace: 4,
  id: 5,
  parent: 6,
  nameFrom: 7,
  nameTo: 8,
  kind: 9,
  startLow: 10,
  startHigh: 11,
  endLow: 12,
  endHigh: 13,
  status: 14,
  messageFrom: 15,
  messageTo: 16,
  firstAttribute: 17,
  endAttribute: 18,
  odd: 19,
} as const
export const SPAN_INTS = 20

/**
 * What stands of an attribute at `attribute * ATTRIBUTE_INTS + …`. `x` and `y`: where the value begins and ends, or its halves. `look`: what
 * was seen of its text; 0 = nobody looked yet.
 */
export const A = { keyFrom: 0, keyTo: 1, kind: 2, x: 3, y: 4, key: 5, look: 6 } as const
export const ATTRIBUTE_INTS = 7

/** Kinds of values. Of structures, `x` and `y` are the range of the AnyValue itself. */
export const Kind = { none: 0, text: 1, bool: 2, int: 3, double: 4, structure: 5 } as const

/** Bits of `S.odd`: the span carries events, links and the like; it is left to the way of objects, whatever its attributes are. */
export const Odd = { records: 1, form: 2 } as const

/** A parent that is no id. */
const UNUSABLE = -2

/** Growable 32-bit numbers. */
class Ints {
  data = new Int32Array(4096)
  length = 0

  /** Room for `count` more, zeroed (a loop: they are few); returns where they begin. */
  take(count: number): number {
    const at = this.length
    this.length = at + count
    if (this.length > this.data.length) {
      const larger = new Int32Array(Math.max(this.length, this.data.length * 2))
      larger.set(this.data.subarray(0, at))
      this.data = larger
    } else {
      const { data, length } = this
      for (let i = at; i < length; i++) data[i] = 0
    }
    return at
  }

  clear(): void {
    this.length = 0
    if (this.data.byteLength > KEPT_BYTES) this.data = new Int32Array(4096)
  }
}

/** Ranges of the resources and scopes of a body as the numbers that their owner gives them; -1 = none. */
export interface Holders {
  readonly resource: (bytes: Buffer, from: number, to: number) => number
  readonly scope: (bytes: Buffer, from: number, to: number) => number
}

/** The numbers of the spans of a body, in arrays of their own. */
export interface SpanNumbers {
  readonly count: number
  readonly spans: Int32Array
  readonly attributes: Int32Array
}

/** Reads bodies, one after the other, into arrays that are used again. */
export class SpanTable {
  readonly spans = new Ints()
  readonly attributes = new Ints()
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0
  #low = 0
  #high = 0

  /** What was read last. */
  numbers(): SpanNumbers {
    const { spans, attributes } = this
    return {
      count: spans.length / SPAN_INTS,
      spans: spans.data.slice(0, spans.length),
      attributes: attributes.data.slice(0, attributes.length),
    }
  }

  /** Reads the spans of a body, without the rejected ones; false when the body has a form that is left to others. */
  read(bytes: Buffer, holders: Holders): boolean {
    this.spans.clear()
    this.attributes.clear()
    this.#bytes = bytes
    this.#at = 0
    const end = bytes.length
    while (this.#at < end) {
      const tag = this.#varint()
      if (tag >>> 3 !== 1) this.#skip(tag & 7)
      else if (!this.#resourceSpans(this.#length(), holders)) return false
    }
    return true
  }

  /** One message: its holder is read first, since it may stand after what it holds. */
  #resourceSpans(length: number, holders: Holders): boolean {
    const from = this.#at
    const end = from + length
    const resource = this.#holder(end, holders.resource)
    if (resource < -1) return false
    this.#at = from
    while (this.#at < end) {
      const tag = this.#varint()
      if (tag >>> 3 !== 2) this.#skip(tag & 7)
      else if (!this.#scopeSpans(this.#length(), resource, holders)) return false
    }
    return true
  }

  #scopeSpans(length: number, resource: number, holders: Holders): boolean {
    const from = this.#at
    const end = from + length
    const scope = this.#holder(end, holders.scope)
    if (scope < -1) return false
    this.#at = from
    while (this.#at < end) {
      const tag = this.#varint()
      if (tag >>> 3 !== 2) this.#skip(tag & 7)
      else this.#span(this.#length(), resource, scope)
    }
    return true
  }

  /** The number of the only field 1 up to `end`, -1 when there is none, -2 when there are several or no number is left. */
  #holder(end: number, numberOf: Holders['resource']): number {
    let found = -1
    while (this.#at < end) {
      const tag = this.#varint()
      if (tag >>> 3 !== 1) {
        this.#skip(tag & 7)
        continue
      }
      const length = this.#length()
      if (found !== -1) return -2
      found = numberOf(this.#bytes, this.#at, this.#at + length)
      if (found < 0) return -2
      this.#at += length
    }
    return found
  }

  #span(length: number, resource: number, scope: number): void {
    const from = this.#at
    const end = from + length
    const row = this.spans.take(SPAN_INTS)
    const s = this.spans.data
    s[row + S.from] = from
    s[row + S.to] = end
    s[row + S.resource] = resource
    s[row + S.scope] = scope
    s[row + S.trace] = -1
    s[row + S.id] = -1
    s[row + S.parent] = -1
    s[row + S.firstAttribute] = this.attributes.length / ATTRIBUTE_INTS
    while (this.#at < end) this.#spanField(s, row)
    s[row + S.endAttribute] = this.attributes.length / ATTRIBUTE_INTS
    if ((s[row + S.trace] as number) >= 0 && (s[row + S.id] as number) >= 0 && s[row + S.parent] !== UNUSABLE) return
    // A rejected span: the exporter was told.
    this.attributes.length = (s[row + S.firstAttribute] as number) * ATTRIBUTE_INTS
    this.spans.length = row
  }

  #spanField(s: Int32Array, row: number): void {
    const tag = this.#varint()
    const number = tag >>> 3
    if ((tag & 7) === Wire.varint) {
      this.#long()
      if (number === 6) s[row + S.kind] = this.#high === 0 && this.#low <= 5 ? this.#low : 0
      else if ((number === 10 || number === 12 || number === 14) && this.#low !== 0) this.#note(s, row, Odd.records)
      return
    }
    if ((tag & 7) !== Wire.bytes) {
      this.#time(s, row, number, (tag & 7) === Wire.fixed64 ? 8 : 4)
      return
    }
    const length = this.#length()
    const from = this.#at
    this.#at = from + length
    switch (number) {
      case 1:
        s[row + S.trace] = isIdAt(this.#bytes, from, length, TRACE_ID_BYTES) ? from : -1
        return
      case 2:
        s[row + S.id] = isIdAt(this.#bytes, from, length, SPAN_ID_BYTES) ? from : -1
        return
      case 4:
        s[row + S.parent] = this.#parent(from, length)
        return
      case 5:
        s[row + S.nameFrom] = from
        s[row + S.nameTo] = from + length
        return
      case 9:
        this.#attribute(from, from + length)
        return
      case 15:
        this.#status(s, row, from, from + length)
        return
      case 3:
      case 11:
      case 13:
        if (length > 0 || number !== 3) this.#note(s, row, Odd.records)
        return
    }
  }

  #time(s: Int32Array, row: number, number: number, size: number): void {
    const at = this.#at
    this.#at = at + size
    if (size !== 8 || (number !== 7 && number !== 8)) return
    const low = number === 7 ? S.startLow : S.endLow
    s[row + low] = this.#bytes.readInt32LE(at)
    s[row + low + 1] = this.#bytes.readInt32LE(at + 4)
  }

  #parent(from: number, length: number): number {
    if (isZeroAt(this.#bytes, from, length)) return -1
    return length === SPAN_ID_BYTES ? from : UNUSABLE
  }

  #status(s: Int32Array, row: number, from: number, end: number): void {
    if (s[row + S.status] !== 0 || s[row + S.messageTo] !== 0) this.#note(s, row, Odd.form)
    this.#at = from
    while (this.#at < end) {
      const tag = this.#varint()
      if (tag >>> 3 === 3) {
        this.#long()
        s[row + S.status] = this.#high === 0 && this.#low <= 2 ? this.#low : 0
      } else if (tag >>> 3 === 2) {
        const length = this.#length()
        s[row + S.messageFrom] = this.#at
        s[row + S.messageTo] = this.#at + length
        this.#at += length
      } else this.#skip(tag & 7)
    }
  }

  #note(s: Int32Array, row: number, why: number): void {
    s[row + S.odd] = (s[row + S.odd] as number) | why
  }

  #attribute(from: number, end: number): void {
    const row = this.attributes.take(ATTRIBUTE_INTS)
    const a = this.attributes.data
    this.#at = from
    while (this.#at < end) {
      const tag = this.#varint()
      if (tag >>> 3 === 1) {
        const length = this.#length()
        a[row + A.keyFrom] = this.#at
        a[row + A.keyTo] = this.#at + length
        this.#at += length
      } else if (tag >>> 3 === 2) {
        const length = this.#length()
        this.#value(a, row, this.#at, this.#at + length)
      } else this.#skip(tag & 7)
    }
  }

  /** Of several values the last counts, as everywhere. */
  #value(a: Int32Array, row: number, from: number, end: number): void {
    a[row + A.kind] = Kind.none
    this.#at = from
    while (this.#at < end) {
      const tag = this.#varint()
      const number = tag >>> 3
      if (number === 1) {
        const length = this.#length()
        this.#set(a, row, Kind.text, this.#at, this.#at + length)
        this.#at += length
      } else if (number === 2) {
        this.#long()
        this.#set(a, row, Kind.bool, this.#low !== 0 || this.#high !== 0 ? 1 : 0, 0)
      } else if (number === 3) {
        this.#long()
        this.#set(a, row, Kind.int, this.#low, this.#high)
      } else if (number === 4) {
        this.#set(a, row, Kind.double, this.#bytes.readInt32LE(this.#at), this.#bytes.readInt32LE(this.#at + 4))
        this.#at += 8
      } else {
        if (number >= 5 && number <= 7) this.#set(a, row, Kind.structure, from, end)
        this.#skip(tag & 7)
      }
    }
  }

  #set(a: Int32Array, row: number, kind: number, x: number, y: number): void {
    a[row + A.kind] = kind
    a[row + A.x] = x
    a[row + A.y] = y
  }

  // ---- wire ------------------------------------------------------------------------------------------------------------

  /** A tag or another number below 2^32. */
  #varint(): number {
    const first = this.#bytes[this.#at] as number
    if (first < 0x80) {
      this.#at++
      return first
    }
    this.#long()
    return this.#low
  }

  #length(): number {
    return this.#varint()
  }

  #long(): void {
    const bytes = this.#bytes
    let at = this.#at
    let low = 0
    let high = 0
    for (let i = 0; i < 10; i++) {
      const byte = bytes[at++] as number
      const bits = byte & 0x7f
      if (i < 4) low |= bits << (7 * i)
      else if (i === 4) {
        low |= bits << 28
        high = bits >>> 4
      } else high |= bits << (7 * i - 32)
      if (byte < 0x80) break
    }
    this.#at = at
    this.#low = low >>> 0
    this.#high = high >>> 0
  }

  #skip(wire: number): void {
    if (wire === Wire.varint) this.#long()
    else if (wire === Wire.bytes) {
      // The length moves the position itself.
      const length = this.#length()
      this.#at += length
    } else this.#at += wire === Wire.fixed64 ? 8 : 4
  }
}
