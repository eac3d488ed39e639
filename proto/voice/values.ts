// Reading open JSON that someone else shaped: every function takes unknown and gives a checked value or null.

import { digitsOf, isObject, jsonText } from '#proto/json.ts'

/** Steps of paths. Paths come from the code, so there are few; splitting them for every message cost a third of reading a report. */
const stepsOf = new Map<string, readonly string[]>()

/** The value at a dotted path of the code's own, undefined when a step is missing. Only own keys count: `constructor` is no field. */
export function at(value: unknown, path: string): unknown {
  let steps = stepsOf.get(path)
  if (steps === undefined) stepsOf.set(path, (steps = path.split('.')))
  let here = value
  for (const step of steps) {
    if (!isObject(here) || !Object.hasOwn(here, step)) return undefined
    here = here[step]
  }
  return here
}

/** The value at the first path that holds something other than null; undefined when none does. */
export function firstAt(value: unknown, paths: readonly string[]): unknown {
  for (const path of paths) {
    const found = at(value, path)
    if (found !== undefined && found !== null) return found
  }
  return undefined
}

/** The first path that holds a text with something in it, trimmed; null when none does. */
export function textAt(value: unknown, paths: readonly string[]): string | null {
  for (const path of paths) {
    const found = at(value, path)
    if (typeof found === 'string' && found.trim() !== '') return found.trim().toWellFormed()
  }
  return null
}

/** The first path that holds a finite number, written as number or digits; null when none does. */
export function numberAt(value: unknown, paths: readonly string[]): number | null {
  for (const path of paths) {
    const number = asNumber(at(value, path))
    if (number !== null) return number
  }
  return null
}

/** The first path that holds an instant, in Unix milliseconds: ISO 8601 text or a Unix time of any unit; null when none does. */
export function instantAt(value: unknown, paths: readonly string[]): number | null {
  for (const path of paths) {
    const found = at(value, path)
    const ms = typeof found === 'string' && /[-:]/.test(found) ? instantOfText(found) : instantOfNumber(asNumber(found))
    if (ms !== null) return ms
  }
  return null
}

/** Where the Unix times of each unit end that a call of our days can have: seconds, milliseconds, microseconds, nanoseconds. */
const units: readonly (readonly [below: number, msOfUnit: number])[] = [
  [1e8, Number.NaN],
  [1e11, 1000],
  [1e14, 1],
  [1e17, 1e-3],
  [1e20, 1e-6],
]

/** Unix milliseconds of a Unix time in s, ms, µs or ns; null for what is too small or too large to be one (before 1973 in any unit). */
export function instantOfNumber(number: number | null): number | null {
  if (number === null || number < 1e8) return null
  const unit = units.find(([below]) => number < below)
  return unit === undefined ? null : number * unit[1]
}

/** ISO 8601 date and time, with its zone or without one. */
const ISO = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)\s?(Z|[+-]\d\d:?\d\d)?$/i
/** The form of mail headers, e.g. `Mon, 21 Sep 2026 13:56:40 GMT`. */
const MAIL = /^[A-Z][a-z]{2}, \d\d? [A-Z][a-z]{2} \d{4} [\d:]{5,8} (GMT|UTC|[+-]\d{4})$/

/** Unix milliseconds of a date and time; without a zone it is UTC, wherever parley runs. */
export function instantOfText(text: string): number | null {
  const trimmed = text.trim()
  const iso = ISO.exec(trimmed)
  const known = iso === null ? trimmed : `${iso[1]}T${iso[2]?.replace(',', '.')}${iso[3] ?? 'Z'}`
  const ms = iso !== null || MAIL.test(trimmed) ? Date.parse(known) : Number.NaN
  return Number.isFinite(ms) ? ms : null
}

/** A finite number, or digits that spell one. */
export function asNumber(sent: unknown): number | null {
  const value = digitsOf(sent) ?? sent
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** A value as text: a string as it is, nothing as null, everything else as JSON. */
export function asText(value: unknown): string | null {
  if (value === undefined || value === null) return null
  return (typeof value === 'string' ? value : jsonText(value)).toWellFormed()
}
