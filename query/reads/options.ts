// Identifiers and values that hold a text, with the conversations that they lead to.
import type { Conditions } from '../filters.ts'
import type { Question } from '../questions.ts'
import type { Parameters, Reader } from '../reader.ts'
import type { Window } from '../window.ts'
import type { Eligible } from './conversation-page.ts'
import { correctedConversations, eligibleSql, reachOf } from './conversation-page.ts'
import { GROUP_KEY, groupValuesSql } from './groups.ts'
import { BY_ROWS, IN_WINDOW, latest, OURS, standing } from './sql.ts'
import { usersOfSql, WINDOW_CONVERSATIONS } from './users.ts'

/** A field of the search and a value of it. */
export interface OptionRecord {
  readonly field: 'user_id' | 'conversation_id' | 'original_conversation_id' | 'user_email' | 'group_value'
  readonly value: string
  readonly conversations: number
  /** ISO 8601 */
  readonly last_at: string
}

/** Where options are looked for. */
interface Asked {
  readonly window: Window
  readonly conditions: Conditions
  readonly search: string
  readonly limit: number
}

/** Options (field, value, conversation_id) -> the page. */
const optionsSql = (found: string, { conditions }: Asked, eligible: Eligible): string => `
  SELECT field, value, toUInt32(uniqExact(conversation_id)) AS conversations, max(last_at) AS last_at
  FROM (${found}
  ) AS found
  INNER JOIN (${eligibleSql(conditions, eligible)}
  ) AS eligible USING (conversation_id)
  WHERE positionCaseInsensitiveUTF8(value, {search:String}) > 0 AND value != ''
  GROUP BY field, value
  ORDER BY positionCaseInsensitiveUTF8(value, {search:String}) = 1 DESC, last_at DESC, field, value
  LIMIT {limit:UInt32}`

/** An id that was sent, unless it is that of the conversation in capitals. */
const otherId = (sent: string): string => `if(lower(${sent}) = toString(conversation_id), '', ${sent})`

const IDENTIFIERS = `
    SELECT conversation_id, identifier.1 AS field, identifier.2 AS value
    FROM (
      SELECT
        conversation_id,
        arrayJoin([
          ('user_id', users.user), ('conversation_id', toString(conversation_id)),
          ('original_conversation_id', if(captured.session_id != '', captured.session_id, sent.session_id)),
          ('user_email', captured.email)]) AS identifier
      FROM (
        SELECT DISTINCT conversation_id FROM (${WINDOW_CONVERSATIONS}
        )
      ) AS active
      LEFT JOIN (${usersOfSql(WINDOW_CONVERSATIONS)}
      ) AS users USING (conversation_id)
      LEFT JOIN (
        SELECT conversation_id, ${otherId(latest('session_id'))} AS session_id, ${latest('user_email')} AS email
        FROM sessions
        WHERE ${OURS} AND ${standing()}
        GROUP BY conversation_id
      ) AS captured USING (conversation_id)
      LEFT JOIN (
        SELECT conversation_id, ${otherId('any(session_id)')} AS session_id
        FROM (
          SELECT conversation_id, session_id FROM events
          WHERE ${OURS} AND ${IN_WINDOW} AND session_id != ''
          GROUP BY conversation_id, session_id
          HAVING sum(sign) > 0
          ${BY_ROWS}
        )
        GROUP BY conversation_id
      ) AS sent USING (conversation_id)
    )`

async function ask(
  reader: Reader,
  question: Question,
  found: string,
  asked: Asked,
  more: Parameters,
): Promise<OptionRecord[]> {
  const { window, conditions, search, limit } = asked
  const corrected = await correctedConversations(reader, window)
  const eligible = { recount: corrected.length > 0, ends: Number.isFinite(window.toMs) }
  return reader.read<OptionRecord>(question, optionsSql(found, asked, eligible), {
    ...conditions.parameters,
    ...window.parameters,
    ...reachOf(window),
    ...more,
    corrected,
    search,
    limit,
  })
}

/** Users, conversations and e-mail addresses. */
export function readIdentifierOptions(reader: Reader, asked: Asked): Promise<OptionRecord[]> {
  return ask(reader, 'identifier_options', IDENTIFIERS, asked, {})
}

/** Values of a metadata key. */
export function readGroupOptions(
  reader: Reader,
  asked: Asked & { source: 'conversation_metadata' | 'user_metadata'; key: string },
): Promise<OptionRecord[]> {
  const found = `
    SELECT conversation_id, 'group_value' AS field, value
    FROM (${groupValuesSql(asked.source)})`
  return ask(reader, 'group_options', found, asked, { [GROUP_KEY]: asked.key })
}
