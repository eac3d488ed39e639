// How a backup asks the owners of partitions to hold still, and what they answer. Plain messages: a wish that nobody repeats is over.

/** Everybody who owns a partition listens here. */
export const HOLD_SUBJECT = 'parley.hold'
/** A wish is repeated this often … */
export const HOLD_REPEAT_MS = 1_000
/** … and one that was missed so many times is over. */
export const HOLD_MISSED_MAX = 20

/** `still`: store nothing, change nothing that is stored. `keep`: go on, but purge nothing. `over`: as if nobody had asked. */
export interface HoldWish {
  readonly is: 'still' | 'keep' | 'over'
  /** Comes back with the answer. */
  readonly round: number
}

/** The answer to `still`, once nothing of the partition is at work. */
export interface HoldAnswer {
  readonly partition: number
  readonly round: number
  /** The same as long as it has held still without a break. */
  readonly since: string
}
