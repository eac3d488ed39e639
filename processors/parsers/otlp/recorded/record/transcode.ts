// An OTLP trace export, protobuf <-> JSON, without loss: what the tables below do not know is an error, so that nothing an exporter
// sent can get lost on the way into a fixture. The tables are those of opentelemetry-proto 1.9 (collector/trace, trace, resource,
// common; v1) and are written apart from those of proto/otlp on purpose: the product is tested against what this makes.

/** A message in its JSON form. */
export type Message = { [name: string]: unknown }

type Kind = 'string' | 'hex' | 'base64' | 'bool' | 'int64' | 'uint32' | 'enum' | 'fixed32' | 'fixed64' | 'double'
type Field = readonly [name: string, kind: Kind | (() => Table), repeated?: 'repeated']
type Table = Readonly<Record<number, Field>>

const anyValue: Table = {
  1: ['stringValue', 'string'],
  2: ['boolValue', 'bool'],
  3: ['intValue', 'int64'],
  4: ['doubleValue', 'double'],
  5: ['arrayValue', () => arrayValue],
  6: ['kvlistValue', () => keyValueList],
  7: ['bytesValue', 'base64'],
}
const arrayValue: Table = { 1: ['values', () => anyValue, 'repeated'] }
const keyValue: Table = { 1: ['key', 'string'], 2: ['value', () => anyValue] }
const keyValueList: Table = { 1: ['values', () => keyValue, 'repeated'] }
const entityRef: Table = {
  1: ['schemaUrl', 'string'],
  2: ['type', 'string'],
  3: ['idKeys', 'string', 'repeated'],
  4: ['descriptionKeys', 'string', 'repeated'],
}
const resource: Table = {
  1: ['attributes', () => keyValue, 'repeated'],
  2: ['droppedAttributesCount', 'uint32'],
  3: ['entityRefs', () => entityRef, 'repeated'],
}
const scope: Table = {
  1: ['name', 'string'],
  2: ['version', 'string'],
  3: ['attributes', () => keyValue, 'repeated'],
  4: ['droppedAttributesCount', 'uint32'],
}
const event: Table = {
  1: ['timeUnixNano', 'fixed64'],
  2: ['name', 'string'],
  3: ['attributes', () => keyValue, 'repeated'],
  4: ['droppedAttributesCount', 'uint32'],
}
const link: Table = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'string'],
  4: ['attributes', () => keyValue, 'repeated'],
  5: ['droppedAttributesCount', 'uint32'],
  6: ['flags', 'fixed32'],
}
const status: Table = { 2: ['message', 'string'], 3: ['code', 'enum'] }
const span: Table = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'string'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'string'],
  6: ['kind', 'enum'],
  7: ['startTimeUnixNano', 'fixed64'],
  8: ['endTimeUnixNano', 'fixed64'],
  9: ['attributes', () => keyValue, 'repeated'],
  10: ['droppedAttributesCount', 'uint32'],
  11: ['events', () => event, 'repeated'],
  12: ['droppedEventsCount', 'uint32'],
  13: ['links', () => link, 'repeated'],
  14: ['droppedLinksCount', 'uint32'],
  15: ['status', () => status],
  16: ['flags', 'fixed32'],
}
const scopeSpans: Table = {
  1: ['scope', () => scope],
  2: ['spans', () => span, 'repeated'],
  3: ['schemaUrl', 'string'],
}
const resourceSpans: Table = {
  1: ['resource', () => resource],
  2: ['scopeSpans', () => scopeSpans, 'repeated'],
  3: ['schemaUrl', 'string'],
}
const traceExport: Table = { 1: ['resourceSpans', () => resourceSpans, 'repeated'] }

/** Wire types of protobuf by the kind of a field. */
const wires: Readonly<Record<Kind, number>> = {
  ...{ string: 2, hex: 2, base64: 2, bool: 0, int64: 0, uint32: 0, enum: 0, fixed32: 5, fixed64: 1, double: 1 },
}

