// The engine's users behind the wall and the settings that are pinned for each; as SQL for a server, as XML for the embedded engine.
import { settingsOfClass, YIELD_MS } from '../classes.ts'

/** Names of the users, and of the one whom the views read as. */
export interface WallNames {
  /** Reads tables for the dashboard, narrowed by row policies. */
  readonly reader: string
  /** Reads the views of tenants' SQL. */
  readonly sql: string
  /** Owns the views; nobody can log in as it. */
  readonly definer: string
}

/** Settings of a user. */
export type Profile = Readonly<Record<string, string | number>>

/** What reads of the dashboard run under: reads only; limits come with each query. */
export const READER_PROFILE: Profile = { readonly: 2 }

/** Rows that a statement of a tenant may return. */
export const SQL_MAX_ROWS = 1_000
/** How long it may take. */
export const SQL_MAX_SECONDS = 10

/** Memory of one statement, and of all of them together. */
const SQL_MEMORY = 1024 * 1024 * 1024
const SQL_MEMORY_OF_ALL = 4 * SQL_MEMORY
/**
 * Rows of a block. Between blocks the engine looks at the clock and lets others go first; a row may be asked a thousand things. Of an
 * eighth of the engine's own size, so that a block waits an eighth of the time.
 */
const SQL_BLOCK_ROWS = 8_192

/**
 * What SQL of tenants runs under: reads only, and no setting may be changed, so the limits are here. What the client sends along with
 * every query has to have the same value here. Of the server's cores a statement has half at most.
 */
export const sqlProfile = (cores: number): Profile => ({
  readonly: 1,
  max_execution_time: SQL_MAX_SECONDS,
  timeout_overflow_mode: 'throw',
  max_memory_usage: SQL_MEMORY,
  max_memory_usage_for_user: SQL_MEMORY_OF_ALL,
  max_bytes_before_external_group_by: 0,
  max_bytes_before_external_sort: 0,
  max_rows_to_read: 200_000_000,
  max_bytes_to_read: 20 * 1024 * 1024 * 1024,
  read_overflow_mode: 'throw',
  max_result_rows: SQL_MAX_ROWS,
  max_result_bytes: 16 * 1024 * 1024,
  result_overflow_mode: 'break',
  ...settingsOfClass('sql', Math.max(1, Math.floor(cores / 2))),
  low_priority_query_wait_time_ms: YIELD_MS,
  max_block_size: SQL_BLOCK_ROWS,
  max_concurrent_queries_for_user: 32,
  max_ast_depth: 200,
  max_ast_elements: 5_000,
  max_expanded_ast_elements: 20_000,
  max_query_size: 64 * 1024,
  max_subquery_depth: 20,
  max_recursive_cte_evaluation_depth: 100,
  output_format_json_quote_64bit_integers: 1,
  date_time_output_format: 'iso',
  // Rows of one key always lie in one partition.
  do_not_merge_across_partitions_select_final: 1,
  cancel_http_readonly_queries_on_client_close: 1,
  http_wait_end_of_query: 1,
})

/** The settings by which SQL of tenants makes room for others. */
export const PATIENT: readonly string[] = ['priority', 'low_priority_query_wait_time_ms']

/** Without it the row filter cannot read the header; to change it would only close the wall. */
export const HEADER_SETTING = 'allow_get_client_http_header'
