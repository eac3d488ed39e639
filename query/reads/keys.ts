// Metadata keys as they were seen: by how many, of which type, with how many distinct values. Those of events come from the aggregate by
// day, those of conversations from their captures, which are few.
import { KEYS_AVAILABLE } from '#proto/dashboard/metadata.ts'
import { isOurKeySql } from '#proto/metadata-keys.ts'
import type { Parameters, Reader } from '../reader.ts'
import { answeredBy, OURS, standing } from './sql.ts'

/** A key. `types` are the letters of its values' types. */
export interface SeenKey {
  readonly key: string
  readonly types: readonly string[]
  /** Events, or conversations. */
  readonly n: number
  readonly distinct_values: number
}

/** The letter of a value's type: word for word that of the aggregate (0018_keys_daily.sql), or the planner would not take it. */
const TYPE = `multiIf(
            match(v, '^-?[0-9]+([.][0-9]+)?([eE][-+]?[0-9]+)?$'), 'n', v IN ('true', 'false'), 'b',
            match(v, '^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]|$)'), 't', startsWith(v, '['), 'l', startsWith(v, '{'), 'o', 's')`

/** One row of two maps: events by type and key, distinct values by key. */
export const EVENT_KEYS = `
    SELECT
      sumMap(mapApply((k, v) -> (concat(${TYPE}, k),
            toInt64(sign)), metadata)) AS counts,
      uniqCombinedMap(12)(CAST(metadata, 'Map(String, String)')) AS distincts
    FROM events
    WHERE ${OURS} AND toDate(ts) >= {from_day:Date}
    ${answeredBy('keys_daily')}`

const EVENT_KEYS_SHOWN = `
  SELECT substring(entry.1, 2) AS key, arraySort(groupArray(substring(entry.1, 1, 1))) AS types, toUInt32(sum(entry.2)) AS n,
    toUInt32(any(distincts[key])) AS distinct_values
  FROM (SELECT distincts, arrayJoin(arrayZip(mapKeys(counts), mapValues(counts))) AS entry FROM (${EVENT_KEYS}))
  WHERE entry.2 > 0 AND ({ours:UInt8} = 1 OR NOT ${isOurKeySql('substring(entry.1, 2)')})
  GROUP BY key
  ORDER BY n DESC, key
  LIMIT ${KEYS_AVAILABLE}`

const CONVERSATION_KEYS_SHOWN = `
  SELECT key, arraySort(groupUniqArray(${TYPE})) AS types, toUInt32(uniqExact(conversation_id)) AS n, toUInt32(uniqExact(v)) AS distinct_values
  FROM (
    SELECT conversation_id, arrayJoin(arrayConcat(
      arrayZip(mapKeys(metadata), mapValues(metadata)), arrayZip(mapKeys(user_data), mapValues(user_data)))) AS entry,
      toString(entry.1) AS key, entry.2 AS v
    FROM sessions
    WHERE ${OURS} AND received_at >= {from_day:Date} AND ${standing()}
  )
  WHERE {ours:UInt8} = 1 OR NOT ${isOurKeySql('key')}
  GROUP BY key
  ORDER BY n DESC, key
  LIMIT ${KEYS_AVAILABLE}`

/** Keys seen since the beginning of a day (UTC), most used first; parley's own where `ours` is 1. */
export function readKeys(reader: Reader, of: 'event' | 'conversation', parameters: Parameters): Promise<SeenKey[]> {
  const sql = of === 'event' ? EVENT_KEYS_SHOWN : CONVERSATION_KEYS_SHOWN
  return reader.read<SeenKey>(`${of}_keys`, sql, parameters)
}
