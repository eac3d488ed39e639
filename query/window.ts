// Time ranges -> the instants they begin and end at, as bound parameters.
import type { TimeFields, TimeRange } from '#proto/dashboard/shared.ts'
import { ParleyError } from '#proto/errors.ts'
import { isDay, sqlMillis } from '#proto/time.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const LENGTH_MS: Readonly<Record<Exclude<TimeRange, 'all'>, number>> = {
  '1min': MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  '1d': DAY_MS,
  '1w': 7 * DAY_MS,
  // The contract's `m` is a month of 30 days.
  '1m': 30 * DAY_MS,
}

/** Later than any event, and the last whole year of the store's 32-bit hours: the table's sorting key holds such hours. */
const OPEN_END_MS = Date.UTC(2106, 0, 1)

/** A window of time: `from` belongs to it, `to` does not. */
export interface Window {
  readonly fromMs: number
  /** Infinity for a window that was asked for by `time_range`: an event whose sender's clock runs ahead is seen at once. */
  readonly toMs: number
  /** IANA name; days of series begin at its midnights. */
  readonly timezone: string
  /**
   * `from` and `to` as DateTime64, and the days that hold them as Date. Days between the two are whole, so an aggregate by day can
   * answer for them; `first_end` and `last_start` are where they begin and end.
   */
  readonly parameters: {
    readonly from: string
    readonly to: string
    readonly from_day: string
    readonly to_day: string
    readonly first_end: string
    readonly last_start: string
  }
}

/**
 * The window of a request that is answered at `nowMs`: rolling by `time_range`, or fixed by `from` and `to`.
 * @throws ParleyError REQ_BODY_INVALID for a time zone or times that do not exist, and for an end before its beginning.
 */
export function windowOf(request: TimeFields, nowMs: number): Window {
  const timezone = request.timezone ?? 'UTC'
  requireTimezone(timezone)
  const toMs = request.to === undefined ? Number.POSITIVE_INFINITY : instantOf('to', request.to, timezone)
  if (request.from !== undefined) {
    const fromMs = instantOf('from', request.from, timezone)
    if (fromMs >= toMs) throw new ParleyError('REQ_BODY_INVALID', 'to must be later than from', { field: 'to' })
    return windowBetween(fromMs, toMs, timezone)
  }
  const end = Math.min(toMs, nowMs)
  return windowBetween(request.time_range === 'all' ? 0 : end - LENGTH_MS[request.time_range], toMs, timezone)
}

/** Everything since `fromMs`. */
export function windowFrom(fromMs: number): Window {
  return windowBetween(fromMs, Number.POSITIVE_INFINITY)
}

/** Everything from `fromMs` on and before `toMs`. */
export function windowBetween(fromMs: number, toMs: number, timezone = 'UTC'): Window {
  const start = Math.max(fromMs, 0)
  const end = Math.min(toMs, OPEN_END_MS)
  const midnight = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS
  const parameters = {
    from: sqlMillis(start),
    to: sqlMillis(end),
    from_day: sqlMillis(start).slice(0, 10),
    to_day: sqlMillis(end).slice(0, 10),
    first_end: sqlMillis(midnight(start) + DAY_MS),
    last_start: sqlMillis(midnight(end)),
  }
  return { fromMs: start, toMs, timezone, parameters }
}

/** Series of longer windows begin with their data, and have buckets of days at least: a beginning in 1971 is none. */
const LONG_MS = 366 * DAY_MS

/** Whether a window is that long; one without a beginning is. */
export const isLong = ({ fromMs, toMs }: Window, nowMs: number): boolean => Math.min(toMs, nowMs) - fromMs > LONG_MS

/** The window of the same length that ends where this one begins; null when it has no beginning. */
export function windowBefore(window: Window, nowMs: number): Window | null {
  if (window.fromMs === 0) return null
  const length = Math.min(window.toMs, nowMs) - window.fromMs
  return windowBetween(window.fromMs - length, window.fromMs, window.timezone)
}

/** What a read of a window and the one before it binds: both as one window, and the instant and day at which the later one begins. */
export function parametersOfBoth(window: Window, before: Window): Readonly<Record<string, string>> {
  const both = windowBetween(before.fromMs, window.toMs, window.timezone).parameters
  const { from: split, from_day: split_day, first_end: split_end } = window.parameters
  return { ...both, split, split_day, split_start: `${split_day} 00:00:00.000`, split_end }
}

function requireTimezone(timezone: string): void {
  // Of most requests, and a format takes longer to make than most of what they do with it.
  if (timezone === 'UTC') return
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch (cause) {
    throw new ParleyError('REQ_BODY_INVALID', 'timezone must be an IANA name such as Europe/Berlin', {
      field: 'timezone',
      cause,
    })
  }
}

const HAS_OFFSET = /(Z|[+-]\d\d:\d\d)$/

/** An ISO date or time; without an offset it is local to the time zone. */
function instantOf(field: string, text: string, timezone: string): number {
  const whole = text.length === 10 ? `${text}T00:00` : text
  const ms = Date.parse(HAS_OFFSET.test(whole) ? whole : `${whole}Z`)
  // Beyond the store's hours nothing can be; days that a month does not have are rolled over by the parser, not refused.
  if (Number.isNaN(ms) || ms < 0 || ms > OPEN_END_MS || !isDay(whole.slice(0, 10))) {
    throw new ParleyError('REQ_BODY_INVALID', `${field} must be a date or time between 1970 and 2105`, { field })
  }
  return HAS_OFFSET.test(whole) ? ms : ms - offsetMs(ms - offsetMs(ms, timezone), timezone)
}

/** The clock that was asked last: a series asks it once a day, and to make one takes fifty times as long as to read it. */
let clock: { readonly timezone: string; readonly format: Intl.DateTimeFormat } | undefined

function clockOf(timezone: string): Intl.DateTimeFormat {
  if (clock?.timezone === timezone) return clock.format
  const numbers = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const more = { timeZone: timezone, hourCycle: 'h23', second: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en-US', { ...numbers, ...more })
  clock = { timezone, format }
  return format
}

/** What the clocks of a time zone are ahead of UTC at an instant. */
function offsetMs(ms: number, timezone: string): number {
  if (timezone === 'UTC') return 0
  const parts = clockOf(timezone).formatToParts(ms)
  const of = (type: string): number => Number(parts.find(part => part.type === type)?.value)
  const local = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
  return local - Math.floor(ms / 1000) * 1000
}

/** The day (YYYY-MM-DD) that an instant belongs to in a time zone. */
export function localDay(ms: number, timezone: string): string {
  return new Date(ms + offsetMs(ms, timezone)).toISOString().slice(0, 10)
}

/** The instant at which a day begins in a time zone. */
export function startOfDay(day: string, timezone: string): number {
  const ms = Date.parse(day)
  return ms - offsetMs(ms - offsetMs(ms, timezone), timezone)
}
