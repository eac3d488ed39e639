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
  const activity = noActivity(memory.ids.size())
  walkBack(activity, memory, { window, last }, { meet: () => undefined, goesOn: () => true })
  return activity
}

/** Nobody was active yet. */
export const noActivity = (size: number): Activity => ({ days: new Uint16Array(size), nanos: new Float64Array(size) })

/** Who walks back: is told of each conversation on the day that it was last active, and says after each day whether to go on. */
interface Walker {
  meet(conversation: number): void
  goesOn(): boolean
}

/** Fills in a window's activity day by day, the newest first: a page of the newest needs none of the days behind it. */
export function walkBack(
  { days, nanos }: Activity,
  memory: OrganizationDays,
  { window, last }: { window: Window; last: LastDay | undefined },
  walker: Walker,
): void {
  const { from_day, to_day } = window.parameters
  // What was last active on the first day may have been so before the window began.
  const begin = (window.fromMs % DAY_MS) * 1_000_000
  const add = (day: string, conversations: ArrayLike<number>, standing: ArrayLike<number>): boolean => {
    const [number, since] = [dayNumber(day), day === from_day ? begin : 0]
    for (let i = 0; i < conversations.length; i++) {
      const conversation = conversations[i] as number
      if (days[conversation] !== 0 || (standing[i] as number) < since) continue
      days[conversation] = number
      nanos[conversation] = standing[i] as number
      walker.meet(conversation)
    }
    return walker.goesOn()
  }
  if (last !== undefined && !add(to_day, numbersOf(memory.ids, last.ids), last.standing)) return
  const held = [...memory.days()].filter(day => day >= from_day && day < to_day).sort()
  for (const day of held.reverse()) {
    const pairs = memory.pairsOf(day)
    if (pairs !== undefined && !add(day, pairs.conversations, pairs.standing)) return
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
