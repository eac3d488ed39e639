// How processors ask the engine to work: one place for the settings of all their statements, with the reason of each.
import type { ClickHouseSettings } from '@clickhouse/client'

const ABOVE_ANY_BLOCK = 1_000_000_000

/** Everything that decides how an insert is cut into parts and deduplicated is pinned: one INSERT makes one part. */
export const PINNED = {
  async_insert: 0,
  insert_deduplicate: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  max_insert_threads: '1',
  max_insert_block_size: String(ABOVE_ANY_BLOCK),
  min_insert_block_size_rows: String(ABOVE_ANY_BLOCK),
  min_insert_block_size_bytes: String(64 * 1024 * ABOVE_ANY_BLOCK),
  input_format_parallel_parsing: 0,
  // A column that the table lacks is a mistake of ours to be told of, not data to be dropped.
  input_format_skip_unknown_fields: 0,
  // Searching texts is left to merges: an insert that builds this index costs four times as much.
  exclude_materialize_skip_indexes_on_insert: 'words',
  // Rows are counted by what was sent.
  optimize_on_insert: 0,
} as const satisfies ClickHouseSettings

/**
 * For reads of `events` by position, trace or whole rows, which no projection can answer: the engine would hold every one of them
 * against every part before it finds that out, which is half of what such a statement costs (20 against 10 ms over few parts,
 * 133 against 84 over many).
 */
export const ROWS = { optimize_use_projections: 0 } as const satisfies ClickHouseSettings

/** For an INSERT … SELECT: all of it is one block, so that what goes to one part is there as a whole or not at all. */
export const ONE_BLOCK = {
  ...PINNED,
  ...ROWS,
  max_threads: 1,
  max_block_size: String(ABOVE_ANY_BLOCK),
} as const satisfies ClickHouseSettings

/** Longer than any statement that names a slice of traces. */
export const NAMING = { max_query_size: String(16 * 1024 * 1024) } as const satisfies ClickHouseSettings

/** For an INSERT … SELECT whose own condition keeps it from being done twice; its answer waits for the outcome. */
export const BY_CONDITION = {
  ...ONE_BLOCK,
  ...NAMING,
  insert_deduplicate: 0,
  max_execution_time: 30,
  wait_end_of_query: 1,
} as const satisfies ClickHouseSettings
