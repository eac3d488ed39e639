// Rows of the store -> a filter of the traces they are of.
import type { Store } from '#store/client.ts'
import { ROWS } from './engine-settings.ts'
import { TRACE_HASH } from './moves.ts'
import { TraceFilter } from './trace-filter.ts'

/** With more of them a filter of its largest size would say yes to most. */
const MOST_ROWS = 30_000_000
const HASH_BYTES = 8

/**
 * An empty filter with room for twice as many traces as there are rows, and for `least`. `rows`: a table, and a condition if need be.
 * @throws when there are too many; when the store is away.
 */
export async function filterFor(store: Store, rows: string, least: number): Promise<TraceFilter> {
  const [row] = await store.read<{ n: string }>(`SELECT count() AS n FROM ${rows}`, { settings: ROWS })
  const n = Number(row?.n)
  if (n > MOST_ROWS) throw new Error(`${n} rows are too many to be remembered`)
  return new TraceFilter(Math.max(least, 2 * n))
}

/** Adds the traces of these rows. @throws when the store is away. */
export async function addTraces(store: Store, rows: string, filter: TraceFilter): Promise<void> {
  const { stream } = await store.client.exec({
    query: `SELECT ${TRACE_HASH} FROM ${rows} FORMAT RowBinary`,
    // An answer that is cut short must not be taken for all there is.
    clickhouse_settings: { ...ROWS, max_threads: 1, wait_end_of_query: 1 },
  })
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of stream) {
    const bytes: Buffer = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer])
    const whole = bytes.length - (bytes.length % HASH_BYTES)
    for (let at = 0; at < whole; at += HASH_BYTES) {
      filter.add({ low: bytes.readUInt32LE(at), high: bytes.readUInt32LE(at + 4) })
    }
    rest = bytes.subarray(whole)
  }
  if (rest.length > 0) throw new Error(`an answer that ends within a hash, ${rest.length} bytes`)
}
