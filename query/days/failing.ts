// A window -> about how many of its newest events hold one that failed, from what memory knows: how far a list of failures looks first.
import type { Window } from '../window.ts'
import type { KeptDays } from './kept.ts'

/** Days that are enough to tell. */
const NEWEST_DAYS = 3

/** Undefined where memory knows of none. It is a guess: days may have changed since. */
export function eventsEachFailure(kept: KeptDays, organization: string, window: Window): number | undefined {
  const memory = kept.glance(organization)
  if (memory === null) return undefined
  const { from_day, to_day } = window.parameters
  const days = [...memory.days()].filter(day => day >= from_day && day <= to_day).sort()
  const figures = days.slice(-NEWEST_DAYS).flatMap(day => memory.figuresOf(day) ?? [])
  const errors = figures.reduce((sum, day) => sum + day.errors, 0)
  return errors === 0 ? undefined : figures.reduce((sum, day) => sum + day.events, 0) / errors
}
