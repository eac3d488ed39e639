// How commands take times: ISO 8601, or a number and a unit ago.
import { UsageError } from './usage.ts'

/** Unix milliseconds of `2026-11-20T16:00:00Z`, `15m`, `2h` or `3d`. @throws UsageError for anything else. */
export function timeOf(text: string): number {
  const ago = /^(\d+)([smhd])$/.exec(text)
  const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
  const at = ago ? Date.now() - Number(ago[1]) * (units[ago[2] as string] as number) : Date.parse(text)
  if (Number.isNaN(at)) throw new UsageError(`not a time: ${text}`)
  return at
}
