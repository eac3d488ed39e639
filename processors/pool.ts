// Ranges of messages -> encoded blocks, on worker threads. A payload that kills its thread, or keeps it too long, is found by
// asking for it alone: only a frame that repeats the misbehaviour by itself is judged dead.
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { readEnvelope } from '#proto/envelope.ts'
import type { Log } from '#runtime/log.ts'
import { bisect } from './bisect.ts'
import type { BlockInput } from './block.ts'
import { Stopped } from './cursor.ts'
import { scopeOf } from './lanes.ts'
import type { LooseUnits, Placement } from './loose.ts'
import type { DeadFrame, OrdinalRun, Scope } from './protocol.ts'
import type { StreamMessage } from './reader.ts'
import type { ReadingSettings } from './readings.ts'
import type { Fingerprints } from './repeats.ts'
import { Slabs } from './slabs.ts'
import type { RangeAnswer, RangeQuestion, WorkerResult, WorkerTask } from './worker-task.ts'

/** A range to parse, or the frames of some organizations in it. */
export interface ParseRequest extends Scope {
  readonly messages: readonly StreamMessage[]
  readonly partition: number
  readonly generation: number
  readonly classes: Readonly<Record<string, number>>
  readonly reading: ReadingSettings
  readonly dead: readonly DeadFrame[]
  /** Given when an intent already says them. */
  readonly repeats: readonly OrdinalRun[] | null
  /** Asked once a try with the fingerprints of all units, in stream order. */
  readonly judge: (prints: Fingerprints) => readonly OrdinalRun[] | Promise<readonly OrdinalRun[]>
  /** Asked once a try where loose spans belong; absent: nobody knows. */
  readonly place?: (loose: LooseUnits) => Promise<Placement | null>
  /** Takes the last judgement back: the try that asked for it failed. */
  readonly undo: () => void
  /** Gives up, together with the thread. */
  readonly signal?: AbortSignal
  /** Only these frames ("sequence/frame"). */
  readonly frames?: readonly string[]
  /**
   * What keeps a thread for long is not waited for, but named, to be parsed by itself later; "alone": it is parsed by itself now, on a
   * thread that nobody else needs. Absent: it is waited for and judged here.
   */
  readonly slow?: 'name' | 'alone'
}

/** A parsed range; `repeats` are the ones that were left out. */
export type ParsedRange =
  | (Extract<WorkerResult, { blocks: unknown }> & { repeats: readonly OrdinalRun[] })
  | Newer
  | Suspected
/** The range holds a message of a newer version. */
export interface Newer {
  readonly newer: string
}

/** A frame of the message at this position keeps its thread for long. */
export interface Suspected {
  readonly suspect: number
}

/** The threads. */
export interface ParsePool {
  /** @throws Stopped when the request's signal aborts; when the pool closes. */
  parse(request: ParseRequest): Promise<ParsedRange>
  close(): Promise<void>
}

/** What `createPool` needs. `worker` = URL of a module whose default export is a worker task. */
export interface PoolOptions {
  readonly worker: URL
  readonly threads: number
  /** How long one frame may keep a thread, … */
  readonly frameTimeoutMs: number
  /** … and how long it may do so while others wait for it. */
  readonly suspectMs?: number
  /** Heap of one thread. */
  readonly heapMb: number
  /** Names that operators want masked besides the usual ones. */
  readonly secretKeys?: readonly string[]
  readonly log: Log
}

interface Threads {
  closed: boolean
  /** What they write blocks into. */
  readonly slabs: Slabs
  /** Fresh threads: a pool whose thread once failed to start never starts another. */
  renew(): Promise<void>
  close(): Promise<void>
  run(task: WorkerTask, with_: { transferList: (MessagePort | ArrayBuffer)[]; signal: AbortSignal }): Promise<unknown>
}
interface Failure {
  readonly failed: 'DEAD_CRASH' | 'DEAD_TIMEOUT'
  /** False: the thread ended before it looked at any frame, so that none can be to blame. */
  readonly begun: boolean
  /** The frame that was being parsed. */
  readonly at: string | undefined
  readonly reason: string
}
type Try = { readonly result: WorkerResult; readonly repeats: readonly OrdinalRun[] } | Failure

