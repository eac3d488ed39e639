// The text of a transcript ("AI: …\nUser: …") -> turns. A turn runs until the next line that begins with a speaker's label;
// colons inside a turn, and turns over several lines, stay what they are. Times in brackets before or after a label are read.
import { type Clock, offsetOf } from './clock.ts'
import { labelKey, plainLabels, type Speaker, silentLabels, vagueLabels } from './speakers.ts'
import { clockTime } from './times.ts'
import { instantOfText } from './values.ts'

/** One uninterrupted speech of one side. Times are those of the call's clock, null when the report has none. */
export interface Turn {
  readonly speaker: Speaker
  readonly text: string
  readonly startedAtMs: number | null
  readonly endedAtMs: number | null
  /** Where the words are in the recording, where the report says so. */
  readonly words?: readonly Word[]
}

/** One spoken word; milliseconds from the start of the call. */
export interface Word {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
}

/** Names that stand for a side in this call only: the assistant's own, the customer's. */
export interface KnownNames {
  readonly assistant: readonly string[]
  readonly caller: readonly string[]
}

const TIME = '(?:\\d{4}-\\d\\d-\\d\\d[T ])?(?:\\d{1,2}:)?\\d{1,3}:\\d\\d(?:[.,]\\d{1,3})?Z?|\\d{1,5}(?:\\.\\d{1,3})?s'
const RANGE = `(?:${TIME})(?:\\s{0,2}(?:-|–|—|-->)\\s{0,2}(?:${TIME}))?`
const WHOLE_RANGE = new RegExp(`^(?:${RANGE})$`)
const NOTE = '[^\\])\\n]{1,40}'
/** The beginning of a line: bullet, time, label (up to 40 characters), a note in brackets, time, colon (also the full-width one). */
const LABEL = new RegExp(
  `^\\s{0,20}(?:[-•>]\\s{1,3})?(?:[[(<]?(?<before>${RANGE})[\\])>]?\\s{0,3}(?:[-–—|]\\s{1,3})?)?[*_[(]{0,3}` +
    `(?<label>[^\\s:：[\\]()*<>][^:：[\\]()*<>]{0,39}?)[*_\\])]{0,3}` +
    `\\s{0,3}(?:[[(](?<note>${NOTE})[\\])]|(?<after>${RANGE}))?\\s{0,3}[*_]{0,3}[:：](?!//)[*_]{0,3}`,
  'u',
)
/** What of a line is looked at for a label: labels are short, lines need not be. */
const HEAD_UNITS = 160
/** A transcript without line breaks: where a turn may begin inside the line. */
const INLINE = /(?<=\s)(?=[\p{Lu}\p{Lo}][\p{L}. -]{0,24}[:：])/u

/** A line: the label it may begin with, and what follows. */
interface Line {
  readonly text: string
  readonly label?: string
  /** A name or role in brackets behind the label. */
  readonly note?: string
  readonly rest?: string
  readonly time?: readonly (string | undefined)[]
}

type SpeakerOf = (line: Line) => Speaker | 'nobody' | undefined

/**
 * The turns of a transcript. Labels of no known side are taken for speakers only when the text has no known label at all:
 * then the first to speak is the assistant (it answers the phone) and everybody else the caller. Text without any label is
 * one turn of the caller.
 */
export function readTranscript(text: string, names: KnownNames, clock: Clock): Turn[] {
  const lines = linesOf(text.toWellFormed())
  const turns = turnsOf(lines, knownSpeakers(lines, names), clock) ?? guessed(lines, clock)
  if (turns !== null) return turns
  const whole = text.toWellFormed().trim()
  return whole === '' ? [] : [{ speaker: 'caller', text: whole, startedAtMs: null, endedAtMs: null }]
}

/** The lines of a text; a text without line breaks is cut where escaped breaks or further labels are. */
function linesOf(text: string): Line[] {
  const lines = text.split(/\r\n|\r|\n/)
  if (lines.filter(line => line.trim() !== '').length > 1) return lines.map(lineOf)
  const escaped = text.split(/\\r\\n|\\n/)
  if (escaped.length > 1 && escaped.filter(line => lineOf(line).label !== undefined).length > 1)
    return escaped.map(lineOf)
  const inline = text.split(INLINE)
  // A known side each: a colon inside a single speech cuts nothing.
  const sides = new Set(
    inline.map(part => plainLabels.get(lineOf(part).label ?? '')).filter(side => side !== undefined),
  )
  return sides.size === 2 ? joinUnknown(inline).map(lineOf) : lines.map(lineOf)
}

/** Pieces of a line that begin with no known label belong to the one before. */
function joinUnknown(parts: readonly string[]): string[] {
  const joined: string[] = []
  for (const part of parts) {
    if (joined.length === 0 || plainLabels.has(lineOf(part).label ?? '')) joined.push(part)
    else joined[joined.length - 1] += part
  }
  return joined
}

