// Ids as they stand in frames and bodies: is it a uuid, and what does the memory of identities keep of it?
import { hash } from 'node:crypto'
import { MINTED_AT } from '#proto/envelope.ts'
import { FINGERPRINT_BYTES } from '#proto/ids.ts'
import { HEX } from '#proto/scan/json.ts'
import { HEX_DIGITS } from '../columns/utf8.ts'

const UUID_CHARACTERS = 36

/** -1 for what is no uuid of 36 characters, 1 for one with capital letters, else 0. */
export function uuidAt(bytes: Uint8Array, start: number, end: number): -1 | 0 | 1 {
  if (end - start !== UUID_CHARACTERS) return -1
  let capital: 0 | 1 = 0
  for (let i = 0; i < UUID_CHARACTERS; i++) {
    const byte = bytes[start + i] as number
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (byte !== 0x2d) return -1
    } else if (HEX[byte] === -1) return -1
    else if (byte >= 0x41 && byte <= 0x46) capital = 1
  }
  return capital
}

/** True for the nil uuid, which means none. Precondition: a uuid. */
export function isNilAt(bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < UUID_CHARACTERS; i++) if ((bytes[start + i] as number) > 0x30) return false
  return true
}

/** True when the receiver minted an id for the frame at `frame`. */
export function isMintedAt(bytes: Uint8Array, frame: number): boolean {
  for (let i = 0; i < 16; i++) if (bytes[frame + MINTED_AT + i] !== 0) return true
  return false
}

const KIND = 'event:'

/** Fingerprints of events, in order: what proto/ids.ts makes of their ids as text. */
export class Prints {
  #list: Buffer = Buffer.alloc(FINGERPRINT_BYTES * 256)
  #count = 0
  /** `event:<organization>:<id>` */
  readonly #named = Buffer.alloc(KIND.length + UUID_CHARACTERS * 2 + 1)
  readonly #idAt = KIND.length + UUID_CHARACTERS + 1
  #organization = ''

  /** Of an id in lower case. */
  ofText(organization: string, id: string): void {
    this.#named.write(id, this.#idAt, 'latin1')
    this.#add(organization)
  }

  /** Of the 36 characters at `at`, in either case. */
  ofCharacters(organization: string, bytes: Uint8Array, at: number): void {
    for (let i = 0; i < UUID_CHARACTERS; i++) {
      const byte = bytes[at + i] as number
      this.#named[this.#idAt + i] = byte >= 0x41 && byte <= 0x46 ? byte + 32 : byte
    }
    this.#add(organization)
  }

  /** Of the 16 bytes at `at`. */
  ofBytes(organization: string, bytes: Uint8Array, at: number): void {
    let to = this.#idAt
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) this.#named[to++] = 0x2d
      const byte = bytes[at + i] as number
      this.#named[to++] = HEX_DIGITS[byte >> 4] as number
      this.#named[to++] = HEX_DIGITS[byte & 15] as number
    }
    this.#add(organization)
  }

  /** Copies the print of an event. */
  copy(event: number, into: Uint8Array, at: number): void {
    const from = event * FINGERPRINT_BYTES
    for (let i = 0; i < FINGERPRINT_BYTES; i++) into[at + i] = this.#list[from + i] as number
  }

  #add(organization: string): void {
    if (organization !== this.#organization) {
      this.#named.write(`${KIND}${organization}:`, 0, 'latin1')
      this.#organization = organization
    }
    const at = this.#count * FINGERPRINT_BYTES
    if (at === this.#list.length) this.#list = Buffer.concat([this.#list, Buffer.alloc(at)])
    this.#list.set(hash('sha1', this.#named, 'buffer').subarray(0, FINGERPRINT_BYTES), at)
    this.#count++
  }
}
