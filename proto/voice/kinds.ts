// A voice platform sends more than reports to its one address. A body's message -> which of the live kinds it is, null for none.
// Those are answered and forgotten: what they say is said again by the report of the call's end.
import { isObject, type JsonObject } from '#proto/json.ts'
import { asNumber, at } from './values.ts'

/**
 * Kinds by what makes one: the fields of which it has at least one. Kinds without a field of their own have `timestamp`, which every
 * live message has. A report whose type is merely wrong has none of them, and stays a mistake that its sender is told.
 */
export const fieldsOfKind: ReadonlyMap<string, readonly string[]> = new Map([
  ['assistant-request', ['timestamp']],
  ['assistant.started', ['newAssistant', 'timestamp']],
  ['assistant.speechStarted', ['turn', 'timestamp']],
  ['call.endpointing.request', ['messagesOpenAIFormatted', 'timestamp']],
  ['conversation-update', ['conversation', 'messages', 'messagesOpenAIFormatted']],
  ['function-call', ['functionCall']],
  ['handoff-destination-request', ['timestamp']],
  ['hang', ['timestamp']],
  ['knowledge-base-request', ['messages', 'messagesOpenAIFormatted']],
  ['language-change-detected', ['language']],
  ['model-output', ['output']],
  ['phone-call-control', ['request']],
  ['session.created', ['session']],
  ['session.updated', ['session']],
  ['session.deleted', ['session']],
  ['chat.created', ['chat']],
  ['chat.deleted', ['chat']],
  ['speech-update', ['status', 'role']],
  ['status-update', ['status']],
  ['tool-calls', ['toolCallList', 'toolWithToolCallList', 'toolCalls']],
  ['transcript', ['transcriptType']],
  ['transfer-destination-request', ['timestamp']],
  ['transfer-update', ['destination', 'toAssistant', 'timestamp']],
  ['user-interrupted', ['turnId', 'timestamp']],
  ['voice-input', ['input']],
  ['voice-request', ['text', 'sampleRate']],
  ['workflow.node.started', ['node', 'timestamp']],
])

/** The live kinds: what counters are labelled with. */
export const liveKinds: readonly string[] = [...fieldsOfKind.keys()]

/** The kind of a live message, null for a report and for what is neither. Never throws. */
export function liveKindOf(body: unknown): string | null {
  const message = at(body, 'message')
  if (!isObject(message) || typeof message.type !== 'string') return null
  const kind = kindOfType(message.type)
  const fields = fieldsOfKind.get(kind)
  return fields?.some(field => isGiven(message, field)) ? kind : null
}

/** The kind that a type names: `transcript[transcriptType="final"]` is a transcript. */
export function kindOfType(type: string): string {
  return type.split('[', 1)[0] as string
}

function isGiven(message: JsonObject, field: string): boolean {
  const value = at(message, field)
  return field === 'timestamp' ? asNumber(value) !== null : value !== undefined && value !== null
}
