// A page of conversations by last activity inside a window, from kept days: nothing is read but the window's edges.
import type { Slice } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { ChosenConversation } from '../reads/conversation-page.ts'
import type { Window } from '../window.ts'
import { type Activity, dayNumber, type LastDay, noActivity, readLastDay, timeOf, walkBack } from './activity.ts'
import { type KeptBounds, keptBoundsOf } from './bounds.ts'
import type { KeptFilter, Meets } from './filter.ts'
import { firstOf } from './first.ts'
import { type Guess, guessBy, provenBy } from './guess.ts'
import type { KeptDays } from './kept.ts'
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
  return kept.with(organization, ['figures', ...filter.kinds], work, beside)
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
  const activity = noActivity(memory.ids.size())
  const after = afterCursor(memory, activity, { sort, slice })
  const { events } = memory.settled()
  const wanted = slice.offset + slice.limit
  // By the day that they were last active on, newest first: only those of the days that the page reaches are put in order.
  const byDay: number[][] = []
  let [eligible, found]: [number[], number] = [[], 0]
  const meet = (conversation: number): void => {
    if (events[conversation] !== 0 && after(conversation) && meets(conversation)) eligible.push(conversation)
  }
  const goesOn = (): boolean => {
    byDay.push(eligible)
    found += eligible.length
    eligible = []
    return sort === 'oldest' || found < wanted
  }
  walkBack(activity, memory, { window, last }, { meet, goesOn })
  if (sort === 'oldest') byDay.reverse()
  const reached: number[] = []
  for (const eligible of byDay) {
    for (const conversation of eligible) reached.push(conversation)
    if (reached.length >= wanted) break
  }
  const { days, nanos } = activity
  return firstOf(reached, wanted, isAhead(memory, activity, sort))
    .slice(slice.offset)
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
