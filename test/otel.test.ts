// A real OpenTelemetry program, configured by the standard environment variables only, delivers every span whole: session, parent,
// nanoseconds, error state and attributes. Both exporters, with and without gzip.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { MadeSpan } from '#test/otel/sender.ts'
import { eventually, nodeEnv, startSystem } from '#test/rig.ts'
import { scaled } from '#test/scale.ts'

const SPANS = scaled({ sample: 2_000, full: 10_000 })

interface StoredSpan {
  trace: string
  span_id: string
  parent_span_id: string
  name: string
  kind: string
  start: string
  duration_ns: string
  failed: number
  error_message: string
  session_id: string
  user_id: string
  metadata: Record<string, string>
  input_preview: string
  output_preview: string
}

/** What the stored row of a made span must be. */
function expected(span: MadeSpan): Omit<StoredSpan, 'kind' | 'metadata' | 'user_id'> & { tier: string | undefined } {
  const tool = span.name.startsWith('tool.')
  return {
    trace: span.traceId,
    span_id: String(BigInt(`0x${span.spanId}`)),
    parent_span_id: span.parentSpanId === '' ? '0' : String(BigInt(`0x${span.parentSpanId}`)),
    name: tool ? span.name.slice('tool.'.length) : span.name,
    start: span.start,
    duration_ns: String(BigInt(span.end) - BigInt(span.start)),
    failed: span.failed ? 1 : 0,
    error_message: span.message,
    session_id: String(span.attributes['session.id']),
    input_preview: String(span.attributes.input ?? ''),
    output_preview: String(span.attributes.output ?? ''),
    tier: span.attributes['customer.tier'] as string | undefined,
  }
}

t.test('real exporters deliver every span whole', async t => {
  const system = await startSystem(t)
  const made = new Map<string, MadeSpan>()
  for (const [exporter, compression] of [
    ['http', 'none'],
    ['http', 'gzip'],
    ['proto', 'none'],
    ['proto', 'gzip'],
  ] as const) {
    const child = spawn(
      process.execPath,
      [fileURLToPath(new URL('./otel/sender.ts', import.meta.url)), exporter, String(SPANS / 4)],
      {
        env: {
          PATH: process.env.PATH,
          ...nodeEnv,
          OTEL_EXPORTER_OTLP_ENDPOINT: system.otelUrl,
          OTEL_EXPORTER_OTLP_HEADERS: `X-Service-Org-ID=${system.organization}`,
          OTEL_EXPORTER_OTLP_COMPRESSION: compression,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    t.equal(child.exitCode, 0, `${exporter} ${compression}: ${errors}`)
    for (const line of output.trim().split('\n')) {
      const span = JSON.parse(line) as MadeSpan
      made.set(span.spanId, span)
    }
  }
  t.ok(made.size >= SPANS, `${made.size} spans were made`)

  const count = `SELECT toUInt32(sum(sign)) AS n FROM events WHERE organization = {organization:UUID}`
  const parameters = { organization: system.organization }
  await eventually(
    'every span to be stored',
    async () => {
      const [row] = await system.store.read<{ n: number }>(count, { parameters })
      return row && row.n >= made.size ? row : undefined
    },
    120_000,
  )
  const rows = await system.store.read<StoredSpan>(
    `SELECT replaceAll(toString(trace_id), '-', '') AS trace, toString(span_id) AS span_id, toString(parent_span_id) AS parent_span_id,
            name, kind, toString(toUnixTimestamp64Nano(ts)) AS start, toString(duration_ns) AS duration_ns, failed, error_message,
            session_id, user_id, metadata, input_preview, output_preview
     FROM events WHERE organization = {organization:UUID}`,
    { parameters },
  )
  t.equal(rows.length, made.size, 'no span is missing and none is doubled')
  let wrong = 0
  for (const row of rows) {
    const span = made.get(BigInt(row.span_id).toString(16).padStart(16, '0'))
    const found = { ...row, tier: row.metadata['customer.tier'] } as Record<string, unknown>
    const want = span && expected(span)
    const differs = want === undefined || Object.entries(want).some(([key, value]) => found[key] !== value)
    // One readable difference is worth more than ten thousand.
    if (differs && wrong++ === 0) t.match(found, want ?? {}, 'the first span that differs')
  }
  t.equal(wrong, 0, 'every stored span is what was made')
  const tools = rows.filter(row => row.kind === 'tool')
  t.ok(tools.length > SPANS / 4, 'spans named tool.* are tool calls')
})
