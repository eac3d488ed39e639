// How commands take times: ISO 8601, or a number and a unit ago.
import { isDay } from '#proto/time.ts'
import { UsageError } from './usage.ts'

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const ISO_TIME = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/

/**
 * Unix milliseconds of `2026-11-20`, `2026-11-20T16:00:00Z`, `15m`, `2h` or `3d`.
 * @throws UsageError that names the option for anything else: what Date.parse makes of it may be another time than was meant.
 */
export function timeOf(option: string, text: string): number {
  const ago = /^(\d+)([smhd])$/.exec(text)
  if (ago) return Date.now() - Number(ago[1]) * (UNITS_MS[ago[2] as string] as number)
  const day = ISO_TIME.exec(text)?.[1]
  const at = day !== undefined && isDay(day) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new UsageError(`${option}: not a time: ${text} (2026-11-20, 2026-11-20T16:00:00Z, or 15m, 2h, 3d ago)`)
  return at
}
