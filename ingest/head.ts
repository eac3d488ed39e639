// Method, target and headers as a client sent them -> what is sent on to the query node, or why nothing is. What is sent on has no framing
// of the client's: the length of a body is that of the bytes that were collected.
import type { ErrorCode } from '#proto/errors.ts'

/** Pairs of name and value; names in lower case, repeated names as they came. */
export type HeaderPairs = readonly (readonly [string, string])[]

/** What a client asked for. */
export interface Asked {
  readonly method: string
  /** Path with query. */
  readonly target: string
  readonly headers: HeaderPairs
  readonly remoteAddress: string
}

/** A request that may be sent on. */
export interface Onward {
  readonly ok: true
  /** Names and values in turn, each character one byte. */
  readonly headers: string[]
  /** Bytes of the body: null = none, -1 = told by its chunks. */
  readonly length: number | null
}

/** A request that is not sent on. */
export interface BadHead {
  readonly ok: false
  readonly code: ErrorCode
  readonly detail: string
  /** True where it is not sure where the request ends: nothing that follows on its connection is believed. */
  readonly doubtful: boolean
}

/** Methods of the dashboard API, and whether theirs may have a body. */
const METHODS: ReadonlyMap<string, boolean> = new Map([
  ['GET', false],
  ['HEAD', false],
  ['OPTIONS', false],
  ['DELETE', false],
  ['POST', true],
  ['PUT', true],
  ['PATCH', true],
])
/** The `Allow` of a method that the dashboard API has nowhere. */
export const ALLOWED = [...METHODS.keys()].join(', ')

/** Headers that belong to one connection (RFC 9110, 7.6.1), and those that a proxy has seen to itself. Never longer by what a client says. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings', 'content-length', 'expect', 'x-forwarded-for'],
])
/** What `Connection` may speak of; any other header that is there must not vanish on the way, and framing never. */
const OPTIONS: ReadonlySet<string> = new Set([
  ...['close', 'keep-alive', 'upgrade', 'http2-settings', 'te', 'trailer', 'trailers', 'proxy-connection'],
])
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding'])

/** Whatever is visible in ASCII but a fragment: browsers send more than RFC 3986 allows (`|`, `{`), and none of it ends a line. */
const TARGET = /^\/[!"$-~]*$/
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/
/** Text and tabs; bytes beyond ASCII are legal (RFC 9110, 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u
const BEYOND_ASCII = /[^\t\x20-\x7e]/
const LENGTH = /^\d{1,15}$/

/** Looks at everything but the body. */
export function readHead({ method, target, headers, remoteAddress }: Asked): Onward | BadHead {
  const hasBody = METHODS.get(method)
  if (hasBody === undefined) return bad('REQ_METHOD_UNKNOWN', `use ${ALLOWED}`)
  if (!TARGET.test(target)) return bad('REQ_HEAD_INVALID', 'target must be visible ASCII; percent-encode all else')
  const framing = readFraming(headers)
  if (typeof framing === 'string') return bad('REQ_FRAMING_INVALID', framing, true)
  if (!hasBody && framing !== null && framing !== 0) {
    return bad('REQ_FRAMING_INVALID', `${method} has no body here`, true)
  }
  const sent: string[] = []
  const addresses: string[] = []
  for (const [name, value] of headers) {
    if (!NAME.test(name)) return bad('REQ_HEAD_INVALID', 'the name of a header has characters that none may have')
    if (!VALUE.test(value)) return bad('REQ_HEAD_INVALID', `${name} has control characters`)
    if (name === 'x-forwarded-for') addresses.push(value)
    if (!HOP_BY_HOP.has(name)) sent.push(name, bytesOf(value))
  }
  addresses.push(remoteAddress)
  sent.push('x-forwarded-for', bytesOf(addresses.join(', ')))
  return { ok: true, headers: sent, length: hasBody ? framing : null }
}

function bad(code: ErrorCode, detail: string, doubtful = false): BadHead {
  return { ok: false, code, detail, doubtful }
}

/** How long the body is, as in `Onward`; a text says why nobody can tell. */
function readFraming(headers: HeaderPairs): number | null | string {
  let length: string | undefined
  let coding: string | undefined
  for (const [name, value] of headers) {
    if (name === 'content-length') {
      if (length !== undefined) return 'content-length is there twice'
      length = value
    } else if (name === 'transfer-encoding') {
      if (coding !== undefined) return 'transfer-encoding is there twice'
      coding = value
    } else if (FRAMING.has(name.replaceAll('_', '-'))) {
      return `${name} is no header; write it with -`
    } else if (name === 'connection') {
      const fault = optionFault(value, headers)
      if (fault !== null) return fault
    }
  }
  if (coding !== undefined && length !== undefined) return 'transfer-encoding and content-length exclude each other'
  if (coding !== undefined) return coding.toLowerCase() === 'chunked' ? -1 : 'transfer-encoding must be chunked'
  if (length === undefined) return null
  return LENGTH.test(length) ? Number(length) : 'content-length must be a number of bytes'
}

/** What is wrong with the options of a connection; null = nothing. */
function optionFault(value: string, headers: HeaderPairs): string | null {
  for (const word of value.toLowerCase().split(',')) {
    const option = word.trim()
    if (OPTIONS.has(option)) continue
    if (FRAMING.has(option) || headers.some(([name]) => name === option)) {
      return `connection names ${FRAMING.has(option) ? option : 'a header'} that is not of the connection`
    }
  }
  return null
}

/** The bytes that the client sent, one character each: the server gives them as text. */
function bytesOf(value: string): string {
  return BEYOND_ASCII.test(value) ? Buffer.from(value).toString('latin1') : value
}
