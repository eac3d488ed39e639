// The filters of the tool endpoints as conditions on calls. A call belongs to the agents whose turns it stands under.
import type { QueryFilters } from '#proto/dashboard/shared.ts'
import type { Call } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import { allOf, eventConditions, listOf, NOTHING, onlyMetadataOf } from '../../filters.ts'
import { hoursBetween, OURS } from '../../reads/sql.ts'
import type { AskedTools } from '../../reads/tools.ts'
import { windowOf } from '../../window.ts'

/** How far below its turn a call may stand: a bound, because parents are what senders say and may go round in circles. */
const MAX_DEPTH = 16
/** How long before the window the turn of a call may have begun. */
const TURN_BEFORE_DAYS = 1

/** The calls that a request asks for. */
export function askedTools(call: Call, request: QueryFilters): AskedTools {
  const { agent_name, ...others } = request
  return {
    window: windowOf(request, call.nowMs),
    conditions: allOf(underAgents(listOf(agent_name)), eventConditions(others)),
    filters: onlyMetadataOf(request),
  }
}

function underAgents(agents: readonly string[]): Conditions {
  if (agents.length === 0) return NOTHING
  // No hour of the store is before 1970.
  const from = `greatest({from:DateTime64(9, 'UTC')} - INTERVAL ${TURN_BEFORE_DAYS} DAY, toDateTime64(0, 9, 'UTC'))`
  const to = `{to:DateTime64(9, 'UTC')}`
  const window = `ts >= ${from} AND ts < ${to} AND ${hoursBetween(from, to)}`
  return {
    sql: [
      `event_id IN (
        WITH RECURSIVE below AS (
          SELECT event_id, toUInt8(0) AS depth
          FROM events
          WHERE ${OURS} AND ${window} AND kind = 'agent' AND name IN {agents:Array(String)}
          GROUP BY event_id
          HAVING sum(sign) > 0
          UNION ALL
          SELECT child.event_id AS event_id, toUInt8(below.depth + 1) AS depth
          FROM below
          INNER JOIN (
            SELECT event_id, parent_id
            FROM events
            WHERE ${OURS} AND ${window} AND parent_id != toUUID('00000000-0000-0000-0000-000000000000')
            GROUP BY event_id, parent_id
            HAVING sum(sign) > 0
          ) AS child ON child.parent_id = below.event_id
          WHERE below.depth < ${MAX_DEPTH}
        )
        SELECT event_id FROM below WHERE depth > 0)`,
    ],
    parameters: { agents },
  }
}
