// Brings rows home: spans of traces of which a link says whose conversation they are, of one partition, by its owner alone.
//
// A row's move is a pair: its reversal, and the same row at home under the next version. Pairs are staged in `corrections` under an
// id of their own, counted, recorded, and copied to `events` where the row still counts. Both rows of a pair go to one part, so
// they are there together or not at all; what is copied no longer counts, so every step may be repeated. Texts stay where they are.
import type { Store } from '#store/client.ts'
import { ONE_BLOCK, scopeConditions } from './insert.ts'
import { openRanges, type StoredRange, storedRanges } from './lanes.ts'
import type { Cursor } from './protocol.ts'

/** Positions of a partition, both ends inclusive. */
export interface Positions {
  readonly partition: number
  readonly from: number
  readonly to: number
}

/** A trace of which a link is known. */
export interface LinkedTrace {
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
const RANK = '(depth, started_at, span_id)'
const POSITION = 'origin_generation, origin_sequence, origin_frame, origin_index'
const WRITING = `${POSITION}, version`
/** Of versions: which move of the row it is. Of a span that is first written under a stand-in, or names its session, 0. */
const MOVES_MASK = 4_294_967_295
/** Rows of spans that name no session of their own. */
const MOVABLE = `(provisional = 1 OR bitAnd(version, ${MOVES_MASK}) > 0)`
/** Traces that one deletion of captures names: its text is kept with the table. */
const DROP_TRACES = 500
/** Longer than any statement over a slice of traces. */
const TEXT_MAX = 16 * 1024 * 1024

const SETTINGS = {
  ...ONE_BLOCK,
  insert_deduplicate: 0,
  max_execution_time: 30,
  max_query_size: String(TEXT_MAX),
  optimize_use_projections: 0 as const,
  wait_end_of_query: 1,
} as const
const READ_SETTINGS = { max_query_size: String(TEXT_MAX) } as const

const list = (ids: Iterable<string>): string => [...new Set(ids)].map(id => `'${id}'`).join()

/** A set of ids, to stand behind IN: as one text it costs the engine a fifth of what as many literals cost. */
const setOf = (ids: Iterable<string>): string =>
  `(SELECT id FROM format(TSV, 'id UUID', '${[...new Set(ids)].join('\n')}'))`

const within = (ranges: readonly Positions[]): string =>
  ranges
    .map(({ partition, from, to }) => `origin_partition = ${partition} AND origin_sequence BETWEEN ${from} AND ${to}`)
    .join(' OR ')

/** Where something may have changed. */
interface Touched {
  readonly links: readonly Positions[]
  /** Of rows under stand-ins. */
  readonly rows: readonly Positions[]
  /** Of rows that were written at home at once, too. */
  readonly placed?: readonly Positions[]
}

/** Traces that a link of `links` or a row of `rows` touches, and of which a link is known. @throws when the store is away. */
export function linkedTraces(store: Store, { links, rows, placed = [] }: Touched): Promise<LinkedTrace[]> {
  const touched = [
    ...(links.length > 0 ? [`SELECT organization, trace_id FROM links WHERE ${within(links)}`] : []),
    ...(rows.length > 0
      ? [`SELECT organization, trace_id FROM events WHERE (${within(rows)}) AND provisional = 1 AND sign = 1`]
      : []),
    ...(placed.length > 0
      ? [`SELECT organization, trace_id FROM events WHERE (${within(placed)}) AND ${MOVABLE} AND sign = 1`]
      : []),
  ]
  const sql = `
    SELECT organization, trace_id AS trace, any(provisional_id) AS provisional, argMin(conversation_id, ${RANK}) AS home,
      argMin(session_id, ${RANK}) AS session, groupUniqArray(conversation_id) AS linked
    FROM links WHERE (organization, trace_id) IN (${touched.join(' UNION ALL ')})
    GROUP BY organization, trace_id`
  return store.read<LinkedTrace>(sql, { settings: READ_SETTINGS })
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

const inOrganizations = (traces: readonly LinkedTrace[]): string =>
  `organization IN (${list(traces.map(one => one.organization))})`

const ofTraces = (traces: readonly LinkedTrace[]): string =>
  `${inOrganizations(traces)} AND trace_id IN ${setOf(traces.map(one => one.trace))}`

const homesSql = (traces: readonly LinkedTrace[]): string => `
    SELECT organization AS of_organization, trace_id AS of_trace, any(provisional_id) AS stand_in,
      argMin(conversation_id, ${RANK}) AS home, argMin(session_id, ${RANK}) AS home_session
    FROM links WHERE ${ofTraces(traces)}
    GROUP BY organization, trace_id`

/** Between which instants rows may stand that are not at home; undefined when there are none. @throws when the store is away. */
export async function boundsOf(
  store: Store,
  { traces }: Slice,
): Promise<{ readonly first: string; readonly last: string } | undefined> {
  const sql = `
    SELECT toUnixTimestamp64Nano(min(first_of)) AS first, toUnixTimestamp64Nano(max(last_of)) AS last
    FROM (
      SELECT conversation_id, min(ts) AS first_of, max(ts) AS last_of FROM events
      WHERE ${inOrganizations(traces)} AND conversation_id IN ${setOf(elsewhere(traces))}
      GROUP BY organization, conversation_id
      HAVING sum(sign) > 0)
    HAVING count() > 0`
  const [row] = await store.read<{ first: string; last: string }>(sql, { settings: READ_SETTINGS })
  return row
}

/** Traces that have rows up to a position, counting or not: mostly none. @throws when the store is away. */
export async function olderTraces(store: Store, slice: Slice, through: number): Promise<readonly LinkedTrace[]> {
  const { partition, traces } = slice
  const rows = await store.read<{ id: string }>(
    `SELECT DISTINCT trace_id AS id FROM events
      PREWHERE ${inOrganizations(traces)} AND conversation_id IN ${setOf(elsewhere(traces))}
      WHERE origin_partition = ${partition} AND origin_sequence <= ${through} AND sign = 1`,
    { settings: { ...READ_SETTINGS, optimize_use_projections: 0 as const } },
  )
  const older = new Set(rows.map(({ id }) => id))
  return traces.filter(({ trace }) => older.has(trace))
}

/** Where rows of a slice may stand that are not at home, and between which instants. */
export type Lost = Slice & { readonly first: string; readonly last: string }

/** Rows that are not at home, with their home. */
function lostSql({ partition, traces, settled, from, first, last }: Lost): string {
  const rows = `origin_partition = ${partition} AND origin_sequence >= ${from} AND source = 'otlp' AND ${ofTraces(traces)}
      AND conversation_id IN ${setOf(elsewhere(traces))}
      AND ts >= fromUnixTimestamp64Nano(${first}, 'UTC') AND ts <= fromUnixTimestamp64Nano(${last}, 'UTC')
      AND ${MOVABLE} AND ${settled}`
  return `
      SELECT standing.*, homes.home AS home, homes.home_session AS home_session
      FROM (
        SELECT * FROM events
        WHERE ${rows} AND sign = 1
          AND (${WRITING}) IN (SELECT ${WRITING} FROM events WHERE ${rows} GROUP BY ${WRITING} HAVING sum(sign) > 0)
        LIMIT 1 BY ${WRITING}) AS standing
      INNER JOIN (${homesSql(traces)}) AS homes
        ON standing.organization = homes.of_organization AND standing.trace_id = homes.of_trace
      WHERE standing.conversation_id != homes.home OR standing.provisional = 1`
}

/** How many rows are not at home. @throws when the store is away. */
export async function countLost(store: Store, lost: Lost): Promise<number> {
  const sql = `SELECT count() AS n FROM (${lostSql(lost)})`
  const settings = { ...READ_SETTINGS, optimize_use_projections: 0 as const }
  const [row] = await store.read<{ n: string }>(sql, { settings })
  return Number(row?.n)
}

/** Rows of one move: what a statement holds in memory is bounded, whatever a trace holds. */
export const MOVE_ROWS = 100_000

/** Writes the pairs of `rows` that are not at home, or of all, to `corrections`, under `move`. @throws when the outcome is unknown. */
export async function stage(
  store: Store,
  lost: Lost,
  { move, rows }: { readonly move: string; readonly rows: number },
): Promise<void> {
  const sql = `
    INSERT INTO corrections
    SELECT * EXCEPT (home, home_session, way) REPLACE (
      if(way = 1, home, conversation_id) AS conversation_id,
      if(way = 1, home_session, session_id) AS session_id,
      if(way = 1, 0, provisional) AS provisional,
      toUUID('${move}') AS move_id,
      version + (way = 1) AS version,
      toInt8(way) AS sign)
    FROM (SELECT *, arrayJoin([-1, 1]) AS way FROM (${lostSql(lost)} LIMIT ${rows}))`
  await store.command(sql, { settings: SETTINGS })
}

/** Pairs that a move has staged; null when they are not whole. @throws when the store is away. */
export async function stagedPairs(store: Store, move: string): Promise<number | null> {
  const [row] = await store.read<{ n: string; left: string; positions: string }>(
    `SELECT count() AS n, sum(sign) AS left, uniqExact(${POSITION}) AS positions FROM corrections WHERE move_id = '${move}'`,
  )
  const pairs = Number(row?.positions ?? 0)
  return Number(row?.n) === 2 * pairs && Number(row?.left) === 0 ? pairs : null
}

/** Writings that a move takes from where they stand and that still count there. */
const countingSql = (partition: number, move: string): string => {
  const staged = `FROM corrections WHERE move_id = '${move}'`
  return `
      SELECT ${WRITING} FROM events
      WHERE origin_partition = ${partition}
        AND origin_sequence >= (SELECT min(origin_sequence) ${staged})
        AND organization IN (SELECT DISTINCT organization ${staged})
        AND conversation_id IN (SELECT DISTINCT conversation_id ${staged} AND sign = -1)
        AND ts >= (SELECT min(ts) ${staged}) AND ts <= (SELECT max(ts) ${staged})
        AND (${WRITING}) IN (SELECT ${WRITING} ${staged} AND sign = -1)
      GROUP BY ${WRITING} HAVING sum(sign) > 0`
}

/** Pairs of a move that are not in `events` yet. @throws when the store is away. */
export async function leftOf(store: Store, partition: number, move: string): Promise<number> {
  const sql = `SELECT count() AS n FROM (${countingSql(partition, move)})`
  const [row] = await store.read<{ n: string }>(sql, { settings: { optimize_use_projections: 0 as const } })
  return Number(row?.n)
}

/** A move, on its way to `events`. */
export interface Copying {
  readonly partition: number
  readonly move: string
  /** Condition that holds until an owner raises its fence. */
  readonly standing: string
  readonly queryId: string
  /** Nobody can have copied any of it: it was staged and recorded just now, and nothing was sent since. */
  readonly first: boolean
}

/** Copies what is left of a move, while `standing` holds. @throws when the outcome is unknown. */
export async function copy(store: Store, { partition, move, standing, queryId, first }: Copying): Promise<void> {
  const taken = `SELECT ${POSITION} FROM corrections
      WHERE move_id = '${move}' AND sign = -1 AND (${WRITING}) IN (${countingSql(partition, move)})`
  const left = first ? '' : ` AND (${POSITION}) IN (${taken})`
  const sql = `INSERT INTO events SELECT * FROM corrections WHERE move_id = '${move}'${left} AND ${standing}`
  await store.command(sql, { settings: SETTINGS, queryId })
}

/** Stand-ins under which something was captured: few. */
async function capturedOf(store: Store, { partition, traces, settled }: Slice): Promise<string[]> {
  const moved = traces.filter(one => one.provisional !== one.home)
  if (moved.length === 0) return []
  const rows = await store.read<{ id: string }>(
    `SELECT DISTINCT conversation_id AS id FROM sessions
      WHERE ${inOrganizations(moved)} AND conversation_id IN ${setOf(moved.map(one => one.provisional))} AND source = 'otlp'
        AND origin_partition = ${partition} AND ${settled}`,
    { settings: READ_SETTINGS },
  )
  return rows.map(({ id }) => id)
}

/**
 * Lets the conversation of a trace know what was captured under its stand-in: the user that a span names, and traits. Captures have
 * no sign; one that stands twice says the same. @throws when the outcome is unknown.
 */
export async function copyCaptures(store: Store, { partition, settled, ...slice }: Slice): Promise<number> {
  const captured = new Set(await capturedOf(store, { partition, settled, ...slice }))
  const traces = slice.traces.filter(one => captured.has(one.provisional))
  const organizations = inOrganizations(traces)
  const standIns = traces.filter(one => one.provisional !== one.home).map(one => one.provisional)
  if (standIns.length === 0) return 0
  const there = `SELECT organization, conversation_id, ${POSITION} FROM sessions
      WHERE ${organizations} AND conversation_id IN ${setOf(traces.map(one => one.home))} AND origin_partition = ${partition}`
  const missing = `
    FROM (SELECT * FROM sessions
      WHERE ${organizations} AND conversation_id IN ${setOf(standIns)} AND source = 'otlp' AND origin_partition = ${partition}
        AND ${settled}) AS captured
    INNER JOIN (${homesSql(traces)}) AS homes
      ON captured.organization = homes.of_organization AND captured.conversation_id = homes.stand_in
    WHERE (captured.organization, homes.home, ${POSITION}) NOT IN (${there})`
  const [row] = await store.read<{ n: string }>(`SELECT count() AS n ${missing}`, { settings: READ_SETTINGS })
  if (Number(row?.n) === 0) return 0
  const sql = `
    INSERT INTO sessions
    SELECT * EXCEPT (home, home_session) REPLACE (home AS conversation_id, home_session AS session_id)
    FROM (SELECT captured.*, homes.home AS home, homes.home_session AS home_session ${missing})`
  await store.command(sql, { settings: SETTINGS })
  return Number(row?.n)
}

/** Takes back what `copyCaptures` wrote for homes that are none any more; mostly nothing. @throws when the outcome is unknown. */
export async function dropCaptures(store: Store, { partition, traces }: Slice): Promise<void> {
  const several = traces.filter(({ home, provisional, linked }) => linked.some(id => id !== home && id !== provisional))
  for (let first = 0; first < several.length; first += DROP_TRACES) {
    await dropFormer(store, partition, several.slice(first, first + DROP_TRACES))
  }
}

async function dropFormer(store: Store, partition: number, several: readonly LinkedTrace[]): Promise<void> {
  const organizations = list(several.map(one => one.organization))
  const copied = `
    SELECT captured.organization, former.conversation_id, ${POSITION}
    FROM (SELECT organization, conversation_id, ${POSITION} FROM sessions
      WHERE organization IN (${organizations}) AND conversation_id IN (${list(several.map(one => one.provisional))})
        AND origin_partition = ${partition}) AS captured
    INNER JOIN (SELECT DISTINCT organization, trace_id, provisional_id, conversation_id FROM links WHERE ${ofTraces(several)}) AS former
      ON captured.organization = former.organization AND captured.conversation_id = former.provisional_id
    INNER JOIN (${homesSql(several)}) AS homes
      ON former.organization = homes.of_organization AND former.trace_id = homes.of_trace
    WHERE former.conversation_id != homes.home AND former.conversation_id != former.provisional_id`
  const where = `origin_partition = ${partition} AND source = 'otlp'
    AND organization IN (${organizations}) AND conversation_id IN (${list(several.flatMap(({ linked }) => linked))})
    AND (organization, conversation_id, ${POSITION}) IN (${copied})`
  const [row] = await store.read<{ n: string }>(`SELECT count() AS n FROM sessions WHERE ${where}`, {
    settings: READ_SETTINGS,
  })
  if (Number(row?.n) === 0) return
  const settings = { ...READ_SETTINGS, mutations_sync: '2' } as const
  await store.command(`ALTER TABLE sessions DELETE WHERE ${where}`, { settings })
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
