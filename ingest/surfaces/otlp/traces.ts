// POST /v1/traces: raw OTLP export, JSON or protobuf -> an otlp frame; the answer is an ExportTraceServiceResponse in the
// request's encoding. Single bad spans are told by partialSuccess and never fail the batch.

import type { Surface } from '#ingest/verdict.ts'
import { FrameKind } from '#proto/envelope.ts'
import { exportResponse } from '#proto/otlp/response.ts'
import { OtlpJsonScanner } from '#proto/scan/otlp-json.ts'
import { OtlpProtobufScanner } from '#proto/scan/otlp-protobuf.ts'

/** Working memory, each used by one body at a time. */
const scanners = { json: new OtlpJsonScanner(), protobuf: new OtlpProtobufScanner() }

export const traces: Surface = (bytes, context) => {
  const { content } = context
  const verdict = scanners[content].verdict(bytes)
  if (!verdict.ok) return { ok: false, code: verdict.code, detail: verdict.reason }
  const answer = exportResponse(content, verdict.rejected, verdict.message)
  // Nothing that can be stored: an empty export is a success, and one of bad spans only has been told so.
  if (verdict.firstTraceId === null || verdict.spans === verdict.rejected) return { ok: 'empty', answer }
  return {
    ok: true,
    kind: FrameKind.otlp,
    content,
    identity: verdict.firstTraceId,
    requires: null,
    creates: null,
    mintedId: null,
    answer,
    echoAt: 0,
  }
}
