// A page as memory has it before it is brought up to date, so that its rows are read beside what proves it. A guess that holds spares its
// page from being chosen again; one that does not was read for nothing, so none is made where events arrive.
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'

/** What memory said, and as which it said so. */
export interface Guess<T> {
  readonly said: T
  readonly memory: OrganizationDays
  readonly age: number
}

/** What memory says now. Null: it has nothing to say, or what it would say has mostly changed by the time that it is proven. */
export function guessBy<T>(
  kept: KeptDays,
  organization: string,
  say: (memory: OrganizationDays) => T | null,
): Guess<T> | null {
  const memory = kept.glance(organization)
  if (!memory?.isQuiet()) return null
  // Before it is asked: what it says while days are being read anew is not of this age for long.
  const age = memory.age()
  const said = say(memory)
  return said === null ? null : { said, memory, age }
}

/** What memory says that is up to date: the guess itself, where nothing has changed since. */
export function provenBy<T>(guess: Guess<T> | null, memory: OrganizationDays, say: () => T): T {
  return guess !== null && guess.memory === memory && guess.age === memory.age() ? guess.said : say()
}