function lineOf(text: string): Line {
  const match = LABEL.exec(text.slice(0, HEAD_UNITS))
  if (match === null) return { text }
  const { label, note, before, after } = match.groups as Record<string, string | undefined>
  const rest = text.slice(match[0].length).trim()
  const isTime = WHOLE_RANGE.test(note ?? '')
  const time = (before ?? after ?? (isTime ? note : undefined))?.split(/\s{0,2}(?:-->|–|—|(?<!\d{4}|-\d\d)-)\s{0,2}/)
  return {
    text,
    label: labelKey(label as string),
    rest,
    ...(note === undefined || isTime ? {} : { note: labelKey(note) }),
    ...(time === undefined ? {} : { time }),
  }
}

/** Who speaks under a label that is known, in any call or in this one. */
function knownSpeakers(lines: readonly Line[], names: KnownNames): SpeakerOf {
  const known = new Map<string, Speaker>(plainLabels)
  for (const side of ['assistant', 'caller'] as const) for (const name of names[side]) known.set(labelKey(name), side)
  const used = new Set(lines.map(line => known.get(line.label ?? '')))
  return ({ label, note }) => {
    if (label === undefined) return undefined
    const side = known.get(label) ?? (note === undefined ? undefined : known.get(note))
    if (side !== undefined) return side
    const vague = vagueLabels.get(label)
    if (vague !== undefined && !used.has(vague)) return vague
    return used.size > 1 && silentLabels.has(label) ? 'nobody' : undefined
  }
}

/** The turns by labels that nobody knows, null when the text has none. */
function guessed(lines: readonly Line[], clock: Clock): Turn[] | null {
  const first = lines.find(line => line.text.trim() !== '')?.label
  if (first === undefined || !isName(first)) return null
  const repeated = repeatedLabels(lines)
  const turns = turnsOf(
    lines,
    ({ label }) => {
      if (label === undefined) return undefined
      if (label === first) return 'assistant'
      return repeated.has(label) ? 'caller' : undefined
    },
    clock,
  )
  return turns?.some(turn => turn.speaker === 'caller') ? turns : null
}

/** The turns, or null when no line has a label that `speakerOf` knows. Text before the first label joins the first turn. */
function turnsOf(lines: readonly Line[], speakerOf: SpeakerOf, clock: Clock): Turn[] | null {
  const turns: Turn[] = []
  const read = timesOf(lines, clock)
  let speaker: Speaker | 'nobody' | undefined
  let said: string[] = []
  let time: Line['time']
  const close = (): void => {
    const text = said.join('\n').trim()
    if (speaker !== undefined && speaker !== 'nobody' && text !== '') turns.push({ speaker, text, ...read(time) })
    if (speaker !== undefined) said = []
  }
  for (const line of lines) {
    const next = speakerOf(line)
    if (next === undefined) {
      said.push(line.text)
      continue
    }
    close()
    speaker = next
    time = line.time
    said.push(line.rest as string)
  }
  close()
  return speaker === undefined || turns.length === 0 ? null : turns
}

type Times = Pick<Turn, 'startedAtMs' | 'endedAtMs'>

/** Reads the times of lines. Those that begin beyond the length of the call are times of the day: the first is the start. */
function timesOf(lines: readonly Line[], clock: Clock): (time: Line['time']) => Times {
  const first = clockTime(lines.find(line => line.time !== undefined)?.time?.[0] ?? null) ?? 0
  const base = first > (clock.lengthMs ?? 3_600_000) ? first : 0
  const read = (text: string | undefined): number | null => {
    if (text === undefined) return null
    const offset = clockTime(text)
    if (offset !== null) return offsetOf(offset - base, 1, clock)
    return clock.startedAtMs === null ? null : instantOfText(text)
  }
  return time => ({ startedAtMs: read(time?.[0]), endedAtMs: read(time?.[1]) })
}

/** Labels that begin more than one line, or the only other one: what a name in a dialogue does and a phrase rarely does. */
function repeatedLabels(lines: readonly Line[]): Set<string> {
  const counts = new Map<string, number>()
  for (const { label } of lines)
    if (label !== undefined && isName(label)) counts.set(label, (counts.get(label) ?? 0) + 1)
  const often = [...counts].filter(([, count]) => count > 1).map(([label]) => label)
  return new Set(counts.size <= 2 ? counts.keys() : often)
}

/** A name has few words and no punctuation of sentences; a phone number is one too. */
function isName(label: string): boolean {
  return label.split(/\s+/).length <= 4 && !/[.,;!?"„“”]\s|[!?;"]$/u.test(label)
}
