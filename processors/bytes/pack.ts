// The body of a trace export in protobuf -> units that write themselves into columns. Spans that are like others before them are read by
// their plan, without objects; all others as everywhere, beside them: the spans of a body decide together (docs/decisions/0011).
import { OtlpProtobufScanner } from '#proto/scan/otlp-protobuf.ts'
import type { FramePacker } from '../outcome.ts'
import { holders, tidy } from './likeness.ts'
import { PackedSpans } from './packed.ts'
import { SpanTable } from './spans.ts'

const scanner = new OtlpProtobufScanner()

/** Packs a body; see FramePacker. */
export const packTraces: FramePacker = (body, context) => {
  if (!scanner.verdict(body).ok) return null
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  tidy()
  const table = new SpanTable()
  return table.read(bytes, holders) ? new PackedSpans(table, bytes, context) : null
}
