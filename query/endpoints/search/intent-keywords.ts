// POST /dashboard/api/intent-keywords: which words users write, and which of them more than before. Counted, no model needed.
import { IntentKeywordsResponse, KEYWORD_SAMPLES, KEYWORDS_SHOWN } from '#proto/dashboard/keywords.ts'
import { QueryFilters } from '#proto/dashboard/shared.ts'
import { NIL_UUID } from '#proto/ids.ts'
import { Present } from '#proto/rows.ts'
import { placeOf } from '../../answers.ts'
import type { Call } from '../../endpoint.ts'
import { endpoint } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import { andAll, eventConditions } from '../../filters.ts'
import { BY_ROWS, IN_WINDOW, OURS } from '../../reads/sql.ts'
import { usersOfSql, WINDOW_CONVERSATIONS } from '../../reads/users.ts'
import type { Window } from '../../window.ts'
import { windowBefore, windowOf } from '../../window.ts'
import { STOP_WORDS } from './stop-words.ts'

/** Terms of one person's vocabulary would give them away. */
const USERS_MIN = 2
const TERM_CHARS = [3, 40] as const

interface TermRecord {
  readonly term: string
  readonly n: number
  /** Ids: of the event, of its conversation, and what was sent as that of the session. */
  readonly samples: readonly (readonly [string, string, string])[]
}

/** What was said to somebody, not a body that nobody said. */
const ASKED = `bitAnd(present, ${Present.input | Present.inputUnsaid}) = ${Present.input}`

/** A turn; one that says nothing itself is known by its trace and what its model calls were asked, each of which repeats it. */
const TURN = `if(kind = 'agent', event_id, reinterpretAsUUID(sipHash128(trace_id, input_preview)))`

/**
 * Turns of agents with an input, and model calls of traces whose turns have none. The preview is looked at: what a user wants stands at the
 * beginning.
 */
const inputs = (conditions: Conditions): string => `
    FROM events
    WHERE ${OURS} AND ${IN_WINDOW} AND ${ASKED} AND (kind = 'agent' OR (kind = 'llm' AND trace_id != '${NIL_UUID}' AND trace_id NOT IN (
        SELECT trace_id FROM events WHERE ${OURS} AND ${IN_WINDOW} AND kind = 'agent' AND ${ASKED})))${andAll(conditions.sql)}
    GROUP BY turn, event_id, conversation_id, session_id, ts, input_preview
    HAVING sum(sign) > 0
    ${BY_ROWS}`

const termsSql = (conditions: Conditions): string => `
  SELECT
    term, toUInt32(uniqExact(turn)) AS n,
    arrayMap(sample -> (sample.2, sample.3, sample.4), groupArraySorted(${KEYWORD_SAMPLES})(
      (-toUnixTimestamp64Nano(ts), toString(event_id), toString(conversation_id), session_id))) AS samples
  FROM (
    SELECT ${TURN} AS turn, event_id, conversation_id, session_id, ts,
      arrayJoin(arrayDistinct(extractAll(lowerUTF8(input_preview), '[\\\\p{L}][\\\\p{L}\\\\p{N}]+'))) AS term
    ${inputs(conditions)}
  ) AS terms
  LEFT JOIN (${usersOfSql(WINDOW_CONVERSATIONS)}
  ) AS known USING (conversation_id)
  WHERE lengthUTF8(term) BETWEEN ${TERM_CHARS[0]} AND ${TERM_CHARS[1]} AND term NOT IN {stop_words:Array(String)}
  GROUP BY term
  HAVING uniqExactIf(user, user != '') >= ${USERS_MIN}
  ORDER BY n DESC, term
  LIMIT ${KEYWORDS_SHOWN}`

const totalSql = (conditions: Conditions): string =>
  `SELECT toUInt32(uniqExact(turn)) AS n FROM (SELECT ${TURN} AS turn ${inputs(conditions)})`

const timesSql = (conditions: Conditions): string => `
  SELECT term, toUInt32(uniqExact(turn)) AS n
  FROM (
    SELECT ${TURN} AS turn, arrayJoin(arrayIntersect({terms:Array(String)},
      extractAll(lowerUTF8(input_preview), '[\\\\p{L}][\\\\p{L}\\\\p{N}]+'))) AS term
    ${inputs(conditions)}
  )
  GROUP BY term`

export const intentKeywords = endpoint({
  method: 'POST',
  path: '/dashboard/api/intent-keywords',
  auth: 'any',
  about: 'The words that users write most, and how their share changed since the window before.',
  request: QueryFilters,
  response: IntentKeywordsResponse,
  work: async (call, request) => {
    const { reader, nowMs } = call
    const conditions = eventConditions(request)
    const window = windowOf(request, nowMs)
    const parameters = { ...conditions.parameters, ...window.parameters }
    const [terms, [total]] = await Promise.all([
      reader.read<TermRecord>('keywords', termsSql(conditions), { ...parameters, stop_words: STOP_WORDS }),
      reader.read<{ n: number }>('keyword_inputs', totalSql(conditions), parameters),
    ])
    const total_analyzed = total?.n ?? 0
    const words = terms.map(({ term }) => term)
    const before = await readSharesBefore(call, conditions, windowBefore(window, nowMs), words)
    const keywords = terms.map(({ term, n, samples }) => {
      const share = n / total_analyzed
      const earlier = before.get(term)
      const change = earlier === undefined ? null : share / earlier - 1
      const places = samples.map(([event_id, conversation_id, session_id]) =>
        placeOf({ event_id, conversation_id, session_id }),
      )
      const sample_event_ids = places.map(({ event_id }) => event_id)
      return { keyword: term, count: n, share, change, sample_event_ids, samples: places }
    })
    return { total_analyzed, keywords }
  },
})

/** Shares of terms in the window before; terms that did not occur are absent. */
async function readSharesBefore(
  { reader }: Call,
  conditions: Conditions,
  window: Window | null,
  terms: readonly string[],
): Promise<Map<string, number>> {
  if (window === null || terms.length === 0) return new Map()
  const parameters = { ...conditions.parameters, ...window.parameters }
  const [rows, [total]] = await Promise.all([
    reader.read<Omit<TermRecord, 'samples'>>('keywords_before', timesSql(conditions), { ...parameters, terms }),
    reader.read<{ n: number }>('keyword_inputs', totalSql(conditions), parameters),
  ])
  return new Map(rows.map(({ term, n }) => [term, n / (total?.n ?? n)]))
}
