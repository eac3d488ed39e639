// The worker thread of the processing bench: a batch comes in, and either parley's way (Native blocks back to the main thread) or the
// ordinary one (objects all the way, inserted from here as JSONEachRow) is gone, with the CPU and the garbage collection it cost.
import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { encodeRange, parseRange } from '#processors/block.ts'
import { createEncoder, type EncodedBlock } from '#processors/encoder.ts'
import { letGo } from '#processors/let-go.ts'
import type { FrameContext, Unit } from '#processors/outcome.ts'
import { unitsOfSpans } from '#processors/parsers/otlp.ts'
import { plainReadings } from '#processors/readings.ts'
import { parsers } from '#processors/registry.ts'
import { type Frame, FrameKind, readEnvelope } from '#proto/envelope.ts'
import { NIL_UUID, uuidText } from '#proto/ids.ts'
import { decodeJson } from '#proto/otlp/decode-json.ts'
import { blockTables } from '#proto/rows.ts'
import { TracesType } from '#proto/scan/fuzz/protobufjs.ts'
import { createStore, type Store } from '#store/client.ts'
import { EQUAL_WORK } from './process-inserts.ts'

/** What the thread is asked. `database`: where the ordinary design inserts; null = parley's way. */
export interface Question {
  readonly bytes: Uint8Array
  readonly ends: Float64Array
  readonly url: string
  readonly database: string | null
  /** Names the batch: what is inserted again is another batch to the store. */
  readonly token: string
  /** Where parley's blocks are written, as a processor lends its workers memory. */
  readonly room?: SharedArrayBuffer | undefined
}

/** What it answers. */
export interface Answer {
  readonly blocks: readonly EncodedBlock[]
  readonly events: number
  /** CPU seconds of this thread. */
  readonly cpu: number
  /** Milliseconds of garbage collection, which other threads of the process share. */
  readonly gcMs: number
}

/** The ordinary design's, for as long as the thread lives. */
let opened: Store | undefined
let gcMs = 0
const observer = new PerformanceObserver(list => {
  for (const entry of list.getEntries()) gcMs += entry.duration
})
observer.observe({ entryTypes: ['gc'] })

const port = parentPort as NonNullable<typeof parentPort>
port.on('message', (question: Question) => {
  void answer(question)
})

async function answer(question: Question): Promise<void> {
  const gcBefore = gcMs
  const before = process.threadCpuUsage()
  const made = question.database === null ? parley(question) : await ordinary(question, question.database)
  const { user, system } = process.threadCpuUsage(before)
  // The observer hears of a collection some turns after the task that it interrupted.
  await delay(50)
  const reply: Answer = { ...made, cpu: (user + system) / 1e6, gcMs: gcMs - gcBefore }
  const buffers = made.blocks.map(block => block.body.buffer).filter(buffer => buffer instanceof ArrayBuffer)
  port.postMessage(reply, buffers)
}

function parley({ bytes, ends, room }: Question): Pick<Answer, 'blocks' | 'events'> {
  const input = {
    ...{ bytes, ends, sequences: ends.map((_, i) => i + 1), partition: 0, generation: 1, classes: {} },
    ...{ reading: plainReadings.now(), dead: [], scope: {} },
  }
  const blocks = encodeRange(
    parseRange(input, parsers, () => {}),
    input,
    [],
    createEncoder(room),
  )
  // As processors/worker-task.ts does.
  letGo([bytes])
  const events = blocks.reduce((sum, { table, rows }) => sum + (table === 'events' ? rows : 0), 0)
  return { blocks, events }
}

async function ordinary(
  { bytes, ends, url, token }: Question,
  database: string,
): Promise<Pick<Answer, 'blocks' | 'events'>> {
  const rows: Record<(typeof blockTables)[number], object[]> = {
    ...{ links: [], sessions: [], texts: [], events: [] },
  }
  let start = 0
  for (const [message, end] of ends.entries()) {
    for (const [frame, body] of readEnvelope(bytes.subarray(start, end)).entries()) {
      const at = { origin_partition: 0, origin_generation: 1, origin_sequence: message + 1, origin_frame: frame }
      for (const unit of ordinaryUnits(body)) {
        for (const table of blockTables) {
          for (const row of unit[table] ?? []) rows[table].push({ ...row, ...at, origin_index: rows[table].length })
        }
      }
    }
    start = end
  }
  const store = (opened ??= createStore({ url, database, application: 'bench' }))
  for (const table of blockTables) {
    const signed = { move_id: NIL_UUID, version: 1, sign: 1 }
    const values = table === 'events' ? rows.events.map(row => ({ ...row, ...signed })) : rows[table]
    const clickhouse_settings = { ...EQUAL_WORK, insert_deduplication_token: `${token}.${table}` }
    if (values.length > 0) await store.client.insert({ table, values, format: 'JSONEachRow', clickhouse_settings })
  }
  return { blocks: [], events: rows.events.length }
}

/** Decoded to objects by the usual libraries; what the objects mean is found by the same code. */
function ordinaryUnits(frame: Frame): readonly Unit[] {
  const context: FrameContext = {
    organization: uuidText(frame.organization),
    receivedAtMs: frame.receivedAtMs,
    mintedId: NIL_UUID,
    retention: 0,
  }
  if (frame.kind === FrameKind.otlp) {
    const object = frame.encoding === 1 ? decoded(frame.bytes) : JSON.parse(Buffer.from(frame.bytes).toString())
    return unitsOfSpans(decodeJson(object), context)
  }
  const parse = frame.kind === FrameKind.voice ? parsers.voice : parsers.event
  const outcome = parse(frame.bytes, 'json', context)
  return 'units' in outcome ? outcome.units : []
}

interface PlainTraces {
  resourceSpans?: { scopeSpans?: { spans?: Record<string, unknown>[] }[] }[]
}

/** protobufjs' plain objects, with ids in hex as in OTLP's JSON form. */
function decoded(body: Uint8Array): unknown {
  const plain = TracesType.toObject(TracesType.decode(body), { longs: String }) as PlainTraces
  for (const { scopeSpans = [] } of plain.resourceSpans ?? []) {
    for (const { spans = [] } of scopeSpans) for (const span of spans) for (const id of ids) span[id] = hexOf(span[id])
  }
  return plain
}

const ids = ['traceId', 'spanId', 'parentSpanId']

function hexOf(bytes: unknown): string {
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('hex') : ''
}
