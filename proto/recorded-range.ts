// What the record of a finished range says, as far as it is held against the store; processors/blocks.ts writes it.

import type { PackedTally } from '#proto/ledger.ts'

/** The record of a finished range. */
export interface RecordedRange {
  readonly partition: number
  readonly generation: number
  readonly from: number
  readonly to: number
  readonly only?: readonly string[]
  readonly without?: readonly string[]
  readonly rows: Readonly<Record<string, number>>
  readonly repeats: number
  readonly dead: number
  /** When it was finished, ISO 8601. */
  readonly at: string
  readonly tally?: PackedTally
  readonly again?: true
}
