// Fills a new owner's repeat windows from what the partition has stored: the newest identities of the ranges that are finished.
import { FINGERPRINT_BYTES } from '#proto/ids.ts'
import type { Store } from '#store/client.ts'
import { ROWS } from './engine-settings.ts'
import { scopeConditions } from './insert.ts'
import type { StoredRange } from './lanes.ts'
import type { RepeatWindow } from './repeats.ts'
import { runsOf } from './repeats.ts'

/** Sequences of the first look; each further look goes back twice as far. */
const FIRST_SPAN = 16_384
/** A fingerprint and a position. */
const ENTRY_BYTES = FINGERPRINT_BYTES + 8

/** Which identities: of `ranges`, in order, the newest `max`. */
export interface RebuildOptions {
  readonly partition: number
  readonly ranges: readonly StoredRange[]
  readonly max: number
}

/** Adds up to `max` fingerprints, oldest first. @throws when the store is away. */
export async function rebuildWindow(store: Store, window: RepeatWindow, options: RebuildOptions): Promise<void> {
  const newestFirst: Buffer[] = []
  let missing = options.max
  let span = FIRST_SPAN
  for (const range of options.ranges.toReversed()) {
    for (let high = range.through; high > range.after && missing > 0; span *= 2) {
      const low = Math.max(range.after, high - span)
      const found = await entriesOf(store, options.partition, { ...range, after: low, through: high }, missing)
      newestFirst.push(found)
      missing -= found.length / ENTRY_BYTES
      high = low
    }
  }
  for (const entries of newestFirst.reverse()) {
    const { list, sequences } = oldestFirst(entries)
    runsOf({ list, sequences }, (words, sequence) => !window.add(words, sequence))
  }
  window.trim()
}

/**
 * Stored events of a range, newest first: what was taken back is not stored, and what was moved is, elsewhere. The SQL spells the
 * same text as `fingerprint` of proto/ids.ts.
 */
async function entriesOf(store: Store, partition: number, range: StoredRange, limit: number): Promise<Buffer> {
  const condition = [
    `origin_partition = ${partition} AND origin_sequence > ${range.after} AND origin_sequence <= ${range.through}`,
    ...scopeConditions(range),
  ].join(' AND ')
  const position = 'origin_generation, origin_sequence, origin_frame, origin_index'
  const reversed = await store.read<{ n: string }>(`SELECT count() AS n FROM events WHERE ${condition} AND sign = -1`, {
    settings: ROWS,
  })
  const standing =
    reversed[0]?.n === '0'
      ? ''
      : `AND (${position}) IN (SELECT ${position} FROM events WHERE ${condition} GROUP BY ${position} HAVING sum(sign) > 0)`
  const result = await store.client.exec({
    query: `SELECT toFixedString(substring(SHA1(concat('event:', toString(organization), ':', toString(event_id))),
          1, ${FINGERPRINT_BYTES}), ${FINGERPRINT_BYTES}),
        toFloat64(origin_sequence)
      FROM events
      WHERE ${condition} AND sign = 1 AND source != 'voice' ${standing}
      ORDER BY origin_sequence DESC, origin_frame DESC, origin_index DESC
      ${standing === '' ? '' : `LIMIT 1 BY ${position}`}
      LIMIT ${limit}
      FORMAT RowBinary`,
    clickhouse_settings: { ...ROWS, wait_end_of_query: 1, max_threads: 2 },
  })
  const chunks: Buffer[] = []
  for await (const chunk of result.stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function oldestFirst(entries: Buffer): { list: Buffer; sequences: Float64Array } {
  const n = entries.length / ENTRY_BYTES
  const list = Buffer.alloc(n * FINGERPRINT_BYTES)
  const sequences = new Float64Array(n)
  for (let i = 0; i < n; i++) {
    const at = (n - 1 - i) * ENTRY_BYTES
    entries.copy(list, i * FINGERPRINT_BYTES, at, at + FINGERPRINT_BYTES)
    sequences[i] = entries.readDoubleLE(at + FINGERPRINT_BYTES)
  }
  return { list, sequences }
}
