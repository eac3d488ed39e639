// An object of metadata in a body -> its entries, as places in the bytes and, where a value has to be rewritten, as text.
import { parseExactly } from '#proto/json.ts'
import type { JsonScanner } from '#proto/scan/json.ts'
import { JsonType } from '#proto/scan/json.ts'
import type { MapColumn } from '../columns/nested.ts'
import { METADATA_BOUNDS, readyEntry } from '../parsers/metadata.ts'
import { MASK, maskText } from '../parsers/secrets.ts'
import { KeyRole, type MetadataKeys } from './keys.ts'
import { isPlainText } from './plain-text.ts'

/** Why a row is made as an object after all. */
export type Fallback = 'json' | 'type' | 'id' | 'time' | 'key' | 'size' | 'name' | 'list' | 'compressed'

/** How a value stands in an entry: as bytes that are copied, or as the number of a text. */
const Value = { bytes: 0, text: 1 } as const

/** Numbers an entry takes: key from, to; how the value stands; value from, to (or the text's number). */
const ENTRY = 5
/** Larger metadata may meet the bounds of a row, which cut it. */
const MAX_BYTES = METADATA_BOUNDS.valueUnits

/** Entries of all rows of one range, and the texts among them. */
export class Entries {
  /** Text of the keys that the reader of the last object was to be asked for. */
  readonly asked = new Map<string, string>()
  /** True when one of them speaks of a model call. */
  hasUsage = false
  /** True when the text of a key that was to be asked for is not what was sent. */
  isChanged = false
  fallback: Fallback = 'json'
  /** Places, in the bytes that `base` is added for. */
  #numbers = new Int32Array(4096)
  #length = 0
  readonly #texts: string[] = []
  readonly #keys: MetadataKeys

  constructor(keys: MetadataKeys) {
    this.#keys = keys
  }

  /** Where the next row's entries begin. */
  get length(): number {
    return this.#length
  }

  /** Forgets what was read from `length` on. */
  rewind(length: number): void {
    this.#length = length
  }

  /** Forgets what was asked for the row before. */
  begin(): void {
    if (this.asked.size > 0) this.asked.clear()
    this.hasUsage = false
    this.isChanged = false
  }

  /**
   * Reads the object at `at`; `base` is where the body begins in the bytes that rows are written from. Returns the position behind it;
   * -1 when it is no JSON, or must be read as an object (`fallback` says which).
   */
  read(scanner: JsonScanner, at: number, base: number): number {
    this.fallback = 'json'
    const keys = this.#keys
    keys.begin()
    const from = at
    at = scanner.open(at)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return -1
      if (scanner.escaped) return this.#refuse('key')
      const { keyStart, keyEnd } = scanner
      const key = keys.find(scanner.bytes, keyStart, keyEnd)
      if (key < 0 || keys.roleOf(key) === KeyRole.odd) return this.#refuse('key')
      const type = scanner.typeAt(at)
      const end = scanner.skip(at)
      if (end < 0) return -1
      if (end - from > MAX_BYTES) return this.#refuse('size')
      this.#entry(base + keyStart, base + keyEnd)
      if (!this.#value(scanner, key, type, at, end, base)) return this.#refuse('size')
      at = scanner.next(end, 0x7d)
    }
    return at < 0 ? -1 : scanner.close(at)
  }

  #refuse(why: Fallback): -1 {
    this.fallback = why
    return -1
  }

  #entry(keyFrom: number, keyTo: number): void {
    if (this.#length + ENTRY > this.#numbers.length) {
      const larger = new Int32Array(this.#numbers.length * 2)
      larger.set(this.#numbers)
      this.#numbers = larger
    }
    this.#numbers[this.#length] = keyFrom
    this.#numbers[this.#length + 1] = keyTo
    this.#length += ENTRY
  }

  #put(how: number, from: number, to: number): true {
    this.#numbers[this.#length - 3] = how
    this.#numbers[this.#length - 2] = from
    this.#numbers[this.#length - 1] = to
    return true
  }

  #putText(text: string): boolean {
    this.#texts.push(text)
    this.#put(Value.text, this.#texts.length - 1, 0)
    return text.length <= METADATA_BOUNDS.valueUnits
  }

  #value(scanner: JsonScanner, key: number, type: JsonType, at: number, end: number, base: number): boolean {
    const keys = this.#keys
    const role = keys.roleOf(key)
    const { bytes } = scanner
    if (role === KeyRole.secret) {
      const nothing = type === JsonType.null || (type === JsonType.string && end - at === 2)
      return this.#putText(nothing ? '' : MASK)
    }
    if (role === KeyRole.usage) this.hasUsage = true
    const isAsked = role !== KeyRole.plain
    if (type === JsonType.string && !isAsked && !scanner.escaped && isPlainText(bytes, at + 1, end - 1))
      return this.#put(Value.bytes, base + at + 1, base + end - 1)
    if (type === JsonType.null) return this.#put(Value.bytes, base, base)
    if (type === JsonType.number && !isAsked && isPlainInteger(bytes, at, end))
      return this.#put(Value.bytes, base + at, base + end)
    const text = textOf(scanner, keys.nameOf(key), type, at, end)
    if (isAsked) {
      this.asked.set(keys.nameOf(key), text)
      const isNested = type === JsonType.object || type === JsonType.array
      if (isNested || (type === JsonType.string && text !== scanner.textOf(at + 1, end - 1).toWellFormed()))
        this.isChanged = true
    }
    return this.#putText(text)
  }

  /** Adds the entries from `from` to `to` to a row of the map; the caller ends it. */
  write(map: MapColumn, bytes: Uint8Array, from: number, to: number): void {
    const numbers = this.#numbers
    for (let i = from; i < to; i += ENTRY) {
      map.keys.addBytes(bytes, numbers[i] as number, numbers[i + 1] as number)
      const how = numbers[i + 2] as number
      if (how === Value.text) map.values.add(this.#texts[numbers[i + 3] as number] as string)
      else map.values.addBytes(bytes, numbers[i + 3] as number, numbers[i + 4] as number)
    }
  }
}

/** The text that a map keeps of a value. */
function textOf(scanner: JsonScanner, name: string, type: JsonType, at: number, end: number): string {
  if (type === JsonType.string) return maskText(scanner.textOf(at + 1, end - 1)).toWellFormed()
  const { bytes } = scanner
  const json = Buffer.from(bytes.buffer, bytes.byteOffset + at, end - at).toString('utf8')
  return readyEntry(name, parseExactly(json))[1]
}

/** True for digits that stay as they are when the number is written again. */
export function isPlainInteger(bytes: Uint8Array, at: number, end: number): boolean {
  if (end - at > 15 || (bytes[at] === 0x30 && end - at > 1)) return false
  for (let i = at; i < end; i++) {
    const byte = bytes[i] as number
    if (byte < 0x30 || byte > 0x39) return false
  }
  return true
}
