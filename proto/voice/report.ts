// A voice platform's end-of-call report, parsed JSON -> the call, or the code that says why it cannot be taken.
// The receiver asks before it answers and the processor asks again before it stores: both get the same call.
import type { ErrorCode } from '#proto/errors.ts'
import type { JsonObject } from '#proto/json.ts'
import { type Clock, clockOf } from './clock.ts'
import { type Cost, costOf } from './cost.ts'
import { type Exchange, exchangesOf } from './exchanges.ts'
import { type Happening, readMessages } from './messages.ts'
import { messageOf, places } from './places.ts'
import { type KnownNames, readTranscript } from './transcript.ts'
import { at, textAt } from './values.ts'

export type { Exchange } from './exchanges.ts'
export type { ToolCall, ToolGroup } from './tools.ts'
export type { Word } from './transcript.ts'

/** UTF-8 bytes that the chosen transcript may have. */
export const TRANSCRIPT_MAX_BYTES = 1_048_576

/** A completed call. Times are Unix milliseconds, null when the report has none. */
export interface VoiceReport {
  /** As sent: not always a uuid. */
  readonly callId: string
  /** The caller's number: the user of the conversation. */
  readonly number: string
  /** At least one. Where `startedAtMs` is null, their times count from 0, the start of the call. */
  readonly exchanges: readonly Exchange[]
  /** Events the call is stored as: an exchange is one, a group of tool calls one, and each tool call one. */
  readonly eventCount: number
  /** US dollars for the whole call, null when the report has none, or none that can be read. */
  readonly cost: number | null
  /** True when a cost was sent that is no amount. */
  readonly isCostInvalid: boolean
  readonly startedAtMs: number | null
  readonly endedAtMs: number | null
  readonly durationMs: number | null
  readonly recordingUrl: string
  readonly assistantName: string
  /** Which of the places the transcript came from. */
  readonly transcriptSource: string
  /** The report's `message`, for what is kept as it came. */
  readonly message: JsonObject
}

/** The call, or the first thing that is wrong with the report. */
export type VoiceVerdict =
  | { readonly ok: true; readonly report: VoiceReport }
  | { readonly ok: false; readonly code: ErrorCode; readonly field?: string }

/**
 * Reads a report. Order of the checks: message, type, call id, number, size of the transcript, transcript.
 * Never throws.
 */
export function readVoiceReport(body: unknown): VoiceVerdict {
  const message = messageOf(body)
  if (message === null) return { ok: false, code: 'REQ_BODY_INVALID', field: 'message' }
  if (message.type !== 'end-of-call-report') return { ok: false, code: 'ING_VOICE_TYPE', field: 'message.type' }
  const callId = textAt(message, places['call id'])
  if (callId === null) return { ok: false, code: 'ING_VOICE_CALL_ID', field: 'message.call.id' }
  const number = textAt(message, places.number)
  if (number === null) return { ok: false, code: 'ING_VOICE_NUMBER', field: 'message.call.customer.number' }
  const lists = listsOf(message)
  const clock = clockOf(
    message,
    lists.flatMap(list => list.messages),
  )
  const transcript = chooseTranscript(message, lists, clock)
  if (transcript === 'too large') {
    return { ok: false, code: 'ING_VOICE_TRANSCRIPT_TOO_LARGE', field: 'message.artifact' }
  }
  if (transcript === null) return { ok: false, code: 'ING_VOICE_TRANSCRIPT_MISSING', field: 'message.artifact' }
  const exchanges = exchangesOf(transcript.happenings)
  return {
    ok: true,
    report: { callId, number, ...summary(message, clock, exchanges), transcriptSource: transcript.source },
  }
}

function summary(
  message: JsonObject,
  clock: Clock,
  exchanges: readonly Exchange[],
): Omit<VoiceReport, 'callId' | 'number' | 'transcriptSource'> {
  const cost: Cost = costOf(message)
  return {
    exchanges,
    eventCount: exchanges.reduce((sum, exchange) => sum + eventsOf(exchange), 0),
    cost: cost.dollars,
    isCostInvalid: cost.isInvalid,
    startedAtMs: clock.startedAtMs,
    endedAtMs: clock.endedAtMs,
    durationMs: clock.lengthMs,
    recordingUrl: linkAt(message, places.recording),
    assistantName: textAt(message, places['assistant name']) ?? 'assistant',
    message,
  }
}

