// A good protobuf body -> one that is almost good: fields changed, moved, repeated, nested, written in unusual ways, while the lengths
// around them stay right; and sometimes bytes changed, cut or repeated, as mutate.ts does it.
import type { MessageSpec } from '#proto/otlp/fields.ts'
import { Wire, WireCursor } from '#proto/otlp/wire.ts'
import type { Random } from './random.ts'

/** A field: either the messages' fields inside of it, or the bytes of its value as they stand behind tag and length. */
export interface Field {
  readonly number: number
  readonly wire: number
  readonly fields?: readonly Field[]
  readonly bytes?: Uint8Array
  /** Bytes more than needed for the tag and for the length. */
  readonly tagPad?: number
  readonly lengthPad?: number
  /** Added to the length that is written. */
  readonly lie?: number
}

/** The fields of a good body. */
export function fieldsOf(body: Uint8Array, spec: MessageSpec): readonly Field[] {
  const cursor = new WireCursor(body)
  const fields: Field[] = []
  while (cursor.at < body.length) {
    const tag = cursor.tag(body.length)
    const [number, wire] = [tag >>> 3, tag & 7]
    const length = wire === Wire.bytes ? cursor.length(body.length) : 0
    const from = cursor.at
    if (wire === Wire.bytes) cursor.at += length
    else cursor.skip(wire, body.length)
    const bytes = body.subarray(from, cursor.at)
    const inner = spec.fields[number]?.message ?? null
    fields.push(inner === null ? { number, wire, bytes } : { number, wire, fields: fieldsOf(bytes, inner) })
  }
  return fields
}

/** A mutation of a body that was taken apart. */
export function mutateFields(fields: readonly Field[], random: Random): Buffer {
  let mutated = fields
  const times = random.below(4) === 0 ? 2 + random.below(3) : 1
  for (let i = 0; i < times; i++) mutated = mutateInside(mutated, random)
  const body = encodeFields(mutated)
  return random.below(4) === 0 ? random.pick(BYTE_STEPS)(body, random) : body
}

function mutateInside(fields: readonly Field[], random: Random): readonly Field[] {
  if (fields.length === 0) return [strangeField(random)]
  const at = random.below(fields.length)
  const field = fields[at] as Field
  if (field.fields !== undefined && random.below(6) > 0) {
    return fields.with(at, { ...field, fields: mutateInside(field.fields, random) })
  }
  return random.pick(STEPS)(fields, at, field, random)
}

type Step = (fields: readonly Field[], at: number, field: Field, random: Random) => readonly Field[]

const STEPS: readonly Step[] = [
  (fields, at) => fields.toSpliced(at, 1),
  (fields, at, field, random) => fields.toSpliced(random.below(fields.length + 1), 0, field),
  (fields, at, field, random) => fields.toSpliced(at, 1).toSpliced(random.below(fields.length), 0, field),
  (fields, at, _, random) => fields.toSpliced(at, 0, strangeField(random)),
  (fields, at, _, random) => fields.toSpliced(at, 0, strangeField(random)),
  (fields, at, field, random) => fields.with(at, { ...field, number: 1 + random.below(18) }),
  (fields, at, field, random) => fields.with(at, ofWire(field.number, random.below(8), random)),
  (fields, at, field, random) => fields.with(at, ofWire(field.number, field.wire, random)),
  (fields, at, field, random) => fields.with(at, ofWire(field.number, field.wire, random)),
  (fields, at, field, random) => fields.with(at, { ...field, tagPad: random.below(6) }),
  (fields, at, field, random) => fields.with(at, { ...field, lengthPad: random.below(10) }),
  (fields, at, field, random) => fields.with(at, { ...field, lie: random.pick([-2, -1, 1, 2, 300, 2 ** 31]) }),
  (fields, at, field, random) => fields.with(at, { ...nested(random), number: field.number }),
  (fields, at, field, random) => fields.with(at, { ...field, fields: [attribute(random)] }),
]

const byteAt: (body: Buffer, random: Random) => number = (body, random) => random.below(body.length + 1)
const splice = (body: Buffer, at: number, remove: number, insert: Uint8Array): Buffer =>
  Buffer.concat([body.subarray(0, at), insert, body.subarray(at + remove)])
