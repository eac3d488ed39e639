// Bytes of a JSON body -> its value, or the refusal to send. Read by the same code as the processor will: what is taken here can be
// read there.

import type { Refused } from '#ingest/verdict.ts'
import { readJson } from '#proto/json.ts'
import { JSON_MAX_DEPTH, withinDepth } from '#proto/sdk/fields.ts'

/** The value of a JSON body, at most JSON_MAX_DEPTH deep. Invalid UTF-8 is refused rather than repaired. */
export function parseJson(bytes: Uint8Array): { readonly ok: true; readonly value: unknown } | Refused {
  const read = readJson(bytes)
  if ('reason' in read) return { ok: false, code: 'REQ_JSON_INVALID', detail: read.reason }
  if (!withinDepth(read.value, JSON_MAX_DEPTH)) {
    return { ok: false, code: 'REQ_BODY_INVALID', detail: `nested deeper than ${JSON_MAX_DEPTH} levels` }
  }
  return { ok: true, value: read.value }
}
