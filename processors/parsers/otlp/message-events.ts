// A span event that is a message -> the message.
import { isObject } from '#proto/json.ts'
import type { Attributes } from '#proto/otlp/span.ts'
import { unwrapped } from './unwrap.ts'

/** The message that an event is; a choice holds it in an attribute of its own, as object, JSON or plain text. */
export function messageOfEvent(role: string, attributes: Attributes): Record<string, unknown> {
  const { message, ...fields } = Object.fromEntries(attributes) as Record<string, unknown>
  const inner = unwrapped(message)
  if (isObject(inner)) return { role, ...fields, ...inner }
  return inner === undefined ? { role, ...fields } : { role, ...fields, content: inner }
}
