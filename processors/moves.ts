// Brings rows home: spans of traces of which a link says whose conversation they are, of one partition, by its owner alone.
//
// A row's move is a pair: its reversal, and the same row at home under the next version. All pairs of a move are one statement, which
// reads what still counts elsewhere, under a fence (fence.ts). Both rows of a pair go to one part, so they are there together or not at
// all; what was moved no longer counts where it stood, so the statement may be repeated after any answer. Texts stay where they are.
import type { Store } from '#store/client.ts'
import { BY_CONDITION, NAMING, ROWS } from './engine-settings.ts'
import { scopeConditions } from './insert.ts'
import { openRanges, type StoredRange, storedRanges } from './lanes.ts'
import type { Cursor } from './protocol.ts'
import type { TraceHash } from './trace-filter.ts'

/** Positions of a partition, both ends inclusive. */
export interface Positions {
  readonly partition: number
  readonly from: number
  readonly to: number
}

/** A trace of which a link is known. */
export interface LinkedTrace extends TraceHash {
  readonly organization: string
  readonly trace: string
  /** The conversation of its spans that name none. */
  readonly provisional: string
  readonly home: string
  /** Of its home, as rows say it. */
  readonly session: string
  /** All that links say. */
  readonly linked: readonly string[]
}

/** Which link of a trace counts: the least. */
export const RANK = '(depth, started_at, span_id)'
export const POSITION = 'origin_generation, origin_sequence, origin_frame, origin_index'
export const WRITING = `${POSITION}, version`
/** Of versions: which move of the row it is. Of a span that is first written under a stand-in, or names its session, 0. */
const MOVES_MASK = 4_294_967_295
/** Rows of spans that name no session of their own. */
const MOVABLE = `(provisional = 1 OR bitAnd(version, ${MOVES_MASK}) > 0)`
const HOUR_S = 3_600

export const list = (ids: Iterable<string>): string => [...new Set(ids)].map(id => `'${id}'`).join()

/** A set of ids, to stand behind IN: as one text it costs the engine a fifth of what as many literals cost. */
export const setOf = (ids: Iterable<string>): string =>
  `(SELECT id FROM format(TSV, 'id UUID', '${[...new Set(ids)].join('\n')}'))`

const within = (ranges: readonly Positions[]): string =>
  ranges
    .map(({ partition, from, to }) => `origin_partition = ${partition} AND origin_sequence BETWEEN ${from} AND ${to}`)
    .join(' OR ')

const HASH = 'sipHash64(organization, trace_id)'
/** A trace's hash, and its halves as numbers. */
export const TRACE_HASH = `${HASH} AS hash`
const HALVES = `toUInt32(${HASH}) AS low, toUInt32(bitShiftRight(${HASH}, 32)) AS high`

/** The trace of an organization. */
export type TraceName = Pick<LinkedTrace, 'organization' | 'trace'>

const LINKED = `organization, trace_id AS trace, any(provisional_id) AS provisional, argMin(conversation_id, ${RANK}) AS home,
      argMin(session_id, ${RANK}) AS session, groupUniqArray(conversation_id) AS linked, ${HALVES}`

/** Traces of which links were stored by these ranges, and what these links say. @throws when the store is away. */
export function tracesOfLinks(store: Store, ranges: readonly Positions[]): Promise<LinkedTrace[]> {
  const sql = `SELECT ${LINKED} FROM links WHERE ${within(ranges)} GROUP BY organization, trace_id`
  return store.read<LinkedTrace>(sql, { settings: ROWS })
}

/** What all links say of these traces; of those without any, nothing. @throws when the store is away. */
export function linkedTraces(store: Store, traces: readonly TraceName[]): Promise<LinkedTrace[]> {
  const sql = `SELECT ${LINKED} FROM links WHERE ${ofTraces(traces)} GROUP BY organization, trace_id`
  return store.read<LinkedTrace>(sql, { settings: { ...ROWS, ...NAMING } })
}

/** Ranges with rows that may be away from home. */
export interface AwayRows {
  /** Under stand-ins. */
  readonly rows: readonly Positions[]
  /** Written at home at once, too. */
  readonly placed: readonly Positions[]
}

/** Traces of such rows. @throws when the store is away. */
export function tracesAway(store: Store, { rows, placed }: AwayRows): Promise<(TraceName & TraceHash)[]> {
  const conditions = [
    ...(rows.length > 0 ? [`(${within(rows)}) AND provisional = 1`] : []),
    ...(placed.length > 0 ? [`(${within(placed)}) AND ${MOVABLE}`] : []),
  ]
  const sql = `SELECT organization, trace_id AS trace, ${HALVES} FROM events
    WHERE (${conditions.join(' OR ')}) AND sign = 1 GROUP BY organization, trace_id`
  return store.read<TraceName & TraceHash>(sql, { settings: ROWS })
}

