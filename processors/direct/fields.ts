// The body of an SDK request -> where each of its known fields stands. One body at a time: what was found is valid until the next scan.
import { parseExactly } from '#proto/json.ts'
import { JsonScanner, JsonType } from '#proto/scan/json.ts'
import { KeyTable } from '#proto/scan/keys.ts'
import { JSON_MAX_DEPTH } from '#proto/sdk/fields.ts'
import { CLAMP, clamp, type Instant } from '#proto/time.ts'
import { instantOfMs } from '../parsers/rows.ts'
import { type Entries, type Fallback, isPlainInteger } from './entries.ts'
import { uuidAt } from './ids.ts'

/** Later and earlier arrivals are left to the other way: parley did not run then. */
const RECEIVED_MAX_MS = Date.UTC(2200, 0, 1)
const RECEIVED_MIN_MS = CLAMP.pastMs

/** The fields of one kind of body, by number. */
export class BodyFields {
  readonly scanner = new JsonScanner(JSON_MAX_DEPTH)
  /** Why the last body was not scanned to its end. */
  fallback: Fallback = 'json'
  /** `JsonType` of each field's value, none = not there; its first byte and the one behind it; 1 for a string with escapes. */
  readonly types: Uint8Array
  readonly starts: Int32Array
  readonly ends: Int32Array
  readonly escapes: Uint8Array
  readonly #keys: KeyTable

  constructor(names: readonly string[]) {
    this.types = new Uint8Array(names.length)
    this.starts = new Int32Array(names.length)
    this.ends = new Int32Array(names.length)
    this.escapes = new Uint8Array(names.length)
    this.#keys = new KeyTable(names)
  }

  /**
   * Notes where each field stands; the last one of a name counts. Objects in the fields of `maps` are read as entries, which count their
   * places from `base`. False when the body is no JSON object, or an object in those fields must be read another way.
   */
  scan(body: Uint8Array, base: number, maps: readonly (Entries | undefined)[]): boolean {
    const { scanner, types } = this
    types.fill(JsonType.none)
    this.fallback = 'json'
    if (!scanner.begin(body)) return false
    let at = scanner.space(0)
    if (scanner.typeAt(at) !== JsonType.object) return false
    at = scanner.open(at)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return false
      const field = this.#keys.find(scanner, scanner.keyStart, scanner.keyEnd, scanner.escaped)
      at = field < 0 ? scanner.skip(at) : this.#field(field, at, base, maps[field])
      if (at < 0) return false
      at = scanner.next(at, 0x7d)
    }
    return at >= 0 && scanner.finish(scanner.close(at))
  }

  #field(field: number, at: number, base: number, map: Entries | undefined): number {
    const { scanner, types } = this
    if (map) {
      // A second object would have to take the first one's place.
      if (types[field] !== JsonType.none) return this.#refuse('key')
      types[field] = scanner.typeAt(at)
      if (types[field] === JsonType.object) {
        const end = map.read(scanner, at, base)
        return end < 0 ? this.#refuse(map.fallback) : end
      }
      // A value of its own would become an entry.
      if (types[field] !== JsonType.null) return this.#refuse('type')
    }
    types[field] = scanner.typeAt(at)
    this.starts[field] = at
    const end = scanner.skip(at)
    this.ends[field] = end
    this.escapes[field] = scanner.escaped ? 1 : 0
    return end
  }

  #refuse(why: Fallback): -1 {
    this.fallback = why
    return -1
  }

  /** The text of a string. */
  textOf(field: number): string {
    return this.scanner.textOf((this.starts[field] as number) + 1, (this.ends[field] as number) - 1)
  }

  /** Bytes between the quotes of a string. */
  sizeOf(field: number): number {
    return (this.ends[field] as number) - (this.starts[field] as number) - 2
  }

  /** True when the field says nothing: it is not there, null or "". */
  isEmpty(field: number): boolean {
    const type = this.types[field]
    if (type === JsonType.none || type === JsonType.null) return true
    return type === JsonType.string && this.sizeOf(field) === 0
  }

  /** True for a number, true or false: what is text elsewhere. */
  isScalar(field: number): boolean {
    const type = this.types[field]
    return type === JsonType.number || type === JsonType.true || type === JsonType.false
  }

  /** -1 when the field is no plain uuid of characters, 1 when it has capital letters, else 0. Precondition: a string. */
  uuid(field: number): -1 | 0 | 1 {
    if (this.escapes[field] === 1) return -1
    return uuidAt(this.scanner.bytes, (this.starts[field] as number) + 1, (this.ends[field] as number) - 1)
  }

  /** A number, or the text that may hold one; null for everything else. */
  numberOf(field: number): number | string | null {
    const { types } = this
    if (types[field] === JsonType.string) return this.textOf(field)
    if (types[field] !== JsonType.number) return null
    const { bytes } = this.scanner
    const from = this.starts[field] as number
    const to = this.ends[field] as number
    if (!isPlainInteger(bytes, from, to))
      return Number(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1'))
    let value = 0
    for (let i = from; i < to; i++) value = value * 10 + (bytes[i] as number) - 0x30
    return value
  }

  /** The time that a field names, else the arrival; null for one that a row would change. */
  instantOf(field: number, receivedAtMs: number): Instant | null {
    if (!(receivedAtMs >= RECEIVED_MIN_MS && receivedAtMs < RECEIVED_MAX_MS)) return null
    const sent = finiteOf(this.numberOf(field))
    const at = sent === null ? { ms: receivedAtMs, ns: 0 } : instantOfMs(sent)
    return clamp(at, receivedAtMs) === at ? at : null
  }

  /** The value of a field, as an object where it is one. */
  valueOf(field: number): unknown {
    const { bytes } = this.scanner
    const from = this.starts[field] as number
    return parseExactly(
      Buffer.from(bytes.buffer, bytes.byteOffset + from, (this.ends[field] as number) - from).toString('utf8'),
    )
  }
}

function finiteOf(value: number | string | null): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
