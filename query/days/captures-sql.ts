// What the store is asked for captures that arrived on days: whom they name, and what they say of keys. Of what came to an open day since an
// instant all of that is one statement.
import { columnOf, GROUP_KEY, type Grouping } from '../reads/groups.ts'
import { groupValues } from '../reads/metadata-values.ts'
import { CAPTURE_ORDER, OURS, standing } from '../reads/sql.ts'
import { base64, CAPTURE_VERSION, type DaySql, daySql, named, PAIRS, versionOfDays } from './sql.ts'

/** Captures that arrived on some days, and on which. */
const ARRIVED = {
  isOfDays: 'toDate(received_at) IN {days:Array(Date)}',
  within: "received_at >= {since:DateTime64(3, 'UTC')} AND received_at < {until:DateTime64(3, 'UTC')}",
  key: 'toString(toDate(received_at))',
  proof: versionOfDays('sessions', 'toDate(received_at)', CAPTURE_VERSION, 'capture_versions'),
}

/** A key, and where captures say something of it. */
export interface CapturedKey {
  readonly source: Grouping['source']
  readonly key: string
}

type Columns = Readonly<Record<string, string>>

/** Whom captures of a conversation name: the last one that names anybody. */
const USER: Columns = { user: `argMaxIf(user_id, ${CAPTURE_ORDER}, user_id != '' AND ${standing()})` }

/** What they say of a key, as JSON: the value and its groups; empty: nothing. The last one that says anything stands. */
function saidOf(source: Grouping['source'], key: string, nth = ''): Columns {
  const column = columnOf(source)
  const says = `mapContains(${column}, ${key}) AND ${standing()}`
  const raw = `raw${nth}`
  return {
    [raw]: `argMaxIf(${column}[${key}], ${CAPTURE_ORDER}, ${says})`,
    [`said${nth}`]: `if(countIf(${says}) = 0, '', toJSONString(arrayPushFront(${groupValues(raw)}, ${raw})))`,
  }
}

/** Some columns of each conversation, gathered into a list by day. */
const gathered = (rows: string, by: string, { columns, list }: { columns: Columns; list: string }): string => `
    SELECT key, toString(sum(version)) AS version, ${list}
    FROM (
      SELECT ${by} AS key, conversation_id, ${CAPTURE_VERSION} AS version, ${named(columns)}
      FROM sessions
      WHERE ${OURS} AND ${rows}
      GROUP BY key, conversation_id
    )
    GROUP BY key`

const pairsOf = (columns: Columns, pairs: string): DaySql =>
  daySql(
    (rows, by) => `
  SELECT key, version, ${PAIRS}
  FROM (${gathered(rows, by, { columns, list: `${pairs} AS pairs` })}
  )`,
    ARRIVED,
  )

/** Conversations of captures that arrived on a day, and whom these name, if anybody. */
export const DAY_CAPTURES_SQL = pairsOf(USER, 'groupArray((conversation_id, user))')

/** What captures that arrived on a day say of a key, by conversation, of those of which they say anything. */
export const dayValuesSql = (source: Grouping['source']): DaySql =>
  pairsOf(saidOf(source, `{${GROUP_KEY}:String}`), "groupArrayIf((conversation_id, said), said != '')")

/** Name of the parameter that holds several keys. */
export const CAPTURED_KEYS = 'captured_keys'

/** Both, of what came to an open day, where captures say it of the keys of some sources: by key a list, empty where they say nothing. */
export function capturesArrivedSql(sources: readonly Grouping['source'][]): string {
  const said = sources.map((source, i) => saidOf(source, `{${CAPTURED_KEYS}:Array(String)}[${i + 1}]`, `_${i}`))
  const names = ['conversation_id', 'user', ...sources.map((_, i) => `said_${i}`)]
  const [ids, users, ...lists] = names.map((_, i) => `arrayMap(one -> one.${i + 1}, found)`)
  const columns = Object.assign({}, USER, ...said) as Columns
  return daySql(
    (rows, by) => `
  SELECT key, version, ${base64(ids as string)} AS ids, ${users} AS users, [${lists.join(', ')}]::Array(Array(String)) AS said
  FROM (${gathered(rows, by, { columns, list: `groupArray((${names.join(', ')})) AS found` })}
  )`,
    ARRIVED,
  ).open
}
