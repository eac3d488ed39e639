// A page of conversations by last activity inside a window, from kept days: nothing is read but the window's edges.
import type { Slice } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { ChosenConversation } from '../reads/conversation-page.ts'
import type { Window } from '../window.ts'
import { type Activity, activityOf, dayNumber, readLastDay, timeOf } from './activity.ts'
import type { KeptFilter, Meets } from './filter.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'

/** Which page. */
export interface AskedPage {
  readonly window: Window
  readonly sort: 'newest' | 'oldest'
  readonly slice: Slice
}

/** The page as `chooseConversations` chooses it. Null: days are not kept. */
export function readKeptPage(
  kept: KeptDays,
  reader: Reader,
  { organization, filter, ...page }: AskedPage & { organization: string; filter: KeptFilter },
): Promise<ChosenConversation[] | null> {
  return kept.with(organization, ['figures', ...filter.kinds], async (memory, asked) => {
    const [last, meets] = await Promise.all([readLastDay(reader, page.window), filter.ask(reader, page.window)])
    if ((await memory.refresh(reader, asked)) !== 'done') return null
    return choose(memory, activityOf(memory, page.window, last), meets(memory), page)
  })
}

/** Numbers of days are below it: those of 16 bits. */
const DAYS_MAX = 65_536

function choose(
  memory: OrganizationDays,
  { days, nanos }: Activity,
  meets: Meets,
  { sort, slice }: AskedPage,
): ChosenConversation[] {
  const ahead = isAhead(memory, { days, nanos }, sort)
  const after = afterCursor(memory, { days, nanos }, { sort, slice })
  // How many end on each day, so that only those of the days that the page reaches are put in order.
  const eligible = new Uint8Array(days.length)
  const ofDays = new Uint32Array(DAYS_MAX)
  const { events } = memory.settled()
  for (let conversation = 0; conversation < events.length; conversation++) {
    const day = days[conversation] as number
    if (day === 0 || events[conversation] === 0 || !after(conversation) || !meets(conversation)) continue
    eligible[conversation] = 1
    ofDays[day] = (ofDays[day] as number) + 1
  }
  const reached = new Uint8Array(DAYS_MAX)
  let found = 0
  for (let i = 0; i < DAYS_MAX && found < slice.offset + slice.limit; i++) {
    const day = sort === 'newest' ? DAYS_MAX - 1 - i : i
    reached[day] = 1
    found += ofDays[day] as number
  }
  const page: number[] = []
  for (let conversation = 0; conversation < days.length; conversation++) {
    if (eligible[conversation] === 1 && reached[days[conversation] as number] === 1) page.push(conversation)
  }
  return page
    .sort(ahead)
    .slice(slice.offset, slice.offset + slice.limit)
    .map(conversation => ({
      conversation_id: memory.ids.textOf(conversation),
      last_at: timeOf({ day: days[conversation] as number, nanos: nanos[conversation] as number }),
    }))
}

/** Order of a page: by last activity, ties by id. */
function isAhead(memory: OrganizationDays, { days, nanos }: Activity, sort: AskedPage['sort']) {
  const sign = sort === 'newest' ? -1 : 1
  return (a: number, b: number): number => {
    const later = (days[a] as number) - (days[b] as number) || (nanos[a] as number) - (nanos[b] as number)
    return later * sign || (memory.ids.textOf(a) < memory.ids.textOf(b) ? -1 : 1)
  }
}

/** Whether a conversation comes after the cursor. */
function afterCursor(
  memory: OrganizationDays,
  { days, nanos }: Activity,
  { sort, slice: { after } }: Pick<AskedPage, 'sort' | 'slice'>,
): Meets {
  if (after === undefined) return () => true
  const sign = sort === 'newest' ? -1 : 1
  const day = dayNumber(after.at.slice(0, 10))
  const nano = nanosOf(after.at)
  return conversation => {
    const later = ((days[conversation] as number) - day || (nanos[conversation] as number) - nano) * sign
    return later > 0 || (later === 0 && memory.ids.textOf(conversation) > after.id)
  }
}

/** Nanoseconds of a time (ISO 8601) since its day began. */
function nanosOf(at: string): number {
  const [hours, minutes, seconds] = at.slice(11, 19).split(':').map(Number) as [number, number, number]
  return ((hours * 60 + minutes) * 60 + seconds) * 1e9 + Number(at.slice(20, -1).padEnd(9, '0'))
}
