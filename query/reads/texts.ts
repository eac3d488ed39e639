// Inputs and outputs of events, cut or whole. A text that fits its preview is taken from there: most reads need no second table.
import { NIL_UUID } from '#proto/ids.ts'
import { Present } from '#proto/rows.ts'
import type { Reader } from '../reader.ts'
import { cutText, shareOf } from './cut.ts'
import type { EventRecord } from './events.ts'
import { OURS, sqlTime, TEXT_ORDER, utf8Prefix } from './sql.ts'

/** Both texts of an event; null = not captured. */
export interface Texts {
  readonly input: string | null
  readonly output: string | null
  readonly input_truncated: boolean
  readonly output_truncated: boolean
}

/** One side of an event. */
export type Side = 'input' | 'output'

/** Bits of sides that are there, but nobody said. */
export const UNSAID: Readonly<Record<Side, number>> = { input: Present.inputUnsaid, output: Present.outputUnsaid }

/** What is needed of an event to read its texts. */
export type TextSource = Pick<
  EventRecord,
  | 'event_id'
  | 'conversation_id'
  | 'trace_id'
  | 'ts'
  | 'present'
  | 'input_preview'
  | 'output_preview'
  | 'input_bytes'
  | 'output_bytes'
>

/** The events whose texts stand for those that an event lacks. */
export type Lenders = { readonly [S in Side]?: TextSource | undefined }

interface TextRecord {
  readonly event_id: string
  readonly input: string
  readonly output: string
}

/** Texts of events; `input` and `output` say how much of them. */
export const textsSql = (input: string, output: string): string =>
  columnsSql(`event_id, ${input} AS input, ${output} AS output`)

const columnsSql = (columns: string): string => `
  SELECT ${columns}
  FROM texts
  WHERE ${OURS} AND ts IN {instants:Array(DateTime64(9, 'UTC'))} AND group_id IN {groups:Array(UUID)} AND event_id IN {events:Array(UUID)}
  ORDER BY ${TEXT_ORDER} DESC
  LIMIT 1 BY event_id`

const CONTENT_SQL = columnsSql('content')

/** How many bytes of texts are shown: of each, and of all together. */
export interface TextLimits {
  readonly each: number
  readonly total: number
}

/** All of everything. */
export const WHOLE: TextLimits = { each: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }

/** Texts of events by event id, all cut to one length within the limits. `lenders`, by event id, stand in for their events. */
export async function readTexts(
  reader: Reader,
  events: readonly TextSource[],
  limits: TextLimits,
  lenders: ReadonlyMap<string, Lenders> = new Map(),
): Promise<Map<string, Texts>> {
  const sourceOf = (event: TextSource, side: Side): TextSource => lenders.get(event.event_id)?.[side] ?? event
  const sources = new Set(events.flatMap(event => [sourceOf(event, 'input'), sourceOf(event, 'output')]))
  const sizes = events.flatMap(event => [sourceOf(event, 'input').input_bytes, sourceOf(event, 'output').output_bytes])
  const maxBytes = shareOf(sizes, limits)
  const isKnown = (source: TextSource, side: Side): boolean =>
    isWhole(source, side) || Buffer.byteLength(source[`${side}_preview`]) >= maxBytes
  const stored = await readStored(
    reader,
    [...sources].filter(source => !isKnown(source, 'input') || !isKnown(source, 'output')),
    maxBytes,
  )
  return new Map(
    events.map(event => {
      const [from, to] = [sourceOf(event, 'input'), sourceOf(event, 'output')]
      const [input, input_truncated] = textOf(from, 'input', stored.get(from.event_id), maxBytes)
      const [output, output_truncated] = textOf(to, 'output', stored.get(to.event_id), maxBytes)
      return [event.event_id, { input, output, input_truncated, output_truncated }]
    }),
  )
}

/** What was said in an event beyond its input and output; empty where texts are no longer kept. */
export async function readContent(reader: Reader, event: TextSource): Promise<Readonly<Record<string, string>>> {
  const [row] = await reader.read<{ content: Record<string, string> }>('texts', CONTENT_SQL, placesOf([event]))
  return row?.content ?? {}
}

async function readStored(
  reader: Reader,
  events: readonly TextSource[],
  maxBytes: number,
): Promise<Map<string, TextRecord>> {
  if (events.length === 0) return new Map()
  const cut = (column: string): string => (Number.isFinite(maxBytes) ? utf8Prefix(column, maxBytes) : column)
  const rows = await reader.read<TextRecord>(
    'texts',
    textsSql(cut('texts.input'), cut('texts.output')),
    placesOf(events),
  )
  return new Map(rows.map(row => [row.event_id, row]))
}

/** Where the texts of events stand: under the trace or the conversation that each was first stored under. */
function placesOf(events: readonly TextSource[]): Record<string, readonly string[]> {
  const groups = new Set(events.flatMap(event => [event.conversation_id, event.trace_id]))
  groups.delete(NIL_UUID)
  return {
    // A text has the instant of its event, and a part knows its first and its last: a group is looked for in those parts alone that hold
    // one of these instants, of the newest events in the few that no merge has taken yet.
    instants: [...new Set(events.map(event => sqlTime(event.ts)))],
    groups: [...groups],
    events: events.map(event => event.event_id),
  }
}

function isWhole(event: TextSource, side: Side): boolean {
  return Buffer.byteLength(event[`${side}_preview`]) === event[`${side}_bytes`]
}

/** The text of one side and whether it was cut. */
function textOf(
  event: TextSource,
  side: Side,
  stored: TextRecord | undefined,
  maxBytes: number,
): [string | null, boolean] {
  if ((event.present & Present[side]) === 0) return [null, false]
  const preview = cutText(event[`${side}_preview`], maxBytes)
  if (isWhole(event, side)) return [preview, event[`${side}_bytes`] > maxBytes]
  // Texts may be kept for a shorter time than events: the preview is what is left then.
  if (stored === undefined) return [preview, true]
  return [stored[side], event[`${side}_bytes`] > maxBytes]
}