const WATCH_MS = 100
const SUSPECT_MS = 1_000
const RESTART_MS = 500
/** A task that no thread has begun after this long is given to fresh threads. */
const BEGIN_MAX_MS = 60_000
/** Encoding a whole range may take as long as this many frames. */
const ENCODE_FACTOR = 6

/** Starts the threads (one at first, more when there is work). */
export function createPool(options: PoolOptions): ParsePool {
  const shared = createThreads(options, { minThreads: 1, maxThreads: options.threads })
  const apart = createThreads(options, { minThreads: 0, maxThreads: 1 })
  return {
    parse: async request => {
      if (request.slow !== 'name') return parseWithVerdicts(request.slow ? apart : shared, options, request)
      const { frameTimeoutMs, suspectMs = SUSPECT_MS } = options
      const first = await tryRange(shared, request, { frameTimeoutMs, firstMs: Math.min(suspectMs, frameTimeoutMs) })
      if (!('failed' in first)) return parsedOf(first)
      if (first.failed !== 'DEAD_TIMEOUT' || !first.begun || first.at === undefined) {
        return parseWithVerdicts(shared, options, request, first)
      }
      request.undo()
      options.log.warn({ partition: request.partition, at: first.at }, 'a payload keeps its thread for long')
      return { suspect: Number(first.at.split('/', 1)[0]) }
    },
    close: async () => {
      await Promise.all([shared.close(), apart.close()])
    },
  }
}

function createThreads(options: PoolOptions, counts: { minThreads: number; maxThreads: number }): Threads {
  let piscina = startThreads(options, counts)
  const pool: Threads = {
    closed: false,
    slabs: new Slabs(),
    run: async (task, how) => {
      if (pool.closed) throw new Error('the pool is closed')
      return piscina.run(task, how)
    },
    renew: async () => {
      const old = piscina
      if (!pool.closed) piscina = startThreads(options, counts)
      await old.destroy()
    },
    close: () => {
      pool.closed = true
      return piscina.destroy()
    },
  }
  return pool
}

function startThreads(options: PoolOptions, counts: { minThreads: number; maxThreads: number }): Piscina {
  const piscina = new Piscina({
    filename: options.worker.href,
    ...counts,
    idleTimeout: 30_000,
    // Async, so that a thread that waits for the owner's answer still hears it.
    atomics: 'async',
    env: {},
    workerData: { secretKeys: options.secretKeys ?? [] },
    resourceLimits: { maxOldGenerationSizeMb: options.heapMb },
  })
  // A thread that dies says so here too; its task is told, and that is enough.
  piscina.on('error', error => options.log.debug({ err: error }, 'a worker thread ended'))
  return piscina
}

const parsedOf = ({ result, repeats }: Extract<Try, { result: unknown }>): ParsedRange =>
  'newer' in result ? result : { ...result, repeats }

/** `first`: how a first try went. */
async function parseWithVerdicts(
  pool: Threads,
  options: PoolOptions,
  request: ParseRequest,
  first?: Try,
): Promise<ParsedRange> {
  const dead = [...request.dead]
  let patience = 1
  let tried = first
  for (;;) {
    const how = { frameTimeoutMs: options.frameTimeoutMs * patience }
    const outcome = tried ?? (await tryRange(pool, { ...request, dead }, how))
    tried = undefined
    if (!('failed' in outcome)) return parsedOf(outcome)
    request.undo()
    if (pool.closed) throw new Error('the pool is closed')
    if (!outcome.begun) {
      options.log.error({ reason: outcome.reason }, 'worker threads do not start; trying again')
      await pool.renew()
      await new Promise(resolve => setTimeout(resolve, RESTART_MS))
      continue
    }
    options.log.warn(
      { partition: request.partition, at: outcome.at, reason: outcome.reason },
      'a worker thread failed; looking for the payload that did it',
    )
    const guilty = await findGuilty(pool, options, { ...request, dead }, outcome)
    if (guilty.length === 0) {
      // Nothing misbehaves alone: the thread ran out of time or memory on the whole. Not the payloads' fault.
      patience = Math.min(patience * 2, 16)
      options.log.warn({ partition: request.partition }, 'no payload fails alone; parsing the range again')
    }
    dead.push(...guilty)
  }
}

