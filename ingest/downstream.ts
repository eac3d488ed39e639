// A request for the query node as forward.ts sees it: its headers and body, and the ways to answer it piece by piece.
import type { Exchange, ResponseHandle } from '#ingest/exchange.ts'
import { endHead } from '#ingest/exchange.ts'
import type { Downstream } from '#ingest/forward.ts'

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
  onData(listener: (chunk: ArrayBuffer, last: boolean) => void): unknown
  pause(): unknown
  resume(): unknown
  /** False when the client reads slower than is written. */
  write(chunk: Uint8Array): boolean
  onWritable(listener: () => boolean): unknown
  close(): unknown
}

/** The request of an exchange. Precondition: made while the call runs that brought the request object, which dies with it. */
export class ForwardedRequest implements Downstream {
  readonly method: string
  readonly target: string
  readonly headers: readonly (readonly [string, string])[]
  readonly remoteAddress: string
  readonly #exchange: Exchange
  readonly #res: StreamHandle
  readonly #aborted: (() => void)[] = []
  #ended = false
  #paused = false
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
      if (!this.#ended) for (const listener of this.#aborted) listener()
    }
  }

  onBody(listener: (chunk: ArrayBuffer, last: boolean) => void): void {
    this.#res.onData((chunk, last) => {
      if (this.#exchange.done) return
      this.#exchange.bodyBytes += chunk.byteLength
      listener(chunk, last)
    })
  }

  pauseBody(): void {
    if (this.#exchange.done) return
    this.#paused = true
    this.#res.pause()
  }

  /** Also where an answer comes before the body has ended: what is left of it is read and dropped, or the connection's next request would never be. */
  resumeBody(): void {
    if (this.#paused && !this.#exchange.done) this.#res.resume()
    this.#paused = false
  }

  onAborted(listener: () => void): void {
    this.#aborted.push(listener)
  }

  head(line: string, pairs: readonly (readonly [string, string])[], bodyless: boolean): void {
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
      if (bodyless) {
        this.resumeBody()
        endHead(res, length)
      }
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
      listener()
      return true
    })
  }

  end(): void {
    if (this.#exchange.done) return
    this.resumeBody()
    this.#res.cork(() => void this.#res.end())
    this.#finish()
  }

  cut(): void {
    if (!this.#exchange.done) this.#res.close()
  }

  refuse(...[code, headers]: Parameters<Downstream['refuse']>): void {
    this.#ended = true
    this.resumeBody()
    this.#exchange.refuse(code, undefined, headers)
  }

  #finish(): void {
    this.#ended = true
    this.#exchange.finish(this.#status)
  }
}
