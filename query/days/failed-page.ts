// A window -> the failed events that a page of it is chosen from, newest first, from kept days. Under metadata filters days know which
// conversations had a failure that passes, mostly not which of several it was: those that may pass are told, to be looked at.
import type { KeyFilter } from '../filters.ts'
import type { Slice } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { EventKey } from '../reads/events.ts'
import type { Window } from '../window.ts'
import { dayNumber, fullTime, timeOf } from './activity.ts'
import { type KeptBounds, keptBoundsOf } from './bounds.ts'
import type { Passes } from './edges.ts'
import { failedEventOf } from './failures.ts'
import { capturedOneOf, keptSays, kindsOf, passesOf } from './filter.ts'
import { guessBy, provenBy } from './guess.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'
import { hasFailed, type Said } from './said.ts'

const NANOS = 1_000_000
/** Events that may be looked at for one page, where some of them may not pass. */
const LOOKED_AT_MAX = 1_000

/** Which failures. */
export interface AskedFailures {
  readonly organization: string
  readonly window: Window
  readonly filters: readonly KeyFilter[]
  readonly slice: Slice
}

/** A failed event. */
export interface FailedEvent extends EventKey {
  /** Whom captures of its conversation name; '' = nobody. */
  readonly user: string
  /** By filter, whether captures meet it; undefined where it is known to pass. */
  readonly captured: readonly boolean[] | undefined
}

/** Failures of a window, newest first. */
export interface KeptFailures {
  /** Down to the end of the asked slice. */
  readonly failures: readonly FailedEvent[]
  /** Whether all of them are known to pass. */
  readonly areSure: boolean
  /** What is known of the conversations of those that have to be read. */
  readonly known: KeptBounds
}

/**
 * Those of a page. Null: they are not kept, or not as far back. `early` is told of what is likely the answer: if it is, that is this same
 * object.
 */
export async function readKeptFailures(
  kept: KeptDays,
  reader: Reader,
  { organization, ...page }: AskedFailures,
  early: (guess: KeptFailures) => void = () => undefined,
): Promise<KeptFailures | null> {
  const kinds = page.filters.length === 0 ? { events: 'figures' as const, captures: [] } : kindsOf(page.filters)
  if (kinds === null) return null
  const guess = page.filters.length === 0 ? guessBy(kept, organization, memory => failuresOf(memory, page)) : null
  if (guess !== null) early(guess.said)
  const found = await kept.with(
    { organization, reader },
    ['figures', kinds.events, ...kinds.captures],
    async (memory, asked) => {
      if ((await memory.refresh(reader, asked)) !== 'done') return null
      // Null itself would say that days do not fit.
      return { kept: provenBy(guess, memory, () => failuresOf(memory, page)) }
    },
  )
  return found?.kept ?? null
}

function failuresOf(memory: OrganizationDays, page: Omit<AskedFailures, 'organization'>): KeptFailures | null {
  const failures = choose(memory, page)
  if (failures === null) return null
  const chosen = { failures, areSure: failures.every(({ captured }) => captured === undefined) }
  const conversations = new Set(neededOf(chosen, page.slice).map(({ conversation_id }) => conversation_id))
  return { ...chosen, known: keptBoundsOf(memory, [...conversations]) }
}

/** Those whose rows a page needs: where some may not pass, all of them tell where it begins. */
export const neededOf = (
  { failures, areSure }: Pick<KeptFailures, 'failures' | 'areSure'>,
  { offset, limit }: Slice,
): readonly FailedEvent[] => (areSure ? failures.slice(offset, offset + limit - 1) : failures)

