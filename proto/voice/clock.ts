// The times of a call's messages -> Unix milliseconds. Platforms write instants and offsets from the start of the call, in several
// units and not always those that they declare; what a number means is decided once for a call, from all of its messages.
import { isObject, type JsonObject } from '#proto/json.ts'
import { type Times, timesIn } from './times.ts'
import { instantAt, numberAt } from './values.ts'

/** When something in a call began and ended. Unix milliseconds, or milliseconds from the start where a clock has no anchor. */
export interface Span {
  readonly startedAtMs: number | null
  readonly endedAtMs: number | null
}

/** How the times of one call are to be read. */
export interface Clock {
  /** The start of the call in Unix milliseconds. null = unknown: then times count from 0, the start. */
  readonly startedAtMs: number | null
  readonly endedAtMs: number | null
  /** Milliseconds of the whole call, null when the report doesn't say. */
  readonly lengthMs: number | null
  /** Milliseconds of the unit of bare offsets, and of `duration`. */
  readonly offsetUnitMs: number
  readonly durationUnitMs: number
  /** What messages say of their times, as far as they were read. */
  readonly times: ReadonlyMap<JsonObject, Times>
}

/** Where a report says when the call began, ended, and how long it took. */
const callStarts = ['startedAt', 'artifact.startedAt', 'call.startedAt']
const callEnds = ['endedAt', 'artifact.endedAt', 'call.endedAt']
const callLengths: readonly (readonly [unitMs: number, paths: readonly string[]])[] = [
  [1, ['durationMs', 'artifact.durationMs', 'call.durationMs']],
  [1000, ['durationSeconds', 'artifact.durationSeconds', 'call.durationSeconds']],
  [60_000, ['durationMinutes', 'artifact.durationMinutes', 'call.durationMinutes']],
]

/** A duration beyond which `duration` cannot be seconds: nobody speaks for five minutes on end. */
const SECONDS_MAX = 300
/** Whole numbers from here on are milliseconds when nothing else tells. */
const WHOLE_SECONDS_MAX = 1000
/** How far a message may be past the end of its call. */
const SLACK_MS = 30_000

/** The clock of a report's message. `messages`: those of all its transcripts. */
export function clockOf(message: JsonObject, messages: readonly unknown[]): Clock {
  const times = new Map<JsonObject, Times>()
  for (const each of messages) if (isObject(each)) times.set(each, timesIn(each))
  const endedAtMs = instantAt(message, callEnds)
  const length = lengthOf(message)
  const sent = instantAt(message, callStarts)
  const startedAtMs = sent ?? startBy(times.values()) ?? sum(endedAtMs, length === null ? null : -length)
  const spent = startedAtMs === null || endedAtMs === null || endedAtMs < startedAtMs ? null : endedAtMs - startedAtMs
  const lengthMs = length ?? spent
  return {
    startedAtMs,
    endedAtMs: endedAtMs ?? sum(startedAtMs, length),
    lengthMs,
    offsetUnitMs: offsetUnit(times.values(), lengthMs),
    durationUnitMs: durationUnit(times.values(), lengthMs),
    times,
  }
}

function lengthOf(message: JsonObject): number | null {
  for (const [unitMs, paths] of callLengths) {
    const length = numberAt(message, paths)
    if (length !== null && length >= 0) return length * unitMs
  }
  return null
}

/** The start of the call by the first message that has an instant and an offset, else the earliest instant of all. */
function startBy(all: Iterable<Times>): number | null {
  let earliest: number | null = null
  for (const { startedAtMs, startOffsetMs } of all) {
    if (startedAtMs === null) continue
    if (startOffsetMs !== null) return startedAtMs - startOffsetMs
    earliest = Math.min(startedAtMs, earliest ?? startedAtMs)
  }
  return earliest
}

function sum(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b
}

function offsetUnit(all: Iterable<Times>, lengthMs: number | null): number {
  let largest = 0
  let areWhole = true
  for (const { startBare, endBare } of all) {
    largest = Math.max(largest, startBare ?? 0, endBare ?? 0)
    areWhole &&= Number.isInteger(startBare ?? 0) && Number.isInteger(endBare ?? 0)
  }
  if (lengthMs !== null) return largest * 1000 <= lengthMs + SLACK_MS ? 1000 : 1
  return largest >= WHOLE_SECONDS_MAX && areWhole ? 1 : 1000
}

/** Declared as seconds, sent as milliseconds by most. */
function durationUnit(all: Iterable<Times>, lengthMs: number | null): number {
  let largest = 0
  for (const { startedAtMs, endedAtMs, durationBare } of all) {
    if (durationBare === null || durationBare === 0) continue
    if (startedAtMs !== null && endedAtMs !== null && endedAtMs > startedAtMs) {
      // Within a factor of 30 of one unit: the other is a thousand times off.
      return endedAtMs - startedAtMs > durationBare * 30 ? 1000 : 1
    }
    largest = Math.max(largest, durationBare)
  }
  if (largest > SECONDS_MAX) return 1
  return lengthMs !== null && largest * 1000 > lengthMs + SLACK_MS ? 1 : 1000
}

/** When a message, or something inside of one, began and ended. */
export function spanOf(object: JsonObject, clock: Clock): Span {
  const times = clock.times.get(object) ?? timesIn(object)
  const startedAtMs =
    times.startedAtMs ?? offsetOf(times.startBare, clock.offsetUnitMs, clock) ?? offsetOf(times.startOffsetMs, 1, clock)
  const endedAtMs =
    times.endedAtMs ?? offsetOf(times.endBare, clock.offsetUnitMs, clock) ?? offsetOf(times.endOffsetMs, 1, clock)
  if (endedAtMs !== null && (startedAtMs === null || endedAtMs >= startedAtMs)) return { startedAtMs, endedAtMs }
  return { startedAtMs, endedAtMs: sum(startedAtMs, durationIn(times, clock)) }
}

/** How long something says that it took, in milliseconds. */
export function durationOf(object: JsonObject, clock: Clock): number | null {
  return durationIn(clock.times.get(object) ?? timesIn(object), clock)
}

function durationIn({ durationMs, durationBare }: Times, clock: Clock): number | null {
  return durationMs ?? (durationBare === null ? null : durationBare * clock.durationUnitMs)
}

/** The moment that many units after the start of the call. */
export function offsetOf(offset: number | null, unitMs: number, clock: Clock): number | null {
  return offset === null || offset < 0 ? null : (clock.startedAtMs ?? 0) + offset * unitMs
}