const BYTE_STEPS: readonly ((body: Buffer, random: Random) => Buffer)[] = [
  (body, random) => splice(body, byteAt(body, random), 1, Buffer.from([random.below(256)])),
  (body, random) => splice(body, byteAt(body, random), 0, Buffer.from([random.pick([0, 1, 0x0a, 0x12, 0x80, 0xff])])),
  (body, random) => splice(body, byteAt(body, random), random.below(4), Buffer.alloc(0)),
  (body, random) => body.subarray(0, byteAt(body, random)),
  (body, random) => {
    const at = byteAt(body, random)
    return splice(body, at, 0, body.subarray(at, at + random.below(60)))
  },
  (body, random) => {
    const at = byteAt(body, random)
    return splice(body, at, 1, Buffer.from([(body[at] ?? 0) ^ (1 << random.below(8))]))
  },
]

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')
// biome-ignore format: rows
const VARINTS = [
  '00', '01', '7f', '8001', 'ff7f', '8000', '80808000', 'ffffffff0f', '8080808010', 'ffffffffffffff7f', 'ffffffffffffffff7f',
  'ffffffffffffffffff01', 'ffffffffffffffffff02', 'ffffffffffffffffff7f', '80808080808080808000', '8080808080808080808000',
  'ffffffffffffffffffff01', '80', 'ffff',
].map(hex)
// biome-ignore format: rows
const TEXTS = [
  '', '00', '61', '616263', '0a00', '0a0161', 'ff', 'c3a9', 'c3', 'eda080', 'f09f9880', '0000000000000000', '0102030405060708',
  '00000000000000000000000000000000', '0102030405060708090a0b0c0d0e0f10', '000000000000000000', '010203040506070809',
  '303030303030303030303030303030303030303030303030', '78'.repeat(127), '78'.repeat(128), '78'.repeat(300), '78'.repeat(16_384),
].map(hex)
const WIDE = [17, 31, 32, 33, 100, 2047, 2048, 262_143, 2 ** 25, 2 ** 29 - 1, 2 ** 29]

/** A field that no exporter writes. */
function strangeField(random: Random): Field {
  const number = random.below(3) === 0 ? random.pick(WIDE) : random.below(20)
  if (random.below(4) > 0) return ofWire(number, random.below(8), random)
  const inside = ofWire(1 + random.below(4), random.pick([0, 1, 2, 5]), random)
  const end = { number: random.below(8) === 0 ? number + 1 : number, wire: 4, bytes: hex('') }
  return { number, wire: 3, bytes: encodeFields(random.below(2) === 0 ? [end] : [inside, end]) }
}

function ofWire(number: number, wire: number, random: Random): Field {
  if (wire === Wire.varint) return { number, wire, bytes: random.pick(VARINTS) }
  if (wire === Wire.bytes) return { number, wire, bytes: random.pick(TEXTS) }
  const size = wire === Wire.fixed64 ? 8 : wire === Wire.fixed32 ? 4 : 0
  return { number, wire, bytes: Buffer.alloc(Math.max(0, size - (random.below(8) === 0 ? 1 : 0)), random.below(256)) }
}

function attribute(random: Random): Field {
  const value = ofWire(1 + random.below(8), random.pick([0, 0, 1, 2, 2, 5]), random)
  const key = { number: 1, wire: 2, bytes: random.pick(TEXTS) }
  const held = { number: 2, wire: 2, fields: random.below(8) === 0 ? [] : [value] }
  return { number: 9, wire: 2, fields: random.below(8) === 0 ? [held, key] : [key, held] }
}

/** An attribute whose value is a list in a list, or a map in a map, and so on. */
function nested(random: Random): Field {
  let value: readonly Field[] = [ofWire(1, 2, random)]
  for (let left = random.pick([1, 2, 5, 18, 19, 20, 21, 28, 29, 30, 31, 40]); left > 0; left--) {
    const isMap = random.below(3) === 0
    const inside: Field = { number: isMap ? 2 : 1, wire: 2, fields: value }
    const entry = isMap ? { number: 1, wire: 2, fields: [inside] } : inside
    value = [{ number: isMap ? 6 : 5, wire: 2, fields: [entry] }]
  }
  return { number: 9, wire: 2, fields: [{ number: 2, wire: 2, fields: value }] }
}

const ENCODED_MAX_BYTES = 1024 * 1024
const encoded = Buffer.alloc(ENCODED_MAX_BYTES)

/** The bytes of fields: written from the end, so that every length is known when its turn comes. */
export function encodeFields(fields: readonly Field[]): Buffer {
  return Buffer.from(encoded.subarray(writeBefore(encoded.length, fields)))
}

function writeBefore(end: number, fields: readonly Field[]): number {
  let at = end
  for (let i = fields.length - 1; i >= 0; i--) {
    const { number, wire, fields: inner, bytes = hex(''), tagPad = 0, lengthPad = 0, lie = 0 } = fields[i] as Field
    const valueEnd = at
    if (inner !== undefined) at = writeBefore(at, inner)
    else {
      at -= bytes.length
      encoded.set(bytes, at)
    }
    if (wire === Wire.bytes) at = writeVarintBefore(at, Math.max(0, valueEnd - at + lie), lengthPad)
    at = writeVarintBefore(at, number * 8 + wire, tagPad)
  }
  return at
}

function writeVarintBefore(end: number, value: number, pad: number): number {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) {
      bytes.push(rest)
      break
    }
    bytes.push((rest % 128) + 128)
  }
  for (let i = 0; i < pad; i++) {
    bytes[bytes.length - 1] = (bytes.at(-1) as number) | 0x80
    bytes.push(0)
  }
  encoded.set(bytes, end - bytes.length)
  return end - bytes.length
}
