// Tools of a window: figures and percentiles from the aggregate by name and latency bucket, people and times from rows.
import { SERIES_TOOLS, TOOLS_MAX } from '#proto/dashboard/tools.ts'
import type { Conditions, KeyFilter } from '../filters.ts'
import { andAll } from '../filters.ts'
import { bucketsAt } from '../latency.ts'
import type { Parameters, Reader } from '../reader.ts'
import type { Series } from '../series.ts'
import type { Window } from '../window.ts'
import { EVENTS, LATENCIES } from './daily.ts'
import { BY_ROWS, IN_WINDOW, OURS } from './sql.ts'
import { usersOfSql, WINDOW_CONVERSATIONS } from './users.ts'
import { windowGroups } from './window-groups.ts'

/** Calls of tools, resources and prompts. */
export const OF_TOOLS = `kind IN ('tool', 'resource', 'prompt')`

/** Which calls are looked at. `conditions` hold for rows. */
export interface AskedTools {
  readonly window: Window
  readonly conditions: Conditions
  /** Metadata filters that are all of the conditions; none: there are others, or none at all. */
  readonly filters: readonly KeyFilter[]
}

/** What a read over `asked` binds. */
export const bound = ({ window, conditions }: Omit<AskedTools, 'filters'>): Parameters => ({
  ...conditions.parameters,
  ...window.parameters,
  ...(window.timezone === 'UTC' ? {} : { timezone: window.timezone }),
})

const ofTools = (conditions: Conditions): Conditions => ({ ...conditions, sql: [OF_TOOLS, ...conditions.sql] })

type ToolKind = 'tool' | 'resource' | 'prompt'

/** Figures of a tool. Counts of 64 bits are text; buckets mean nothing where `timed` is 0. */
export interface ToolRecord {
  readonly kind: ToolKind
  readonly name: string
  readonly calls: number
  readonly errors: number
  readonly timed: string
  readonly us: string
  readonly buckets: readonly [number, number, number]
}

export const toolGroupsSql = (conditions: Conditions): string =>
  windowGroups(
    { kind: 'kind', name: 'name', failed: 'failed', latency_bucket: 'latency_bucket' },
    [EVENTS, LATENCIES],
    ofTools(conditions),
  )

const figuresSql = (conditions: Conditions): string => `
  SELECT
    kind, name, toUInt32(sum(n)) AS calls, toUInt32(sumIf(n, failed = 1)) AS errors, sum(timed_n) AS timed, sum(us_n) AS us,
    ${bucketsAt([0.5, 0.95, 0.99])} AS buckets
  FROM (
    SELECT kind, name, failed, latency_bucket, sum(n) AS n, sum(timed) AS timed_n, sum(us) AS us_n
    FROM (${toolGroupsSql(conditions)})
    GROUP BY kind, name, failed, latency_bucket
    HAVING n > 0
  )
  GROUP BY kind, name
  ORDER BY calls DESC, name, kind
  LIMIT ${TOOLS_MAX}`

/** Tools by calls, most first, ties by name. */
export function readToolFigures(reader: Reader, asked: AskedTools): Promise<ToolRecord[]> {
  return reader.read<ToolRecord>('tool_figures', figuresSql(asked.conditions), bound(asked))
}

/** Who called a tool, and when last. */
export interface ToolPeople {
  readonly kind: ToolKind
  readonly name: string
  readonly conversations: number
  readonly users: number
  /** Whole microseconds of the longest call; 0 where none was timed. */
  readonly slowest: number
  readonly last_at: string
  /** -1: a reversed row is unmerged, and `slowest` and `last_at` may be its. */
  readonly least: 1 | -1
}

/** Whole microseconds of the longest event; 0 where none was timed: -1 ns is less than one. */
const SLOWEST = 'max(intDiv(duration_ns, 1000))'

