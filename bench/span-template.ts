// A request of spans of about 1 KiB that a model and a tool leave behind, as bytes in which only the ids have to be written to make
// it another one.
import { protobufBytes, request, span } from '#proto/otlp/fixture.ts'

/** A body, and where its number goes: the first bytes of every trace and span id. */
export interface SpanTemplate {
  readonly body: Buffer
  readonly traceAt: readonly number[]
  readonly spanAt: readonly number[]
}

/** A request of so many spans, five a trace. */
export function spanTemplate(spans: number): SpanTemplate {
  const text = 'Where is the parcel that I ordered on Monday, and when will it be here? '
  const startMs = Date.now() - 1_000
  const all = Array.from({ length: spans }, (_, i) => {
    const trace = 1 + Math.floor(i / 5)
    const fields = {
      traceId: `abcdef01${trace.toString(16).padStart(24, '0')}`,
      spanId: `abcdef02${i.toString(16).padStart(8, '0')}`,
      name: i % 5 === 4 ? 'tool.lookup_order' : 'chat gpt-5-mini',
      startTimeUnixNano: `${startMs}${String(i).padStart(6, '0')}`,
      endTimeUnixNano: `${startMs + 412}000000`,
    }
    return span(0, 0, fields, {
      ...{ 'session.id': `conversation-${trace}`, 'gen_ai.request.model': 'gpt-5-mini', 'customer.tier': 'gold' },
      ...{ 'gen_ai.usage.input_tokens': 812 + i, 'gen_ai.usage.output_tokens': 64 + i },
      ...{ input: text.repeat(5), output: text.repeat(4) },
    })
  })
  const body = Buffer.from(protobufBytes(request(all)))
  const traceAt = positionsOf(body, Buffer.from('abcdef01', 'hex'))
  const spanAt = positionsOf(body, Buffer.from('abcdef02', 'hex'))
  if (traceAt.length !== spans || spanAt.length !== spans) throw new Error('BUG: each id stands once in the body')
  return { body, traceAt, spanAt }
}

/** Writes the number into the body. */
export function numberSpans({ body, traceAt, spanAt }: SpanTemplate, number: number): void {
  for (const at of traceAt) body.writeUInt32BE(number, at)
  for (const at of spanAt) body.writeUInt32BE(number, at)
}

function positionsOf(body: Buffer, wanted: Buffer): number[] {
  const found: number[] = []
  for (let at = body.indexOf(wanted); at >= 0; at = body.indexOf(wanted, at + 1)) found.push(at)
  return found
}
