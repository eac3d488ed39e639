// The messages of a call's artifact -> turns and tool calls, in the order they happened. Two shapes are read, also mixed:
//
//   platform  {role: user|bot|system, message, time, endTime, secondsFromStart, duration, metadata: {wordLevelConfidence}}
//             {role: tool_calls, toolCalls: [{id, function: {name, arguments}}], time}
//             {role: tool_call_result, toolCallId, name, result, time}
//   OpenAI    {role: user|assistant|system, content: text | [{type: text, text}] | null, tool_calls: [{id, function}]}
//             {role: tool, tool_call_id, content}
import { isObject, type JsonObject } from '#proto/json.ts'
import { type Clock, offsetOf, spanOf } from './clock.ts'
import { speakerOf } from './speakers.ts'
import { type ToolGroup, ToolLog } from './tools.ts'
import type { Turn, Word } from './transcript.ts'
import { asNumber, at, textAt } from './values.ts'

/** What happened, in order. */
export type Happening =
  | { readonly turn: Turn; readonly group?: undefined }
  | { readonly group: ToolGroup; readonly turn?: undefined }

/** Reads messages; what is no speech and no tool call is left out. */
export function readMessages(messages: readonly unknown[], clock: Clock): Happening[] {
  const tools = new ToolLog(clock)
  const happenings: (() => Happening)[] = []
  for (const message of messages) {
    if (!isObject(message)) continue
    const sent = message.role ?? message.speaker
    if (typeof sent !== 'string' || sent === '') continue
    const role = sent.trim().toLowerCase()
    const turn = turnOf(message, role, clock)
    if (turn !== null) happenings.push(() => ({ turn }))
    const group = tools.read(message, role)
    if (group !== null) happenings.push(() => ({ group: group() }))
  }
  return happenings.map(happening => happening())
}

function turnOf(message: JsonObject, role: string, clock: Clock): Turn | null {
  const speaker = speakerOf(role)
  const text = speaker === undefined ? null : speech(message)
  if (speaker === undefined || text === null) return null
  const sent = spanOf(message, clock)
  const words = wordsOf(message, sent.startedAtMs, clock)
  const [first, last] = [words[0], words.at(-1)]
  const startedAtMs = sent.startedAtMs ?? (first === undefined ? null : offsetOf(first.startMs, 1, clock))
  const endedAtMs = sent.endedAtMs ?? (last === undefined ? null : offsetOf(last.endMs, 1, clock))
  return { speaker, text, startedAtMs, endedAtMs, ...(words.length === 0 ? {} : { words }) }
}

const speechPaths = ['message', 'content', 'text', 'transcript']

/** The words of a message, null when there are none. */
function speech(message: JsonObject): string | null {
  const plain = textAt(message, speechPaths)
  if (plain !== null || !Array.isArray(message.content)) return plain
  const parts = message.content.map(part =>
    typeof part === 'string' ? part : textAt(part, ['text', 'content', 'transcript']),
  )
  const text = parts.filter(part => part !== null && part !== '').join('\n')
  return text.trim() === '' ? null : text.trim().toWellFormed()
}

const NO_WORDS: Word[] = []

/** Where lists of timed words are. */
const wordPaths = ['metadata.wordLevelConfidence', 'metadata.wordLevelTimestamps', 'words']

/** The timed words of a message, in milliseconds from the start of the call; none when the report has none. */
function wordsOf(message: JsonObject, startedAtMs: number | null, clock: Clock): Word[] {
  if (message.metadata === undefined && message.words === undefined) return NO_WORDS
  const list = wordPaths.map(path => at(message, path)).find(Array.isArray)
  if (list === undefined) return NO_WORDS
  const sent = (list as unknown[]).flatMap(word => {
    const text = textAt(word, ['punctuated_word', 'word', 'text'])
    const [start, end] = [asNumber(at(word, 'start')), asNumber(at(word, 'end'))]
    const isTimed = start !== null && end !== null && start >= 0 && end >= start && end < 1e8
    return text === null || !isTimed ? [] : [{ text, start, end }]
  })
  const unit = wordUnit(sent, startedAtMs === null ? null : startedAtMs - (clock.startedAtMs ?? 0))
  return sent.map(({ text, start, end }) => ({
    text,
    startMs: Math.round(start * unit),
    endMs: Math.round(end * unit),
  }))
}

/** Milliseconds of the unit of word times: the one in which words last as long as words do. */
function wordUnit(words: readonly { start: number; end: number }[], turnOffsetMs: number | null): number {
  const first = words[0]
  if (first === undefined) return 1
  const spoken = words.reduce((sum, { start, end }) => sum + end - start, 0) / words.length
  // A word takes 100 to 1000 ms; in seconds that is below 10 even when it is drawn out.
  if (spoken > 0) return spoken < 10 ? 1000 : 1
  return turnOffsetMs !== null && Math.abs(first.start - turnOffsetMs) < Math.abs(first.start * 1000 - turnOffsetMs)
    ? 1
    : 1000
}
