// What the wall is made of: the tables that hold tenants' rows, the condition by which the store itself narrows them to one
// organization, and the views that SQL of tenants may read.

/** The header by which every read says whose rows it may see. Set by this process on its own request: no SQL text can change it. */
export const ORGANIZATION_HEADER = 'x-parley-organization'

/** Tables that dashboard reads may see, each with an `organization` column. */
export const WALLED_TABLES = ['events', 'texts', 'sessions', 'replaced_reports', 'audit', 'ledger'] as const

/**
 * The condition of every row. A request without the header, or with a broken one, compares with NULL: no row. A function of the
 * request is a constant to the planner, so projections and primary keys are used as for a written condition.
 */
export const ROW_FILTER = `organization = toUUIDOrNull(getClientHTTPHeader('${ORGANIZATION_HEADER}'))`

/** The database of the views, beside that of the tables: a grant on it is a grant on nothing else. */
export const viewsDatabase = (database: string): string => `${database}_sql`

const CAPTURE_ORDER = '(received_at, origin_sequence, origin_frame, origin_index, origin_partition)'
const latest = (column: string): string => `argMaxIf(${column}, ${CAPTURE_ORDER}, ${column} != '') AS ${column}`

/** A view for SQL of tenants. */
export interface TenantView {
  readonly name: string
  /** Its query; `{{database}}` stands for the database of the tables. */
  readonly sql: string
}

/**
 * The views, with corrections folded, so that `count()` counts. Their definer is narrowed by the row filter, before anything that a
 * tenant has written is evaluated.
 */
export const TENANT_VIEWS: readonly TenantView[] = [
  {
    name: 'events',
    sql: `SELECT
      event_id, parent_id, conversation_id, session_id, trace_id, ts, toString(source) AS source, toString(kind) AS kind, name,
      failed, error_type, error_message, user_id, if(duration_ns < 0, NULL, duration_ns / 1000000) AS duration_ms,
      model, provider, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
      cost_nanos / 1000000000 AS cost_usd, input_preview, output_preview, input_bytes, output_bytes, metadata, received_at
    FROM {{database}}.events FINAL`,
  },
  {
    name: 'conversations',
    sql: `SELECT
      conversation_id, ${latest('session_id')}, ${latest('user_id')}, ${latest('user_email')}, ${latest('connection_type')},
      toString(any(source)) AS source,
      mapApply((k, v) -> (k, v.2), maxMap(mapApply((k, v) -> (k, (${CAPTURE_ORDER}, v)), user_data))) AS user_data,
      mapApply((k, v) -> (k, v.2), maxMap(mapApply((k, v) -> (k, (${CAPTURE_ORDER}, v)), metadata))) AS metadata,
      min(started_at) AS started_at
    FROM {{database}}.sessions
    WHERE report = '' OR (conversation_id, origin_partition, origin_sequence, origin_frame) NOT IN (
      SELECT conversation_id, origin_partition, origin_sequence, origin_frame FROM {{database}}.replaced_reports)
    GROUP BY conversation_id`,
  },
  {
    name: 'texts',
    sql: `SELECT event_id, ts, input, output
    FROM {{database}}.texts
    ORDER BY origin_sequence DESC, origin_frame DESC, origin_index DESC, origin_generation DESC
    LIMIT 1 BY event_id`,
  },
]
