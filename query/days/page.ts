// A page of conversations by last activity inside a window, from kept days: nothing is read but the window's edges.
import type { Slice } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { ChosenConversation } from '../reads/conversation-page.ts'
import type { Window } from '../window.ts'
import { type Activity, dayNumber, type LastDay, readLastDay, timeOf, withActivity } from './activity.ts'
import { type KeptBounds, keptBoundsOf } from './bounds.ts'
import type { KeptFilter, Meets } from './filter.ts'
import { firstOf } from './first.ts'
import { type Guess, guessBy, provenBy } from './guess.ts'
import type { KeptDays } from './kept.ts'
import { type Latest, latestOf } from './latest.ts'
import { asOfNow, type Kind, type OrganizationDays, type Refresh } from './organization.ts'

/** Which page. */
export interface AskedPage {
  readonly window: Window
  readonly sort: 'newest' | 'oldest'
  readonly slice: Slice
}

/** A page, and what is known of its conversations: but for the last, which only says that there is a next page. */
export interface KeptPage {
  readonly chosen: readonly ChosenConversation[]
  readonly known: KeptBounds
}

/** Of whose conversations, and who shows it. */
interface AskedBy {
  readonly organization: string
  readonly filter: KeptFilter
  /** What whoever shows the page will need. */
  readonly beside?: readonly Kind[]
  /** Is told of a page that is likely the one: if it is, the answer is this same object. */
  readonly early?: (guess: KeptPage) => void
}

/** The page as `chooseConversations` chooses it. Null: days are not kept. */
export async function readKeptPage(
  kept: KeptDays,
  reader: Reader,
  { organization, filter, beside, early, ...page }: AskedPage & AskedBy,
): Promise<KeptPage | null> {
  const guess = early === undefined ? null : guessPage(kept, organization, filter, page)
  if (guess !== null) early?.(guess.said)
  const work = async (memory: OrganizationDays, asked: Refresh): Promise<KeptPage | null> => {
    const [last, filtered] = await Promise.all([
      readLastDay(reader, page.window),
      filter.ask(reader, page.window, { memory, asked }),
    ])
    const asking = last === undefined ? filtered.asked : asOfNow(memory, filtered.asked)
    if ((await memory.refresh(reader, asking)) !== 'done') return null
    return provenBy(guess, memory, () => pageOf(memory, last, filtered.meets(memory), page))
  }
  return kept.with({ organization, reader }, ['figures', ...filter.kinds], work, beside)
}

/** The page as memory has it; null where the store has to be asked besides. */
const guessPage = (
  kept: KeptDays,
  organization: string,
  { known }: KeptFilter,
  page: AskedPage,
): Guess<KeptPage> | null =>
  known === undefined || Number.isFinite(page.window.toMs)
    ? null
    : guessBy(kept, organization, memory => pageOf(memory, undefined, known(memory), page))

function pageOf(memory: OrganizationDays, last: LastDay | undefined, meets: Meets, page: AskedPage): KeptPage {
  const chosen = choose(memory, last, meets, page)
  const shown = chosen.slice(0, page.slice.limit - 1).map(({ conversation_id }) => conversation_id)
  return { chosen, known: keptBoundsOf(memory, shown) }
}

function choose(
  memory: OrganizationDays,
  last: LastDay | undefined,
  meets: Meets,
  { window, sort, slice }: AskedPage,
): ChosenConversation[] {
  const { events } = memory.settled()
  const after = afterCursor(memory, { sort, slice })
  const passes = (one: Latest): boolean => events[one.conversation] !== 0 && after(one) && meets(one.conversation)
  const asked = { window, last, wanted: slice.offset + slice.limit }
  const found = sort === 'newest' ? latestOf(memory, asked, passes) : earliestOf(memory, asked, passes)
  return found.slice(slice.offset).map(one => ({
    conversation_id: memory.ids.textOf(one.conversation),
    last_at: timeOf(one),
  }))
}

/** Of those that were not active for the longest time, ties by id. */
const earliestOf = (
  memory: OrganizationDays,
  { wanted, ...of }: { window: Window; last: LastDay | undefined; wanted: number },
  passes: (one: Latest) => boolean,
): Latest[] => withActivity(memory, of, activity => earliestIn(memory, { ...activity, wanted }, passes))

function earliestIn(
  memory: OrganizationDays,
  { days, nanos, wanted }: Activity & { readonly wanted: number },
  passes: (one: Latest) => boolean,
): Latest[] {
  const one = (conversation: number): Latest => ({
    ...{ conversation, day: days[conversation] as number, nanos: nanos[conversation] as number },
  })
  // By the day that they were last active on: only those of the days that the page reaches are put in order.
  const byDay = new Map<number, number[]>()
  for (let conversation = 0; conversation < days.length; conversation++) {
    const day = days[conversation] as number
    if (day === 0 || !passes(one(conversation))) continue
    const eligible = byDay.get(day)
    if (eligible === undefined) byDay.set(day, [conversation])
    else eligible.push(conversation)
  }
  const inOrder = (a: number, b: number): number =>
    (nanos[a] as number) - (nanos[b] as number) || memory.ids.compare(a, b)
  const found: Latest[] = []
  for (const day of [...byDay.keys()].sort((a, b) => a - b)) {
    for (const next of firstOf(byDay.get(day) as number[], wanted - found.length, inOrder)) found.push(one(next))
    if (found.length === wanted) break
  }
  return found
}

/** Whether a conversation comes after the cursor. */
function afterCursor(
  { ids }: OrganizationDays,
  { sort, slice: { after } }: Pick<AskedPage, 'sort' | 'slice'>,
): (one: Latest) => boolean {
  if (after === undefined) return () => true
  const sign = sort === 'newest' ? -1 : 1
  const day = dayNumber(after.at.slice(0, 10))
  const nano = nanosOf(after.at)
  return one => {
    const later = (one.day - day || one.nanos - nano) * sign
    return later > 0 || (later === 0 && ids.textOf(one.conversation) > after.id)
  }
}

/** Nanoseconds of a time (ISO 8601) since its day began. */
function nanosOf(at: string): number {
  const [hours, minutes, seconds] = at.slice(11, 19).split(':').map(Number) as [number, number, number]
  return ((hours * 60 + minutes) * 60 + seconds) * 1e9 + Number(at.slice(20, -1).padEnd(9, '0'))
}
