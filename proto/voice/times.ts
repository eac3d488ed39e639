// One object of a report (a message, a tool call) -> what it says of its time, in the units it is known to have. What bare numbers mean
// is decided for the whole call: clock.ts.
import { digitsOf, type JsonObject } from '#proto/json.ts'
import { asNumber, instantOfNumber, instantOfText } from './values.ts'

/** What an object says of its time. Each is null when it isn't said. */
export interface Times {
  startedAtMs: number | null
  /** A number that is no instant: an offset from the start of the call, in a unit yet to be found out. */
  startBare: number | null
  startOffsetMs: number | null
  endedAtMs: number | null
  endBare: number | null
  endOffsetMs: number | null
  durationMs: number | null
  /** A duration in a unit yet to be found out. */
  durationBare: number | null
}

type Kind = 'start' | 'end' | 'start offset' | 'duration'

interface Slot {
  readonly kind: Kind
  /** The lowest of a kind counts. */
  readonly rank: number
  /** Milliseconds of the unit, null where it is not known. */
  readonly unitMs: number | null
}

/** Fields by what they say, in order of precedence. */
const fields: readonly (readonly [Kind, unitMs: number | null, names: readonly string[]])[] = [
  ['start', null, ['time', 'startTime', 'start_time', 'startedAt', 'timestamp', 'start']],
  ['end', null, ['endTime', 'end_time', 'endedAt', 'end']],
  ['start offset', 1000, ['secondsFromStart', 'seconds_from_start', 'time_in_call_secs']],
  ['start offset', 1, ['millisecondsFromStart', 'offsetMs', 'startMs']],
  ['duration', 1, ['durationMs', 'duration_ms']],
  ['duration', 1000, ['durationSeconds', 'duration_seconds']],
  ['duration', null, ['duration']],
]

const slots: ReadonlyMap<string, Slot> = new Map(
  fields.flatMap(([kind, unitMs, names], group) =>
    names.map((name, i) => [name, { kind, unitMs, rank: group * 10 + i }] as const),
  ),
)

/** Bare numbers are below: what is larger is an instant. */
const BARE_BELOW = 1e8

/** Reads an object's own fields. One walk over its keys: reports have thousands of messages, and the receiver waits. */
export function timesIn(object: JsonObject): Times {
  const times: Times = {
    startedAtMs: null,
    startBare: null,
    startOffsetMs: null,
    endedAtMs: null,
    endBare: null,
    endOffsetMs: null,
    durationMs: null,
    durationBare: null,
  }
  const ranks = { start: 99, end: 99, 'start offset': 99, duration: 99 }
  for (const key of Object.keys(object)) {
    const slot = slots.get(key)
    if (slot === undefined || slot.rank >= ranks[slot.kind]) continue
    const value = digitsOf(object[key]) ?? object[key]
    if ((typeof value === 'number' || typeof value === 'string') && put(times, slot, value))
      ranks[slot.kind] = slot.rank
  }
  return times
}

/** Takes a value; false when it says no time. */
function put(times: Times, { kind, unitMs }: Slot, value: number | string): boolean {
  const number = asNumber(value)
  if (kind === 'duration' || kind === 'start offset') {
    if (number === null || number < 0) return false
    if (kind === 'start offset') times.startOffsetMs = number * (unitMs as number)
    else {
      times.durationMs = unitMs === null ? null : number * unitMs
      times.durationBare = unitMs === null ? number : null
    }
    return true
  }
  const bare = number !== null && number > 0 && number < BARE_BELOW ? number : null
  const text = number === null && typeof value === 'string' ? value : null
  const instant = text === null ? instantOfNumber(number) : instantOfText(text)
  const offset = instant === null ? clockTime(text) : null
  if (bare === null && instant === null && offset === null) return false
  if (kind === 'end') {
    times.endedAtMs = instant
    times.endBare = bare
    times.endOffsetMs = offset
    return true
  }
  times.startedAtMs = instant
  times.startBare = bare
  // An offset of a field of its own says more than the same beside an instant.
  if (offset !== null) times.startOffsetMs ??= offset
  return true
}

/** Milliseconds of `1:23`, `00:01:23.5` or `83.5s`; null for other text. */
export function clockTime(text: string | null): number | null {
  const match = /^(?:(?:(\d{1,2}):)?(\d{1,3}):(\d\d(?:[.,]\d{1,3})?)|(\d{1,5}(?:\.\d{1,3})?)\s?s)$/.exec(text ?? '')
  if (match === null) return null
  if (match[4] !== undefined) return Number(match[4]) * 1000
  const [hours, minutes, seconds] = [match[1] ?? '0', match[2], match[3]?.replace(',', '.')].map(Number)
  return ((hours as number) * 3600 + (minutes as number) * 60 + (seconds as number)) * 1000
}
