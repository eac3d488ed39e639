// The spans of one request -> at most one link for each trace: whose conversation it is, by the span that says so best. Which one
// that is depends on the spans alone, never on the order or the batches in which they come.
import { conversationIdOf, NIL_UUID } from '#proto/ids.ts'
import type { EventRow, LinkRow } from '#proto/rows.ts'

/** Links by the position of the event whose span says it. */
export function linksOf(events: readonly EventRow[]): ReadonlyMap<number, LinkRow> {
  const best = new Map<string, { readonly index: number; readonly link: LinkRow }>()
  for (const [index, event] of events.entries()) {
    if (event.provisional === 1 || event.conversation_id === NIL_UUID) continue
    const known = best.get(event.trace_id)
    const link =
      known && known.link.conversation_id === event.conversation_id ? rankedAs(known.link, event) : linkOf(event)
    if (!known || isBefore(link, known.link)) best.set(event.trace_id, { index, link })
  }
  return new Map([...best.values()].map(({ index, link }) => [index, link]))
}

function linkOf(event: EventRow): LinkRow {
  const { organization, trace_id, conversation_id, session_id, retention } = event
  return rankedAs(
    {
      ...{ organization, trace_id, provisional_id: conversationIdOf(organization, trace_id.replaceAll('-', '')) },
      ...{ conversation_id, session_id, depth: 0, started_at: '', span_id: '', retention },
    },
    event,
  )
}

/** The same link with the rank of another span. */
function rankedAs(link: LinkRow, { parent_id, ts, span_id }: EventRow): LinkRow {
  return { ...link, depth: parent_id === NIL_UUID ? 0 : 1, started_at: ts, span_id }
}

/** True when `a` outranks `b`; the store orders links the same way. */
function isBefore(a: LinkRow, b: LinkRow): boolean {
  if (a.depth !== b.depth) return a.depth < b.depth
  if (a.started_at !== b.started_at) return a.started_at < b.started_at
  return BigInt(a.span_id) < BigInt(b.span_id)
}
