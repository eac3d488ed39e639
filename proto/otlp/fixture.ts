// For tests: an export request written once in its JSON form becomes the bytes of either encoding. The protobuf writer follows
// the field tables, so a field that is missing there is missing here too: reviewed bytes in the tests guard against that.
import { isObject, type JsonObject } from '#proto/json.ts'
import { ANY_VALUE, type FieldSpec, type MessageSpec, TRACES_DATA } from './fields.ts'
import { Wire } from './wire.ts'

/** The JSON encoding. */
export function jsonBytes(request: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(request))
}

/** The protobuf encoding. */
export function protobufBytes(request: JsonObject): Uint8Array {
  return Buffer.from(encode(TRACES_DATA, request))
}

/** Attributes from plain values: whole numbers become intValue text as most senders write them. */
export function attributes(values: Readonly<Record<string, unknown>>): JsonObject[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: anyValue(value) }))
}

/** An AnyValue of a plain value. */
export function anyValue(value: unknown): JsonObject {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'bigint') return { intValue: String(value) }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  if (value instanceof Uint8Array) return { bytesValue: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  return isObject(value) ? { kvlistValue: { values: attributes(value) } } : {}
}

/** A request of one resource and one scope. */
export function request(
  spans: readonly JsonObject[],
  resource: Readonly<Record<string, unknown>> = { 'service.name': 'shop' },
  scope: JsonObject = { name: 'shop-tracer', version: '1.2.3' },
): JsonObject {
  return { resourceSpans: [{ resource: { attributes: attributes(resource) }, scopeSpans: [{ scope, spans }] }] }
}

/** A span with ids made of one number each, that took half a second. */
export function span(
  trace: number,
  id: number,
  fields: JsonObject,
  values: Readonly<Record<string, unknown>> = {},
): JsonObject {
  return {
    traceId: trace.toString(16).padStart(32, '0'),
    spanId: id.toString(16).padStart(16, '0'),
    name: 'span',
    kind: 1,
    startTimeUnixNano: '1789999990000000001',
    endTimeUnixNano: '1789999990500000003',
    attributes: attributes(values),
    ...fields,
  }
}

function encode(spec: MessageSpec, object: JsonObject): number[] {
  const out: number[] = []
  for (const field of spec.fields) {
    const value = field === undefined ? undefined : object[field.name]
    if (field === undefined || value === undefined || value === null) continue
    for (const each of Array.isArray(value) ? value : [value]) append(out, spec, field, each)
  }
  return out
}

function append(out: number[], spec: MessageSpec, field: FieldSpec, value: unknown): void {
  varint(out, BigInt((field.number << 3) | field.wire))
  if (field.message !== null) bytes(out, encode(field.message, value as JsonObject))
  else if (field.wire === Wire.varint) varint(out, BigInt.asUintN(64, BigInt(value as string | number | boolean)))
  else if (field.wire === Wire.bytes) bytes(out, rawBytes(spec, field, String(value)))
  else {
    const fixed = Buffer.alloc(field.wire === Wire.fixed64 ? 8 : 4)
    if (spec === ANY_VALUE) fixed.writeDoubleLE(Number(value))
    else if (field.wire === Wire.fixed64) fixed.writeBigUInt64LE(BigInt(value as string))
    else fixed.writeUInt32LE(Number(value))
    bytesOnly(out, fixed)
  }
}

function rawBytes(spec: MessageSpec, field: FieldSpec, text: string): Uint8Array {
  if (spec === ANY_VALUE && field.name === 'bytesValue') return Buffer.from(text, 'base64')
  return /(?:trace|span)Id$/i.test(field.name) ? Buffer.from(text, 'hex') : Buffer.from(text)
}

function bytes(out: number[], content: ArrayLike<number>): void {
  varint(out, BigInt(content.length))
  bytesOnly(out, content)
}

function bytesOnly(out: number[], content: ArrayLike<number>): void {
  for (let i = 0; i < content.length; i++) out.push(content[i] as number)
}

function varint(out: number[], value: bigint): void {
  let rest = value
  while (rest >= 0x80n) {
    out.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  out.push(Number(rest))
}
