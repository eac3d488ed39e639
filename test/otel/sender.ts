// A user's program in a process of its own: makes spans with the OpenTelemetry SDK and exports them with the exporter named by the
// first argument (http = JSON, proto = protobuf), configured by the standard environment variables only. Prints what it made, one
// span a line, so that the test can compare it with what is stored. Second argument: how many spans.
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

/** One span as it was made. Times in Unix nanoseconds, in decimal text. */
export interface MadeSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  start: string
  end: string
  failed: boolean
  message: string
  attributes: Record<string, unknown>
}

const nanos = ([seconds, rest]: readonly [number, number]): string =>
  String(BigInt(seconds) * 1_000_000_000n + BigInt(rest))

/** Keeps what every ended span was. */
function recorder(into: MadeSpan[]): SpanProcessor {
  return {
    onStart: () => undefined,
    onEnd: (span: ReadableSpan) => {
      into.push({
        traceId: span.spanContext().traceId,
        spanId: span.spanContext().spanId,
        parentSpanId: span.parentSpanContext?.spanId ?? '',
        name: span.name,
        start: nanos(span.startTime),
        end: nanos(span.endTime),
        failed: span.status.code === SpanStatusCode.ERROR || span.events.some(event => event.name === 'exception'),
        message: span.status.message ?? '',
        attributes: { ...span.attributes },
      })
    },
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  }
}

const exporter = process.argv[2] === 'proto' ? new ProtobufExporter() : new JsonExporter()
const count = Number(process.argv[3])
const made: MadeSpan[] = []
const batches = new BatchSpanProcessor({
  exporter,
  maxQueueSize: count + 10,
  maxExportBatchSize: 512,
  scheduledDelayMillis: 100,
})
const provider = new TracerProvider({ spanProcessors: [recorder(made), batches] })
const tracer = provider.getTracer('parley-test', '1.2.3')

for (let i = 0; made.length < count; i++) {
  const root = tracer.startSpan(`turn ${i % 7}`, {
    attributes: { 'session.id': `conversation-${i % 50}`, 'user.id': `user-${i % 20}`, input: `question ${i}` },
  })
  const inRoot = trace.setSpan(context.active(), root)
  const tool = tracer.startSpan(
    'tool.search',
    { attributes: { 'session.id': `conversation-${i % 50}`, 'search.hits': i % 5 } },
    inRoot,
  )
  if (i % 11 === 0) {
    tool.recordException(new Error(`boom ${i}`))
    tool.setStatus({ code: SpanStatusCode.ERROR, message: `boom ${i}` })
  }
  tool.setAttribute('customer.tier', i % 2 === 0 ? 'gold' : 'naïve ✓')
  tool.end()
  root.setAttribute('output', `answer ${i}`)
  root.end()
}
await provider.forceFlush()
await provider.shutdown()
for (const span of made) process.stdout.write(`${JSON.stringify(span)}\n`)
