// What the check of one request costs a receiver: JSON.parse and the schemas against the byte scanner, protobufjs and the same checks of
// ids against the scanner of protobuf. Interleaved rounds in one process; nanoseconds of CPU per body, so that a busy machine counts less.
import { isUtf8 } from 'node:buffer'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isUuid, uuidBytes } from '#proto/ids.ts'
import type { JsonObject } from '#proto/json.ts'
import { checkJson } from '#proto/otlp/check-json.ts'
import { checkProtobuf } from '#proto/otlp/check-protobuf.ts'
import { jsonBytes, protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { isIdAt, isZeroAt, SPAN_ID_BYTES, TRACE_ID_BYTES } from '#proto/otlp/span-ids.ts'
import { type DecodedTraces, TracesType } from '#proto/scan/fuzz/protobufjs.ts'
import { OtlpJsonScanner } from '#proto/scan/otlp-json.ts'
import { OtlpProtobufScanner } from '#proto/scan/otlp-protobuf.ts'
import { SdkScanner } from '#proto/scan/sdk.ts'
import { VoiceLiveScanner } from '#proto/scan/voice-live.ts'
import { captureEventProblem, eventShapeOf } from '#proto/sdk/capture-event.ts'
import { JSON_MAX_DEPTH, withinDepth } from '#proto/sdk/fields.ts'
import { liveKindOf } from '#proto/voice/kinds.ts'
import { median, table } from '../stats.ts'

const ROUNDS = 9
const ROUND_MS = 60
const MUCH_BYTES = 256 * 1024
const NONE = new Uint8Array(0)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** One way to check a body; throws when it refuses it. */
interface Contender {
  readonly name: string
  readonly run: () => void
}

/** Runs the case and prints its tables. */
export async function scan(): Promise<void> {
  // protobufjs first: behind the JSON rows it takes up to six times as long for a single span.
  console.log(
    table(
      [
        ...[
          'OTLP protobuf',
          'bytes',
          'protobufjs and ids, ns',
          'walk in JavaScript, ns',
          'scan, ns',
          'protobufjs / scan',
        ],
        ...['MB/s', 'scan, ns a span', 'allocated, bytes: protobufjs', 'scan'],
      ],
      batches().map(([name, batch, spans]) => protobufRow(name, Buffer.from(protobufBytes(batch)), spans)),
    ),
  )
  console.log()
  console.log(
    table(
      ['body', 'bytes', 'parse and check, ns', 'scan, ns', 'ratio', 'MB/s', 'allocated, bytes: parse', 'scan'],
      [
        ...sdkBodies().map(([name, body]) => jsonRow(name, body, sdkContenders(body))),
        ...batches().map(([name, batch]) => {
          const body = Buffer.from(jsonBytes(batch))
          return jsonRow(`OTLP JSON, ${name}`, body, otlpContenders(body))
        }),
        ...[12, 60].map(turns => {
          const body = voiceUpdate(turns)
          return jsonRow(`voice update, ${turns} turns`, body, voiceContenders(body))
        }),
      ],
    ),
  )
}

function batches(): [name: string, batch: JsonObject, spans: number][] {
  return Object.entries(SPANS).flatMap(([size, spanOf]) =>
    [1, 100, 512].map((spans): [string, JsonObject, number] => [
      `${spans} ${spans === 1 ? 'span' : 'spans'}, ${size}`,
      request(Array.from({ length: spans }, (_, i) => spanOf(i))),
      spans,
    ]),
  )
}

function jsonRow(name: string, body: Buffer, contenders: readonly Contender[]): (string | number)[] {
  const [parse, scanned] = interleaved(contenders) as [number, number]
  return [
    ...[name, body.length, Math.round(parse), Math.round(scanned), (parse / scanned).toFixed(1)],
    ...[Math.round((body.length / scanned) * 1000), ...contenders.map(allocatedBy)],
  ]
}

function protobufRow(name: string, body: Uint8Array, spans: number): (string | number)[] {
  const scanner = new OtlpProtobufScanner()
  const contenders = [
    { name: 'protobufjs', run: () => expect(haveGoodIds(TracesType.decode(body))) },
    { name: 'walk', run: () => expect(checkProtobuf(body).ok) },
    { name: 'scan', run: () => expect(scanner.scan(body)) },
  ] as const
  const [decoded, walked, scanned] = interleaved(contenders) as [number, number, number]
  return [
    ...[
      name,
      body.length,
      Math.round(decoded),
      Math.round(walked),
      Math.round(scanned),
      (decoded / scanned).toFixed(1),
    ],
    ...[Math.round((body.length / scanned) * 1000), Math.round(scanned / spans)],
    ...[allocatedBy(contenders[0]), allocatedBy(contenders[2])],
  ]
}

/** What the scan says of the ids, of a decoded body. */
function haveGoodIds(decoded: unknown): boolean {
  for (const { scopeSpans = [] } of (decoded as DecodedTraces).resourceSpans ?? []) {
    for (const { spans = [] } of scopeSpans) {
      for (const { traceId = NONE, spanId = NONE, parentSpanId = NONE } of spans) {
        if (!isIdAt(traceId, 0, traceId.length, TRACE_ID_BYTES)) return false
        if (!isIdAt(spanId, 0, spanId.length, SPAN_ID_BYTES)) return false
        if (parentSpanId.length !== SPAN_ID_BYTES && !isZeroAt(parentSpanId, 0, parentSpanId.length)) return false
      }
    }
  }
  return true
}

function sdkBodies(): [string, Buffer][] {
  const ids = { event_id: '0b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11', session_id: 'f47ac10b-58cc-4372-a567-0e02b2c3d479' }
  const event = (fields: object): Buffer =>
    Buffer.from(JSON.stringify({ ...ids, primitive_name: 'support', ...fields }))
  const prose = 'Your order left our warehouse this morning and should be with you by Friday. '
  // Tool calls carry JSON inside of JSON: every quote is an escape.
  const call = JSON.stringify({ order: 'A-1042', items: [{ sku: 'x1', count: 2 }], note: 'leave it "at the door"\n' })
  const fill = (text: string, bytes: number): string => text.repeat(Math.ceil(bytes / text.length)).slice(0, bytes)
  const metadata = { channel: 'web', plan: 'pro' }
  return [
    ['SDK event, 0.3 KiB', event({ args: 'where is my order?', result: fill(prose, 60), latency: 120, metadata })],
    ['SDK event, 1 KiB', event({ args: fill(prose, 380), result: fill(prose, 380), latency: 120, metadata })],
    [
      'SDK tool call, 1 KiB',
      event({ args: call.repeat(3), result: call.repeat(5), primitive_type: 'tool', success: true, latency: 3.5 }),
    ],
    ['SDK event, 8 KiB', event({ args: fill(prose, 3000), result: fill(prose, 4900), latency: 120, metadata })],
    [
      'SDK tool call, 8 KiB',
      event({ args: call.repeat(20), result: call.repeat(50), primitive_type: 'tool', success: true, latency: 3.5 }),
    ],
  ]
}

function sdkContenders(body: Buffer): Contender[] {
  const scanner = new SdkScanner('strict')
  return [
    { name: 'parse', run: () => expect(parsedEvent(body)) },
    { name: 'scan', run: () => expect(scanner.scanEvent(body)) },
  ]
}

/** What the surface did before there was a scanner. */
function parsedEvent(body: Buffer): boolean {
  if (!isUtf8(body)) return false
  const value = JSON.parse(body.toString('utf8'))
  if (!withinDepth(value, JSON_MAX_DEPTH)) return false
  const shape = eventShapeOf(value)
  if (captureEventProblem(value, shape, 'strict') !== null) return false
  return isUuid(value.session_id) && uuidBytes(value.session_id).length === 16
}

function otlpContenders(body: Buffer): Contender[] {
  const scanner = new OtlpJsonScanner()
  return [
    { name: 'parse', run: () => expect(checkJson(body).ok) },
    { name: 'scan', run: () => expect(scanner.scan(body) === 'traces') },
  ]
}

/** What a voice platform sends with every turn of a call: the conversation so far, in two forms. */
function voiceUpdate(turns: number): Buffer {
  const said = Array.from({ length: turns }, (_, i) => ({ isBot: i % 2 === 0, text: i % 2 === 0 ? ANSWER : QUESTION }))
  const messages = said.map(({ isBot, text }, i) => {
    const time = 1_789_999_990_000 + i * 5000
    return { role: isBot ? 'bot' : 'user', message: text, time, endTime: time + 4000, secondsFromStart: i * 5 }
  })
  const conversation = said.map(({ isBot, text }) => ({ role: isBot ? 'assistant' : 'user', content: text }))
  const call = { id: 'c1', customer: { number: '+4912345' } }
  return Buffer.from(JSON.stringify({ message: { type: 'conversation-update', call, messages, conversation } }))
}

function voiceContenders(body: Buffer): Contender[] {
  const scanner = new VoiceLiveScanner()
  const parse = (): boolean => {
    const value: unknown = isUtf8(body) && JSON.parse(body.toString('utf8'))
    return withinDepth(value, JSON_MAX_DEPTH) && liveKindOf(value) !== null
  }
  return [
    { name: 'parse', run: () => expect(parse()) },
    { name: 'scan', run: () => expect(scanner.kindOf(body) !== null) },
  ]
}

const QUESTION = 'Where is my order A-1042? It was promised for Tuesday and the tracking page has not changed since. '
const ANSWER = 'It left the warehouse this morning and should be with you by Friday; the delay is on our side. '

/** Spans as a model call leaves them, about 1 KiB of protobuf each, and as small ones are. */
const SPANS: Readonly<Record<string, (i: number) => JsonObject>> = {
  '1 KiB': i =>
    oneSpan(i, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-5',
      'gen_ai.usage.input_tokens': 1200 + i,
      'gen_ai.usage.output_tokens': 80,
      'gen_ai.input.messages': JSON.stringify([
        { role: 'user', parts: [{ type: 'text', content: QUESTION.repeat(3) }] },
      ]),
      'gen_ai.output.messages': JSON.stringify([
        { role: 'assistant', parts: [{ type: 'text', content: ANSWER.repeat(3) }] },
      ]),
      'session.id': 'conv_0b0f2b1e-7a66-4d7e-9d3a-6a3f6f1e2b11',
    }),
  small: i => oneSpan(i, { 'tool.name': 'lookup_order', 'tool.attempt': 1 }),
}

