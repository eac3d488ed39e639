// Conversations -> between which instants they stand, from kept days: no look-up of each id in every part of every month.
import { sqlMillis } from '#proto/time.ts'
import type { Reader } from '../reader.ts'
import { boundsOf, type ConversationBounds } from '../reads/conversation-facts.ts'
import type { KeptDays } from './kept.ts'
import type { OrganizationDays } from './organization.ts'

/** Bounds of some conversations, looked up where days are not kept; null when none of them has an event. */
export async function readBounds(
  kept: KeptDays,
  reader: Reader,
  { organization, conversations }: { organization: string; conversations: readonly string[] },
): Promise<ConversationBounds | null> {
  if (conversations.length === 0) return null
  const found = await kept.with(organization, 'figures', async (memory, asked) =>
    (await memory.refresh(reader, asked)) === 'done' ? { bounds: keptBoundsOf(memory, conversations) } : null,
  )
  return found === null ? boundsOf(reader, conversations) : found.bounds
}

function keptBoundsOf(memory: OrganizationDays, conversations: readonly string[]): ConversationBounds | null {
  const standing: string[] = []
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const id of conversations) {
    const conversation = memory.ids.find(id)
    if (conversation === undefined || memory.eventsOf(conversation) === 0) continue
    const { first, last } = memory.extentOf(conversation)
    ;[from, to] = [Math.min(from, first), Math.max(to, last)]
    standing.push(id)
  }
  if (standing.length === 0) return null
  // Whole seconds: the last one is over when the next begins.
  return { first: sqlMillis(from * 1000), last: sqlMillis((to + 1) * 1000), conversations: standing }
}
