// How the contenders of the processing bench insert what is not parley's own way: settings that make all of them do the same work.
import { PINNED } from '#processors/engine-settings.ts'

/** Without these, others would build the index of words at once and not by merges, which no contender is charged for. */
export const EQUAL_WORK = {
  async_insert: PINNED.async_insert,
  max_insert_threads: PINNED.max_insert_threads,
  optimize_on_insert: PINNED.optimize_on_insert,
  exclude_materialize_skip_indexes_on_insert: PINNED.exclude_materialize_skip_indexes_on_insert,
} as const
