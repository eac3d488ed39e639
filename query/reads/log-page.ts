// One page of raw logs, newest first. `events` is ordered by hour and conversation, not by time, so a page would read the
// whole window; log-reach.ts says how far back it has to look instead.
import { FOLDED_BY_ONE } from '#store/classes.ts'
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import type { Slice } from '../page.ts'
import { afterCursor, sliceParameters, sliceSql } from '../page.ts'
import type { Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import { CONVERSATION_BOUNDS } from './conversation-facts.ts'
import { type EventRecord, PLACE, rowsAt } from './events.ts'
import { createReach } from './log-reach.ts'
import type { Newest } from './newest.ts'
import { hoursBetween, OURS, sqlTime } from './sql.ts'

/** Windows up to this long are read as they are. */
const READ_WHOLE_MS = 2 * 3_600_000
/** Events that a page with filters looks at first, for each that it shows: as many cost no more than one. More where that is known to be too few. */
const LOOK_EACH = { least: 16, most: 256 } as const
/** How much farther the next attempt looks when filters left too few rows: as far as these say, and a half more. */
const FARTHER = { least: 2, most: 16, spare: 1.5 } as const
/** How much of what the newest event was behind is held against the next one that is less. */
const LATELY = 0.8
/** Up to so many events one thread folds them sooner than several. */
const FOLDED_ALONE = 20_000

/** A cursor may say any time; hours of the store end where windows do. */
const untilOf = (slice: Slice): string =>
  slice.after ? "least({after_at:DateTime64(9, 'UTC')}, {to:DateTime64(9, 'UTC')})" : "{to:DateTime64(9, 'UTC')}"

/**
 * Keys of the page as far back as `lower`; conditions on the key, which `within` may add to, come before the fold of corrections, all
 * others after it.
 */
export const pageSql = (
  conditions: Conditions,
  slice: Slice,
  within: readonly string[] = [],
  columns = 'event_id, conversation_id, ts',
): string => `
  SELECT ${columns}
  FROM events FINAL
  PREWHERE ${OURS}
    AND ts >= {lower:DateTime64(9, 'UTC')} AND ts < {to:DateTime64(9, 'UTC')}
    AND ${hoursBetween("{lower:DateTime64(9, 'UTC')}", untilOf(slice))}${slice.after ? " AND ts <= {after_at:DateTime64(9, 'UTC')}" : ''}${andAll(within)}
  WHERE (${afterCursor(slice, 'ts', 'toString(event_id)')})${andAll(conditions.sql)}${sliceSql('ts', 'toString(event_id)')}`

/** The same with its rows. Only keys are read of what the page does not hold. */
export const pageRowsSql = (conditions: Conditions, slice: Slice, within: readonly string[] = []): string => `
  ${rowsAt(pageSql(conditions, slice, within, PLACE))}
  ORDER BY ts DESC, toString(event_id)`

/** Which page. */
export interface AskedPage {
  readonly window: Window
  readonly conditions: Conditions
  readonly conversation: string | undefined
  readonly slice: Slice
  readonly nowMs: number
  /** What is remembered of the organization's newest events; left out: nothing. */
  readonly newest?: Newest | undefined
  /** About how many events hold one that meets the conditions, where somebody knows. */
  readonly each?: number | undefined
}

/** A page in a window, under conditions, of one conversation or of all. */
export async function readLogPage(reader: Reader, options: AskedPage): Promise<EventRecord[]> {
  const { window, conditions, conversation, slice } = options
  const filtered = conditions.sql.length > 0
  const sql = pageRowsSql(
    conditions,
    slice,
    conversation === undefined ? [] : ['conversation_id = {conversation:UUID}'],
  )
  const { from, to } = window.parameters
  const page = (lower: string, events = Number.POSITIVE_INFINITY): Promise<EventRecord[]> =>
    reader.read<EventRecord>(
      'log_page',
      sql,
      {
        ...conditions.parameters,
        ...sliceParameters(slice),
        lower,
        to,
        ...(conversation === undefined ? {} : { conversation }),
      },
      // Without filters about as many rows are read as are wanted.
      !filtered || events <= FOLDED_ALONE ? FOLDED_BY_ONE : {},
    )
  if (conversation !== undefined) {
    const bounds = await reader.read<{ first: string }>('conversation_bounds', CONVERSATION_BOUNDS, { conversation })
    const first = bounds[0] && sqlTime(bounds[0].first)
    if (first === undefined) return []
    return page(first > from ? first : from)
  }
  if (Math.min(options.nowMs, window.toMs) - window.fromMs <= READ_WHOLE_MS) return page(from)
  const reach = createReach(reader, options)
  const all = slice.offset + slice.limit
  let looked = ''
  for (let events = all * (filtered ? lookEach(options.each) : 1), looks = 0; ; looks++) {
    // What memory guesses is looked at before anything is asked.
    const lower = (looks === 0 ? reach.guess(events) : undefined) ?? (await reach.ask(events, looks))
    let farther: number = FARTHER.most
    if (lower !== looked) {
      const found = await page(lower, events)
      if (found.length === slice.limit || lower === from) {
        if (!filtered) seeNewest(found, options)
        return found
      }
      if (found.length > 0) farther = (FARTHER.spare * all) / (slice.offset + found.length)
      looked = lower
    }
    events = Math.ceil(events * Math.min(Math.max(farther, FARTHER.least), FARTHER.most))
  }
}

/** Remembers where a page of the newest events lies. Only the first one tells how long events take to be stored. */
function seeNewest(found: readonly EventRecord[], { newest, nowMs, slice, window }: AskedPage): void {
  const [first, last] = [found[0], found.at(-1)]
  if (first === undefined || last === undefined || slice.after !== undefined || window.toMs < nowMs) return
  if (slice.offset > 0 && newest?.seen(nowMs) !== undefined) return
  const [newestMs, oldestMs] = [Date.parse(first.ts), Date.parse(last.ts)]
  const behindMs = Math.max(nowMs - newestMs, LATELY * (newest?.seen(nowMs)?.behindMs ?? 0))
  newest?.see({ atMs: nowMs, newestMs, behindMs, oldestMs, events: found.length, before: slice.offset })
}

const lookEach = (each: number = LOOK_EACH.least): number =>
  Math.ceil(Math.min(Math.max(each * FARTHER.spare, LOOK_EACH.least), LOOK_EACH.most))
