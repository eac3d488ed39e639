// A request for the query node as forward.ts sees it: its headers and body, and the ways to answer it piece by piece.
import type { BodyTaker, Exchange, ResponseHandle } from '#ingest/exchange.ts'
import { endHead } from '#ingest/exchange.ts'
import type { Downstream } from '#ingest/forward.ts'
import type { HeaderPairs } from '#ingest/head.ts'

/** What is used of a server's request object; it dies with the call that brought it. */
export interface RequestHandle {
  getUrl(): string
  getQuery(): string
  getCaseSensitiveMethod(): string
  forEach(listener: (name: string, value: string) => void): void
}

/** What is used of its response beyond a single answer. */
export interface StreamHandle extends ResponseHandle {
  getRemoteAddressAsText(): ArrayBuffer
  /** False when the client reads slower than is written. */
  write(chunk: Uint8Array): boolean
  onWritable(listener: () => boolean): unknown
  close(): unknown
}

/** The request of an exchange. Precondition: made while the call runs that brought the request object, which dies with it. */
export class ForwardedRequest implements Downstream {
  readonly method: string
  readonly target: string
  readonly headers: HeaderPairs
  readonly remoteAddress: string
  readonly #exchange: Exchange
  readonly #res: StreamHandle
  #aborted: (() => void) | null = null
  #ended = false
  #status = 0

  constructor(exchange: Exchange, res: StreamHandle, req: RequestHandle) {
    this.#exchange = exchange
    this.#res = res
    const headers: [string, string][] = []
    req.forEach((name, value) => headers.push([name, value]))
    this.headers = headers
    this.method = req.getCaseSensitiveMethod()
    // Undefined, whatever its type says, when the path has no query.
    const query = req.getQuery() || ''
    this.target = query === '' ? req.getUrl() : `${req.getUrl()}?${query}`
    this.remoteAddress = Buffer.from(res.getRemoteAddressAsText()).toString('latin1')
    exchange.onEnd = () => {
      if (!this.#ended) this.#aborted?.()
    }
  }

  onBody(taker: BodyTaker): void {
    const exchange = this.#exchange
    exchange.onBody({
      push: (chunk, last) => {
        if (exchange.done) return
        exchange.bodyBytes += chunk.byteLength
        taker.push(chunk, last)
      },
    })
  }

  onAborted(listener: () => void): void {
    this.#aborted = listener
  }

  head(line: string, pairs: HeaderPairs, bodyless: boolean): void {
    if (this.#exchange.done) return
    const res = this.#res
    this.#status = Number(line.slice(0, 3))
    res.cork(() => {
      res.writeStatus(line)
      let length: number | undefined
      for (const [name, value] of pairs) {
        if (name.toLowerCase() === 'content-length') length = Number(value)
        else res.writeHeader(name, value)
      }
      if (bodyless) endHead(res, length)
    })
    if (bodyless) this.#finish()
  }

  write(chunk: Uint8Array): boolean {
    let taken = true
    if (!this.#exchange.done) {
      this.#res.cork(() => {
        taken = this.#res.write(chunk)
      })
    }
    return taken
  }

  onWritable(listener: () => void): void {
    if (this.#exchange.done) return
    this.#res.onWritable(() => {
      this.#exchange.attempt(listener)
      return true
    })
  }

  end(): void {
    if (this.#exchange.done) return
    this.#res.cork(() => void this.#res.end())
    this.#finish()
  }

  cut(): void {
    if (!this.#exchange.done) this.#res.close()
  }

  refuse(...[code, { detail, headers, closes }]: Parameters<Downstream['refuse']>): void {
    this.#ended = true
    const exchange = this.#exchange
    if (!closes) return exchange.refuse(code, detail, headers)
    exchange.closes = true
    // Answered during the call, the server would read what came in the same piece as the next request of a good connection. It cuts the
    // connection for what follows a request that still waits, and behind this answer nothing is read.
    setImmediate(() => exchange.attempt(() => exchange.refuse(code, detail, headers)))
  }

  #finish(): void {
    this.#ended = true
    this.#exchange.finish(this.#status)
  }
}
