// When a found value counts: texts that mean "no value", ids that identify nobody, and reading values as text.
import { jsonText } from '#proto/json.ts'
import type { Value } from '#proto/otlp/span.ts'
import type { Rule } from './rules.ts'

/** Texts by which instrumentations say that there is no value. */
const placeholders: ReadonlySet<string> = new Set([
  ...[
    '',
    '__REDACTED__',
    '<REDACTED>',
    '{}',
    '[]',
    'null',
    'undefined',
    'N/A',
    '<not specified>',
    '<not serializable>',
  ],
])

/** What Logfire puts in the place of values under suspicious keys, `session` among them. */
const SCRUBBED = '[Scrubbed due to '

/** Ids that frameworks fill in when the application gave none. */
const nobody: ReadonlySet<string> = new Set([
  ...['default', 'unknown', 'undefined', 'default_user_id', 'none', 'agent_framework_local_history_persistence'],
])

/** A value as text: text as it is, nothing as '', structures as JSON. */
export function textOfValue(value: Value): string {
  if (value === null) return ''
  if (typeof value === 'string') return value
  return typeof value === 'object' ? jsonText(value) : String(value)
}

/** True for a place whose values always count: the contract's keys and what an organization chose itself. */
export function isTrusted(rule: Rule): boolean {
  return rule.step === 'contract' || rule.step === 'organization' || rule.label.startsWith('resource.service.')
}

/** True for a text by which an instrumentation says that there is no value. */
export function isPlaceholder(text: string): boolean {
  // The longest of them has 18 units: nothing that is longer needs trimming.
  return text.startsWith(SCRUBBED) || (text.length <= 32 && placeholders.has(text.trim()))
}

/** True for an id that frameworks fill in when the application gave none. */
export function isNobody(id: string): boolean {
  return nobody.has(id.toLowerCase())
}

/** A text that says something. */
export function asText(value: Value, rule: Rule): string | null {
  const text = textOfValue(value)
  if (isTrusted(rule)) return text.trim() === '' ? null : text
  return isPlaceholder(text) || text.trim() === '' ? null : text
}

/** An id: a text or a number that identifies somebody. */
export function asId(value: Value, rule: Rule): string | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null
  const id = String(value).trim()
  if (id === '' || (typeof value === 'number' && !Number.isFinite(value))) return null
  if (isTrusted(rule)) return id
  return isPlaceholder(id) || isNobody(id) ? null : id
}

/** A name: a text on one line that is no placeholder. */
export function asName(value: Value, rule: Rule): string | null {
  return typeof value === 'string' ? (asText(value, rule)?.trim() ?? null) : null
}
