// Codes -> HTTP answers: status line, headers and body bytes in the caller's encoding. REST bodies are `{"error": …}`; OTLP bodies are
// a google.rpc.Status in JSON or protobuf, as the request was.
import { STATUS_CODES } from 'node:http'
import type { RateRefusal } from '#ingest/rates.ts'
import type { ErrorCode } from '#proto/errors.ts'
import { errors } from '#proto/errors.ts'
import { errorStatus, exportResponse } from '#proto/otlp/response.ts'

/** How a caller reads answers. */
export type Format = 'rest' | 'otlp-json' | 'otlp-protobuf'

/** A finished answer. */
export interface Reply {
  readonly status: number
  readonly contentType: string
  readonly body: string | Uint8Array
  /** Further headers, as pairs. */
  readonly headers: readonly (readonly [string, string])[]
}

const NO_HEADERS: Reply['headers'] = []
/** Of every 2xx of an endpoint that takes payloads: partition, sequence and frame, so that a user can ask where something went. */
export const RECEIPT_HEADER = 'X-Parley-Receipt'
/** Senders are asked back soon: exporters give up after 10 s in all. */
const RETRY_AFTER_S: Readonly<Partial<Record<ErrorCode, number>>> = {
  ...{ ING_FULL: 2, ING_UNAVAILABLE: 1, REQ_CROWDED: 1, REQ_SHARE: 1 },
}

/** google.rpc codes by HTTP status. */
const RPC_CODES: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  404: 5,
  405: 12,
  413: 3,
  429: 8,
  500: 13,
  503: 14,
}
const RPC_UNKNOWN = 2

/** `404 Not Found` for 404: the status line as uWebSockets wants it. */
export function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? 'Unknown'}`
}

export function contentTypeOf(format: Format): string {
  return format === 'otlp-protobuf' ? 'application/x-protobuf' : 'application/json'
}

/** A 200 with plain text. */
export function textReply(body: string): Reply {
  return { status: 200, contentType: 'text/plain', body, headers: NO_HEADERS }
}

/** A JSON answer of any status. */
export function jsonReply(status: number, value: unknown): Reply {
  const body = JSON.stringify(value)
  return { status, contentType: 'application/json', body, headers: NO_HEADERS }
}

/** The 200 of an export of which nothing is stored. */
export function exportReply(format: Format, content: 'json' | 'protobuf'): Reply {
  const body = exportResponse(content, 0, '')
  return { status: 200, contentType: contentTypeOf(format), body, headers: [[RECEIPT_HEADER, 'none']] }
}

/** A refusal for coming too early. */
export function rateReply(format: Format, refusal: RateRefusal): Reply {
  const { retryAfterS, policy, limit } = refusal
  const headers: Reply['headers'] = [
    ['Retry-After', String(retryAfterS)],
    ['RateLimit-Policy', policy],
    ['RateLimit', limit],
  ]
  return { ...errorReply(format, 'ING_RATE'), headers }
}

/** A refusal. `detail` follows the code's sentence; `allow` = methods of the path, for 405. */
export function errorReply(format: Format, code: ErrorCode, detail?: string, allow?: string): Reply {
  const { status, text } = errors[code]
  const sentence = detail ? `${text}: ${detail}` : text
  const headers: [string, string][] = []
  const retryAfterS = RETRY_AFTER_S[code]
  if (retryAfterS !== undefined) headers.push(['Retry-After', String(retryAfterS)])
  if (allow !== undefined) headers.push(['Allow', allow])
  const body =
    format === 'rest'
      ? JSON.stringify({ error: sentence })
      : errorStatus(format === 'otlp-json' ? 'json' : 'protobuf', RPC_CODES[status] ?? RPC_UNKNOWN, sentence)
  return { status, contentType: contentTypeOf(format), body, headers }
}
