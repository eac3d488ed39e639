// What the processing benches read: batches of payloads in envelopes, as the streams hold them.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { eventLoad, exportLoad } from '../bodies.ts'

/** A batch of one kind of payload. */
export interface Batch {
  readonly name: string
  /** Envelopes, one after the other, and where each ends. */
  readonly bytes: Uint8Array
  readonly ends: Float64Array
}

const MiB = 1024 * 1024
/** Half of what one insert takes at most by default, and what an envelope takes. */
const BATCH_BYTES = 16 * MiB
const ENVELOPE_BYTES = 256 * 1024
const RECEIVED_MS = 1_790_000_000_000
const ORGANIZATION = uuidBytes('11111111-1111-4111-8111-111111111111')
const PARSERS = join(import.meta.dirname, '../../processors/parsers')
const NO_SESSIONS = Array.from({ length: 64 }, (_, i) => `conversation-${i}`)

interface Payload {
  readonly kind: FrameKind
  readonly encoding: FrameEncoding
  readonly bytes: Uint8Array
}

/** The batches by name. */
export const batches: Readonly<Record<string, () => Batch>> = {
  'OTLP protobuf, small texts': () => batchOf('OTLP protobuf, small texts', exports('protobuf')),
  'OTLP JSON, small texts': () => batchOf('OTLP JSON, small texts', exports('json')),
  'OTLP protobuf, recorded SDKs': () => batchOf('OTLP protobuf, recorded SDKs', recorded()),
  'OTLP protobuf, large texts': () => batchOf('OTLP protobuf, large texts', largeSpans()),
  'SDK event, small texts': () => batchOf('SDK event, small texts', events(1024)),
  'SDK event, large texts': () => batchOf('SDK event, large texts', events(16 * 1024)),
  'voice call': () => batchOf('voice call', calls()),
}

/** The payloads again and again until the batch is full. */
function batchOf(name: string, payloads: readonly Payload[]): Batch {
  const writer = new EnvelopeWriter(64 * MiB)
  const parts: Uint8Array[] = []
  const ends: number[] = []
  let size = 0
  for (let i = 0; size + writer.length < BATCH_BYTES; i++) {
    const { kind, encoding, bytes } = payloads[i % payloads.length] as Payload
    writer.append(kind, encoding, ORGANIZATION, RECEIVED_MS, null, bytes)
    if (writer.length < ENVELOPE_BYTES) continue
    // A copy: what `finish` returns is a view.
    parts.push(Uint8Array.from(writer.finish()))
    size += parts.at(-1)?.length ?? 0
    ends.push(size)
    writer.reset()
  }
  return { name, bytes: new Uint8Array(Buffer.concat(parts)), ends: Float64Array.from(ends) }
}

function exports(encoding: 'json' | 'protobuf'): Payload[] {
  // A load holds a quarter of a batch, and no span may come again.
  const bodies = Array.from({ length: 4 }, () => exportLoad(encoding, 100).bodies).flat()
  return bodies.map(({ bytes }) => ({
    kind: FrameKind.otlp,
    encoding: FrameEncoding[encoding],
    bytes,
  }))
}

/** What the SDKs of others sent in recorded runs: large requests, histories, many dialects. */
function recorded(): Payload[] {
  const folder = join(PARSERS, 'otlp/recorded/fixtures')
  return readdirSync(folder).map(name => ({
    kind: FrameKind.otlp,
    encoding: FrameEncoding.protobuf,
    bytes: readFileSync(join(folder, name, 'traces.bin')),
  }))
}

function largeSpans(): Payload[] {
  const words = 'Where is the parcel that I ordered on Monday, and when will it be here? '.repeat(28)
  const history = Array.from({ length: 7 }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    parts: [{ type: 'text', content: words }],
  }))
  const values = {
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-4o' },
    ...{ 'gen_ai.conversation.id': 'c', 'gen_ai.usage.input_tokens': 2700, 'gen_ai.usage.output_tokens': 412 },
    'gen_ai.input.messages': JSON.stringify(history),
    'gen_ai.output.messages': JSON.stringify(history.slice(1, 2)),
  }
  return Array.from({ length: 64 }, (_, body) => {
    const spans = Array.from({ length: 10 }, (_, i) => span(1 + body, 1 + i, { name: 'chat gpt-4o' }, values))
    return { kind: FrameKind.otlp, encoding: FrameEncoding.protobuf, bytes: protobufBytes(request(spans)) }
  })
}

function events(bytes: number): Payload[] {
  const bodies = Array.from({ length: 4 }, () => eventLoad(bytes, NO_SESSIONS).bodies).flat()
  return bodies.map(body => ({
    kind: FrameKind.event,
    encoding: FrameEncoding.json,
    bytes: body.bytes,
  }))
}

/** Reports of calls, each under an id of its own. */
function calls(): Payload[] {
  const report = readFileSync(join(PARSERS, 'voice-reports/modern.json'), 'utf8')
  const body = JSON.parse(report) as { message: { call: { id: string } } }
  return Array.from({ length: 500 }, (_, i) => {
    body.message.call.id = `call-${i}`
    return { kind: FrameKind.voice, encoding: FrameEncoding.json, bytes: Buffer.from(JSON.stringify(body)) }
  })
}