/**
 * Condition on rows of a partition that nobody is about to store, to count or to take back: of finished ranges, and of none that is
 * read again. An owner that finds an intent counts the rows that it promised, and a merge would hide those that were moved.
 */
export function settledCondition(cursor: Cursor): string {
  const sql = ({ after, through, ...scope }: StoredRange): string =>
    [
      `origin_sequence > ${after}`,
      ...(Number.isFinite(through) ? [`origin_sequence <= ${through}`] : []),
      ...scopeConditions(scope),
    ].join(' AND ')
  const stored = storedRanges(cursor).map(range => `(${sql(range)})`)
  const open = openRanges(cursor).map(range => ` AND NOT (${sql(range)})`)
  return stored.length === 0 ? '0' : `(${stored.join(' OR ')})${open.join('')}`
}

/** What the statements about a slice of traces need. */
export interface Slice {
  readonly partition: number
  readonly traces: readonly LinkedTrace[]
  /** settledCondition */
  readonly settled: string
  /** Rows before this position are left alone. */
  readonly from: number
}

/** Conversations in which rows of the traces may stand that are not at home. */
const elsewhere = (traces: readonly LinkedTrace[]): string[] =>
  traces.flatMap(({ provisional, home, linked }) => [provisional, ...linked.filter(id => id !== home)])

export const inOrganizations = (traces: readonly TraceName[]): string =>
  `organization IN (${list(traces.map(one => one.organization))})`

export const ofTraces = (traces: readonly TraceName[]): string =>
  `${inOrganizations(traces)} AND trace_id IN ${setOf(traces.map(one => one.trace))}`

const TSV_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\b': '\\b',
  '\f': '\\f',
  '\0': '\\0',
}
const tsvOf = (text: string): string => text.replace(/[\\\t\n\r\b\f\0]/g, char => TSV_ESCAPES[char] as string)
const literalOf = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

/** A table of traces and their homes. What a later link says is another round's: its record comes later, too. */
export function homesTable(traces: readonly LinkedTrace[]): string {
  const columns = 'of_organization UUID, of_trace UUID, stand_in UUID, home UUID, home_session String'
  const rows = traces.map(({ organization, trace, provisional, home, session }) =>
    [organization, trace, provisional, home, tsvOf(session)].join('\t'),
  )
  return `(SELECT * FROM format(TSV, '${columns}', ${literalOf(rows.join('\n'))}))`
}

/** First and last hour, since 1970, in which rows of a slice may stand that are not at home. */
export interface Hours {
  readonly first: number
  readonly last: number
}

/** Those hours; undefined when there are no such rows. @throws when the store is away. */
export async function hoursOf(store: Store, { traces }: Slice): Promise<Hours | undefined> {
  const sql = `
    SELECT intDiv(toUnixTimestamp(min(first_of)), ${HOUR_S}) AS first, intDiv(toUnixTimestamp(max(last_of)), ${HOUR_S}) AS last
    FROM (
      SELECT conversation_id, min(ts) AS first_of, max(ts) AS last_of FROM events
      WHERE ${inOrganizations(traces)} AND conversation_id IN ${setOf(elsewhere(traces))}
      GROUP BY organization, conversation_id
      HAVING sum(sign) > 0)
    HAVING count() > 0`
  // The one projection that can answer, so that the others are not looked at.
  const settings = { ...NAMING, preferred_optimize_projection_name: 'bounds' }
  const [row] = await store.read<Hours>(sql, { settings })
  return row && { first: Number(row.first), last: Number(row.last) }
}

/** Condition on rows of a partition up to a position that stand, or ever stood, under stand-ins. */
export const movableUpTo = (partition: number, through: number): string =>
  `origin_partition = ${partition} AND origin_sequence <= ${through} AND ${MOVABLE} AND sign = 1`

/** Traces that have rows up to a position, counting or not: mostly none. @throws when the store is away. */
export async function olderTraces(store: Store, slice: Slice, through: number): Promise<readonly LinkedTrace[]> {
  const { partition, traces } = slice
  const rows = await store.read<{ id: string }>(
    `SELECT DISTINCT trace_id AS id FROM events
      PREWHERE ${inOrganizations(traces)} AND conversation_id IN ${setOf(elsewhere(traces))}
      WHERE origin_partition = ${partition} AND origin_sequence <= ${through} AND sign = 1`,
    { settings: { ...ROWS, ...NAMING } },
  )
  const older = new Set(rows.map(({ id }) => id))
  return traces.filter(({ trace }) => older.has(trace))
}

