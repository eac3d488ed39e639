// What the store is asked for keys of events under which metadata filters choose: days that are kept in memory, the edges of windows, and
// when tools were called last.
import { type KeyFilter, saysOneOf } from '../filters.ts'
import { keptValueSql } from '../reads/metadata-values.ts'
import { BY_ROWS, IN_WINDOW, OURS, RAGGED_DAYS, SPLIT_RAGGED_DAYS } from '../reads/sql.ts'
import { OF_TOOLS } from '../reads/tools.ts'
import { base64, type DaySql, dayOrBefore, daySql, VERSION } from './sql.ts'

/** Name of the parameter that holds the keys of a column. */
export const SAID_KEYS = 'said_keys'

/** Names a tool: its kind, which has no spaces, and its name. */
export const TOOL = `concat(toString(kind), ' ', toString(name))`

/** Whole microseconds of an event; 0 where it was not timed. */
export const US = 'if(duration_ns >= 0, intDiv(duration_ns, 1000), 0)'

/**
 * What events say: each conversation with each value, and what these events came to. An event is one entry, its latency bucket and whether
 * it failed, so that counts and percentiles of any choice of groups are found from them; a call of a tool has its tool and its microseconds
 * besides. Texts are told once, and numbered in the order in which they come.
 */
const saidOf = (rows: string, key: string, said: string): string => `
  SELECT key, version, ${base64('groups.1')} AS ids, arrayDistinct(groups.2) AS texts, arrayEnumerateDense(groups.2) AS said,
    groups.3 AS us, arrayMap(list -> toUInt32(length(list)), groups.4) AS counts, arrayFlatten(groups.4) AS entries,
    arrayMap(list -> toUInt32(length(list)), groups.5) AS call_counts, arrayDistinct(calls.1) AS tools, arrayEnumerateDense(calls.1) AS called,
    calls.2 AS call_entries, arrayMap(took -> toFloat64(took), calls.3) AS call_us
  FROM (
    SELECT key, toString(sum(version)) AS version,
      groupArrayIf((conversation_id, value, toFloat64(took), plain, of_tools), notEmpty(plain) OR notEmpty(of_tools)) AS groups,
      arrayFlatten(groups.5) AS calls
    FROM (
      SELECT key, conversation_id, value, sumIf(us, tool = '') AS took,
        groupArrayArrayIf(arrayWithConstant(greatest(n, 0), entry), tool = '') AS plain,
        groupArrayArrayIf(arrayWithConstant(greatest(n, 0), (tool, entry, micros)), tool != '') AS of_tools,
        sum(version) AS version
      FROM (
        SELECT ${key} AS key, conversation_id, ${said} AS value, toUInt16((latency_bucket + 1) * 2 + failed) AS entry,
          if(${OF_TOOLS}, ${TOOL}, '') AS tool, if(${OF_TOOLS}, ${US}, 0) AS micros,
          sum(sign) AS n, sum(sign * ${US}) AS us, ${VERSION} AS version
        FROM events
        WHERE ${OURS} AND ${rows}
        GROUP BY key, conversation_id, value, entry, tool, micros
        ${BY_ROWS}
      )
      GROUP BY key, conversation_id, value
    )
    GROUP BY key
  )`

/** What is kept of a value; nothing where the key is missing. */
function valueOf(place: number): string {
  const key = `{${SAID_KEYS}:Array(String)}[${place}]`
  return `if(mapContains(metadata, ${key}), ${keptValueSql(`metadata[${key}]`)}, '')`
}

/** What an event says of so many keys: of one its value, of several theirs as a list in JSON. */
export function saidSql(keys: number): string {
  const values = Array.from({ length: keys }, (_, i) => valueOf(i + 1))
  return keys === 1 ? (values[0] as string) : `toJSONString([${values.join(', ')}])`
}

/** The same of days. */
export const dayEventValuesSql = (keys: number): DaySql => daySql((rows, key) => saidOf(rows, key, saidSql(keys)))

/** Of each filter whether an event meets it, as a digit. */
const metSql = (filters: readonly KeyFilter[]): string =>
  `concat(${filters.map((filter, i) => `if(${saysOneOf(filter, i)}, '1', '0')`).join(', ')}, '')`

/** The same of what windows hold of days that they don't hold whole: whether filters are met is all that is asked there. */
export function raggedSaidSql(filters: readonly KeyFilter[], { split }: { readonly split: boolean }): string {
  const current = split ? "ts >= {split:DateTime64(9, 'UTC')}" : '1'
  return saidOf(split ? SPLIT_RAGGED_DAYS : RAGGED_DAYS, dayOrBefore(current), metSql(filters))
}

/** When conversations called some tools last, in some hours of a window; what meets other filters is told apart. */
export const lastCallsSql = (filters: readonly KeyFilter[]): string => `
  SELECT tool, ${base64('groupArray(conversation_id)')} AS ids, groupArray(met) AS met, groupArray(at) AS instants
  FROM (
    SELECT ${TOOL} AS tool, conversation_id, ${metSql(filters)} AS met, max(ts) AS at
    FROM events FINAL
    WHERE ${OURS} AND ${IN_WINDOW} AND toStartOfHour(ts) IN {hours:Array(DateTime('UTC'))} AND ${OF_TOOLS} AND ${TOOL} IN {tools:Array(String)}
    GROUP BY tool, conversation_id, met
  )
  GROUP BY tool`

/** Conversations with events that meet any of the filters, among what a window holds of its first and its last day. */
export const raggedValuesSql = (filters: readonly KeyFilter[]): string => `
  SELECT ${base64('groupArray(conversation_id)')} AS ids, groupArray(met) AS met
  FROM (
    SELECT conversation_id, ${metSql(filters)} AS met
    FROM events
    WHERE ${OURS} AND ${RAGGED_DAYS} AND (${filters.map(saysOneOf).join(' OR ')})
    GROUP BY conversation_id, met
    HAVING sum(sign) > 0
  )`
