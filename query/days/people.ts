// Pairs of all days -> whose conversations are and how many events they have. Where days have changed by what came to them, only the
// conversations that they name are looked at; else everybody is settled anew.
import { dayNumber } from './activity.ts'
import { createMore, type Sheet } from './people-more.ts'
import type { Pairs } from './rows.ts'
import type { Users } from './users.ts'

/** Conversations by their numbers. */
export interface People {
  /** 0 = nobody is known. */
  userOf(conversation: number): number
  /** Whom captures name, whatever events say. */
  capturedOf(conversation: number): number
  eventsOf(conversation: number): number
  /** The same by number, as far as it reaches: walks over all conversations take a tenth of the time that calls for each would. */
  settled(): { readonly users: Uint32Array; readonly events: Uint32Array }
  /** Conversations that were known and have another user since: where their list ends, and those since an earlier end; null: too many. */
  changes(): { readonly end: number; since(end: number): readonly number[] | null }
  /** Seconds between which its events stand; precondition: it has some. */
  extentOf(conversation: number): { first: number; last: number }
  /** The day on which the first of its captures arrived, as `dayNumber` numbers it; 0 = it has none. */
  arrivedOn(conversation: number): number
  /** How often days had changed when they were settled. */
  age(): number
  /** Precondition: numbers of conversations are below `size`; a day that has changed is another object. */
  settle(days: { size: number } & PairsByDay): void
  bytes(): number
}

/** By day of arrival, and by day of the event. */
interface PairsByDay {
  readonly captures: ReadonlyMap<string, Pairs>
  readonly events: ReadonlyMap<string, Pairs>
}

/** Changes that are remembered; with more whoever asks looks at everybody. */
const CHANGES_MAX = 10_000
/** Changed days that are looked at by themselves: each is walked over. */
const CHANGED_DAYS_MAX = 6

/** Nobody yet. */
export function createPeople(users: Users): People {
  let sheet = makeSheet(0)
  let size = 0
  let known: PairsByDay = { captures: new Map(), events: new Map() }
  let changed: number[] = []
  let dropped = 0
  let age = 0
  const more = createMore(users)

  /** Takes in what came to some days. @returns whether that is all that has changed. */
  const takeIn = (days: PairsByDay): boolean => {
    const [events, captures] = [changesOf(known.events, days.events), changesOf(known.captures, days.captures)]
    if (events?.length !== 0 || captures?.length !== 0) age++
    if (events === null || captures === null || events.length + captures.length > CHANGED_DAYS_MAX) return false
    const newest = [...days.captures.keys()].reduce((a, b) => (a > b ? a : b), '')
    const told = (conversation: number): void => {
      if (conversation < size) changed.push(conversation)
    }
    return (
      events.every(change => more.events(sheet, change, told)) &&
      captures.every(change => change.day === newest && more.captures(sheet, change, told))
    )
  }
  return {
    userOf: conversation => sheet.owners[conversation] ?? 0,
    capturedOf: conversation => sheet.captured[conversation] ?? 0,
    settled: () => ({ users: sheet.owners.subarray(0, size), events: sheet.totals.subarray(0, size) }),
    changes: () => ({
      end: dropped + changed.length,
      since: end => (end < dropped ? null : changed.slice(end - dropped)),
    }),
    eventsOf: conversation => sheet.totals[conversation] ?? 0,
    extentOf: conversation => ({
      first: sheet.first[conversation] as number,
      last: sheet.last[conversation] as number,
    }),
    arrivedOn: conversation => sheet.arrived[conversation] ?? 0,
    bytes: () => sheet.owners.byteLength * 7.5,
    age: () => age,
    settle({ size: now, captures, events }) {
      sheet = grown(sheet, now)
      if (!takeIn({ captures, events })) {
        // Whom it has told of already may be told of again; nobody may be missing.
        const { owners } = sheet
        sheet = settledAnew(users, { size: now, captures, events })
        for (let i = 0; i < size; i++) if (sheet.owners[i] !== owners[i]) changed.push(i)
      }
      known = { captures: new Map(captures), events: new Map(events) }
      size = now
      if (changed.length > CHANGES_MAX) {
        dropped += changed.length
        changed = []
      }
    },
  }
}

/** A day that is another than it was. */
export interface Change {
  readonly day: string
  /** Undefined: there was none. */
  readonly before: Pairs | undefined
  readonly after: Pairs
}

/** Days that have changed; null: some are gone. */
export function changesOf(before: ReadonlyMap<string, Pairs>, after: ReadonlyMap<string, Pairs>): Change[] | null {
  for (const day of before.keys()) if (!after.has(day)) return null
  return [...after].flatMap(([day, pairs]) =>
    before.get(day) === pairs ? [] : [{ day, before: before.get(day), after: pairs }],
  )
}

function makeSheet(size: number): Sheet {
  const words = (): Uint32Array => new Uint32Array(size)
  const first = words().fill(0xffffffff)
  return {
    captured: words(),
    arrived: new Uint16Array(size),
    seen: words(),
    owners: words(),
    totals: words(),
    first,
    last: words(),
  }
}

/** The same with room for more conversations. */
function grown(sheet: Sheet, size: number): Sheet {
  if (sheet.owners.length >= size) return sheet
  const larger = makeSheet(Math.ceil(size * 1.1))
  for (const name of Object.keys(larger) as (keyof Sheet)[]) larger[name].set(sheet[name])
  return larger
}

function settledAnew(users: Users, { size, captures, events }: { size: number } & PairsByDay): Sheet {
  const sheet = makeSheet(size)
  const { captured, arrived, seen, owners, totals, first, last } = sheet
  // A capture is later than all of an earlier day, so that the last day that names somebody stands.
  for (const day of [...captures.keys()].sort()) {
    const { conversations, users: named } = captures.get(day) as Pairs
    const number = dayNumber(day)
    for (let i = 0; i < conversations.length; i++) {
      const conversation = conversations[i] as number
      if (arrived[conversation] === 0) arrived[conversation] = number
      if (named[i] !== 0) captured[conversation] = named[i] as number
    }
  }
  for (const { conversations, users: named, counts, firsts, lasts } of events.values()) {
    for (let i = 0; i < conversations.length; i++) {
      const conversation = conversations[i] as number
      seen[conversation] = users.larger(seen[conversation] as number, named[i] as number)
      totals[conversation] = (totals[conversation] as number) + (counts[i] as number)
      if ((firsts[i] as number) < (first[conversation] as number)) first[conversation] = firsts[i] as number
      if ((lasts[i] as number) > (last[conversation] as number)) last[conversation] = lasts[i] as number
    }
  }
  for (let i = 0; i < size; i++) owners[i] = (captured[i] as number) || (seen[i] as number)
  return sheet
}