function oneSpan(i: number, values: Readonly<Record<string, unknown>>): JsonObject {
  const parentSpanId = i === 0 ? '' : '0000000000000001'
  return span(7, i + 1, { parentSpanId, name: 'chat gpt-5', status: { code: 0 }, flags: 257 }, values)
}

/** Medians over the rounds, in CPU nanoseconds a run; the contenders take turns. */
function interleaved(contenders: readonly Contender[]): number[] {
  const counts = contenders.map(({ run }) => runsIn(run, ROUND_MS))
  const samples: number[][] = contenders.map(() => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, { run }] of contenders.entries()) {
      const count = counts[i] as number
      const before = process.cpuUsage()
      for (let n = 0; n < count; n++) run()
      const { user, system } = process.cpuUsage(before)
      samples[i]?.push(((user + system) * 1000) / count)
    }
  }
  return samples.map(median)
}

/** How often something runs in a time, after warming up for three times as long. */
function runsIn(run: () => void, ms: number): number {
  let count = 0
  const start = performance.now()
  while (performance.now() - start < 3 * ms) {
    for (let n = 0; n < 16; n++) run()
    count += 16
  }
  return Math.ceil(count / 3)
}

/** Bytes that one run takes of the heap and of memory beside it, exact to a byte when it is none. */
function allocatedBy({ run }: Contender): number {
  for (let runs = 1; ; runs *= 4) {
    const taken = takenBy(run, runs) - takenBy(run, 0)
    // A collection in between would hide what was taken: few runs of what takes much.
    if (taken > MUCH_BYTES || runs >= 4096) return Math.round(taken / runs)
  }
}

function takenBy(run: () => void, runs: number): number {
  collectGarbage()
  const before = process.memoryUsage()
  for (let n = 0; n < runs; n++) run()
  const after = process.memoryUsage()
  return after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
}

function expect(taken: boolean): void {
  if (!taken) throw new Error('a good body was refused')
}
