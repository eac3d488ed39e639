// Texts that hold a search -> the turns that show them as their own: a turn that says nothing itself borrows from the model calls below it
// (lenders.ts), so whoever reads it there must find it.
import { NIL_UUID } from '#proto/ids.ts'
import type { Reader } from '../reader.ts'
import type { EventRecord } from './events.ts'
import { EVENT_COLUMNS } from './events.ts'
import { readLenders } from './lenders.ts'
import { OURS, sqlTime, TEXT_ORDER } from './sql.ts'
import type { Side } from './texts.ts'

/** Turns that are looked at: the newest. */
const TURNS_MAX = 1_000
/** A call is found with its turn when it begins within this time after it. */
export const BORROWED_WITHIN_MS = 3_600_000

/** A text that was found. */
export interface FoundText {
  readonly event_id: string
  readonly group_id: string
  readonly ts: string
}

/** Turns without a text of their own, of traces with a model call that was found. */
const SILENT_TURNS = `
  SELECT ${EVENT_COLUMNS}
  FROM events FINAL
  PREWHERE ${OURS} AND ts >= {first:DateTime64(9, 'UTC')} AND ts <= {last:DateTime64(9, 'UTC')}
  WHERE kind = 'agent' AND (input_bytes = 0 OR output_bytes = 0) AND trace_id IN (
    SELECT trace_id FROM events
    WHERE ${OURS} AND ts IN {found_at:Array(DateTime64(9, 'UTC'))} AND event_id IN {found:Array(UUID)}
      AND kind = 'llm' AND trace_id != '${NIL_UUID}')
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
  const times = [...new Set(found.map(({ ts }) => sqlTime(ts)))].sort()
  const [first, last] = [times[0] as string, times.at(-1) as string]
  const turns = await reader.read<EventRecord>('search_silent_turns', SILENT_TURNS, {
    first: earlier(first),
    last,
    found_at: times,
    found: found.map(({ event_id }) => event_id),
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

/** A time by as much earlier as a turn may begin before its call. */
function earlier(time: string): string {
  const ms = Date.parse(`${time.slice(0, 23).replace(' ', 'T')}Z`) - BORROWED_WITHIN_MS
  return new Date(Math.max(ms, 0)).toISOString().slice(0, 23).replace('T', ' ')
}
