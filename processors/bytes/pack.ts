// The body of a trace export -> units that write themselves into columns. Spans that are like others before them are read by their plan,
// without objects; all others as everywhere, beside them: the spans of a body decide together (docs/decisions/0011).
import { OtlpProtobufScanner } from '#proto/scan/otlp-protobuf.ts'
import type { FramePacker } from '../outcome.ts'
import { JsonForm } from './json-form.ts'
import { holders, tidy } from './likeness.ts'
import { PackedSpans } from './packed.ts'
import { SpanTable } from './spans.ts'

const scanner = new OtlpProtobufScanner()
const form = new JsonForm()
const table = new SpanTable()

/** Packs a body; see FramePacker. */
export const packTraces: FramePacker = (body, content, context) => {
  const bytes = content === 'json' ? form.of(body) : checked(body)
  if (bytes === null) return null
  tidy()
  return table.read(bytes, holders) ? new PackedSpans(table.numbers(), bytes, context) : null
}

function checked(body: Uint8Array): Buffer | null {
  return scanner.verdict(body).ok ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : null
}
