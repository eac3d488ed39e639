// Kept days -> when conversations were last active inside a window. What the window holds of its last day comes from rows.
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import type { OrganizationDays } from './organization.ts'
import { numbersOf } from './rows.ts'
import { withFloats, withShorts } from './scratch.ts'
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

/** A window, and its last day where it ends. */
interface WindowEnds {
  readonly window: Window
  readonly last: LastDay | undefined
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

/** Works with that of every conversation. */
export function withActivity<T>(memory: OrganizationDays, of: WindowEnds, work: (activity: Activity) => T): T {
  const size = memory.ids.size()
  return withShorts(size, days =>
    withFloats(size, nanos => {
      noteActivity({ days, nanos }, memory, of)
      return work({ days, nanos })
    }),
  )
}

function noteActivity({ days, nanos }: Activity, memory: OrganizationDays, of: WindowEnds): void {
  for (const { day, conversations, standing, since } of daysBack(memory, of)) {
    const number = dayNumber(day)
    for (let i = 0; i < conversations.length; i++) {
      const conversation = conversations[i] as number
      if (days[conversation] !== 0 || (standing[i] as number) < since) continue
      days[conversation] = number
      nanos[conversation] = standing[i] as number
    }
  }
}

/** What a window holds of a day: who was active, and when last, from some nanosecond of the day on. */
export interface ActiveDay {
  readonly day: string
  readonly conversations: ArrayLike<number>
  readonly standing: ArrayLike<number>
  readonly since: number
}

/** Days of a window, the newest first. */
export function* daysBack(memory: OrganizationDays, { window, last }: WindowEnds): Generator<ActiveDay> {
  const { from_day, to_day } = window.parameters
  // What was last active on the first day may have been so before the window began.
  const sinceOf = (day: string): number => (day === from_day ? (window.fromMs % DAY_MS) * 1_000_000 : 0)
  if (last !== undefined) {
    const conversations = numbersOf(memory.ids, last.ids)
    yield { day: to_day, conversations, standing: last.standing, since: sinceOf(to_day) }
  }
  const held = [...memory.days()].filter(day => day >= from_day && day < to_day).sort()
  for (const day of held.reverse()) {
    const pairs = memory.pairsOf(day)
    if (pairs !== undefined) yield { day, ...pairs, since: sinceOf(day) }
  }
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
