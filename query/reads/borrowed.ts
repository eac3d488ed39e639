// Texts that hold a search -> the turns that show them as their own: a turn that says nothing itself borrows from the model calls below it
// (lenders.ts), so whoever reads it there must find it.
import type { Reader } from '../reader.ts'
import type { EventRecord } from './events.ts'
import { EVENT_COLUMNS } from './events.ts'
import { readLenders } from './lenders.ts'
import { OURS, TEXT_ORDER } from './sql.ts'
import { type Side, UNSAID } from './texts.ts'

/** Turns that are looked at: the newest. */
const TURNS_MAX = 1_000
/** A call is found with its turn when it begins within this time after it. */
export const BORROWED_WITHIN_MS = 3_600_000
const HOUR_MS = 3_600_000

/** A text that was found. */
export interface FoundText {
  readonly event_id: string
  readonly group_id: string
  readonly ts: string
}

const SILENT = `kind = 'agent' AND (input_bytes = 0 OR output_bytes = 0 OR bitAnd(present, ${UNSAID.input | UNSAID.output}) > 0)`
const IN_HOURS = `toStartOfHour(ts) IN {hours:Array(DateTime('UTC'))}`

/**
 * Turns without a text of their own, of traces of which a text was found, in the hours before it. Mostly there are none, which narrow
 * columns tell; only of those that there are rows are folded.
 */
const SILENT_TURNS = `
  SELECT ${EVENT_COLUMNS}
  FROM events FINAL
  PREWHERE ${OURS} AND ${IN_HOURS} AND (conversation_id, ts, event_id) IN (
    SELECT conversation_id, ts, event_id FROM events
    WHERE ${OURS} AND ${IN_HOURS} AND ${SILENT} AND trace_id IN {traces:Array(UUID)})
  WHERE ${SILENT}
  ORDER BY ts DESC, event_id
  LIMIT {limit:UInt32}`

/** Which side of some texts holds the search; of several texts of an event, the last. */
const sidesSql = (holds: (text: string) => string): string => `
  SELECT event_id, argMax(${holds('texts.input')}, ${TEXT_ORDER}) AS input, argMax(${holds('texts.output')}, ${TEXT_ORDER}) AS output
  FROM texts
  WHERE ${OURS} AND group_id IN {groups:Array(UUID)} AND event_id IN {found:Array(UUID)}
  GROUP BY event_id`

/** What turns have to be found by. */
export interface Borrowing {
  readonly found: readonly FoundText[]
  /** The search as a condition on a text, and what it binds. */
  readonly holds: (text: string) => string
  readonly search: string
}

/** The turns of which a lender is among the found, on the side that it lends. */
export async function readBorrowers(reader: Reader, { found, holds, search }: Borrowing): Promise<FoundText[]> {
  if (found.length === 0) return []
  const turns = await reader.read<EventRecord>('search_silent_turns', SILENT_TURNS, {
    hours: [...new Set(found.flatMap(({ ts }) => hoursBefore(ts)))],
    // A text stands under the trace of its event, where that has one.
    traces: [...new Set(found.map(({ group_id }) => group_id))],
    limit: TURNS_MAX,
  })
  if (turns.length === 0) return []
  const lenders = await readLenders(reader, turns)
  const texts = new Map(found.map(text => [text.event_id, text]))
  const lent = [...lenders.values()].flatMap(({ input, output }) =>
    [input, output].flatMap(source => texts.get(source?.event_id ?? '') ?? []),
  )
  if (lent.length === 0) return []
  const rows = await reader.read<{ event_id: string } & Record<Side, 0 | 1>>('search_sides', sidesSql(holds), {
    search,
    groups: [...new Set(lent.map(({ group_id }) => group_id))],
    found: [...new Set(lent.map(({ event_id }) => event_id))],
  })
  const sides = new Map(rows.map(row => [row.event_id, row]))
  return turns
    .filter(({ event_id }) => {
      const { input, output } = lenders.get(event_id) ?? {}
      return sides.get(input?.event_id ?? '')?.input === 1 || sides.get(output?.event_id ?? '')?.output === 1
    })
    .map(({ event_id, trace_id, ts }) => ({ event_id, group_id: trace_id, ts }))
}

/** The hours in which a turn may have begun before its call, by their first seconds. */
function hoursBefore(ts: string): number[] {
  const atMs = Date.parse(ts)
  const hour = (ms: number): number => Math.floor(Math.max(ms, 0) / HOUR_MS) * (HOUR_MS / 1000)
  return [hour(atMs - BORROWED_WITHIN_MS), hour(atMs)]
}
