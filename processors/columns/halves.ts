// Text -> 64-bit integers in two halves: decimals and times that no double can hold, without a BigInt. What the last call found
// stands in `half`, so that nothing is allocated for a value.
import { Unfit } from './column.ts'

/** The result of the last call: 32 bits each, unsigned. */
export const half = { low: 0, high: 0 }

const TWO_32 = 2 ** 32
const ZERO = 48

/** `a * (factorHigh * 2^16 + factorLow) + b`, exact as long as both products stay below 2^53. */
function multiplyAdd(a: number, factorHigh: number, factorLow: number, b: number): void {
  const upper = a * factorHigh
  const upperHigh = Math.floor(upper / 65536)
  const lower = a * factorLow + b + (upper - upperHigh * 65536) * 65536
  const carry = Math.floor(lower / TWO_32)
  half.low = lower - carry * TWO_32
  half.high = upperHigh + carry
}

/** The digits of `text` from `start` to `end` as a number. Precondition: at most 15 of them. */
function digits(text: string, start: number, end: number): number {
  let value = 0
  for (let i = start; i < end; i++) {
    const digit = text.charCodeAt(i) - ZERO
    if (!(digit >= 0 && digit <= 9)) throw new Unfit(`no digit at ${i} of ${text.slice(0, 40)}`)
    value = value * 10 + digit
  }
  return value
}

/** An unsigned 64-bit integer from its decimal digits. @throws Unfit for anything else. */
export function halvesOfDecimal(text: string): void {
  if (text.length === 0 || text.length > 20) throw new Unfit(`no 64-bit integer: ${text.slice(0, 40)}`)
  const cut = Math.max(0, text.length - 10)
  // 10^10 = 152,587 * 2^16 + 58,368
  multiplyAdd(digits(text, 0, cut), 152_587, 58_368, digits(text, cut, text.length))
  if (half.high >= TWO_32) throw new Unfit(`more than 64 bits: ${text}`)
}

/** A whole number of either sign in two's complement. Precondition: below 2^64, above -2^63. */
export function halvesOfNumber(value: number): void {
  const high = Math.floor(value / TWO_32)
  half.low = value - high * TWO_32
  half.high = high >>> 0
}

/**
 * Unix nanoseconds (of 9 digits) or milliseconds (of 3) of a time as proto/time.ts writes it, `YYYY-MM-DD hh:mm:ss.fff…`.
 * @throws Unfit for another form, and for times that 64 bits cannot hold.
 */
export function halvesOfTime(text: string, fraction: 3 | 9): void {
  if (text.length !== 20 + fraction || text[10] !== ' ' || text[19] !== '.')
    throw new Unfit(`no time: ${text.slice(0, 40)}`)
  const month = digits(text, 5, 7)
  const day = digits(text, 8, 10)
  if (month < 1 || month > 12 || day < 1 || day > 31) throw new Unfit(`no date: ${text}`)
  const days = daysOf(digits(text, 0, 4), month, day)
  const seconds = days * 86_400 + digits(text, 11, 13) * 3600 + digits(text, 14, 16) * 60 + digits(text, 17, 19)
  const rest = digits(text, 20, 20 + fraction)
  if (fraction === 3) {
    halvesOfNumber(seconds * 1000 + rest)
    return
  }
  // 10^9 = 15,258 * 2^16 + 51,712
  multiplyAdd(seconds, 15_258, 51_712, rest)
  if (half.high >= 2 ** 31 || half.high < -(2 ** 31)) throw new Unfit(`a time beyond 64 bits of nanoseconds: ${text}`)
  half.high >>>= 0
}

/** Unix nanoseconds of an instant from 1970 on, of whole milliseconds and the nanoseconds below them. */
export function halvesOfInstant(ms: number, ns: number): void {
  const seconds = Math.floor(ms / 1000)
  multiplyAdd(seconds, 15_258, 51_712, (ms - seconds * 1000) * 1_000_000 + ns)
}

/** Days since 1970-01-01 of a Gregorian date: years begin in March, so that a leap day ends one. */
function daysOf(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  return y * 365 + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + dayOfYear - 719_468
}
