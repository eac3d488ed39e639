// Envelopes -> rows of a store, as a processor writes them: the real parsers and encoder, one insert a table.
import { encodeRange, parseRange } from '#processors/block.ts'
import { createEncoder, type EncodedBlock } from '#processors/encoder.ts'
import { insertBody } from '#processors/insert.ts'
import { plainReadings } from '#processors/readings.ts'
import { parsers } from '#processors/registry.ts'
import type { Store } from '#store/client.ts'

/** Positions in the stream that one arrival has. */
export const ARRIVAL = 1_000

/** An engine and the CPU seconds that it has used. */
export interface Engine {
  readonly url: string
  readonly cpu: () => Promise<number>
}

/** What arrives together. */
export interface Arrival {
  /** Envelopes, one after the other, and where each ends. */
  readonly bytes: Uint8Array
  readonly ends: Float64Array
}

/** Stores the `number`-th arrival; CPU seconds of this thread and of the engine. */
export async function arrive(
  engine: Engine,
  store: Store,
  { bytes, ends }: Arrival,
  number: number,
): Promise<{ worker: number; insert: number }> {
  const began = process.threadCpuUsage()
  const blocks = blocksOf(bytes, ends, number)
  const { user, system } = process.threadCpuUsage(began)
  const before = await engine.cpu()
  for (const { table: of, body } of blocks) {
    const token = `${number}.${of}`
    const outcome = await insertBody(store, { table: of, token, body, signal: AbortSignal.timeout(600_000) })
    if (outcome.is !== 'inserted') throw new Error(`insert ${outcome.is}`, { cause: outcome.error })
  }
  return { worker: (user + system) / 1e6, insert: (await engine.cpu()) - before }
}

function blocksOf(bytes: Uint8Array, ends: Float64Array, number: number): EncodedBlock[] {
  const input = {
    ...{ bytes, ends, sequences: ends.map((_, i) => number * ARRIVAL + i), partition: 0, generation: 1, classes: {} },
    ...{ reading: plainReadings.now(), dead: [], scope: {} },
  }
  return encodeRange(
    parseRange(input, parsers, () => {}),
    input,
    [],
    createEncoder(),
  )
}
