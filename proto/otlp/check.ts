// The body of an OTLP trace export, decompressed -> may it be acknowledged? How many spans, how many of them refused.
// Promise: a body that passes yields exactly `spans - rejected` events when it is parsed later.
import { checkJson } from './check-json.ts'
import { checkProtobuf } from './check-protobuf.ts'
import type { TracesVerdict } from './verdict.ts'

export type { TracesVerdict } from './verdict.ts'

/** Judges an ExportTraceServiceRequest in either encoding. Never throws. */
export function checkTraces(body: Uint8Array, content: 'json' | 'protobuf'): TracesVerdict {
  return content === 'json' ? checkJson(body) : checkProtobuf(body)
}