/** Where rows of a slice may stand that are not at home, and in which hours. */
export interface Lost extends Slice, Hours {
  /** There are no more of them than one move may take. */
  readonly few: boolean
}

/** Which rows count: few are read once, and held in memory for that; of many the positions are read first. */
const countingSql = (rows: string, few: boolean): string =>
  few
    ? `SELECT *, sum(sign) OVER (PARTITION BY ${WRITING}) AS counts FROM events WHERE ${rows}`
    : `SELECT *, 1 AS counts FROM events WHERE ${rows} AND sign = 1
        AND (${WRITING}) IN (SELECT ${WRITING} FROM events WHERE ${rows} GROUP BY ${WRITING} HAVING sum(sign) > 0)`

/** Rows that are not at home, with their home. Rows lie by hour, which the engine does not derive from `ts`; partitions by `ts`. */
function lostSql({ partition, traces, settled, from, first, last, few }: Lost): string {
  const instant = (hour: number): string => `toDateTime(${hour * HOUR_S}, 'UTC')`
  const rows = `origin_partition = ${partition} AND origin_sequence >= ${from} AND source = 'otlp' AND ${ofTraces(traces)}
      AND conversation_id IN ${setOf(elsewhere(traces))}
      AND ts >= ${instant(first)} AND ts < ${instant(last + 1)}
      AND toStartOfHour(ts) >= ${instant(first)} AND toStartOfHour(ts) <= ${instant(last)}
      AND ${MOVABLE} AND ${settled}`
  return `
      SELECT standing.*, homes.home AS home, homes.home_session AS home_session
      FROM (${countingSql(rows, few)}) AS standing
      INNER JOIN ${homesTable(traces)} AS homes
        ON standing.organization = homes.of_organization AND standing.trace_id = homes.of_trace
      WHERE counts > 0 AND sign = 1 AND (standing.conversation_id != homes.home OR standing.provisional = 1)
      LIMIT 1 BY ${WRITING}`
}

/** How many rows are not at home. @throws when the store is away. */
export async function countLost(store: Store, lost: Lost): Promise<number> {
  const sql = `SELECT count() AS n FROM (${lostSql(lost)})`
  const [row] = await store.read<{ n: string }>(sql, { settings: { ...ROWS, ...NAMING } })
  return Number(row?.n)
}

/** Rows of one move: what a statement holds in memory is bounded, whatever a trace holds. */
export const MOVE_ROWS = 100_000

/** One statement that moves rows. */
export interface Moving {
  readonly move: string
  /** At most so many rows. */
  readonly rows: number
  /** Condition that holds until an owner raises its fence. */
  readonly standing: string
  readonly queryId: string
}

/**
 * Brings rows home that count elsewhere, while `standing` holds. Returns how many the engine says that it was, undefined when it says
 * nothing. @throws when the outcome is unknown.
 */
export async function moveHome(
  store: Store,
  lost: Lost,
  { move, rows, standing, queryId }: Moving,
): Promise<number | undefined> {
  const sql = `
    INSERT INTO events
    SELECT * EXCEPT (counts, home, home_session, way) REPLACE (
      if(way = 1, home, conversation_id) AS conversation_id,
      if(way = 1, home_session, session_id) AS session_id,
      if(way = 1, 0, provisional) AS provisional,
      toUUID('${move}') AS move_id,
      version + (way = 1) AS version,
      toInt8(way) AS sign)
    FROM (SELECT *, arrayJoin([-1, 1]) AS way FROM (${lostSql(lost)} LIMIT ${rows}) WHERE ${standing})`
  let written: number | undefined
  const onWritten = (n: number): void => {
    written = n
  }
  await store.command(sql, { settings: BY_CONDITION, queryId, onWritten })
  if (written !== undefined && written % 2 !== 0)
    throw new Error(`move ${move} wrote ${written} rows, which are no pairs`)
  return written === undefined ? undefined : written / 2
}

/** Positions of records, neighbours as one. */
export function positionsOf(records: readonly Positions[]): Positions[] {
  const sorted = records.toSorted((a, b) => a.partition - b.partition || a.from - b.from)
  const ranges: { partition: number; from: number; to: number }[] = []
  for (const { partition, from, to } of sorted) {
    const last = ranges.at(-1)
    if (last && last.partition === partition && from <= last.to + 1) last.to = Math.max(last.to, to)
    else ranges.push({ partition, from, to })
  }
  return ranges
}
