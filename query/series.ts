// Windows -> buckets of a series: how long they are, how the store names them, and every one of them, so that empty ones are shown.
import type { Window } from './window.ts'
import { isLong, localDay, startOfDay } from './window.ts'

const DAY_S = 86_400
const WEEK_S = 7 * DAY_S

/** The buckets of one series. */
export interface Series {
  readonly seconds: number
  /** SQL of a bucket's name; `{timezone}` must be bound where days are meant. */
  readonly sql: string
  /** Names and beginnings (ISO 8601) of all buckets, oldest first. */
  readonly buckets: readonly { readonly name: string; readonly at: string }[]
}

/** Longest windows in seconds and the buckets that they are cut into; beyond the last, weeks. */
const SIZES = [
  [60, 5],
  [3600, 60],
  [DAY_S, 1800],
  [7 * DAY_S, 21_600],
  [180 * DAY_S, DAY_S],
] as const

/** Length of the buckets of a window, in seconds. */
function bucketSeconds(fromMs: number, toMs: number): number {
  return SIZES.find(([longest]) => (toMs - fromMs) / 1000 <= longest)?.[1] ?? WEEK_S
}

/** The buckets of a window; `firstMs` is when the data begin, for windows that are long. */
export function seriesOf(window: Window, nowMs: number, firstMs: number | null): Series {
  const toMs = Math.min(window.toMs, nowMs)
  const long = isLong(window, nowMs)
  const fromMs = long ? Math.max(Math.min(firstMs ?? toMs, toMs), window.fromMs) : window.fromMs
  // All of time is told by days at least, however short it has been.
  const seconds = Math.max(bucketSeconds(fromMs, toMs), long ? DAY_S : 0)
  if (seconds < DAY_S)
    return {
      seconds,
      sql: `toString(intDiv(toUnixTimestamp(ts), ${seconds}) * ${seconds})`,
      buckets: byClock(fromMs, toMs, seconds),
    }
  const day = daySql(window.timezone)
  if (seconds === DAY_S) return { seconds, sql: `toString(${day})`, buckets: daysOf(fromMs, toMs, window.timezone) }
  const mondays = daysOf(fromMs, toMs, window.timezone, true)
  return { seconds, sql: `toString(toMonday(${day}))`, buckets: mondays }
}

/** The day of an event. In UTC these are the words of the aggregates by day. */
export const daySql = (timezone: string): string =>
  timezone === 'UTC' ? 'toDate(ts)' : 'toDate(ts, {timezone:String})'

/** The days from one instant to another, both included; or the weeks, by their Mondays. */
export function daysOf(fromMs: number, toMs: number, timezone: string, weeks = false): Series['buckets'] {
  const last = localDay(toMs, timezone)
  let day = localDay(fromMs, timezone)
  if (weeks) day = plusDays(day, -((new Date(day).getUTCDay() + 6) % 7))
  const buckets: { name: string; at: string }[] = []
  for (; day <= last; day = plusDays(day, weeks ? 7 : 1)) {
    buckets.push({ name: day, at: new Date(startOfDay(day, timezone)).toISOString() })
  }
  return buckets
}

const plusDays = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_S * 1000).toISOString().slice(0, 10)

function byClock(fromMs: number, toMs: number, seconds: number): Series['buckets'] {
  const buckets: { name: string; at: string }[] = []
  for (let at = Math.floor(fromMs / 1000 / seconds) * seconds; at * 1000 <= toMs; at += seconds) {
    buckets.push({ name: String(at), at: new Date(at * 1000).toISOString() })
  }
  return buckets
}

/**
 * Values by bucket name -> a point for every bucket. Where senders' clocks run ahead there are values after the last one: they are
 * shown, so that points add up to the total.
 */
export function fillSeries<T, P>(
  { buckets }: Pick<Series, 'buckets'>,
  found: ReadonlyMap<string, T>,
  timezone: string,
  point: (at: string, value: T | undefined) => P,
): P[] {
  const last = buckets.at(-1)?.name ?? ''
  const ahead = [...found.keys()].filter(name => name > last).sort()
  return [
    ...buckets.map(({ name, at }) => point(at, found.get(name))),
    ...ahead.map(name => point(beginOf(name, timezone), found.get(name))),
  ]
}

/** When a bucket begins, from its name. */
function beginOf(name: string, timezone: string): string {
  const ms = name.includes('-') ? startOfDay(name, timezone) : Number(name) * 1000
  return new Date(ms).toISOString()
}
