// Agent turns that say nothing themselves, or what nobody said, -> the model calls below them that lend their texts: the first one's input,
// the last one's output; where the calls are without text, the agents below. Whatever batches they came in, and in whatever order.
// Calls are looked for in the hours of their turn, which the turn itself tells: nothing has to be asked of the conversation first.
import { NIL_UUID } from '#proto/ids.ts'
import type { Reader } from '../reader.ts'
import { placeSpans } from '../span-tree.ts'
import { type ConversationBounds, OF_CONVERSATIONS } from './conversation-facts.ts'
import type { EventRecord } from './events.ts'
import { type Lenders, type Side, type TextSource, UNSAID } from './texts.ts'

/** Most events of traces that are read at once; traces that have more are read in halves. */
const TRACES_MAX_EVENTS = 20_000
/** Reads of one page at most. A trace that is larger by itself lends nothing: its last call would not be known. */
const READS_MAX = 16
/** Clocks of a turn and of the calls below it are apart by an hour at most: calls lend that begin in the turn's hours, or the one next to them. */
const APART_HOURS = 1
/** What a turn that claims to last longer called after that lends nothing. */
const LASTS_MAX_HOURS = 31 * 24
const HOUR_MS = 3_600_000

/** What is asked of an event of a trace. */
type TraceRow = TextSource &
  Pick<EventRecord, 'parent_id' | 'span_id' | 'kind' | 'name' | 'model' | 'failed' | 'output_tokens'>

/** An event of a trace, and whether it is a model call that said something, or an agent. */
interface TraceRecord extends TextSource, Pick<EventRecord, 'parent_id' | 'span_id' | 'kind'> {
  readonly speaks: 'call' | 'agent' | null
}

/**
 * Embeddings and rerankings are stored as model calls; what is looked up or sorted was not said by anyone. With `u` a letter is the same in
 * another case where the store says so in searches: K, k, and the sign of kelvins.
 */
const SAYS_NOTHING = /embed|rerank/iu

function traceRecord(event: TraceRow): TraceRecord {
  const { kind, model, name, output_bytes, output_tokens, failed } = event
  const says = output_bytes > 0 || output_tokens !== '0' || failed === 1
  const generates = kind === 'llm' && says && !SAYS_NOTHING.test(`${model} ${name}`)
  return { ...event, speaks: generates ? 'call' : kind === 'agent' ? 'agent' : null }
}

function isLater(a: TraceRecord, b: TraceRecord): number {
  if (a.ts !== b.ts) return a.ts < b.ts ? -1 : 1
  if (a.span_id !== b.span_id) return BigInt(a.span_id) < BigInt(b.span_id) ? -1 : 1
  return a.event_id < b.event_id ? -1 : 1
}

// Told and put in order here: the store plans an expression for longer than it takes to look at some hundred events.
const TRACES_SQL = `
  SELECT
    event_id, parent_id, conversation_id, trace_id, span_id, ts, kind, name, model, failed, output_tokens, present,
    if(kind IN ('llm', 'agent'), events.input_preview, '') AS input_preview,
    if(kind IN ('llm', 'agent'), events.output_preview, '') AS output_preview,
    input_bytes, output_bytes
  FROM events FINAL
  PREWHERE ${OF_CONVERSATIONS}
  WHERE trace_id IN {traces:Array(UUID)}
  LIMIT {limit:UInt32}`

/**
 * Lenders by event id, for turns of traces that lack a text and have a model call with one; mostly one query, and none when no turn
 * lacks a text. Calls count as far as parents lead up to the turn within its conversation, unless a tool stands between.
 */
export async function readLenders(reader: Reader, events: readonly EventRecord[]): Promise<Map<string, Lenders>> {
  const silent = events.filter(isSilentTurn)
  return silent.length === 0 ? new Map() : lendersIn(await readTraces(reader, silent), silent)
}

/** The same of events whose conversations have been read whole: nothing else is asked. */
export function lendersAmong(all: readonly EventRecord[], events: readonly EventRecord[]): Map<string, Lenders> {
  const silent = events.filter(isSilentTurn)
  if (silent.length === 0) return new Map()
  const { conversations, hours } = placesOf(silent)
  const [ours, within] = [new Set(conversations), new Set(hours)]
  const traces = new Set(silent.map(turn => turn.trace_id))
  const rows = all.filter(row => ours.has(row.conversation_id) && traces.has(row.trace_id) && within.has(hourOf(row)))
  return lendersIn(rows, silent)
}

function lendersIn(rows: readonly TraceRow[], silent: readonly EventRecord[]): Map<string, Lenders> {
  const conversations = Map.groupBy(rows.map(traceRecord).sort(isLater), row => row.conversation_id)
  const ends = new Map([...conversations].flatMap(([id, its]) => endsOf(its).map(([event, end]) => [id + event, end])))
  return new Map(
    silent.map(event => [event.event_id, lendersOf(event, ends.get(event.conversation_id + event.event_id))]),
  )
}

