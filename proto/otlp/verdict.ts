// What is said about the body of an OTLP trace export, and the sentences that say it.

/** What the receiver learns of a body. */
export type TracesVerdict =
  | {
      readonly ok: true
      readonly spans: number
      /** Spans whose ids cannot be used; the parser skips them and the exporter is told. */
      readonly rejected: number
      /** 16 bytes, of the first span that is not rejected. */
      readonly firstTraceId: Uint8Array | null
      /** Why spans were rejected, '' when none was. */
      readonly message: string
    }
  | Refusal

/** A body that cannot be taken. `reason` names the field, and for protobuf the byte. */
export interface Refusal {
  readonly ok: false
  readonly code: 'ING_OTLP_INVALID' | 'ING_OTLP_NOT_TRACES'
  readonly reason: string
}

/** A body that is no OTLP. */
export function invalid(reason: string): Refusal {
  return { ok: false, code: 'ING_OTLP_INVALID', reason }
}

/** A body that is OTLP of another signal. */
export function notTraces(reason: string): Refusal {
  return { ok: false, code: 'ING_OTLP_NOT_TRACES', reason: `${reason}; is a logs or metrics exporter pointed here?` }
}

/** The sentence an exporter is sent about refused spans. `first` counts from 0 in the order of the body. */
export function refusedSpans(rejected: number, first: number): string {
  if (rejected === 0) return ''
  const what = rejected === 1 ? '1 span was' : `${rejected} spans were`
  return `${what} refused: the trace id must be 16 bytes, the span id 8, a parent id 8 or empty, ids not all zero (first: span ${first})`
}