function choose(memory: OrganizationDays, page: Omit<AskedFailures, 'organization'>): FailedEvent[] | null {
  const { window, filters, slice } = page
  const wanted = slice.offset + slice.limit
  const { from_day, to_day } = window.parameters
  const days = [...memory.days()].filter(day => day >= from_day && day <= to_day).sort()
  const mayPass = filters.length === 0 ? undefined : createJudge(memory, filters)
  const found: FailedEvent[] = []
  let sure = 0
  for (const day of days.reverse()) {
    const failures = memory.figuresOf(day)?.failures
    if (failures === undefined) continue
    const judge = mayPass?.(day)
    const places = placesIn(failures.instants, window, day)
    for (let place = places.from; place < places.to; place++) {
      const conversation = failures.conversations[place] as number
      const verdict = judge?.(conversation) ?? 'passes'
      if (verdict === 'fails') continue
      const ts = timeOf({ day: dayNumber(day), nanos: failures.instants[place] as number })
      const event_id = failedEventOf(failures, place)
      if (!isAfter(slice, ts, event_id)) continue
      if (found.length >= LOOKED_AT_MAX && sure < found.length) return null
      found.push({
        ...{ event_id, conversation_id: memory.ids.textOf(conversation), ts },
        user: memory.users.nameOf(memory.capturedOf(conversation)),
        captured: verdict === 'passes' ? undefined : verdict,
      })
      if (verdict === 'passes' && ++sure === wanted) return found
    }
    // Others failed before the last of those that are kept, and in the window, unless it begins after that one.
    if (!failures.all && places.to === failures.instants.length) return null
  }
  return found
}

/** Places of the instants that are in a window, of a day's, newest first. */
function placesIn(instants: Float64Array, { fromMs, toMs }: Window, day: string): { from: number; to: number } {
  const start = Date.parse(day)
  const [begin, end] = [(fromMs - start) * NANOS, (toMs - start) * NANOS]
  const from = instants.findIndex(at => at < end)
  const behind = instants.findIndex(at => at < begin)
  return { from: from === -1 ? instants.length : from, to: behind === -1 ? instants.length : behind }
}

/** Whether an event comes after the cursor: earlier, or as late and with a larger id. */
function isAfter({ after }: Slice, ts: string, id: string): boolean {
  if (after === undefined) return true
  const at = fullTime(after.at)
  return ts === at ? id > after.id : ts < at
}

/** Whether failures of a conversation pass, all of them or none; by filter whether captures meet it, where events have to be looked at. */
type Verdict = 'passes' | 'fails' | readonly boolean[]

/** Says of the failures of conversations on a day what is known of them. */
function createJudge(memory: OrganizationDays, filters: readonly KeyFilter[]) {
  const { events } = kindsOf(filters) as NonNullable<ReturnType<typeof kindsOf>>
  const passes = passesOf(memory, filters, place => keptSays(memory, filters, place))
  const captured = filters.map(filter => capturedOneOf(memory, filter))
  const { days } = memory.saidOf(events)
  // One array serves one day after the other.
  const marks = new Uint8Array(memory.ids.size())
  let marked: Uint32Array = new Uint32Array(0)
  return (day: string): ((conversation: number) => Verdict) => {
    const said = days.get(day)
    for (const conversation of marked) marks[conversation] = 0
    marked = said?.conversations ?? new Uint32Array(0)
    if (said !== undefined) markFailed(marks, said, passes)
    return conversation => {
      const mark = marks[conversation] as number
      if ((mark & PASSING) === 0) return 'fails'
      return mark === PASSING ? 'passes' : captured.map(meets => meets(conversation))
    }
  }
}

const PASSING = 1
const OTHERS = 2

/** Marks conversations that have failures that pass, and those that have others. */
function markFailed(marks: Uint8Array, { conversations, said, ...groups }: Said, passes: Passes): void {
  let [at, callsAt] = [0, 0]
  for (let i = 0; i < conversations.length; i++) {
    const [end, callsEnd] = [at + (groups.counts[i] as number), callsAt + (groups.callCounts[i] as number)]
    let failed = false
    for (; at < end; at++) failed ||= hasFailed(groups.entries[at] as number)
    for (; callsAt < callsEnd; callsAt++) failed ||= hasFailed(groups.callEntries[callsAt] as number)
    if (!failed) continue
    const conversation = conversations[i] as number
    marks[conversation] = (marks[conversation] as number) | (passes(conversation, said[i] as number) ? PASSING : OTHERS)
  }
}
