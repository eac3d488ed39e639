// Keys of metadata, by their bytes -> what is known of each. Senders use few: each is judged once a thread, as text, and then found again
// without a string.

import { OWN_PREFIX } from '#proto/metadata-keys.ts'
import { SeenBytes } from '../columns/seen-bytes.ts'
import { METADATA_BOUNDS } from '../parsers/metadata.ts'
import { isSecretName, secretsVersion } from '../parsers/secrets.ts'

/** What a key means. `odd`: an object would order it differently, or a row would change it. */
export const KeyRole = { plain: 0, odd: 1, secret: 2, asked: 3, usage: 4 } as const
export type KeyRole = (typeof KeyRole)[keyof typeof KeyRole]

/** More keys than any honest sender has: then all are forgotten. */
const KEPT_KEYS = 4096

/** The keys of one thread. */
export class MetadataKeys {
  #seen = new SeenBytes()
  #roles: KeyRole[] = []
  #names: string[] = []
  /** The last row in which each key stood. */
  #rows: number[] = []
  #row = 0
  #version = -1
  readonly #asked: ReadonlySet<string>
  readonly #usage: ReadonlySet<string>

  /** `asked`: keys whose values a reader wants to know. `usage`: those among them that speak of a model call. */
  constructor(asked: readonly string[], usage: readonly string[]) {
    this.#asked = new Set(asked)
    this.#usage = new Set(usage)
  }

  /** Begins a row. */
  begin(): void {
    if (this.#roles.length > KEPT_KEYS || this.#version !== secretsVersion()) {
      this.#seen = new SeenBytes()
      this.#roles = []
      this.#names = []
      this.#rows = []
      this.#version = secretsVersion()
    }
    this.#row++
  }

  /** The number of a key, -1 when it stood in this row before. Precondition: UTF-8. */
  find(bytes: Uint8Array, start: number, end: number): number {
    let key = this.#seen.find(bytes, start, end)
    if (key < 0) {
      const name = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')
      key = this.#roles.length
      this.#seen.keep(bytes, start, end, key)
      this.#roles.push(this.#judge(name))
      this.#names.push(name)
      this.#rows.push(-1)
    }
    if (this.#rows[key] === this.#row) return -1
    this.#rows[key] = this.#row
    return key
  }

  roleOf(key: number): KeyRole {
    return this.#roles[key] as KeyRole
  }

  nameOf(key: number): string {
    return this.#names[key] as string
  }

  #judge(name: string): KeyRole {
    // Digits alone are an index, which objects put first.
    if (/^\d+$/.test(name) || name === '__proto__' || name.startsWith(OWN_PREFIX)) return KeyRole.odd
    if (name.length > METADATA_BOUNDS.keyUnits) return KeyRole.odd
    if (isSecretName(name)) return this.#usage.has(name) || this.#asked.has(name) ? KeyRole.odd : KeyRole.secret
    return this.#usage.has(name) ? KeyRole.usage : this.#asked.has(name) ? KeyRole.asked : KeyRole.plain
  }
}
