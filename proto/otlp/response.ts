// The two bodies an OTLP exporter understands: ExportTraceServiceResponse on success, google.rpc.Status on failure, each in the
// encoding of the request (exporters report an answer in the other encoding as an error).
//
//   ExportTraceServiceResponse := partial_success(1){ rejected_spans(1) int64, error_message(2) string }
//   google.rpc.Status          := code(1) int32, message(2) string

const EMPTY_JSON = Buffer.from('{}')
const EMPTY_PROTOBUF = new Uint8Array(0)

/** The body of a 200. Nothing rejected and nothing to say: an empty response, for which exporters stay silent. */
export function exportResponse(content: 'json' | 'protobuf', rejected: number, message: string): Uint8Array {
  if (rejected === 0 && message === '') return content === 'json' ? EMPTY_JSON : EMPTY_PROTOBUF
  if (content === 'json') {
    // int64 is text in the JSON mapping of protobuf.
    return Buffer.from(JSON.stringify({ partialSuccess: { rejectedSpans: String(rejected), errorMessage: message } }))
  }
  return bytesField(1, [...varintField(1, rejected), ...bytesField(2, Buffer.from(message.toWellFormed()))])
}

/** The body of an error. `grpcCode`: 3 for a bad request, 8 for exhausted, 13 internal, 14 unavailable, 16 unauthenticated. */
export function errorStatus(content: 'json' | 'protobuf', grpcCode: number, message: string): Uint8Array {
  if (content === 'json') return Buffer.from(JSON.stringify({ code: grpcCode, message }))
  return Uint8Array.from([...varintField(1, grpcCode), ...bytesField(2, Buffer.from(message.toWellFormed()))])
}

function varintField(number: number, value: number): number[] {
  return value === 0 ? [] : [number << 3, ...varint(value)]
}

function bytesField(number: number, bytes: ArrayLike<number>): Uint8Array {
  const head = [(number << 3) | 2, ...varint(bytes.length)]
  const out = new Uint8Array(head.length + bytes.length)
  out.set(head)
  out.set(bytes, head.length)
  return out
}

function varint(value: number): number[] {
  const out: number[] = []
  let rest = value
  while (rest >= 0x80) {
    out.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  out.push(rest)
  return out
}
