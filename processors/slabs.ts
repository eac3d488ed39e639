// Large memory that is used for range after range: the owner lends it to a thread, which writes blocks there, and has it back when they
// are stored. It is shared memory, which V8 counts for nobody: blocks in memory of their own, 25 MB a range, come and go as if they were
// objects, and the owner's heap was collected for their sake. And pages that were written once are there already.
import { backFrom } from './let-go.ts'

/** Smaller ranges than this come seldom or do not matter. */
const PAYLOAD_MIN_BYTES = 1024 * 1024
/** Sizes are multiples of this, so that what one range leaves fits the next. */
const STEP_BYTES = 4 * 1024 * 1024
/** So much may wait to be used, … */
const IDLE_MAX_BYTES = 128 * 1024 * 1024
/** … for so long. */
const IDLE_MS = 10_000

/** See above. */
export class Slabs {
  #idle: SharedArrayBuffer[] = []
  #timer: NodeJS.Timeout | undefined
  /** Bytes of blocks for a byte of payload, as ranges of late had them. */
  #growth = 1.75

  /** Memory for the blocks of a range, as large as they may well be; undefined for a small range. */
  lend(payloadBytes: number): SharedArrayBuffer | undefined {
    if (payloadBytes < PAYLOAD_MIN_BYTES) return undefined
    const wanted = Math.ceil((payloadBytes * this.#growth * 1.1) / STEP_BYTES) * STEP_BYTES
    const fitting = this.#idle.filter(slab => slab.byteLength >= wanted && slab.byteLength <= 2 * wanted)
    const found = fitting.sort((a, b) => a.byteLength - b.byteLength)[0]
    if (found === undefined) return new SharedArrayBuffer(wanted)
    this.#idle = this.#idle.filter(slab => slab !== found)
    return found
  }

  /** Takes bodies that a thread made, some of them in `slab`; it comes back here when all of those are let go. */
  received(slab: SharedArrayBuffer, payloadBytes: number, bodies: readonly Uint8Array[]): Uint8Array[] {
    const size = bodies.reduce((sum, body) => sum + body.length, 0)
    // Ranges differ: what one needed is forgotten slowly.
    this.#growth = Math.max(size / payloadBytes, this.#growth * 0.95)
    let inside = 0
    const own = bodies.map(body => {
      if (!(body.buffer instanceof SharedArrayBuffer)) return body
      inside++
      // A thread's answer has another handle of the same memory.
      return new Uint8Array(slab, body.byteOffset, body.length)
    })
    const back = (): void => this.#keep(slab)
    if (inside === 0) back()
    else backFrom(slab, inside, back)
    return own
  }

  #keep(slab: SharedArrayBuffer): void {
    const held = this.#idle.reduce((sum, { byteLength }) => sum + byteLength, 0)
    if (held + slab.byteLength <= IDLE_MAX_BYTES) this.#idle.push(slab)
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#idle = []
    }, IDLE_MS)
    this.#timer.unref()
  }
}
