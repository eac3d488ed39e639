// The bodies that the ingestion benches send: mixed, realistic, of a known size, each with a gap where the load writes a number into
// an id, so that no two requests carry the same.
import { randomBytes, randomUUID } from 'node:crypto'
import { request as exportRequest, jsonBytes, protobufBytes, span as spanOf } from '#proto/otlp/fixture.ts'
import { GAP_BYTES } from './templates.ts'

/** A body; the gap is within the id that the load makes unique. */
export interface Body {
  readonly bytes: Buffer
  readonly gapAt: number
}

/** A kind of request. */
export interface Load {
  readonly name: string
  readonly protocol: 'rest' | 'otlp'
  readonly path: string
  readonly contentType: string
  /** Header that names the tenant, in lower case. */
  readonly organizationHeader: string
  /** How the number is written into the gap. */
  readonly number: keyof typeof GAP_BYTES
  /** Spans of one request; 0 when it carries none. */
  readonly spans: number
  /** Used in turn. */
  readonly bodies: readonly Body[]
}

const MIXED_EVENTS = 256
/** Bytes of different exports at most: more would measure the load's own memory. */
const MIXED_EXPORT_BYTES = 4 * 1024 * 1024
const SENTENCES = [
  'What is the state of my order?',
  'It left the warehouse this morning and arrives tomorrow.',
  'Können Sie mir die Rechnung noch einmal schicken? 請再寄一次發票。',
  'He said "not before noon",\nand hung up. \\o/',
  'The refund was issued to the card that ends in 4242.',
]

/** SDK events of about `bytes`, one in four in the server-primitive shape, spread over the sessions. */
export function eventLoad(bytes: number, sessions: readonly string[]): Load {
  const bodies = Array.from({ length: MIXED_EVENTS }, (_, i) => {
    const event_id = randomUUID()
    const event = fillTo(bytes, i, text => ({
      event_id,
      session_id: sessions[i % sessions.length],
      ...(i % 4 === 3 ? { primitive_type: 'tool', success: i % 8 === 3, latency: 12.5 + i } : { latency: 100 + i }),
      primitive_name: i % 4 === 3 ? 'lookup_order' : 'support-agent',
      ...(bytes >= 512 ? { args: SENTENCES[i % SENTENCES.length], timestamp: 1_789_999_990_000 + i } : {}),
      ...(bytes >= 512 ? { metadata: { plan: 'team', region: 'eu-west', release: `2026.11.${i % 30}` } } : {}),
      result: text,
    }))
    return withGap(Buffer.from(JSON.stringify(event)), Buffer.from(event_id), 'hex')
  })
  const name = bytes < 1024 ? `event, ${(bytes / 1024).toFixed(1)} KiB` : `event, ${bytes / 1024} KiB`
  const path = '/api/v1/capture-event'
  const headers = { contentType: 'application/json', organizationHeader: 'x-org-id' }
  return { name, protocol: 'rest', path, ...headers, number: 'hex', spans: 0, bodies }
}

/** Builds `make` with a text that brings its JSON to `bytes`, give or take one character of the text. */
function fillTo(bytes: number, seed: number, make: (text: string) => object): object {
  const source = SENTENCES.map((_, i) => SENTENCES[(i + seed) % SENTENCES.length]).join(' ')
  const sizeOf = (text: string): number => Buffer.byteLength(JSON.stringify(make(text)))
  let text = source.repeat(Math.ceil(bytes / source.length))
  while (text !== '' && sizeOf(text) > bytes) {
    // Characters take one to three bytes: never cut more than the surplus allows.
    text = text.slice(0, -Math.max(1, Math.floor((sizeOf(text) - bytes) / 3)))
  }
  return make(text)
}

/** OTLP exports of `spans` spans of model and tool calls, two to eight spans a trace. */
export function exportLoad(encoding: 'json' | 'protobuf', spans: number): Load {
  const bodies: Body[] = []
  for (let bytes = 0; bytes < MIXED_EXPORT_BYTES && bodies.length < MIXED_EVENTS; ) {
    const body = exportBody(encoding, spans)
    bodies.push(body)
    bytes += body.bytes.length
  }
  return {
    name: `${encoding === 'json' ? 'JSON' : 'protobuf'}, ${spans} ${spans === 1 ? 'span' : 'spans'}`,
    protocol: 'otlp',
    path: '/v1/traces',
    contentType: encoding === 'json' ? 'application/json' : 'application/x-protobuf',
    organizationHeader: 'x-service-org-id',
    number: encoding === 'json' ? 'hex' : 'bin',
    spans,
    bodies,
  }
}

function exportBody(encoding: 'json' | 'protobuf', count: number): Body {
  const spans: object[] = []
  const firstTrace = randomBytes(16)
  // The first span stands alone in its trace: its trace id is the one that changes, and it chooses the partition.
  let trace = firstTrace.toString('hex')
  let left = 1
  while (spans.length < count) {
    if (left-- === 0) {
      trace = randomBytes(16).toString('hex')
      left = 1 + (spans.length % 7)
    }
    spans.push(oneSpan(trace, spans.length))
  }
  const request = exportRequest(spans as never, { 'service.name': 'shop', 'deployment.environment': 'production' })
  return encoding === 'json'
    ? withGap(Buffer.from(jsonBytes(request)), Buffer.from(firstTrace.toString('hex')), 'hex')
    : withGap(Buffer.from(protobufBytes(request)), firstTrace, 'bin')
}

function oneSpan(traceId: string, i: number): object {
  const startNs = 1_789_999_990_000_000_000n + BigInt(i) * 1_000_003n
  const fields = {
    traceId,
    spanId: randomBytes(8).toString('hex'),
    ...(i % 3 === 0 ? {} : { parentSpanId: randomBytes(8).toString('hex') }),
    name: i % 4 === 3 ? 'tool.lookup_order' : 'chat gpt-5-mini',
    startTimeUnixNano: String(startNs),
    endTimeUnixNano: String(startNs + 412_000_000n),
  }
  return spanOf(0, 0, fields, {
    'session.id': `conversation-${i % 16}`,
    'gen_ai.request.model': 'gpt-5-mini',
    'gen_ai.usage.input_tokens': 812 + i,
    'gen_ai.usage.output_tokens': 64 + i,
    'customer.tier': 'gold',
    input: SENTENCES[i % SENTENCES.length],
    output: SENTENCES[(i + 1) % SENTENCES.length],
  })
}

/** The gap is the end of the id, which stands in the body once. */
function withGap(bytes: Buffer, id: Buffer, number: keyof typeof GAP_BYTES): Body {
  const at = bytes.indexOf(id)
  if (at < 0 || bytes.indexOf(id, at + 1) >= 0) throw new Error('BUG: the id of a body must stand in it exactly once')
  return { bytes, gapAt: at + id.length - GAP_BYTES[number] }
}
