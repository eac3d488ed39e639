// Stored rows -> the shapes of answers: names, units, nulls.
import type { EventRow, Preview } from '#proto/dashboard/shared.ts'
import { NIL_UUID } from '#proto/ids.ts'
import { isOurKey } from '#proto/metadata-keys.ts'
import { Present } from '#proto/rows.ts'
import type { EventRecord } from './reads/events.ts'
import type { Lenders, TextSource, Texts } from './reads/texts.ts'

const NS_PER_MS = 1_000_000
const NANOS_PER_DOLLAR = 1e9

/** Longest value of metadata in lists, in UTF-16 units; raw-logs of one `event_id` has it whole. */
const VALUE_UNITS = 4096

type Entries = Readonly<Record<string, string>>

/** Metadata with values as long as lists show them. */
export const cutValues = (stored: Entries): Entries => Object.assign({}, ...Object.values(apart(stored))) as Entries

/** What senders attached, and what parley remarked, each value cut to `units`. */
export function apart(stored: Entries, units = VALUE_UNITS): { metadata: Entries; attributes: Entries } {
  const ours: [string, string][] = []
  const theirs: [string, string][] = []
  for (const [key, value] of Object.entries(stored)) {
    const list = isOurKey(key) ? ours : theirs
    list.push([key, value.length > units ? beginningOf(value, units) : value])
  }
  return { metadata: Object.fromEntries(theirs), attributes: Object.fromEntries(ours) }
}

/** Whole characters. */
const beginningOf = (text: string, units: number): string =>
  text.slice(0, (text.codePointAt(units - 1) ?? 0) > 0xffff ? units - 1 : units)

/** An event without its texts. */
export type EventHead = Omit<EventRow, keyof Texts | 'preview'>

/** Texts that were not asked for. */
export const NO_TEXTS: Texts = { input: null, output: null, input_truncated: false, output_truncated: false }

/** Beginnings that were not asked for. */
export const NO_PREVIEW: Preview = { first_input: null, last_output: null }

/** Beginnings of an event's texts, or of those that its lenders have. */
export function previewOf(event: TextSource, { input = event, output = event }: Lenders = {}): Preview {
  return {
    first_input: (input.present & Present.input) > 0 ? input.input_preview : null,
    last_output: (output.present & Present.output) > 0 ? output.output_preview : null,
  }
}

/** ISO 8601 as the store answers, without the digits that say nothing: whole milliseconds keep three. */
export function isoTime(stored: string): string {
  return stored.replace(/(\.\d{3})0+Z$/, '$1Z')
}

/** Whole nanoseconds in text to milliseconds; null when not known. */
export function latencyMs(durationNs: string): number | null {
  const ns = Number(durationNs)
  return ns < 0 ? null : ns / NS_PER_MS
}

/** What was sent as the id of a session, beside the id of its conversation. */
interface Sent {
  readonly session_id: string
  readonly conversation_id: string
}

/** The id that was sent where the conversation goes by another: not when it was the same uuid in capitals. */
export function originalIdOf({ session_id, conversation_id }: Sent): string | null {
  return session_id === '' || session_id.toLowerCase() === conversation_id ? null : session_id
}

/** Where an event is; a session that was sent as a uuid stands in lower case. */
export function placeOf({ event_id, ...sent }: Sent & Pick<EventRow, 'event_id'>) {
  const { conversation_id } = sent
  return { event_id, conversation_id, session_id: originalIdOf(sent) ?? conversation_id }
}

/** Whether an event succeeded: what passes on another's failure did not, either. */
export const succeeded = ({ failed, present }: Pick<EventRecord, 'failed' | 'present'>): boolean =>
  failed === 0 && (present & Present.carried) === 0

/** An event for a list; `captured`: whom captures name as its user, where it names none itself. */
export function eventHead(event: EventRecord, captured: string, valueUnits = VALUE_UNITS): EventHead {
  return {
    ...placeOf(event),
    timestamp: isoTime(event.ts),
    primitive_name: event.name,
    primitive_type: primitiveType(event),
    kind: event.kind,
    success: succeeded(event),
    latency: latencyMs(event.duration_ns),
    user_id: event.user_id || captured || null,
    ...apart(event.metadata, valueUnits),
    parent_id: event.parent_id === NIL_UUID ? null : event.parent_id,
    ...usageOf(event),
  }
}

/** What an event says of the model that it called. */
export function usageOf(event: EventRecord): Pick<EventRow, 'model' | 'input_tokens' | 'output_tokens' | 'cost'> {
  const told = (bit: number, amount: string): number | null => ((event.present & bit) > 0 ? Number(amount) : null)
  const nanos = told(Present.cost, event.cost_nanos)
  return {
    model: event.model || null,
    input_tokens: told(Present.inputTokens, event.input_tokens),
    output_tokens: told(Present.outputTokens, event.output_tokens),
    cost: nanos === null ? null : nanos / NANOS_PER_DOLLAR,
  }
}

function primitiveType({ kind }: EventRecord): EventRow['primitive_type'] {
  return kind === 'tool' || kind === 'resource' || kind === 'prompt' ? kind : ''
}
