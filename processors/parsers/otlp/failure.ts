// Did a span fail, and how. A failed status, a recorded exception, or what its framework has for it.
import type { Value } from '#proto/otlp/span.ts'
import { asName, asText } from './accept.ts'
import type { Facts } from './facts.ts'
import { Sign } from './keys.ts'
import { reasons, type SpanKind } from './kinds.ts'
import type { Rule } from './rules.ts'
import { failureSigns, steering } from './signs.ts'

/** A failure; type and message are '' when nothing names them. */
export interface Failure {
  readonly type: string
  readonly message: string
  /** What told. */
  readonly by: string
}

/** The failure of a span, null when it did not fail. */
export function failureOf(facts: Facts): Failure | null {
  const by = failureMark(facts)
  if (by === '') return null
  const type = facts.find('error_type', asName)?.value ?? ''
  const said = facts.find('error_message', asMessage)?.value ?? ''
  return failureSaying(by, { type, said, status: facts.span.statusMessage })
}

/**
 * True for spans whose failure is never their own: steps, and what is around turns, pass on what failed below them, and the requests of a call
 * are a part of it.
 */
export function passesOn({ kind, type, by }: SpanKind, isRoot: boolean): boolean {
  if (kind !== 'other') return false
  return type === 'step' || type === 'around' || (by === reasons.plumbing && !isRoot)
}

/** A failure of which this is said, and what the status says of it; null when the framework only steers by it. */
export function failureSaying(
  by: string,
  { type, said, status }: { readonly type: string; readonly said: string; readonly status: string },
): Failure | null {
  // The status often says no more than that, or where, something failed.
  const message = said || status || type
  return [type, said, status].some(text => steering.test(text)) ? null : { type, message, by }
}

/** A value as what is said about a failure. */
export const asMessage = (value: Value, rule: Rule): string | null =>
  typeof value === 'string' ? asText(value, rule) : null

/** The sign of a failure, '' when there is none. */
export function failureMark(facts: Facts): string {
  const { span } = facts
  if (span.statusCode === 2) return 'status'
  if (span.events.some(event => event.name === 'exception')) return 'event exception'
  if ((facts.signs & Sign.failure) === 0) return ''
  return failureSigns.find(([key, test]) => test(facts.attributes.get(key) ?? null))?.[0] ?? ''
}