/** The first place that holds a link to something that can be fetched, '' when none does. */
function linkAt(message: JsonObject, paths: readonly string[]): string {
  for (const path of paths) {
    const text = textAt(message, [path])
    if (text !== null && /^(https?|s3|gs):\/\/\S+$/i.test(text)) return text
  }
  return ''
}

interface MessageList {
  readonly source: string
  readonly messages: readonly unknown[]
}

/** Every list of messages, in the order they are asked for. Where a transcript is a list, it is one of messages. */
function listsOf(message: JsonObject): MessageList[] {
  return [...places.messages, ...places.transcript].flatMap(source => {
    const messages = at(message, source)
    return Array.isArray(messages) && messages.length > 0 ? [{ source, messages }] : []
  })
}

interface Transcript {
  readonly source: string
  readonly happenings: readonly Happening[]
}

/** The first place with speech in it; tool calls are taken from other messages when the words' place has none. */
function chooseTranscript(
  message: JsonObject,
  lists: readonly MessageList[],
  clock: Clock,
): Transcript | 'too large' | null {
  let tools: readonly Happening[] = []
  let spoken: Transcript | null = null
  for (const { source, messages } of lists) {
    const happenings = readMessages(messages, clock)
    const bytes = happenings.reduce((sum, { turn }) => sum + (turn === undefined ? 0 : Buffer.byteLength(turn.text)), 0)
    if (spoken === null && bytes > TRANSCRIPT_MAX_BYTES) return 'too large'
    if (spoken === null && bytes > 0) spoken = { source, happenings }
    if (tools.length === 0 && happenings.some(({ group }) => group !== undefined)) tools = happenings
    if (spoken !== null && tools.length > 0) break
  }
  if (spoken !== null) return { source: spoken.source, happenings: withTools(spoken.happenings, tools) }
  for (const source of places.transcript) {
    const text = at(message, source)
    if (typeof text !== 'string') continue
    if (Buffer.byteLength(text) > TRANSCRIPT_MAX_BYTES) return 'too large'
    const turns = readTranscript(text, namesOf(message), clock)
    const happenings = turns.map(turn => ({ turn }))
    if (turns.length > 0) return { source, happenings: withTools(happenings, tools) }
  }
  return null
}

/** Words of one place with the tool calls of another: each after as many turns of the caller as there; at the end where none are. */
function withTools(words: readonly Happening[], other: readonly Happening[]): readonly Happening[] {
  const groups = other.filter(({ group }) => group !== undefined)
  if (groups.length === 0 || words.some(({ group }) => group !== undefined)) return words
  const isCallers = ({ turn }: Happening): boolean => turn?.speaker === 'caller'
  if (!other.some(isCallers)) return [...words, ...groups]
  const merged: Happening[] = []
  let read = 0
  /** Moves on in the other place, through its groups, up to its next turn of the caller. */
  const takeGroups = (): void => {
    for (; read < other.length && !isCallers(other[read] as Happening); read++) {
      if (other[read]?.group !== undefined) merged.push(other[read] as Happening)
    }
    read++
  }
  takeGroups()
  for (const happening of words) {
    merged.push(happening)
    if (isCallers(happening)) takeGroups()
  }
  while (read < other.length) takeGroups()
  return merged
}

function namesOf(message: JsonObject): KnownNames {
  const names = (paths: readonly string[]): string[] => paths.flatMap(path => textAt(message, [path]) ?? [])
  return {
    assistant: names(places['assistant name']),
    caller: names([...places['caller name'], ...places.number]),
  }
}

function eventsOf(exchange: Exchange): number {
  return 1 + exchange.toolGroups.reduce((sum, group) => sum + 1 + group.calls.length, 0)
}
