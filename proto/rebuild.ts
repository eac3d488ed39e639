// A rebuild of what the store derives from its rows, piece by piece. Its record in the cursors bucket says which pieces are done, so that
// whoever calls the command next can go on.

/** Key of the record. */
export const REBUILD_KEY = 'rebuild'

/** The record. */
export interface RebuildRecord {
  readonly id: string
  readonly state: 'running' | 'done'
  /** Of whom and when; absent = no limit. */
  readonly organization?: string
  readonly fromMs?: number
  readonly toMs?: number
  /** In the order in which they are built: "table/partition/name". */
  readonly pieces: readonly string[]
  /** How many of them are done. */
  readonly done: number
  /** Differences that were found afterwards, by bucket. */
  readonly differences: readonly string[]
  /** ISO 8601. */
  readonly startedAt: string
  readonly endedAt?: string
}
