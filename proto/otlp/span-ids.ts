// Trace and span ids: what counts as one, in bytes and in the text forms that senders of OTLP JSON use.

/** Bytes of a trace id and of a span id. */
export const TRACE_ID_BYTES = 16
export const SPAN_ID_BYTES = 8

const HEX = /^[0-9a-fA-F]+$/
const BASE64 = /^[0-9a-zA-Z+/_-]+={0,2}$/

/** True for an id of `size` bytes at `start` that is not all zeros. */
export function isIdAt(bytes: Uint8Array, start: number, length: number, size: number): boolean {
  return length === size && !isZeroAt(bytes, start, length)
}

/** True when all bytes are zero: OTLP's way of saying "none". */
export function isZeroAt(bytes: Uint8Array, start: number, length: number): boolean {
  for (let i = start; i < start + length; i++) if (bytes[i] !== 0) return false
  return true
}

/**
 * The lower-case hex of an id in OTLP JSON: hex of either case as the specification says, or base64 of exactly `size`
 * bytes, which exporters built on a generic protobuf-JSON mapping send. null when it is neither, or all zeros.
 */
export function idFromText(text: unknown, size: number): string | null {
  if (typeof text !== 'string') return null
  let hex: string
  if (text.length === size * 2 && HEX.test(text)) hex = text.toLowerCase()
  else {
    const digits = Math.ceil((size * 4) / 3)
    if (text.length < digits || text.length > digits + 2 || !BASE64.test(text)) return null
    const decoded = Buffer.from(text, 'base64')
    if (decoded.length !== size) return null
    hex = decoded.toString('hex')
  }
  return isZeroText(hex) ? null : hex
}

/** True for a text of zeros only, '' included. */
export function isZeroText(text: string): boolean {
  return /^0*$/.test(text)
}