/** The frames that fail when they are parsed alone, twice: first the one that was being parsed, else by halves. */
async function findGuilty(
  pool: Threads,
  options: PoolOptions,
  request: ParseRequest,
  failure: Failure,
): Promise<DeadFrame[]> {
  const failsWith = (frames: readonly string[]): Promise<Try> =>
    tryRange(pool, { ...request, repeats: [], judge: () => [], place: async () => null, frames }, options)
  const verdicts = new Map<string, Failure>()
  const isGuilty = async (frames: readonly string[]): Promise<boolean> => {
    const first = await failsWith(frames)
    if (!('failed' in first) || !first.begun) return false
    if (frames.length > 1) return true
    const second = await failsWith(frames)
    if (!('failed' in second) || !second.begun) return false
    verdicts.set(frames[0] as string, second)
    return true
  }
  const suspect = failure.at
  if (suspect === undefined || !(await isGuilty([suspect]))) {
    const known = new Set(request.dead.map(dead => `${dead.sequence}/${dead.frame}`))
    await bisect(
      framesOf(request.messages).filter(key => !known.has(key)),
      isGuilty,
    )
  }
  return [...verdicts].map(([key, { failed, reason }]) => {
    const [sequence, frame] = key.split('/').map(Number) as [number, number]
    return { sequence, frame, code: failed, reason }
  })
}

/** "sequence/frame" of every frame that can be read. */
export function framesOf(messages: readonly StreamMessage[]): string[] {
  return messages.flatMap(({ sequence, data }) => {
    try {
      return readEnvelope(data).map((_, frame) => `${sequence}/${frame}`)
    } catch {
      return []
    }
  })
}

/** One task on one thread. Never throws for what the thread does; throws when it is stopped or the pool is closed. */
async function tryRange(
  pool: Threads,
  request: ParseRequest,
  { frameTimeoutMs, firstMs = frameTimeoutMs }: { readonly frameTimeoutMs: number; readonly firstMs?: number },
): Promise<Try> {
  const progress = new Int32Array(new SharedArrayBuffer(12))
  const { port1, port2 } = new MessageChannel()
  let repeats: readonly OrdinalRun[] = request.repeats ?? []
  const timeout = new AbortController()
  // The judgement may have to ask the store: that is no time of the thread's, and when it fails nobody is to blame for it.
  let judging = false
  let failure: { readonly error: unknown } | undefined
  port1.on('message', ({ prints, loose }: RangeQuestion) => {
    judging = true
    void (async () => [await request.judge(prints), (await request.place?.(loose)) ?? null] as const)()
      .then(([judged, placement]) => {
        if (request.repeats === null) repeats = judged
        port1.postMessage({ judged, placement } satisfies RangeAnswer)
      })
      .catch((error: unknown) => {
        failure = { error }
        timeout.abort()
      })
      .finally(() => {
        judging = false
      })
  })
  // A port whose other end went down with a thread would keep the process alive.
  port1.unref()
  const isWaiting = (): boolean => judging
  const watch = watchProgress(progress, {
    frameTimeoutMs: firstMs,
    encodeMs: frameTimeoutMs * ENCODE_FACTOR,
    isWaiting,
    stuck: () => timeout.abort(),
  })
  const input = pack(request)
  const size = input.bytes.length
  // What a thread was writing into when it failed is not used again: nobody knows when it stops.
  const room = request.frames ? undefined : pool.slabs.lend(size)
  const task: WorkerTask = { input, repeats: request.repeats, port: port2, progress, room }
  const signal = request.signal ? AbortSignal.any([timeout.signal, request.signal]) : timeout.signal
  try {
    if (signal.aborted) throw new Stopped()
    const transferList = [port2, input.bytes.buffer as ArrayBuffer]
    const result = (await pool.run(task, { transferList, signal })) as WorkerResult
    if (room === undefined || 'newer' in result) return { result, repeats }
    const bodies = pool.slabs.received(
      room,
      size,
      result.blocks.map(({ body }) => body),
    )
    const blocks = result.blocks.map((block, i) => ({ ...block, body: bodies[i] as Uint8Array }))
    return { result: { ...result, blocks }, repeats }
  } catch (error) {
    if (pool.closed) throw error
    if (request.signal?.aborted) throw new Stopped()
    if (failure) throw failure.error
    const message = request.messages[Atomics.load(progress, 1)]
    const at = message ? `${message.sequence}/${Atomics.load(progress, 2)}` : undefined
    const begun = Atomics.load(progress, 0) > 0
    return timeout.signal.aborted
      ? { failed: 'DEAD_TIMEOUT', begun, at, reason: `longer than ${firstMs} ms` }
      : { failed: 'DEAD_CRASH', begun, at, reason: String(error).slice(0, 160) }
  } finally {
    clearInterval(watch)
    port1.close()
    port2.close()
  }
}

