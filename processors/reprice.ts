// Rows of one organization and partition, page by page in the order of the table, and the pairs that give them another cost: the row's
// reversal, and the row again under a later version. Nothing but cost, its bits and its remark changes, so both rows of a pair stand in
// one place of the table and go to one part: every sum is right at every moment.
import type { RemapTask, RowPlace } from '#proto/correction.ts'
import { isUuid } from '#proto/ids.ts'
import type { Store } from '#store/client.ts'
import { ONE_BLOCK, ROWS } from './engine-settings.ts'
import { COST_NOTES, NOTE_CHARS, PRICEABLE_SQL, PRICING_KEYS, type PricedRow } from './parsers/reprice.ts'

/** Added to a version: above every bit of first writings and moves, which tell the rows of spans by the lower ones. */
const LATER = 2n ** 54n

const WRITING = 'origin_generation, origin_sequence, origin_frame, origin_index, version'
const READ_SETTINGS = { ...ROWS, max_execution_time: 30 }

/** A row of a page. 64-bit integers are text. */
type PageRow = {
  readonly [Column in keyof PricedRow]: PricedRow[Column] extends number ? string | number : PricedRow[Column]
} & {
  readonly ts_nanos: string
  readonly conversation_id: string
  readonly event_id: string
  readonly generation: string | number
  readonly sequence: string
  readonly frame: string | number
  readonly row_index: string | number
  readonly version: string
}

/** Which rows of the partition. */
export interface PageScope {
  readonly partition: number
  readonly task: RemapTask
  /** settledCondition */
  readonly settled: string
}

function scopeSql({ partition, task, settled }: PageScope): string {
  const { organization, fromMs, toMs, before } = task
  if (!isUuid(organization)) throw new Error('an organization is no uuid')
  return [
    `organization = toUUID('${organization}') AND origin_partition = ${partition}`,
    ...(fromMs === undefined ? [] : [`ts >= fromUnixTimestamp64Milli(toInt64(${fromMs}), 'UTC')`]),
    ...(toMs === undefined ? [] : [`ts < fromUnixTimestamp64Milli(toInt64(${toMs}), 'UTC')`]),
    ...(before === undefined ? [] : [`origin_sequence < ${before}`]),
    settled,
  ].join(' AND ')
}

const instant = (nanos: string): string => `fromUnixTimestamp64Nano(toInt64(${BigInt(nanos)}), 'UTC')`

function behind({ ts, conversation, event }: RowPlace): string {
  if (!isUuid(conversation) || !isUuid(event)) throw new Error('an id is no uuid')
  const hour = `toStartOfHour(${instant(ts)})`
  return `toStartOfHour(ts) >= ${hour} AND
    (toStartOfHour(ts), conversation_id, ts, event_id) > (${hour}, toUUID('${conversation}'), ${instant(ts)}, toUUID('${event}'))`
}

/** A row that may have another price now, and what names its writing. */
export interface PagedRow {
  readonly row: PricedRow
  readonly place: RowPlace
  readonly writing: {
    readonly g: number
    readonly s: number
    readonly f: number
    readonly i: number
    readonly v: string
  }
}

/** The next `rows` rows behind `after` that have tokens and no cost of their sender's. @throws when the store is away. */
export async function readPage(
  store: Store,
  scope: PageScope,
  { after, rows }: { readonly after: RowPlace | null; readonly rows: number },
): Promise<PagedRow[]> {
  const found = await store.read<PageRow>(
    `SELECT toString(toUnixTimestamp64Nano(ts)) AS ts_nanos, conversation_id, event_id, source, model, provider,
        input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanos, present,
        mapApply((k, v) -> (k, substringUTF8(v, 1, ${NOTE_CHARS})), mapFilter((k, v) -> match(lower(k), '${PRICING_KEYS}'), metadata)) AS metadata,
        origin_generation AS generation, origin_sequence AS sequence, origin_frame AS frame, origin_index AS row_index, version
     FROM events FINAL
     WHERE ${scopeSql(scope)} AND sign = 1 AND ${PRICEABLE_SQL} ${after === null ? '' : `AND ${behind(after)}`}
     ORDER BY toStartOfHour(events.ts), conversation_id, events.ts, event_id
     LIMIT ${rows} WITH TIES`,
    { settings: READ_SETTINGS },
  )
  return found.map(one => ({
    row: {
      source: one.source,
      model: one.model,
      provider: one.provider,
      input_tokens: Number(one.input_tokens),
      output_tokens: Number(one.output_tokens),
      cache_read_tokens: Number(one.cache_read_tokens),
      cache_write_tokens: Number(one.cache_write_tokens),
      reasoning_tokens: Number(one.reasoning_tokens),
      cost_nanos: Number(one.cost_nanos),
      present: Number(one.present),
      metadata: one.metadata,
    },
    place: { ts: one.ts_nanos, conversation: one.conversation_id, event: one.event_id },
    writing: {
      g: Number(one.generation),
      s: Number(one.sequence),
      f: Number(one.frame),
      i: Number(one.row_index),
      // Beyond what a double holds.
      v: one.version,
    },
  }))
}

