// What the store is asked for what came to an open day since an instant: one scan, whatever is kept of the day. What is alike in all that is
// kept is one group, so that figures, tools, prices and what is said of keys are sums over the same groups.
import { BY_ROWS, OURS } from '../reads/sql.ts'
import { OF_TOOLS } from '../reads/tools.ts'
import { saidSql, TOOL, US } from './said-sql.ts'
import { base64, daySql, NONE, named, OF_PRICED, ofDay, PRICED_SUMS, STANDING_LAST, VERSION } from './sql.ts'

/** What is told of groups besides what figures and tools need. */
export interface ArrivedColumns {
  readonly prices: boolean
  /** How many keys, which are a parameter. */
  readonly keys: number
}

/** Texts of which there are few, by name: expressions over groups. */
const TEXTS = { users: 'user_id', tools: 'tool' }
const PRICED_TEXTS = {
  classes: `if(how = 0, '', toJSONString([of_model, of_provider, toString(how), toString(repeating), toString(of_size)]))`,
}

const NUMBERS = {
  ...{
    failed: 'failed',
    buckets: 'latency_bucket',
    counts: 'toFloat64(n)',
    timed: 'toFloat64(timed_n)',
    us: 'toFloat64(took)',
  },
  micros: 'toFloat64(micros)',
  ...{ firsts: 'toUnixTimestamp(first_of)', lasts: 'toUnixTimestamp(last_of)', standing: ofDay('standing_of') },
}
const PRICED_NUMBERS = Object.fromEntries(Object.keys(PRICED_SUMS).map(name => [name, `toFloat64(${name})`]))

/**
 * Groups in two parts: of what arrived until the cut, and later. Rows that were taken back are only in the version. Of a text each group
 * has the place at which it stands among those that differ, from 1 on.
 */
export function arrivedSql({ prices, keys }: ArrivedColumns): string {
  const said = keys > 0
  const texts = { ...TEXTS, ...(prices ? PRICED_TEXTS : {}), ...(said ? { values: 'value' } : {}) }
  const numbers = { ...NUMBERS, ...(prices ? PRICED_NUMBERS : {}) }
  // The first of a group is its conversation.
  const placeOf = new Map(Object.keys({ ...texts, ...numbers }).map((name, i) => [name, i + 2]))
  const asTexts = (name: string): string =>
    `arrayDistinct(found.${placeOf.get(name)}) AS ${name}, arrayEnumerateDense(found.${placeOf.get(name)}) AS ${name}_at`
  const keysOfGroups = {
    ...{ tool: `if(${OF_TOOLS}, ${TOOL}, '')`, micros: `if(${OF_TOOLS}, ${US}, 0)` },
    // Each failure is a group of its own.
    ...{ event: `if(failed = 1, event_id, ${NONE})`, at: `if(failed = 1, ts, toDateTime64(0, 9, 'UTC'))` },
    ...(prices ? OF_PRICED : {}),
    ...(said ? { value: saidSql(keys) } : {}),
  }
  const sums = {
    ...{ n: 'sum(sign)', timed_n: 'sum(sign * (duration_ns >= 0))', took: `sum(sign * ${US})`, version: VERSION },
    ...{ first_of: 'min(ts)', last_of: 'max(ts)', standing_of: STANDING_LAST },
    ...(prices ? PRICED_SUMS : {}),
  }
  const groupsOf = (rows: string, key: string): string => `
  SELECT key, version, ${base64('found.1')} AS ids, ${base64('failures')} AS failed_events, ${Object.keys(texts).map(asTexts).join(', ')},
    ${Object.keys(numbers)
      .map(name => `found.${placeOf.get(name)} AS ${name}`)
      .join(', ')}
  FROM (
    SELECT key, toString(sum(version)) AS version,
      groupArrayIf((conversation_id, ${Object.values({ ...texts, ...numbers }).join(', ')}, event), n > 0) AS found,
      arrayMap(one -> one.${placeOf.size + 2}, arrayFilter(one -> one.${placeOf.get('failed')} = 1, found)) AS failures
    FROM (
      SELECT ${key} AS key, conversation_id, user_id, failed, latency_bucket, ${named({ ...keysOfGroups, ...sums })}
      FROM events
      WHERE ${OURS} AND ${rows}
      GROUP BY key, conversation_id, user_id, failed, latency_bucket, ${Object.keys(keysOfGroups).join(', ')}
      ${BY_ROWS}
    )
    GROUP BY key
  )`
  return daySql(groupsOf).open
}