/** Calls `stuck` once when a begun task that waits for nobody makes no progress for `frameTimeoutMs`. */
function watchProgress(
  progress: Int32Array,
  {
    frameTimeoutMs,
    encodeMs,
    isWaiting,
    stuck,
  }: { frameTimeoutMs: number; encodeMs: number; isWaiting: () => boolean; stuck: () => void },
): NodeJS.Timeout {
  const idle = idleTime(performance.now())
  const watch = setInterval(() => {
    const begun = Atomics.load(progress, 0)
    const encoding = Atomics.load(progress, 1) < 0
    // Nothing begun: the task still waits for a thread.
    const patienceMs = begun === 0 ? BEGIN_MAX_MS : encoding ? encodeMs : frameTimeoutMs
    if (idle(begun, isWaiting(), performance.now()) > patienceMs) {
      clearInterval(watch)
      stuck()
    }
  }, WATCH_MS)
  return watch
}

/**
 * Tells at each look for how long a task has made no progress. A process that is stopped, or that gets no time of the machine, looks
 * late; the thread had no time either, so what lies between two looks counts as little more than the usual.
 */
export function idleTime(startedAtMs: number): (begun: number, isWaiting: boolean, nowMs: number) => number {
  let [seen, idleMs, lookedAtMs] = [0, 0, startedAtMs]
  return (begun, isWaiting, nowMs) => {
    idleMs = begun !== seen || isWaiting ? 0 : idleMs + Math.min(nowMs - lookedAtMs, 2 * WATCH_MS)
    seen = begun
    lookedAtMs = nowMs
    return idleMs
  }
}

/** One buffer for all messages: it is handed to the thread, while the messages stay here for another try. */
function pack(request: ParseRequest): BlockInput {
  const { messages, partition, generation, classes, reading, dead, frames } = request
  const bytes = new Uint8Array(messages.reduce((sum, message) => sum + message.data.length, 0))
  const ends = new Float64Array(messages.length)
  let at = 0
  for (const [i, { data }] of messages.entries()) {
    bytes.set(data, at)
    at += data.length
    ends[i] = at
  }
  const sequences = Float64Array.from(messages, message => message.sequence)
  const scope = scopeOf(request)
  const input = { bytes, sequences, ends, partition, generation, classes, reading, dead, scope }
  return frames ? { ...input, frames } : input
}
