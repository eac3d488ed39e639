// Corrections of stored rows that are asked for: what verify found wrong, or costs by the prices of now. Whoever asks leaves a record in
// the cursors bucket; the owner of the partition makes them, because nobody else may reverse rows of it, and tells there how far it is.

/** Key of a partition's record in the cursors bucket. */
export const correctionKeyOf = (partition: number): string => `correct.${partition}`

/**
 * Positions that count too often or too seldom, and events that stand at several positions, each once for every conversation that has it.
 * Which rows that takes, the owner finds.
 */
export interface RepairTask {
  readonly kind: 'repair'
  /** partition-sequence-frame-index */
  readonly positions: readonly string[]
  readonly events: readonly { readonly organization: string; readonly conversation: string; readonly event: string }[]
}

/** Rows of an organization are priced again. */
export interface RemapTask {
  readonly kind: 'remap'
  readonly organization: string
  /** Of the events; absent = no limit. */
  readonly fromMs?: number
  readonly toMs?: number
  /** Positions from here on are read again from their payloads instead; absent: none are. */
  readonly before?: number
  /** True: nothing is changed, only counted. */
  readonly estimate: boolean
}

/** Where a walk through an organization's rows stands: after this row, in the order of the table. */
export interface RowPlace {
  readonly ts: string
  readonly conversation: string
  readonly event: string
}

/** The record. Written as `requested` by whoever asks, from then on by the partition's owner; anybody may set `cancel`. */
export interface CorrectionRecord {
  readonly id: string
  readonly state: 'requested' | 'running' | 'done' | 'cancelled'
  readonly task: RepairTask | RemapTask
  readonly cancel?: true
  /** The owner at work: one that finds another name there is not the owner any more. */
  readonly owner?: string
  /** Of the first walk; later ones only make sure that nothing is left. */
  readonly looked: number
  /** Rows that were written anew, or would be. */
  readonly changed: number
  /** Rows that stay as they are, by reason. */
  readonly left: Readonly<Record<string, number>>
  /** Walks that have ended, and where the present one stands; null = at its beginning. */
  readonly walks: number
  readonly at: RowPlace | null
  /** ISO 8601. */
  readonly requestedAt: string
  readonly startedAt?: string
  readonly endedAt?: string
}
