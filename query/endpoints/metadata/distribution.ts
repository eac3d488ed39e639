// POST /dashboard/api/metadata-distribution: which keys and values the events of a window carry, themselves, through their conversation
// and through its user.
import {
  KEYS_SHOWN,
  MetadataDistributionRequest,
  MetadataDistributionResponse,
  VALUE_CHARS,
  VALUES_SHOWN,
} from '#proto/dashboard/metadata.ts'
import { isOurKeySql } from '#proto/metadata-keys.ts'
import { endpoint } from '../../endpoint.ts'
import type { Conditions } from '../../filters.ts'
import { andAll, eventConditions } from '../../filters.ts'
import { IN_WINDOW, latestMap, OURS, standing } from '../../reads/sql.ts'
import { windowOf } from '../../window.ts'

interface KeyRecord {
  readonly source: 'event_metadata' | 'conversation_metadata' | 'user_metadata'
  readonly key: string
  readonly events: number
  readonly distinct_values: number
  /** Most used first. */
  readonly top: readonly (readonly [string, number])[]
}

/** Sums of (key, value): what stands in a map of events, counted by its rows. */
const ofEvents = (conditions: Conditions): string => `
    SELECT 'event_metadata' AS source, entry.1 AS key, entry.2 AS value, sum(sign) AS n
    FROM (
      SELECT arrayJoin(arrayZip(mapKeys(metadata), mapValues(metadata))) AS entry, sign
      FROM events
      WHERE ${OURS} AND ${IN_WINDOW}${andAll(conditions.sql)}
    )
    GROUP BY key, value
    HAVING n > 0`

/** What stands in the merged captures of conversations, counted by their events. */
const ofCaptures = (conditions: Conditions): string => `
    SELECT entry.1 AS source, entry.2 AS key, entry.3 AS value, sum(n) AS n
    FROM (
      SELECT
        n,
        arrayJoin(arrayConcat(
          arrayMap((k, v) -> ('conversation_metadata', k, v), mapKeys(own), mapValues(own)),
          arrayMap((k, v) -> ('user_metadata', k, v), mapKeys(traits), mapValues(traits)))) AS entry
      FROM (
        SELECT conversation_id, ${latestMap('metadata')} AS own, ${latestMap('user_data')} AS traits
        FROM sessions
        WHERE ${OURS} AND ${standing()}
        GROUP BY conversation_id
      ) AS captured
      INNER JOIN (
        SELECT conversation_id, sum(sign) AS n
        FROM events
        WHERE ${OURS} AND ${IN_WINDOW}${andAll(conditions.sql)}
        GROUP BY conversation_id
        HAVING n > 0
      ) AS counted USING (conversation_id)
    )
    GROUP BY source, key, value`

const distributionSql = (conditions: Conditions): string => `
  SELECT
    source, key, toUInt32(sum(n)) AS events, toUInt32(count()) AS distinct_values,
    arrayMap(v -> (substringUTF8(v.2, 1, ${VALUE_CHARS}), toUInt32(-v.1)), groupArraySorted(${VALUES_SHOWN})((-toInt64(n), value))) AS top
  FROM (${ofEvents(conditions)}
    UNION ALL${ofCaptures(conditions)}
  )
  WHERE {ours:UInt8} = 1 OR NOT ${isOurKeySql('key')}
  GROUP BY source, key
  ORDER BY events DESC, source, key
  LIMIT ${KEYS_SHOWN}`

const totalSql = (conditions: Conditions): string => `
  SELECT sum(sign) AS total
  FROM events
  WHERE ${OURS} AND ${IN_WINDOW}${andAll(conditions.sql)}`

export const metadataDistribution = endpoint({
  method: 'POST',
  path: '/dashboard/api/metadata-distribution',
  auth: 'any',
  about:
    'Keys and values of the metadata of events, of their conversations and of the traits of their users, by events.',
  request: MetadataDistributionRequest,
  response: MetadataDistributionResponse,
  work: async ({ reader, nowMs }, request) => {
    const conditions = eventConditions(request)
    const ours = request.attributes ? 1 : 0
    const parameters = { ...conditions.parameters, ...windowOf(request, nowMs).parameters, ours }
    const [rows, totals] = await Promise.all([
      reader.read<KeyRecord>('metadata_distribution', distributionSql(conditions), parameters),
      reader.read<{ total: string }>('metadata_total', totalSql(conditions), parameters),
    ])
    const keys = rows.map(({ source, key, events, distinct_values, top }) => {
      const values = top.map(([value, count]) => ({ value, count }))
      const other_count = events - values.reduce((sum, { count }) => sum + count, 0)
      return { key, source, event_count: events, distinct_values, values, other_count }
    })
    return { total_events: Number(totals[0]?.total ?? 0), keys }
  },
})
