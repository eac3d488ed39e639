// How a span failed, when its events may tell: the places of error type and message, read in the order in which they count. What they
// hold is what parsers/otlp/failure.ts would find.
import type { SpanEvent } from '#proto/otlp/span.ts'
import { asName } from '../parsers/otlp/accept.ts'
import type { Said } from '../parsers/otlp/content.ts'
import { type Accept, asWritten, type Facts } from '../parsers/otlp/facts.ts'
import { asMessage, type Failure, failureMark, failureSaying } from '../parsers/otlp/failure.ts'

import { type EventSource, eventSource, inEvents } from '../parsers/otlp/message-events.ts'
import { ERROR } from '../parsers/otlp/results.ts'
import type { Rule } from '../parsers/otlp/rules.ts'
import { Excerpt } from './content.ts'

/** A place: in the events, or one that always holds the same. */
interface ErrorPlace {
  readonly rule: Rule
  readonly events: EventSource | null
  readonly fixed: string | null
}

/** How failures of spans of one likeness are read. */
export interface FailurePlan {
  readonly by: string
  readonly statusMessage: string
  readonly types: readonly ErrorPlace[]
  readonly messages: readonly ErrorPlace[]
}

/** The plan of a span; null when no event has a part in it. */
export function failurePlan(facts: Facts): FailurePlan | null {
  const by = failureMark(facts)
  if (by === '') return null
  const types = placesOf(facts, 'error_type', asName)
  const messages = placesOf(facts, 'error_message', asMessage)
  if ([...types, ...messages].every(({ events }) => events === null)) return null
  return { by, statusMessage: facts.span.statusMessage, types, messages }
}

function placesOf(facts: Facts, field: 'error_type' | 'error_message', accept: Accept<string>): ErrorPlace[] {
  return facts.placesOf(field).map(rule => {
    const events = eventSource(rule.source)
    const held = events === null ? (facts.at(rule) ?? null) : null
    return { rule, events, fixed: held === null ? null : accept(held, rule) }
  })
}

/** The failure of a span with these events; null when it did not fail. */
export function readFailure(plan: FailurePlan, events: readonly SpanEvent[]): Failure | null {
  const { by, statusMessage, types, messages } = plan
  const type = firstOf(types, asName, events)
  return failureSaying(by, { type, said: firstOf(messages, asMessage, events), status: statusMessage })
}

function firstOf(places: readonly ErrorPlace[], accept: Accept<string>, events: readonly SpanEvent[]): string {
  for (const { rule, events: source, fixed } of places) {
    const held = source === null ? null : (asWritten(rule, inEvents(source, events)) ?? null)
    const said = held === null ? fixed : accept(held, rule)
    if (said !== null) return said
  }
  return ''
}

/** False for a result that surely does not say that it failed: it need not become a string. */
export function mayTellOfFailure(result: Said | null): boolean {
  if (!(result instanceof Excerpt) || result.structure !== null) return result !== null
  const { bytes, start, end } = result
  return bytes.subarray(start, end).includes(ERROR)
}