/** The events of the turns' traces; none of a trace that is too large, or beyond what one page may read. */
async function readTraces(reader: Reader, turns: readonly EventRecord[]): Promise<readonly TraceRow[]> {
  const bounds = placesOf(turns)
  const limit = TRACES_MAX_EVENTS + 1
  const found: TraceRow[] = []
  const waiting = [[...new Set(turns.map(turn => turn.trace_id))]]
  for (let reads = 0; waiting.length > 0 && reads < READS_MAX; reads++) {
    const some = waiting.shift() as string[]
    const rows = await reader.read<TraceRow>('turn_texts', TRACES_SQL, { ...bounds, traces: some, limit })
    if (rows.length < limit) for (const row of rows) found.push(row)
    else if (some.length > 1) {
      const half = Math.ceil(some.length / 2)
      waiting.push(some.slice(0, half), some.slice(half))
    }
  }
  return found
}

/** Where calls of some turns are looked for. */
function placesOf(turns: readonly EventRecord[]): ConversationBounds {
  const hours = [...new Set(turns.flatMap(hoursOf))].sort((a, b) => a - b)
  return {
    conversations: [...new Set(turns.map(turn => turn.conversation_id))],
    hours,
    first_second: hours[0] as number,
    end_second: (hours.at(-1) as number) + HOUR_MS / 1000,
  }
}

const hourOf = ({ ts }: EventRecord): number => (Math.floor(Date.parse(ts) / HOUR_MS) * HOUR_MS) / 1000

/** Seconds at which the hours begin in which calls of a turn are looked for. */
function hoursOf(turn: EventRecord): number[] {
  const begin = Date.parse(turn.ts) / HOUR_MS
  const lasts = Math.min(Math.max(Number(turn.duration_ns), 0) / 1e6 / HOUR_MS, LASTS_MAX_HOURS)
  const first = Math.max(Math.floor(begin) - APART_HOURS, 0)
  const last = Math.floor(begin + lasts) + APART_HOURS
  return Array.from({ length: last - first + 1 }, (_, i) => ((first + i) * HOUR_MS) / 1000)
}

/** True for a side of a turn that has no words of its own. */
const isSilent = (event: TextSource, side: Side): boolean =>
  event[`${side}_bytes`] === 0 || (event.present & UNSAID[side]) > 0

function isSilentTurn(event: EventRecord): boolean {
  return (
    event.kind === 'agent' && event.trace_id !== NIL_UUID && (isSilent(event, 'input') || isSilent(event, 'output'))
  )
}

function lendersOf(event: EventRecord, ends: Ends | undefined): Lenders {
  return {
    input: isSilent(event, 'input') ? ends?.input : undefined,
    output: isSilent(event, 'output') ? ends?.output : undefined,
  }
}

/** Of the calls below an event, else of the agents: the first with words in its input, the last with words in its output. */
type Ends = { [S in Side]?: TraceRecord | undefined }

/** The ends below each event of a conversation, given in order of time. */
function endsOf(rows: readonly TraceRecord[]): [string, Ends][] {
  const at = new Map(rows.map((row, i) => [row, i]))
  // Calls before agents; among them the first that asks, and the last that answers.
  const rank = (row: TraceRecord | undefined, sign: 1 | -1): number =>
    row === undefined
      ? Number.POSITIVE_INFINITY
      : (row.speaks === 'call' ? 0 : rows.length) + sign * (at.get(row) as number)
  const below = new Map<string, Ends>()
  // Children before their parents: what is found below goes up step by step.
  for (const { node, parent } of placeSpans(rows).toReversed()) {
    if (parent === null || node.kind === 'tool') continue
    const ends = below.get(parent.event_id) ?? {}
    for (const { input, output } of [spoken(node), below.get(node.event_id) ?? {}]) {
      if (rank(input, 1) < rank(ends.input, 1)) ends.input = input
      if (rank(output, -1) < rank(ends.output, -1)) ends.output = output
    }
    below.set(parent.event_id, ends)
  }
  return [...below]
}

function spoken(row: TraceRecord): Ends {
  if (row.speaks === null) return {}
  return { ...(hasWords(row, 'input') ? { input: row } : {}), ...(hasWords(row, 'output') ? { output: row } : {}) }
}

/** How calls of tools, their results and printed objects begin; see processors/parsers/otlp/parts.ts and python.ts. */
const NO_WORDS = /^(?:\[tool_(?:call|result) |[A-Z][A-Za-z]+\([a-z_]+=)/

function hasWords(row: TraceRecord, side: Side): boolean {
  return !isSilent(row, side) && !NO_WORDS.test(row[`${side}_preview`])
}
