// A replay: a stored range of one partition is read again and stored anew. Operators ask for it by a record in the cursors bucket;
// whoever owns the partition does it and tells there how far it is.

/** Key of a partition's record in the cursors bucket. */
export const replayKeyOf = (partition: number): string => `replay.${partition}`

/** The record. Written as `requested` by whoever asks, from then on by the partition's owner. */
export interface ReplayRecord {
  readonly id: string
  readonly state: 'requested' | 'running' | 'done' | 'refused'
  /** First and last position. */
  readonly from: number
  readonly to: number
  /** Everything up to here has been stored anew. */
  readonly floor: number
  /** Why it was refused. */
  readonly reason?: string
  /** ISO 8601. */
  readonly requestedAt: string
  readonly endedAt?: string
}