const peopleSql = (conditions: Conditions): string => `
  SELECT
    kind, name, toUInt32(uniqExact(conversation_id)) AS conversations, toUInt32(uniqExactIf(user, user != '')) AS users,
    toFloat64(max(took)) AS slowest, max(last) AS last_at, min(lowest) AS least
  FROM (
    SELECT kind, name, conversation_id, max(ts) AS last, ${SLOWEST} AS took, min(sign) AS lowest
    FROM events
    WHERE ${OURS} AND ${IN_WINDOW}${andAll(ofTools(conditions).sql)}
    GROUP BY kind, name, conversation_id
    HAVING sum(sign) > 0
    ${BY_ROWS}
  ) AS calls
  LEFT JOIN (${usersOfSql(WINDOW_CONVERSATIONS)}
  ) AS known USING (conversation_id)
  GROUP BY kind, name`

const recountSql = (conditions: Conditions): string => `
  SELECT kind, name, toFloat64(${SLOWEST}) AS slowest, max(ts) AS last_at
  FROM events FINAL
  PREWHERE ${OURS} AND ${IN_WINDOW}
  WHERE name IN {names:Array(String)}${andAll(ofTools(conditions).sql)}
  GROUP BY kind, name`

/** People and times by `<kind> <name>`. */
export async function readToolPeople(reader: Reader, asked: AskedTools): Promise<Map<string, ToolPeople>> {
  const rows = await reader.read<ToolPeople>('tool_people', peopleSql(asked.conditions), bound(asked))
  const people = new Map(rows.map(row => [toolKey(row), row]))
  const names = rows.filter(row => row.least < 0).map(row => row.name)
  if (names.length === 0) return people
  const recounted = await reader.read<Pick<ToolPeople, 'kind' | 'name' | 'slowest' | 'last_at'>>(
    'tool_last_calls',
    recountSql(asked.conditions),
    { ...bound(asked), names },
  )
  for (const row of recounted) {
    const found = people.get(toolKey(row))
    if (found) people.set(toolKey(row), { ...found, slowest: row.slowest, last_at: row.last_at })
  }
  return people
}

/** What tells tools apart: a resource may have the name of a tool. */
export const toolKey = ({ kind, name }: { readonly kind: string; readonly name: string }): string => `${kind} ${name}`

/** A bucket of a tool's series; `name` is '' for all tools that are not told apart. */
export interface ToolPoint {
  readonly name: string
  readonly bucket: string
  readonly calls: number
  readonly errors: number
  readonly timed: string
  readonly us: string
  readonly p95: number
}

const pointsSql = (conditions: Conditions, bucket: string): string => `
  SELECT
    tool AS name, bucket, toUInt32(sum(n)) AS calls, toUInt32(sumIf(n, failed = 1)) AS errors,
    sum(timed_n) AS timed, sum(us_n) AS us, ${bucketsAt([0.95])}[1] AS p95
  FROM (
    SELECT if(has({top:Array(String)}, name), name, '') AS tool, bucket, failed, latency_bucket,
      sum(n) AS n, sum(timed) AS timed_n, sum(us) AS us_n
    FROM (${windowGroups(
      { bucket, name: 'name', failed: 'failed', latency_bucket: 'latency_bucket' },
      [EVENTS, LATENCIES],
      ofTools(conditions),
    )})
    GROUP BY tool, bucket, failed, latency_bucket
    HAVING n > 0
  )
  GROUP BY tool, bucket`

/** Buckets of the tools named in `top`, and of all others together. */
export function readToolPoints(
  reader: Reader,
  asked: AskedTools,
  series: Series,
  top: readonly string[],
): Promise<ToolPoint[]> {
  return reader.read<ToolPoint>('tool_points', pointsSql(asked.conditions, series.sql), { ...bound(asked), top })
}

/** Names that a series tells apart: the most used ones. */
export function topNames(tools: readonly ToolRecord[]): string[] {
  return [...new Set(tools.map(tool => tool.name))].slice(0, SERIES_TOOLS)
}
