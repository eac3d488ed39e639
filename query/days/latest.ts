// Kept days -> the conversations of a window that were active last. A page of the newest ends mostly on the newest day: of its tens of
// thousands of conversations only those are looked at that are later than what has been found, and nobody is marked as seen for days that
// are never reached.
import type { Window } from '../window.ts'
import { type ActiveDay, dayNumber, daysBack, type LastDay } from './activity.ts'
import { firstOf } from './first.ts'
import type { OrganizationDays } from './organization.ts'

/** A conversation that was active last on a day: the day since 1970, from 1 on, and the nanosecond of it. */
export interface Latest {
  readonly conversation: number
  readonly day: number
  readonly nanos: number
}

/** The `wanted` that come first of those that pass: the latest first, ties by id. */
export function latestOf(
  memory: OrganizationDays,
  of: { readonly window: Window; readonly last: LastDay | undefined; readonly wanted: number },
  passes: (one: Latest) => boolean,
): Latest[] {
  const found: Latest[] = []
  let seen: Uint8Array | undefined
  let behind: ActiveDay | undefined
  for (const day of daysBack(memory, of)) {
    if (behind !== undefined) {
      seen ??= new Uint8Array(memory.ids.size())
      markSeen(seen, behind)
    }
    const unseen = seen
    const isNew = (one: Latest): boolean => unseen?.[one.conversation] !== 1 && passes(one)
    for (const one of latestOfDay(memory, { ...day, wanted: of.wanted - found.length }, isNew)) found.push(one)
    if (found.length === of.wanted) return found
    behind = day
  }
  return found
}

/** Who was active on a day since some nanosecond of it is not looked at on earlier ones. */
function markSeen(seen: Uint8Array, { conversations, standing, since }: ActiveDay): void {
  for (let i = 0; i < conversations.length; i++) {
    if ((standing[i] as number) >= since) seen[conversations[i] as number] = 1
  }
}

function latestOfDay(
  { ids }: OrganizationDays,
  { day: date, conversations, standing, since, wanted }: ActiveDay & { readonly wanted: number },
  passes: (one: Latest) => boolean,
): Latest[] {
  const day = dayNumber(date)
  const at = (place: number): Latest => ({
    ...{ conversation: conversations[place] as number, day, nanos: standing[place] as number },
  })
  const inOrder = (a: number, b: number): number =>
    (standing[b] as number) - (standing[a] as number) ||
    ids.compare(conversations[a] as number, conversations[b] as number)
  const places = new Uint32Array(conversations.length)
  for (let place = 0; place < places.length; place++) places[place] = place
  const isLate = (place: number): boolean => (standing[place] as number) >= since && passes(at(place))
  return firstOf(places, wanted, inOrder, isLate).map(at)
}
