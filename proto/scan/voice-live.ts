// The bytes of a voice platform's message -> the kind of live message it is, without building it: while a call runs, the platform sends
// the conversation so far with every turn. Promise: a kind is named only where JSON.parse and `liveKindOf` name the same; null decides
// nothing.
import { JSON_MAX_DEPTH } from '#proto/sdk/fields.ts'
import { fieldsOfKind, kindOfType } from '#proto/voice/kinds.ts'
import { asNumber } from '#proto/voice/values.ts'
import { JsonScanner, JsonType } from './json.ts'
import { KeyTable } from './keys.ts'

const MESSAGE = 0
const ROOT_KEYS = new KeyTable(['message'])
const TYPE = 0
const FIELDS = ['type', ...new Set([...fieldsOfKind.values()].flat())]
const MESSAGE_KEYS = new KeyTable(FIELDS)

/** A scanner of live messages. Reused for any number of bodies, one at a time. */
export class VoiceLiveScanner {
  readonly #scanner = new JsonScanner(JSON_MAX_DEPTH)
  /** Per field: where its value begins and ends; -1 = it is not there, or null. */
  readonly #from = new Int32Array(FIELDS.length)
  readonly #to = new Int32Array(FIELDS.length)

  /** The kind of a live message; null for a report, and for what only JSON.parse can tell or refuse. */
  kindOf(body: Uint8Array): string | null {
    const scanner = this.#scanner
    if (!scanner.begin(body)) return null
    const at = scanner.space(0)
    this.#from.fill(-1)
    const end = scanner.typeAt(at) === JsonType.object ? this.#root(at) : -1
    return end >= 0 && scanner.finish(end) ? this.#judge() : null
  }

  #root(from: number): number {
    const scanner = this.#scanner
    let isSeen = false
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return -1
      if (this.#known(ROOT_KEYS) !== MESSAGE) at = scanner.skip(at)
      else {
        if (isSeen || scanner.typeAt(at) !== JsonType.object) return -1
        isSeen = true
        at = this.#message(at)
      }
      if (at < 0) return -1
      at = scanner.next(at, 0x7d)
    }
    return at < 0 ? -1 : scanner.close(at)
  }

  #message(from: number): number {
    const scanner = this.#scanner
    let at = scanner.open(from)
    while (at >= 0 && scanner.bytes[at] !== 0x7d) {
      at = scanner.key(at)
      if (at < 0) return -1
      const key = this.#known(MESSAGE_KEYS)
      const start = at
      at = scanner.skip(at)
      if (at < 0) return -1
      if (key >= 0) {
        this.#from[key] = scanner.typeAt(start) === JsonType.null ? -1 : start
        this.#to[key] = at
        // Reports are the longest of all, and need not be read to the end here.
        if (key === TYPE && this.#kind() === null) return -1
      }
      at = scanner.next(at, 0x7d)
    }
    return at < 0 ? -1 : scanner.close(at)
  }

  #judge(): string | null {
    const kind = this.#kind()
    const isLive = kind !== null && fieldsOfKind.get(kind)?.some(field => this.#isGiven(field))
    return isLive ? kind : null
  }

  /** The kind that the type names, null when there is none. */
  #kind(): string | null {
    const type = this.#textOf(TYPE)
    const kind = type === null ? '' : kindOfType(type)
    return fieldsOfKind.has(kind) ? kind : null
  }

  #isGiven(field: string): boolean {
    const index = FIELDS.indexOf(field)
    const from = this.#from[index] as number
    if (from < 0 || field !== 'timestamp') return from >= 0
    const text = this.#textOf(index)
    if (text !== null) return asNumber(text) !== null
    return (
      this.#scanner.typeAt(from) === JsonType.number &&
      asNumber(Number(this.#scanner.textOf(from, this.#to[index] as number))) !== null
    )
  }

  /** The text of a field, null when it is no string. */
  #textOf(index: number): string | null {
    const from = this.#from[index] as number
    if (from < 0 || this.#scanner.typeAt(from) !== JsonType.string) return null
    return this.#scanner.textOf(from + 1, (this.#to[index] as number) - 1)
  }

  #known(keys: KeyTable): number {
    const { keyStart, keyEnd, escaped } = this.#scanner
    return keys.find(this.#scanner, keyStart, keyEnd, escaped)
  }
}
