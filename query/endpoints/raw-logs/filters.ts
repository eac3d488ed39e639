// The filters of raw logs as conditions on rows of `events`.
import type { BaseFilters } from '#proto/dashboard/shared.ts'
import { Present } from '#proto/rows.ts'
import type { Captured, Conditions } from '../../filters.ts'
import { allOf, eventConditions, NOTHING } from '../../filters.ts'
import { contains, ownCondition, PREVIEWS } from '../../reads/search.ts'
import { OURS, TEXT_ORDER } from '../../reads/sql.ts'

/** What raw logs add to the base filters. */
export interface LogFilters {
  /** In lower case. */
  readonly conversation_id?: string
  readonly search_query?: string
  readonly success?: boolean
  /** Failures alone that are counted: of one that others pass on, where it happened. */
  readonly failures?: true
}

/** Everything but time, paging and the conversation, which narrow by key. The search uses `{lower}`, the beginning of the page. */
export function logConditions(request: LogFilters & BaseFilters, captured?: Captured): Conditions {
  return allOf(
    eventConditions(request, captured),
    successCondition(request.success),
    request.failures === true ? FAILURES : NOTHING,
    searchCondition(request.search_query),
  )
}

const FAILURES: Conditions = { sql: ['failed = 1'], parameters: {} }

/** Outcome of the event; what passes on another's failure did not succeed. */
export function successCondition(success: boolean | undefined): Conditions {
  if (success === undefined) return NOTHING
  return { sql: [`${success ? 'NOT ' : ''}(failed = 1 OR bitAnd(present, ${Present.carried}) > 0)`], parameters: {} }
}

/** The text anywhere in name, ids, input or output, ignoring case: where no index answers, among the events of a page's reach. */
function searchCondition(search: string | undefined): Conditions {
  if (search === undefined || search === '') return NOTHING
  const own = ownCondition(search)
  // Whole texts are read only for events whose previews don't hold them. A text may stand twice after a correction: the last counts.
  const beyond = `event_id IN (
        SELECT event_id FROM texts
        WHERE ${OURS} AND (group_id, event_id) IN (
          SELECT arrayJoin([conversation_id, trace_id]) AS group_id, event_id FROM events
          WHERE ${OURS} AND ts >= {lower:DateTime64(9, 'UTC')}
            AND toStartOfHour(ts) >= toStartOfHour({lower:DateTime64(9, 'UTC')})
            AND (input_bytes > length(input_preview) OR output_bytes > length(output_preview)))
        GROUP BY event_id
        HAVING argMax(${contains('input')} OR ${contains('output')}, ${TEXT_ORDER}))`
  return { sql: [[...own.sql, PREVIEWS, beyond].join('\n      OR ')], parameters: own.parameters }
}
