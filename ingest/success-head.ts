// Format and receipt -> what stands before the body of a 200, as bytes, made anew in the same memory for each answer: text would have to
// be joined, measured, copied and freed on its way into the server.
import { NO_FRAME } from '#ingest/intake.ts'
import type { Format } from '#ingest/reply.ts'
import { contentTypeOf, RECEIPT_HEADER } from '#ingest/reply.ts'

/** Room for a receipt: partition and sequence have ten and sixteen digits at most, the frame ten. */
const RECEIPT_BYTES = 64
const ZERO = 0x30

/** Status and headers of 200s of one format. */
export class SuccessHead {
  readonly #bytes: Buffer
  /** The first n bytes, at n: a view for each answer would cost as much as the text. */
  readonly #views: readonly Uint8Array[]
  readonly #receiptAt: number
  #receiptHead = ''
  #frameAt: number

  constructor(format: Format) {
    const before = `200 OK\r\nContent-Type: ${contentTypeOf(format)}\r\n${RECEIPT_HEADER}: `
    const bytes = Buffer.allocUnsafeSlow(before.length + RECEIPT_BYTES)
    this.#bytes = bytes
    this.#receiptAt = bytes.write(before, 'latin1')
    this.#frameAt = this.#receiptAt
    this.#views = Array.from({ length: bytes.length + 1 }, (_, length) => bytes.subarray(0, length))
  }

  /** The status with its headers behind it, as the server's status line; valid until the next call. */
  of(receiptHead: string, frame: number): Uint8Array {
    if (receiptHead !== this.#receiptHead) {
      this.#receiptHead = receiptHead
      this.#frameAt = this.#receiptAt + this.#bytes.write(receiptHead, this.#receiptAt, 'latin1')
    }
    return this.#views[frame === NO_FRAME ? this.#frameAt : this.#writeFrame(frame)] as Uint8Array
  }

  /** Writes the frame's digits; returns where they end. */
  #writeFrame(frame: number): number {
    let digits = 1
    for (let rest = frame; rest >= 10; rest = Math.trunc(rest / 10)) digits++
    const end = this.#frameAt + digits
    let rest = frame
    for (let at = end - 1; at >= this.#frameAt; at--) {
      this.#bytes[at] = ZERO + (rest % 10)
      rest = Math.trunc(rest / 10)
    }
    return end
  }
}
