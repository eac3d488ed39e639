// The BLOCKS stream: one record for each finished range. Ledger, receipts, backup and checks read it. A record may come twice
// after a crash (the same position, another time); readers keep the one of the highest generation. Where a record names organizations,
// it speaks of their frames only: the others of the same positions stand in records of other ranges.

import { hash } from 'node:crypto'
import type { JetStreamClient } from '@nats-io/jetstream'
import { type PackedTally, packTally, TALLY_MAX_ENTRIES, type TallyEntry } from '#proto/ledger.ts'
import { blocksSubjectOf } from '#proto/streams.ts'
import { scopeOf } from './lanes.ts'
import { type Intent, rangeTokenOf, type Scope } from './protocol.ts'

/** What a record says. `only` or `without`: of these organizations, or of all but these; else of all. */
export interface BlockRecord extends Scope {
  readonly partition: number
  readonly generation: number
  readonly from: number
  readonly to: number
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>
  readonly repeats: number
  /** Events without a conversation of their own, repeats included; absent: none. */
  readonly loose?: number
  /** Events that were written at home at once, by all links that were known up to this position of the stream; absent: none. */
  readonly placed?: { readonly revision: number; readonly rows: number }
  readonly dead: number
  /** Over the checksums of all blocks of the range. */
  readonly checksum: string
  /** When it was finished, ISO 8601. */
  readonly at: string
  /** What became of each payload; absent in records of earlier builds, and where there is too much to say. */
  readonly tally?: PackedTally
  /** The range had been stored before, and a replay has read it again. */
  readonly again?: true
}

/** What a record says beside its intent. */
export interface Told {
  readonly tally: readonly TallyEntry[]
  readonly again: boolean
}

/** The record of a finished intent. */
export function recordOf(partition: number, intent: Intent, atMs: number, told?: Told): BlockRecord {
  const rows: Record<string, number> = {}
  for (const block of intent.blocks) rows[block.table] = (rows[block.table] ?? 0) + block.rows
  return {
    partition,
    generation: intent.generation,
    from: intent.from,
    to: intent.to,
    ...scopeOf(intent),
    rows,
    ...(intent.loose === undefined ? {} : { loose: intent.loose }),
    ...(intent.homes === undefined ? {} : { placed: { revision: intent.homes.revision, rows: intent.homes.rows } }),
    repeats: intent.repeats.reduce((sum, [first, last]) => sum + last - first + 1, 0),
    dead: intent.letters,
    checksum: hash('sha1', intent.blocks.map(block => block.checksum).join(), 'hex').slice(0, 16),
    at: new Date(atMs).toISOString(),
    ...(told === undefined || told.tally.length > TALLY_MAX_ENTRIES ? {} : { tally: packTally(told.tally) }),
    ...(told?.again ? { again: true as const } : {}),
  }
}

/** Publishes the record of an intent and waits for the stream's answer. @throws when there is none. */
export async function publishRecord(js: JetStreamClient, record: BlockRecord, intent: Intent): Promise<void> {
  const msgID = `block.${rangeTokenOf(record.partition, intent)}`
  await js.publish(blocksSubjectOf(record.partition), JSON.stringify(record), { msgID })
}