/** Another cost for one writing of a row. */
export interface CostChange {
  readonly at: PagedRow
  readonly cost: number
  readonly present: number
  readonly notes: Readonly<Record<string, string>>
}

/** Writes the pairs of changes whose rows still count to `corrections`, under `move`. @throws when the outcome is unknown. */
export async function stageCosts(
  store: Store,
  scope: PageScope,
  changes: readonly CostChange[],
  move: string,
): Promise<void> {
  const texts = changes.map(({ at, cost, present, notes }) => JSON.stringify({ ...at.writing, cost, present, notes }))
  const times = changes.map(({ at }) => BigInt(at.place.ts))
  const [first, last] = [times.reduce((a, b) => (a < b ? a : b)), times.reduce((a, b) => (a > b ? a : b))]
  const field = (name: string, type: string): string => `JSONExtract(change, '${name}', '${type}')`
  const changed = `SELECT change, toUInt32(${field('g', 'UInt32')}) AS of_g, ${field('s', 'UInt64')} AS of_s, ${field('f', 'UInt32')} AS of_f,
      ${field('i', 'UInt32')} AS of_i, toUInt64(${field('v', 'String')}) AS of_v
    FROM (SELECT arrayJoin({changes:Array(String)}) AS change)`
  const names = `SELECT of_g, of_s, of_f, of_i, of_v FROM (${changed})`
  const rows = `${scopeSql(scope)} AND ts >= ${instant(String(first))} AND ts <= ${instant(String(last))} AND (${WRITING}) IN (${names})`
  const notes = COST_NOTES.map(key => `'${key}'`).join()
  await store.command(
    `INSERT INTO corrections
     SELECT * EXCEPT (change, way) REPLACE (
       if(way = 1, ${field('cost', 'UInt64')}, cost_nanos) AS cost_nanos,
       if(way = 1, ${field('present', 'UInt16')}, present) AS present,
       if(way = 1, CAST(mapUpdate(mapFilter((k, v) -> k NOT IN (${notes}), CAST(metadata, 'Map(String, String)')),
         ${field('notes', 'Map(String, String)')}), 'Map(LowCardinality(String), String)'), metadata) AS metadata,
       toUUID('${move}') AS move_id,
       version + if(way = 1, ${LATER}, 0) AS version,
       toInt8(way) AS sign)
     FROM (
       SELECT *, arrayJoin([-1, 1]) AS way FROM (
         SELECT standing.*, changed.change AS change
         FROM (
           SELECT * FROM events
           WHERE ${rows} AND sign = 1
             AND (${WRITING}) IN (SELECT ${WRITING} FROM events WHERE ${rows} GROUP BY ${WRITING} HAVING sum(sign) > 0)
           LIMIT 1 BY ${WRITING}) AS standing
         INNER JOIN (${changed}) AS changed
           ON standing.origin_generation = changed.of_g AND standing.origin_sequence = changed.of_s
             AND standing.origin_frame = changed.of_f AND standing.origin_index = changed.of_i AND standing.version = changed.of_v))`,
    {
      parameters: { changes: texts },
      settings: { ...ONE_BLOCK, insert_deduplicate: 0, wait_end_of_query: 1, ...READ_SETTINGS },
    },
  )
}
