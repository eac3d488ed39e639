// What a call's report says besides the conversation -> metadata of the session and of its exchanges, and traits of the caller.
import { isObject, type JsonObject } from '#proto/json.ts'
import { places } from '#proto/voice/places.ts'
import type { Exchange, VoiceReport, Word } from '#proto/voice/report.ts'
import { at, textAt } from '#proto/voice/values.ts'
import { MetadataBuilder } from './metadata.ts'

/** Fields that may stand in the message, in `artifact` or in `call`, under the key they are kept under. */
const anywhere = [
  ...['endedReason', 'startedAt', 'endedAt', 'durationSeconds', 'durationMs', 'durationMinutes'],
  ...['cost', 'costBreakdown', 'costs', 'summary', 'successEvaluation', 'structuredData'],
  ...[
    'stereoRecordingUrl',
    'videoRecordingUrl',
    'logUrl',
    'pcapUrl',
    'recording',
    'variableValues',
    'performanceMetrics',
  ],
]

/** Where other things are, by the key they are kept under; the first path that holds something counts. */
const sources: readonly (readonly [key: string, ...paths: string[]])[] = [
  ['call.orgId', 'call.orgId'],
  ['call.type', 'call.type'],
  ['call.status', 'call.status'],
  ['call.assistantId', 'call.assistantId'],
  ['call.phoneNumberId', 'call.phoneNumberId'],
  ['assistant.id', 'call.assistant.id', 'assistant.id'],
  ['assistant.name', ...places['assistant name']],
  ['phoneNumber.number', 'phoneNumber.number', 'call.phoneNumber.number'],
]

/** Fields of the message that are read elsewhere, say the conversation again, or tell of this sending alone. */
const read: ReadonlySet<string> = new Set([
  ...['type', 'timestamp', 'call', 'customer', 'assistant', 'phoneNumber', 'artifact', 'analysis', 'recordingUrl'],
  ...['transcript', 'messages', 'messagesOpenAIFormatted', ...anywhere],
])

/** Fields of `call` that change without the call changing, or that open a door into a running call. */
const passing: ReadonlySet<string> = new Set(['updatedAt', 'id', 'monitor', 'webCallUrl', 'listenUrl', 'controlUrl'])

/** Metadata of the session of a call: what is listed above, the analysis by its fields, and whatever else the report has. */
export function callMetadata(report: VoiceReport): MetadataBuilder {
  const metadata = new MetadataBuilder()
  const { message } = report
  for (const [key, ...paths] of [
    ...anywhere.map(key => [key, key, `artifact.${key}`, `call.${key}`] as const),
    ...sources,
  ]) {
    const found = paths.map(path => at(message, path)).find(isGiven)
    if (found !== undefined) metadata.put(key, found)
  }
  putAnalysis(metadata, message)
  for (const [key, value] of Object.entries(message)) if (!read.has(key) && isGiven(value)) metadata.put(key, value)
  putRest(metadata, 'artifact', message.artifact, value => isGiven(value))
  putRest(metadata, 'call', message.call, value => isGiven(value) && typeof value !== 'object')
  metadata.note('transcript_source', report.transcriptSource)
  if (report.durationMs !== null) metadata.note('duration_ms', String(Math.round(report.durationMs)))
  return metadata
}

function putAnalysis(metadata: MetadataBuilder, message: JsonObject): void {
  for (const path of places.analysis) {
    const analysis = at(message, path)
    if (!isGiven(analysis)) continue
    if (!isObject(analysis)) return metadata.put('analysis', analysis)
    for (const key of Object.keys(analysis)) metadata.put(`analysis.${key}`, analysis[key])
    if (Object.keys(analysis).length > 0) return
  }
}

/** What an object has besides the fields that are read, unless the call has it already under a listed key. */
function putRest(metadata: MetadataBuilder, name: string, object: unknown, isKept: (value: unknown) => boolean): void {
  if (!isObject(object)) return
  for (const [key, value] of Object.entries(object)) {
    const full = `${name}.${key}`
    if (!read.has(key) && !passing.has(key) && !metadata.has(full) && isKept(value)) metadata.put(full, value)
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

/** Words of one side that are kept: as many as a value of metadata holds. */
const WORDS_UNITS = 16_000

/** Metadata of an exchange: how long it took, and where it is in the recording, if there is one: milliseconds from its start. */
export function exchangeMetadata(exchange: Exchange, report: VoiceReport): MetadataBuilder {
  const metadata = new MetadataBuilder()
  const { startedAtMs: fromMs, endedAtMs: toMs } = exchange
  if (fromMs !== null && toMs !== null) metadata.note('exchange_ms', String(Math.round(toMs - fromMs)))
  const offsetMs = fromMs === null ? -1 : Math.round(fromMs - (report.startedAtMs ?? 0))
  if (offsetMs >= 0 && report.recordingUrl !== '') {
    metadata.note('audio_from_ms', String(offsetMs))
    if (toMs !== null) metadata.note('audio_to_ms', String(Math.round(toMs - (report.startedAtMs ?? 0))))
  }
  return metadata
}

/** For each side of an exchange that has them the timed words, `[[word, from, to], …]`: they are what was said, and kept with the texts. */
export function exchangeWords(exchange: Exchange): MetadataBuilder {
  const words = new MetadataBuilder()
  noteWords(words, 'caller_words', exchange.callerWords)
  noteWords(words, 'assistant_words', exchange.assistantWords)
  return words
}

function noteWords(metadata: MetadataBuilder, key: string, words: readonly Word[]): void {
  if (words.length === 0) return
  let units = 2
  const kept: string[] = []
  for (const { text, startMs, endMs } of words) {
    const entry = JSON.stringify([text, startMs, endMs])
    units += entry.length + 1
    if (units > WORDS_UNITS) break
    kept.push(entry)
  }
  metadata.note(key, `[${kept.join(',')}]`)
  if (kept.length < words.length) metadata.note(`${key}_cut`, String(words.length - kept.length))
}

/** Traits of the caller: the fields of `customer`, the one of the call before the other. */
export function callerTraits(message: JsonObject): { email: string; traits: MetadataBuilder } {
  const traits = new MetadataBuilder()
  for (const path of ['customer', 'call.customer']) {
    const customer = at(message, path)
    if (isObject(customer)) for (const key of Object.keys(customer)) traits.put(key, customer[key])
  }
  return { email: textAt(message, ['call.customer.email', 'customer.email']) ?? '', traits }
}
