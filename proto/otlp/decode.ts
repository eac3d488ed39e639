// The body of a trace export -> spans. It is judged by the same rules as at the receiver, and the two never disagree.
import { readExactJson } from '#proto/json.ts'
import { OtlpProtobufScanner } from '#proto/scan/otlp-protobuf.ts'
import { judgeJson } from './check-json.ts'
import { decodeJson } from './decode-json.ts'
import { decodeProtobuf } from './decode-protobuf.ts'
import type { Span } from './span.ts'
import { invalid, type Refusal } from './verdict.ts'

/** Working memory, used by one body at a time. */
const scanner = new OtlpProtobufScanner()

/** The spans of a body in its order, without those whose ids cannot be used; or why there are none. Never throws. */
export function decodeTraces(
  body: Uint8Array,
  content: 'json' | 'protobuf',
): { readonly ok: true; readonly spans: readonly Span[] } | Refusal {
  if (content === 'protobuf') {
    // The scan costs a fraction of the decoding and lets the decoder trust every length.
    const verdict = scanner.verdict(body)
    return verdict.ok ? { ok: true, spans: decodeProtobuf(body) } : verdict
  }
  const read = readExactJson(body)
  if ('reason' in read) return invalid(read.reason)
  const verdict = judgeJson(read.value)
  return verdict.ok ? { ok: true, spans: decodeJson(read.value) } : verdict
}
