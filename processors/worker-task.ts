// The task of a worker thread: a range of raw messages comes in, encoded blocks go out. In between the owner is asked, through a
// port, which units are repeats and where spans without a session belong: only the owner knows the order of ranges.
import { once } from 'node:events'
import { PerformanceObserver } from 'node:perf_hooks'
import type { MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type { TallyEntry } from '#proto/ledger.ts'
import type { BlockInput } from './block.ts'
import { encodeRange, parseRange } from './block.ts'
import type { EncodedBlock } from './encoder.ts'
import { createEncoder } from './encoder.ts'
import { NewerEnvelope, type Parsers } from './frames.ts'
import { letGo } from './let-go.ts'
import type { DeadLetter } from './letters.ts'
import { homesByOrdinal, type LooseUnits, looseOf, type Placement } from './loose.ts'
import type { OrdinalRun } from './protocol.ts'
import type { Fingerprints } from './repeats.ts'
import { tallyOf } from './tally.ts'

/** A task. */
export interface WorkerTask {
  readonly input: BlockInput
  /** Given when an intent already says them; else asked for through `port`. */
  readonly repeats: readonly OrdinalRun[] | null
  readonly port: MessagePort
  /** Where blocks are written as long as there is room; absent: each has memory of its own. */
  readonly room?: SharedArrayBuffer | undefined
  /** [frames begun, message, frame] in shared memory. */
  readonly progress: Int32Array
}

/** What the owner is asked in between, … */
export interface RangeQuestion {
  readonly prints: Fingerprints
  readonly loose: LooseUnits
}

/** … and what it says. */
export interface RangeAnswer {
  readonly judged: readonly OrdinalRun[]
  readonly placement: Placement | null
}

/** A finished task, or the refusal to pass a message of a newer version. */
export type WorkerResult =
  | {
      readonly blocks: readonly EncodedBlock[]
      readonly dead: readonly DeadLetter[]
      readonly units: number
      readonly classes: Readonly<Record<string, number>>
      readonly readings: Readonly<Record<string, string>>
      readonly unpriced: Readonly<Record<string, number>>
      readonly fallbacks: Readonly<Record<string, number>>
      /** The first mistake of a packer; '' = none. */
      readonly fault: string
      /** Those that are written at home left out. */
      readonly loose: number
      /** What became of each payload, for the ledger. */
      readonly tally: readonly TallyEntry[]
      /** Milliseconds of work, without the wait for the owner. */
      readonly workMs: number
      /** Milliseconds of garbage collection of the thread since its last result. */
      readonly gcMs: number
    }
  | { readonly newer: string }

/** The task function over a set of parsers. */
export function createWorker(use: Parsers): (task: WorkerTask) => Promise<WorkerResult> {
  const collected = watchGarbage()
  return async ({ input, repeats, port, progress, room }) => {
    const startedAt = performance.now()
    try {
      const parsed = parseRange(input, use, (message, frame) => {
        Atomics.store(progress, 1, message)
        Atomics.store(progress, 2, frame)
        Atomics.add(progress, 0, 1)
      })
      const parsedAt = performance.now()
      // -1: no frame is being parsed any more.
      Atomics.store(progress, 1, -1)
      const answer = once(port, 'message')
      const { asked, ordinals } = looseOf(parsed.units)
      port.postMessage({ prints: parsed.prints, loose: asked } satisfies RangeQuestion)
      const [{ judged, placement }] = (await answer) as [RangeAnswer]
      const resumedAt = performance.now()
      const { homeAt, placed } = homesByOrdinal(ordinals, placement)
      const blocks = encodeRange(parsed, input, repeats ?? judged, createEncoder(room), homeAt)
      const tally = tallyOf(input, parsed, repeats ?? judged)
      const workMs = parsedAt - startedAt + (performance.now() - resumedAt)
      const gcMs = collected()
      const { dead, classes, readings, unpriced, fallbacks, fault, units } = parsed
      const loose = parsed.loose - placed
      // Nothing of the result is a view of them.
      letGo([input.bytes])
      const said = { classes, readings, unpriced, fallbacks, fault, loose, tally, workMs, gcMs }
      return moved({ blocks, dead, units: units.length, ...said })
    } catch (error) {
      if (error instanceof NewerEnvelope) return { newer: error.message }
      throw error
    } finally {
      port.close()
    }
  }
}

/** Milliseconds of garbage collection since they were asked for last. What ends within a task is often heard of after it. */
function watchGarbage(): () => number {
  let ms = 0
  const observer = new PerformanceObserver(list => {
    for (const entry of list.getEntries()) ms += entry.duration
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => {
    const heard = ms
    ms = 0
    return heard
  }
}

/** The result with its buffers handed over instead of copied. */
function moved(result: Extract<WorkerResult, { blocks: unknown }>): WorkerResult {
  const all = [...result.blocks.map(block => block.body.buffer), ...result.dead.map(letter => letter.bytes.buffer)]
  const buffers = all.filter(buffer => buffer instanceof ArrayBuffer)
  return Piscina.move({
    get [Piscina.transferableSymbol]() {
      return buffers
    },
    get [Piscina.valueSymbol]() {
      return result
    },
  } as unknown as ArrayBuffer) as unknown as WorkerResult
}
