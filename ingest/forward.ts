// A request for the query node -> the query node and its answer back, streamed both ways with backpressure. Knows no socket: the
// server hands it a Downstream.
import * as http from 'node:http'
import type { ErrorCode } from '#proto/errors.ts'
import { corsHeaders } from '#runtime/cors.ts'
import type { Log } from '#runtime/log.ts'

/** Connections to the query node at most: each may carry a stream of events for hours. */
const MAX_SOCKETS = 1024
/** Headers that belong to one connection (RFC 9110, 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** A client's request and the way back to it. */
export interface Downstream {
  readonly method: string
  /** Path with query. */
  readonly target: string
  /** Names in lower case, repeated names as they came. */
  readonly headers: readonly (readonly [string, string])[]
  readonly remoteAddress: string
  /** Body chunks; each is valid during the call only. `last` comes exactly once unless the client goes away. */
  onBody(listener: (chunk: ArrayBuffer, last: boolean) => void): void
  pauseBody(): void
  resumeBody(): void
  onAborted(listener: () => void): void
  /** Status line and headers; `bodyless` ends the answer with them. */
  head(status: string, headers: readonly (readonly [string, string])[], bodyless: boolean): void
  /** False when the client is slow: wait for `onWritable`. */
  write(chunk: Uint8Array): boolean
  onWritable(listener: () => void): void
  end(): void
  /** Ends the connection without ending the answer: the client sees that it is cut. */
  cut(): void
  /** An answer of the receiver's own. */
  refuse(code: ErrorCode, headers: readonly (readonly [string, string])[]): void
}

export interface Forward {
  forward(downstream: Downstream): void
  close(): void
}

/** Where to, and for whom. */
export interface ForwardOptions {
  readonly queryUrl: string
  /** Of request bodies. */
  readonly maxBodyBytes: number
  /** Pages of these may read what the receiver itself answers, as they may read the query node's answers. */
  readonly corsOrigins: readonly string[]
  readonly log: Log
}

/** Forwards to the query node. */
export function createForward(options: ForwardOptions): Forward {
  const { log, maxBodyBytes } = options
  const origins = new Set(options.corsOrigins)
  const base = new URL(options.queryUrl)
  const agent = new http.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS, scheduling: 'lifo' })
  return {
    forward: down => {
      let finished = false
      const upstream = http.request({
        agent,
        host: base.hostname,
        port: base.port || 80,
        method: down.method,
        path: down.target,
        headers: requestHeaders(down),
        setDefaultHeaders: false,
      })
      const refuse = (code: ErrorCode): void => {
        const origin = down.headers.find(([name]) => name === 'origin')?.[1]
        down.refuse(code, corsHeaders(origins, down.target, origin))
      }
      const finish = (answer: () => void): void => {
        if (finished) return
        finished = true
        answer()
      }
      down.onAborted(() => {
        finished = true
        upstream.destroy()
      })
      upstream.on('error', error => {
        finish(() => {
          log.warn({ err: error }, 'the query node does not answer')
          refuse('QRY_UNREACHABLE')
        })
      })
      upstream.on('response', response => {
        if (!finished) relay(response, down, finish)
      })
      sendBody(down, upstream, maxBodyBytes, () => {
        finish(() => {
          upstream.destroy()
          refuse('REQ_BODY_TOO_LARGE')
        })
      })
    },
    close: () => agent.destroy(),
  }
}

function sendBody(down: Downstream, upstream: http.ClientRequest, maxBytes: number, tooLarge: () => void): void {
  let length = 0
  upstream.on('drain', () => down.resumeBody())
  down.onBody((chunk, last) => {
    length += chunk.byteLength
    if (length > maxBytes) return tooLarge()
    if (upstream.destroyed) return
    // The chunk dies with this call: copy.
    const taken = chunk.byteLength === 0 || upstream.write(new Uint8Array(chunk.slice(0)))
    if (last) upstream.end()
    else if (!taken) down.pauseBody()
  })
}

function relay(response: http.IncomingMessage, down: Downstream, finish: (answer: () => void) => void): void {
  const status = response.statusCode ?? 502
  const bodyless = down.method === 'HEAD' || status === 204 || status === 304
  const headers = answerHeaders(response.rawHeaders, bodyless)
  const line = `${status} ${response.statusMessage ?? ''}`
  if (bodyless) {
    response.resume()
    return finish(() => down.head(line, headers, true))
  }
  down.head(line, headers, false)
  down.onWritable(() => response.resume())
  let open = true
  const close = (answer: () => void): void => {
    if (!open) return
    open = false
    finish(answer)
  }
  down.onAborted(() => {
    open = false
    response.destroy()
  })
  response.on('data', (chunk: Buffer) => {
    if (open && !down.write(chunk)) response.pause()
  })
  response.on('end', () => close(() => down.end()))
  // The query node went away in the middle: the client must not take half an answer for a whole one.
  response.on('error', () => close(() => down.cut()))
  response.on('close', () => close(() => down.cut()))
}

function requestHeaders(down: Downstream): string[] {
  const dropped = new Set(HOP_BY_HOP)
  const forwarded: string[] = []
  for (const [name, value] of down.headers) {
    if (name === 'connection') for (const word of value.split(',')) dropped.add(word.trim().toLowerCase())
    if (name === 'x-forwarded-for') forwarded.push(value)
  }
  dropped.add('x-forwarded-for')
  const headers = down.headers.filter(([name]) => !dropped.has(name)).flat()
  headers.push('x-forwarded-for', [...forwarded, down.remoteAddress].join(', '))
  const lengthKnown = down.headers.some(([name]) => name === 'content-length')
  const chunked = down.headers.some(([name]) => name === 'transfer-encoding')
  if (chunked && !lengthKnown) headers.push('transfer-encoding', 'chunked')
  return headers
}

function answerHeaders(raw: readonly string[], keepLength: boolean): [string, string][] {
  const headers: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string
    const lower = name.toLowerCase()
    // Answers with a body are sent in chunks, whatever their length.
    if (HOP_BY_HOP.has(lower) || (lower === 'content-length' && !keepLength)) continue
    // The server writes its own.
    if (lower === 'date') continue
    headers.push([name, raw[i + 1] as string])
  }
  return headers
}
