// Records of finished ranges -> the ledger's table: what became of every payload, by organization, hour and surface. Whatever is folded in
// twice counts once, so a kill at any moment and two processes at once do no harm.
import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { LEDGER_KEY, type LedgerState, type TallyEntry, unpackTally } from '#proto/ledger.ts'
import type { RecordedRange } from '#proto/recorded-range.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Store } from '#store/client.ts'
import { readRecordsAfter } from '#streams/ledger.ts'
import { readSettled } from '#streams/settled.ts'

/** What folding needs. */
export interface LedgerContext {
  readonly nc: NatsConnection
  readonly cursors: KV
  /** The store that has an organization. */
  readonly storeOf: (organization: string) => Store
  readonly partitions: number
  readonly metrics: Metrics
  readonly log: Log
}

/** Records of one insert. */
const RECORDS = 2_000
const NOTHING: LedgerState = { position: 0, through: {}, sinceMs: 0 }

/** Makes the fold: it goes on until the table holds all records that stood in the stream when it last asked. */
export function createLedger(context: LedgerContext): (signal: AbortSignal) => Promise<void> {
  const { nc, cursors, storeOf, partitions, log } = context
  const folded = context.metrics.counter('ledger_records_total', 'records of finished ranges that the ledger holds')
  const behind = context.metrics.gauge('ledger_position', 'position in BLOCKS up to which the ledger holds records')
  return async signal => {
    for (;;) {
      signal.throwIfAborted()
      const state = await readLedgerState(cursors)
      // Before the records are read: a floor moves only over what has a record.
      const settled = await readSettled(cursors, partitions)
      const { records, position, missed, ended } = await readRecordsAfter(nc, state.position, RECORDS)
      const through = ended ? Object.fromEntries(settled) : state.through
      if (position === state.position && sameThrough(through, state.through)) return
      const sinceMs = sinceOf(state, records, missed)
      if (missed > 0)
        log.warn({ missed }, 'records of finished ranges are gone: the ledger does not know what was in them')
      await insertRecords(storeOf, records)
      const next: LedgerState = { position, through, sinceMs }
      await cursors.put(LEDGER_KEY, JSON.stringify(next))
      folded.inc(records.length)
      behind.set(position)
      if (ended) return
    }
  }
}

/** How far the ledger is. */
export async function readLedgerState(cursors: KV): Promise<LedgerState> {
  const entry = await cursors.get(LEDGER_KEY)
  return entry?.operation === 'PUT' ? entry.json<LedgerState>() : NOTHING
}

const sameThrough = (a: LedgerState['through'], b: LedgerState['through']): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value)

/** Everything is known of what came after the last record that says nothing: of an earlier build, too long, or gone unread. */
function sinceOf({ sinceMs }: LedgerState, records: readonly RecordedRange[], missed: number): number {
  const silent = records.filter(({ tally }) => tally === undefined).map(({ at }) => Date.parse(at))
  const first = missed > 0 && records[0] ? [Date.parse(records[0].at)] : []
  return Math.max(sinceMs, ...silent, ...first)
}

/** Rows of the table for the entries of a record. */
function rowsOf(record: RecordedRange): { organization: string }[] {
  const { partition, generation, from, to, tally = [], again } = record
  return unpackTally(tally).map((entry: TallyEntry) => ({
    organization: entry.organization,
    hour: entry.hour * 3600,
    surface: entry.surface,
    reading: again ? generation : 0,
    partition,
    from_sequence: from,
    to_sequence: to,
    generation,
    payloads: entry.payloads,
    dead: entry.dead,
    repeats: entry.repeats,
    items: entry.items,
    repeated_items: entry.repeatedItems,
  }))
}

async function insertRecords(storeOf: LedgerContext['storeOf'], records: readonly RecordedRange[]): Promise<void> {
  const rows = records.flatMap(rowsOf)
  for (const [store, values] of Map.groupBy(rows, row => storeOf(row.organization))) {
    await store.client.insert({
      table: 'ledger',
      format: 'JSONEachRow',
      values,
      clickhouse_settings: { async_insert: 0 },
    })
  }
}
