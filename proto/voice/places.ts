// Where a report says what: platforms moved fields from the message into `artifact` and `call`, and send some in several places. The
// first place that holds something counts. README.md beside this file is the same table for people; a test compares the two.
import { isObject, type JsonObject } from '#proto/json.ts'

const everywhere = (field: string): string[] => [field, `artifact.${field}`, `call.${field}`]

/** Field of a call -> places, paths below `message`. */
export const places = {
  'call id': ['call.id'],
  number: ['call.customer.number', 'customer.number'],
  messages: [
    'artifact.messages',
    'messages',
    'artifact.messagesOpenAIFormatted',
    'messagesOpenAIFormatted',
    'call.messages',
    'call.artifact.messages',
  ],
  transcript: ['artifact.transcript', 'transcript', 'call.transcript', 'call.artifact.transcript'],
  'started at': everywhere('startedAt'),
  'ended at': everywhere('endedAt'),
  'end reason': everywhere('endedReason'),
  cost: everywhere('cost'),
  'cost total': everywhere('costBreakdown').map(path => `${path}.total`),
  'cost items': everywhere('costs'),
  'assistant name': ['call.assistant.name', 'assistant.name', 'artifact.assistant.name'],
  'caller name': ['call.customer.name', 'customer.name'],
  /** Mono first: it is the one a browser plays as it is. */
  recording: [
    ...['artifact.recordingUrl', 'recordingUrl'],
    ...['artifact.recording.mono.combinedUrl', 'recording.mono.combinedUrl'],
    ...['artifact.stereoRecordingUrl', 'stereoRecordingUrl', 'artifact.recording.stereoUrl', 'recording.stereoUrl'],
    ...['call.recordingUrl', 'call.artifact.recordingUrl', 'call.stereoRecordingUrl'],
  ],
  analysis: everywhere('analysis'),
} as const satisfies Readonly<Record<string, readonly string[]>>

/** Fields that only the message itself may have: the contract names their places. */
const own = new Set(['message', 'type', 'call', 'customer'])

/** The message, with what stands beside it at the top of the body where the message itself has nothing. */
export function messageOf(body: unknown): JsonObject | null {
  if (!isObject(body) || !Object.hasOwn(body, 'message') || !isObject(body.message)) return null
  const beside = Object.entries(body).filter(([key]) => !own.has(key))
  // `fromEntries` defines own keys: `__proto__` is a key like others.
  return beside.length === 0 ? body.message : Object.fromEntries([...beside, ...Object.entries(body.message)])
}
