// What came to a day -> the conversations that it names, settled by themselves: counts grow, bounds widen, who is named now was named or
// is larger. Where a day has lost anything nothing of that can be said, and everybody is settled anew.
import { dayNumber } from './activity.ts'
import type { Change } from './people.ts'
import type { Users } from './users.ts'

/** By number of a conversation. */
export interface Sheet {
  /** Whom the last capture names, whom events name, and who of them it is. */
  readonly captured: Uint32Array
  /** The day on which its first capture arrived; 0 = it has none. */
  readonly arrived: Uint16Array
  readonly seen: Uint32Array
  readonly owners: Uint32Array
  readonly totals: Uint32Array
  readonly first: Uint32Array
  readonly last: Uint32Array
}

/** Is told of conversations that have another user. */
type Tell = (conversation: number) => void

/** Takes changes of days into a sheet. Each says whether the day has only gained; if not, the sheet is good for nothing. */
export interface More {
  events(sheet: Sheet, change: Change, tell: Tell): boolean
  /** Precondition: of the newest day. */
  captures(sheet: Sheet, change: Change, tell: Tell): boolean
}

/**
 * Walks over a day with the places that its conversations had before, -1 = none. What came is put behind what was there, so that most stand
 * where they stood. @returns whether all of them are still there.
 */
function walk({ before, after }: Change, see: (i: number, was: number) => boolean): boolean {
  const [was, is] = [before?.conversations ?? new Uint32Array(0), after.conversations]
  let same = 0
  for (; same < was.length && was[same] === is[same]; same++) if (!see(same, same)) return false
  const places = new Map<number, number>()
  for (let i = same; i < was.length; i++) places.set(was[i] as number, i)
  for (let i = same; i < is.length; i++) {
    const place = places.get(is[i] as number) ?? -1
    places.delete(is[i] as number)
    if (!see(i, place)) return false
  }
  return places.size === 0
}

/** Nothing is kept in between. */
export function createMore(users: Users): More {
  return {
    events(sheet, change, tell) {
      const { before, after } = change
      const { seen, totals, first, last } = sheet
      return walk(change, (i, was) => {
        const conversation = after.conversations[i] as number
        const now = { user: after.users[i] as number, count: after.counts[i] as number }
        const [from, to] = [after.firsts[i] as number, after.lasts[i] as number]
        if (before !== undefined && was >= 0) {
          const [user, count] = [before.users[was] as number, before.counts[was] as number]
          const hasWidened = from <= (before.firsts[was] as number) && to >= (before.lasts[was] as number)
          if (!hasWidened || now.count < count || users.larger(user, now.user) !== now.user) return false
          if (now.count === count && user === now.user) return true
          now.count -= count
        }
        totals[conversation] = (totals[conversation] as number) + now.count
        if (from < (first[conversation] as number)) first[conversation] = from
        if (to > (last[conversation] as number)) last[conversation] = to
        seen[conversation] = users.larger(seen[conversation] as number, now.user)
        own(sheet, conversation, tell)
        return true
      })
    },
    captures(sheet, change, tell) {
      const { before, after, day } = change
      const number = dayNumber(day)
      return walk(change, (i, was) => {
        const conversation = after.conversations[i] as number
        const user = after.users[i] as number
        if (user === 0 && (before?.users[was] ?? 0) > 0) return false
        if (user > 0) sheet.captured[conversation] = user
        if (sheet.arrived[conversation] === 0) sheet.arrived[conversation] = number
        own(sheet, conversation, tell)
        return true
      })
    },
  }
}

function own({ captured, seen, owners }: Sheet, conversation: number, tell: Tell): void {
  const owner = (captured[conversation] as number) || (seen[conversation] as number)
  if (owners[conversation] === owner) return
  owners[conversation] = owner
  tell(conversation)
}