/** The JSON form of a protobuf body. Throws on a field that is not in the tables. */
export function fromProtobuf(body: Uint8Array): Message {
  return decode(traceExport, Buffer.from(body.buffer, body.byteOffset, body.byteLength))
}

/** The protobuf form of a JSON body. Throws on a field that is not in the tables. */
export function toProtobuf(request: Message): Uint8Array {
  return encode(traceExport, request)
}

function decode(table: Table, bytes: Buffer): Message {
  const out: Message = {}
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]
      if (byte === undefined) throw new Error('a number is cut')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error('a value is cut')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const field = table[tag >>> 3]
    if (field === undefined) throw new Error(`field ${tag >>> 3} is not in the tables beside ${JSON.stringify(out)}`)
    const [name, kind, repeated] = field
    const wire = typeof kind === 'function' ? 2 : wires[kind]
    if ((tag & 7) !== wire) throw new Error(`${name} has wire type ${tag & 7}`)
    const raw = wire === 0 ? varint() : take(wire === 1 ? 8 : wire === 5 ? 4 : Number(varint()))
    const value = typeof kind === 'function' ? decode(kind(), raw as Buffer) : scalar(kind, raw)
    if (repeated !== undefined) out[name] = [...((out[name] as unknown[]) ?? []), value]
    else out[name] = value
  }
  return out
}

function scalar(kind: Kind, raw: Buffer | bigint): unknown {
  if (typeof raw === 'bigint') {
    if (kind === 'bool') return raw !== 0n
    return kind === 'int64' ? String(BigInt.asIntN(64, raw)) : Number(raw)
  }
  switch (kind) {
    case 'hex':
      return raw.toString('hex')
    case 'base64':
      return raw.toString('base64')
    case 'fixed64':
      return String(raw.readBigUInt64LE())
    case 'fixed32':
      return raw.readUInt32LE()
    case 'double': {
      const value = raw.readDoubleLE()
      return Number.isFinite(value) ? value : String(value)
    }
    default:
      return raw.toString()
  }
}

function encode(table: Table, message: Message): Buffer {
  const fields = new Map(Object.entries(table).map(([number, field]) => [field[0], [Number(number), field] as const]))
  const out: Buffer[] = []
  const known = Object.keys(message).map(name => {
    const found = fields.get(name)
    if (found === undefined) throw new Error(`${name} is not in the tables`)
    return found
  })
  for (const [number, [name, kind, repeated]] of known.sort(([a], [b]) => a - b)) {
    const values = repeated === undefined ? [message[name]] : (message[name] as unknown[])
    for (const value of values) {
      const wire = typeof kind === 'function' ? 2 : wires[kind]
      const bytes = typeof kind === 'function' ? encode(kind(), value as Message) : scalarBytes(kind, value)
      out.push(varintOf(BigInt((number << 3) | wire)), ...(wire === 2 ? [varintOf(BigInt(bytes.length))] : []), bytes)
    }
  }
  return Buffer.concat(out)
}

function scalarBytes(kind: Kind, value: unknown): Buffer {
  switch (kind) {
    case 'hex':
    case 'base64':
      return Buffer.from(String(value), kind)
    case 'string':
      return Buffer.from(String(value))
    case 'fixed64': {
      const bytes = Buffer.alloc(8)
      bytes.writeBigUInt64LE(BigInt(value as string | number))
      return bytes
    }
    case 'fixed32': {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32LE(Number(value))
      return bytes
    }
    case 'double': {
      const bytes = Buffer.alloc(8)
      bytes.writeDoubleLE(Number(value))
      return bytes
    }
    default:
      return varintOf(BigInt.asUintN(64, BigInt(value as string | number | boolean)))
  }
}

function varintOf(value: bigint): Buffer {
  const out: number[] = []
  let rest = value
  while (rest >= 0x80n) {
    out.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  return Buffer.from([...out, Number(rest)])
}
