// The bytes that a NATS server sends -> what it says (https://docs.nats.io/reference/reference-protocols/nats-protocol). Pieces may be
// cut anywhere. What is handed on are views, valid during the call.

/** What a server says. */
export interface LineEvents {
  /** At the start, and whenever its cluster changes. */
  info(json: string): void
  ping(): void
  pong(): void
  /** Its own words; most of them come just before it closes the connection. */
  error(text: string): void
  /** `number`: the last word of its subject; NaN when that is no number. `hasHeaders`: the server itself says something. */
  message(number: number, data: Uint8Array, hasHeaders: boolean): void
}

/** Whoever reads with this hears acknowledgements: what is larger than this is no NATS, or a server gone mad. */
const MAX_BYTES = 1024 * 1024
const NONE = Buffer.alloc(0)
const [LINE_FEED, SPACE, DOT, ZERO, NINE] = [0x0a, 0x20, 0x2e, 0x30, 0x39]
const [H, M] = [0x48, 0x4d]

/** Reads one connection; a new connection needs a new one. */
export class LineReader {
  readonly #events: LineEvents
  /** What came without its end. */
  #rest: Buffer = NONE

  constructor(events: LineEvents) {
    this.#events = events
  }

  /**
   * Takes what was read. `piece` may be used again afterwards.
   * @throws Error when this is no NATS protocol; the connection is of no use then.
   */
  push(piece: Buffer): void {
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    let at = 0
    while (at < bytes.length) {
      const first = bytes[at]
      const next = first === M || first === H ? this.#message(bytes, at, first === H) : this.#line(bytes, at)
      if (next < 0) break
      at = next
    }
    if (bytes.length - at > MAX_BYTES) throw new Error('the server says more than an acknowledgement')
    this.#rest = at === bytes.length ? NONE : Buffer.from(bytes.subarray(at))
  }

  /** Reads the line at `at`; returns where the next begins, or -1 when its end is not here yet. */
  #line(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LINE_FEED, at)
    if (end < 0) return -1
    const line = bytes.toString('latin1', at, end).trimEnd()
    if (line === 'PING') this.#events.ping()
    else if (line === 'PONG') this.#events.pong()
    else if (line.startsWith('INFO ')) this.#events.info(bytes.toString('utf8', at + 5, end).trimEnd())
    else if (line.startsWith('-ERR')) this.#events.error(line.slice(5))
    else if (line !== '+OK') throw new Error('the server does not speak NATS')
    return end + 1
  }

  /**
   * `MSG subject sid [reply] size` or `HMSG subject sid [reply] size-of-headers size`, and the bytes. Read in one pass without a string:
   * a busy receiver hears thousands of them a second.
   */
  #message(bytes: Buffer, from: number, hasHeaders: boolean): number {
    let words = 0
    let number = 0
    let before = 0
    let subject = Number.NaN
    let at = from
    for (; ; at++) {
      if (at === bytes.length) return -1
      const c = bytes[at] as number
      if (c === LINE_FEED) break
      if (c >= ZERO && c <= NINE) number = number * 10 + c - ZERO
      else if (c === SPACE) {
        if (words === 1) subject = number
        words++
        before = number
        number = 0
      } else if (c === DOT) number = 0
      // The carriage return ends the last number and changes nothing of it.
      else if (c !== 0x0d) number = Number.NaN
    }
    const [size, headerSize] = [number, hasHeaders ? before : 0]
    if (words < 3 || !(size <= MAX_BYTES) || !(headerSize <= size)) throw new Error('a message without a size')
    const start = at + 1
    const next = start + size + 2
    if (next > bytes.length) return -1
    this.#events.message(subject, bytes.subarray(start + headerSize, next - 2), hasHeaders)
    return next
  }
}
