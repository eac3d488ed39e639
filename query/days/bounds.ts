// Conversations -> the hours in which their rows stand, from kept days: no look-up of each id in every part of every month.
import type { Reader } from '../reader.ts'
import { type ConversationBounds, ofHours } from '../reads/conversation-facts.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'
import { withBytes } from './scratch.ts'

const HOUR_S = 3600
const DAY_S = 86_400

/** Bounds of some conversations, with what else kept days know of them. */
export interface KeptBounds {
  /** Null when none of them has an event. */
  readonly bounds: ConversationBounds | null
  /** How many events they have together. */
  readonly events: number
  /** The day (YYYY-MM-DD) on which the first of their captures arrived; undefined: they have none. */
  readonly capturedFrom: string | undefined
}

/** What kept days know of some conversations; null: nothing. */
export async function readKeptBounds(
  kept: KeptDays,
  reader: Reader,
  { organization, conversations }: { organization: string; conversations: readonly string[] },
): Promise<KeptBounds | null> {
  if (conversations.length === 0) return { bounds: null, events: 0, capturedFrom: undefined }
  return kept.with({ organization, reader }, ['figures'], async (memory, asked) =>
    (await memory.refresh(reader, asked)) === 'done' ? keptBoundsOf(memory, conversations) : null,
  )
}

/** The same from memory that has been brought to what the store holds. */
export const keptBoundsOf = (memory: OrganizationDays, conversations: readonly string[]): KeptBounds => ({
  ...placesOf(memory, conversations),
  capturedFrom: capturedFrom(memory, conversations),
})

/** The day on which the first capture of some conversations arrived. */
function capturedFrom(memory: OrganizationDays, asked: readonly string[]): string | undefined {
  const days = asked.map(id => memory.arrivedOn(memory.ids.find(id) ?? -1)).filter(day => day > 0)
  return days.length === 0 ? undefined : dayOf((Math.min(...days) - 1) * DAY_S)
}

const placesOf = (memory: OrganizationDays, asked: readonly string[]): Omit<KeptBounds, 'capturedFrom'> =>
  withBytes(memory.ids.size(), wanted => findPlaces(memory, asked, wanted))

/** `wanted`: marks of conversations. */
function findPlaces(
  memory: OrganizationDays,
  asked: readonly string[],
  wanted: Uint8Array,
): Omit<KeptBounds, 'capturedFrom'> {
  const standing: string[] = []
  let [from, to, events] = [Number.POSITIVE_INFINITY, 0, 0]
  for (const id of asked) {
    const conversation = memory.ids.find(id)
    if (conversation === undefined || memory.eventsOf(conversation) === 0) continue
    const { first, last } = memory.extentOf(conversation)
    ;[from, to] = [Math.min(from, first), Math.max(to, last)]
    events += memory.eventsOf(conversation)
    wanted[conversation] = 1
    standing.push(id)
  }
  if (standing.length === 0) return { bounds: null, events }
  const [firstDay, lastDay] = [dayOf(from), dayOf(to)]
  const hours = new Set<number>()
  for (const day of memory.days()) {
    const pairs = memory.pairsOf(day)
    if (pairs === undefined || day < firstDay || day > lastDay) continue
    const { conversations, firsts, lasts } = pairs
    for (let i = 0; i < conversations.length; i++) {
      if (wanted[conversations[i] as number] === 0) continue
      const last = lasts[i] as number
      for (let at = (firsts[i] as number) - ((firsts[i] as number) % HOUR_S); at <= last; at += HOUR_S) hours.add(at)
    }
  }
  // In one order, whichever day was read last: pages that are asked for again make the very same reads.
  const inOrder = [...hours].sort((a, b) => a - b)
  return { bounds: { conversations: standing, hours: inOrder, first_second: from, end_second: to + 1 }, events }
}

/** The hours from a conversation's first event to its last as memory has them, for whoever asks the store meanwhile; null: no idea. */
export function guessBounds(kept: KeptDays, organization: string, id: string): ConversationBounds | null {
  const memory = kept.glance(organization)
  const conversation = memory?.ids.find(id)
  if (!memory || conversation === undefined || memory.eventsOf(conversation) === 0) return null
  const { first, last } = memory.extentOf(conversation)
  return ofHours([id], Math.floor(first / HOUR_S), Math.floor(last / HOUR_S))
}

const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10)
