// Kept days -> when conversations were last active inside a window. What the window holds of its last day comes from rows.
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import type { OrganizationDays } from './organization.ts'
import { numbersOf } from './rows.ts'
import { LAST_DAY_SQL } from './sql.ts'

const DAY_MS = 86_400_000

/** When conversations were last active inside the window: the day since 1970, 0 = never, and the nanosecond of it. */
export interface Activity {
  readonly days: Uint16Array
  readonly nanos: Float64Array
}

/** Who was active on the day that a window ends on, before it does. */
export interface LastDay {
  readonly ids: string
  readonly standing: readonly number[]
}

/**
 * Reads it of a window that ends; one that does not has no edge that days would not know. It is read before days are, as with figures, so
 * that whoever is named there is in memory afterwards.
 */
export async function readLastDay(reader: Reader, window: Window): Promise<LastDay | undefined> {
  if (!Number.isFinite(window.toMs)) return undefined
  const [last] = await reader.read<LastDay>('last_day', LAST_DAY_SQL, window.parameters)
  return last
}

/** Of every conversation. */
export function activityOf(memory: OrganizationDays, window: Window, last: LastDay | undefined): Activity {
  const lastIds = last === undefined ? new Uint32Array(0) : numbersOf(memory.ids, last.ids)
  const [days, nanos] = [new Uint16Array(memory.ids.size()), new Float64Array(memory.ids.size())]
  const { from_day, to_day } = window.parameters
  for (const day of memory.days()) {
    const pairs = memory.pairsOf(day)
    if (pairs === undefined || day < from_day || day >= to_day) continue
    const number = dayNumber(day)
    const { conversations, standing } = pairs
    for (let i = 0; i < conversations.length; i++) {
      const conversation = conversations[i] as number
      if (number < (days[conversation] as number)) continue
      days[conversation] = number
      nanos[conversation] = standing[i] as number
    }
  }
  for (let i = 0; i < lastIds.length; i++) {
    days[lastIds[i] as number] = dayNumber(to_day)
    nanos[lastIds[i] as number] = last?.standing[i] as number
  }
  // What was last active on the first day may have been so before the window began.
  const [first, begin] = [dayNumber(from_day), (window.fromMs % DAY_MS) * 1_000_000]
  for (let i = 0; i < days.length; i++) if (days[i] === first && (nanos[i] as number) < begin) days[i] = 0
  return { days, nanos }
}

/** The number of a day: from 1 on, so that 0 is none. */
export const dayNumber = (day: string): number => Date.parse(day) / DAY_MS + 1

/** ISO 8601 with nanoseconds, as the store answers it. */
export function timeOf({ day, nanos }: { readonly day: number; readonly nanos: number }): string {
  const millis = new Date((day - 1) * DAY_MS + Math.floor(nanos / 1_000_000)).toISOString()
  return `${millis.slice(0, -1)}${String(nanos % 1_000_000).padStart(6, '0')}Z`
}

/** A time with as many digits. */
export const fullTime = (at: string): string => `${at.slice(0, -1).padEnd(29, '0')}Z`
