// Failed events of a window, by what they say. They are few, so every row is told apart: a row and its reversal sum to zero, and times
// and samples are exact without a fold.
import type { Conditions } from '../filters.ts'
import { andAll } from '../filters.ts'
import type { Parameters, Reader } from '../reader.ts'
import { BY_ROWS, IN_WINDOW, OURS } from './sql.ts'
import { usersOfSql } from './users.ts'

/** Longest message of a group, in characters. */
const MESSAGE_CHARS = 500

/** Ids and numbers differ where the fault is the same. */
const MESSAGE = `replaceRegexpAll(replaceRegexpAll(
      substringUTF8(if(error_message = '', output_preview, error_message), 1, ${MESSAGE_CHARS}),
      '(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}', '<id>'),
      '[0-9]+', '<n>')`

/** Failures that say the same. `tool` and `message` are '' in the rows that sum up a tool, or everything. */
export interface FailureGroup {
  /** Which of the columns below were summed over: 0 = none, 1 = message and type, 3 = name as well. */
  readonly level: number
  readonly name: string
  readonly error_type: string
  readonly message: string
  readonly n: number
  readonly people: number
  readonly conversations: number
  readonly names: readonly string[]
  readonly first_at: string
  readonly last_at: string
  /** Ids of the latest of them: its own, its conversation's, and what was sent as that of the session. */
  readonly sample: readonly [string, string, string]
}

const standingSql = (conditions: Conditions): string => `
    SELECT name, error_type, ${MESSAGE} AS message, conversation_id, session_id, event_id, ts
    FROM events
    WHERE ${OURS} AND ${IN_WINDOW} AND failed = 1${andAll(conditions.sql)}
    GROUP BY name, error_type, message, conversation_id, session_id, event_id, ts
    HAVING sum(sign) > 0
    ${BY_ROWS}`

const FAILED_CONVERSATIONS = `
      SELECT DISTINCT conversation_id FROM events
      WHERE ${OURS} AND ${IN_WINDOW} AND failed = 1
      ${BY_ROWS}`

const FIGURES = `
    toUInt32(count()) AS n, toUInt32(uniqExactIf(user, user != '')) AS people, toUInt32(uniqExact(conversation_id)) AS conversations,
    arraySort(groupUniqArray(10)(failures.name)) AS names,
    min(ts) AS first_at, max(ts) AS last_at, argMax((event_id, conversation_id, session_id), (ts, toString(event_id))) AS sample`

const failures = (conditions: Conditions): string => `(${standingSql(conditions)}
  ) AS failures
  LEFT JOIN (${usersOfSql(FAILED_CONVERSATIONS)}
  ) AS known USING (conversation_id)`

/** Groups of each tool, at most `each` a tool, and the sums of every tool and of all. */
export function readFailuresByName(
  reader: Reader,
  conditions: Conditions,
  parameters: Parameters,
  each: number,
): Promise<FailureGroup[]> {
  const sql = `
  SELECT toUInt8(grouping(name) * 2 + grouping(message)) AS level, name, error_type, message, ${FIGURES}
  FROM ${failures(conditions)}
  GROUP BY GROUPING SETS ((name, error_type, message), (name), ())
  HAVING n > 0
  ORDER BY n DESC, name, error_type, message
  LIMIT ${each} BY level, name`
  return reader.read<FailureGroup>('failures_by_name', sql, parameters)
}

/** Groups whatever failed, most frequent first, at most `limit`, and the sum of all. */
export function readFailureGroups(
  reader: Reader,
  conditions: Conditions,
  parameters: Parameters,
  limit: number,
): Promise<FailureGroup[]> {
  const sql = `
  SELECT toUInt8(grouping(message) * 3) AS level, '' AS name, error_type, message, ${FIGURES}
  FROM ${failures(conditions)}
  GROUP BY GROUPING SETS ((error_type, message), ())
  HAVING n > 0
  ORDER BY level DESC, n DESC, error_type, message
  LIMIT ${limit + 1}`
  return reader.read<FailureGroup>('failure_groups', sql, parameters)
}
