// Instants as {ms, ns}: whole Unix milliseconds and the 0..999,999 nanoseconds below them. A Unix time in nanoseconds does
// not fit a double, and BigInt costs too much per span.

/** An instant. `ms` may be negative (before 1970). */
export interface Instant {
  readonly ms: number
  readonly ns: number
}

/** From whole milliseconds. */
export function fromMs(ms: number): Instant {
  return { ms, ns: 0 }
}

/**
 * From the decimal digits of Unix nanoseconds (OTLP JSON), exactly: JSON.parse of the same digits would lose up to 256 ns.
 * Returns null when the text is no run of digits or is beyond the year 2262 (int64 nanoseconds).
 */
export function fromNanosText(digits: string): Instant | null {
  if (!/^\d{1,19}$/.test(digits)) return null
  const cut = digits.length - 6
  return cut <= 0 ? { ms: 0, ns: Number(digits) } : { ms: Number(digits.slice(0, cut)), ns: Number(digits.slice(cut)) }
}

/** From a little-endian fixed64 of Unix nanoseconds (OTLP protobuf), given as its two halves. */
export function fromNanosHalves(low: number, high: number): Instant {
  return { ms: msOfHalves(low, high), ns: nsOfHalves(low, high) }
}

/** The whole milliseconds of such a time. */
export function msOfHalves(low: number, high: number): number {
  // high * 2^32 ns = high * 4294 ms + high * 967,296 ns; every product stays below 2^53.
  const ns = high * 967_296 + (low % 1_000_000)
  return high * 4294 + Math.floor(low / 1_000_000) + Math.floor(ns / 1_000_000)
}

/** The nanoseconds below them. */
export function nsOfHalves(low: number, high: number): number {
  return (high * 967_296 + (low % 1_000_000)) % 1_000_000
}

/** `b - a` in nanoseconds; exact up to 104 days, a double beyond. */
export function nanosBetween(a: Instant, b: Instant): number {
  return (b.ms - a.ms) * 1_000_000 + (b.ns - a.ns)
}

/** How far a sent time may stand from its arrival before it is clamped. */
export interface ClampLimits {
  readonly pastMs: number
  readonly futureMs: number
}

/** The default: 400 days back, one day ahead. */
export const CLAMP: ClampLimits = { pastMs: 400 * 86_400_000, futureMs: 86_400_000 }

/** The instant itself, or the nearest allowed one; compare by reference to learn whether it was clamped. */
export function clamp(at: Instant, receivedAtMs: number, limits: ClampLimits = CLAMP): Instant {
  if (at.ms < receivedAtMs - limits.pastMs) return fromMs(receivedAtMs - limits.pastMs)
  if (at.ms > receivedAtMs + limits.futureMs) return fromMs(receivedAtMs + limits.futureMs)
  return at
}

/** Whether `clamp` leaves an instant of these milliseconds as it is. */
export function isWithin(ms: number, receivedAtMs: number, limits: ClampLimits = CLAMP): boolean {
  return ms >= receivedAtMs - limits.pastMs && ms <= receivedAtMs + limits.futureMs
}

const DAY_MS = 86_400_000
/** The day that was written last: what arrives together happened together. */
let writtenDay = Number.NaN
let writtenDate = ''

const pad = (width: number): string[] => Array.from({ length: 10 ** width }, (_, n) => String(n).padStart(width, '0'))
const TWO = pad(2)
const THREE = pad(3)

/** `YYYY-MM-DD hh:mm:ss.nnnnnnnnn` in UTC, as ClickHouse's DateTime64(9) reads it. Precondition: years 0001 to 9999. */
export function sqlNanos(at: Instant): string {
  return `${sqlMillis(at.ms)}${THREE[Math.floor(at.ns / 1000)]}${THREE[at.ns % 1000]}`
}

/** `YYYY-MM-DD hh:mm:ss.mmm` in UTC, as DateTime64(3) reads it. */
export function sqlMillis(ms: number): string {
  const whole = Math.trunc(ms)
  const day = Math.floor(whole / DAY_MS)
  if (day !== writtenDay) {
    writtenDate = new Date(whole).toISOString().slice(0, 10)
    writtenDay = day
  }
  const rest = whole - day * DAY_MS
  const seconds = Math.floor(rest / 1000)
  const time = `${TWO[Math.floor(seconds / 3600)]}:${TWO[Math.floor(seconds / 60) % 60]}:${TWO[seconds % 60]}`
  return `${writtenDate} ${time}.${THREE[rest % 1000]}`
}

/** The month of an instant as YYYYMM in UTC: the time part of a table partition. */
export function monthOf(ms: number): number {
  const date = new Date(ms)
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1
}

/** Whether the calendar has a day (YYYY-MM-DD): Date.parse rolls over those that a month does not have. */
export function isDay(day: string): boolean {
  const ms = Date.parse(day)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day)
}
