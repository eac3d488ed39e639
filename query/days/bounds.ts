// Conversations -> the hours in which their rows stand, from kept days: no look-up of each id in every part of every month.
import type { Reader } from '../reader.ts'
import { boundsOf, type ConversationBounds } from '../reads/conversation-facts.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'

const HOUR_S = 3600

/** Bounds of some conversations; null when none of them has an event. */
export interface CountedBounds {
  readonly bounds: ConversationBounds | null
  /** How many events they have together; undefined where nobody knows. */
  readonly events?: number
}

/** Bounds of some conversations, looked up where days are not kept. */
export async function readBounds(
  kept: KeptDays,
  reader: Reader,
  { organization, conversations }: { organization: string; conversations: readonly string[] },
): Promise<CountedBounds> {
  if (conversations.length === 0) return { bounds: null }
  const found = await kept.with(organization, ['figures'], async (memory, asked) =>
    (await memory.refresh(reader, asked)) === 'done' ? keptBoundsOf(memory, conversations) : null,
  )
  return found ?? { bounds: await boundsOf(reader, conversations) }
}

function keptBoundsOf(memory: OrganizationDays, asked: readonly string[]): CountedBounds {
  const wanted = new Uint8Array(memory.ids.size())
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
  if (standing.length === 0) return { bounds: null }
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
  return { bounds: { hours: [...hours].sort((a, b) => a - b), conversations: standing }, events }
}

/** The hours from a conversation's first event to its last as memory has them, for whoever asks the store meanwhile; null: no idea. */
export function guessBounds(kept: KeptDays, organization: string, id: string): ConversationBounds | null {
  const memory = kept.glance(organization)
  const conversation = memory?.ids.find(id)
  if (!memory || conversation === undefined || memory.eventsOf(conversation) === 0) return null
  const { first, last } = memory.extentOf(conversation)
  const hours: number[] = []
  for (let at = first - (first % HOUR_S); at <= last; at += HOUR_S) hours.push(at)
  return { hours, conversations: [id] }
}

const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 10)
