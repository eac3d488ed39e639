// The events of a span -> what a place among them holds: an attribute of one of them, or messages, each of them an event.
import { isObject } from '#proto/json.ts'
import type { Attributes, SpanEvent, Value } from '#proto/otlp/span.ts'
import type { Source } from './dialect.ts'
import { unwrapped } from './unwrap.ts'

/** A place that stands in events. */
export type EventSource = Extract<Source, { readonly event: string } | { readonly events: object }>

/** The source when it stands in events; null for all others. */
export const eventSource = (source: Source): EventSource | null =>
  typeof source === 'object' && ('event' in source || 'events' in source) ? source : null

/** What a place in the events of a span holds. */
export function inEvents(source: EventSource, events: readonly SpanEvent[]): Value | undefined {
  if ('events' in source) return messagesIn(source.events, events)
  const { event: name, key } = source
  return events.findLast(event => event.name === name && event.attributes.has(key))?.attributes.get(key)
}

function messagesIn(roles: Readonly<Record<string, string>>, events: readonly SpanEvent[]): Value | undefined {
  const said = events.flatMap(({ name, attributes }) => {
    const role = Object.hasOwn(roles, name) ? roles[name] : undefined
    return role === undefined ? [] : [messageOfEvent(role, attributes)]
  })
  return said.length === 0 ? undefined : (said as unknown as Value)
}

/** The message that an event is; a choice holds it in an attribute of its own, as object, JSON or plain text. */
function messageOfEvent(role: string, attributes: Attributes): Record<string, unknown> {
  const { message, ...fields } = Object.fromEntries(attributes) as Record<string, unknown>
  const inner = unwrapped(message)
  if (isObject(inner)) return { role, ...fields, ...inner }
  return inner === undefined ? { role, ...fields } : { role, ...fields, content: inner }
}
