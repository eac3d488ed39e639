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

/** The request of an exchange. Headers are read now: the request object dies with this call. */
export function downstreamOf(exchange: Exchange, res: StreamHandle, req: RequestHandle): Downstream {
  const headers: [string, string][] = []
  req.forEach((name, value) => headers.push([name, value]))
  // Undefined, whatever its type says, when the path has no query.
  const query = req.getQuery() || ''
  const aborted: (() => void)[] = []
  let ended = false
  let paused = false
  let status = 0
  exchange.onEnd = () => {
    if (!ended) for (const listener of aborted) listener()
  }
  // An answer may come before the body has ended. What is left of it is read and dropped, or the connection's next request would never be.
  const resume = (): void => {
    if (paused && !exchange.done) res.resume()
    paused = false
  }
  const finish = (): void => {
    ended = true
    exchange.finish(status)
  }
  return {
    method: req.getCaseSensitiveMethod(),
    target: query === '' ? req.getUrl() : `${req.getUrl()}?${query}`,
    headers,
    remoteAddress: Buffer.from(res.getRemoteAddressAsText()).toString('latin1'),
    onBody: listener => {
      res.onData((chunk, last) => {
        if (exchange.done) return
        exchange.bodyBytes += chunk.byteLength
        listener(chunk, last)
      })
    },
    pauseBody: () => {
      if (exchange.done) return
      paused = true
      res.pause()
    },
    resumeBody: resume,
    onAborted: listener => aborted.push(listener),
    head: (line, pairs, bodyless) => {
      if (exchange.done) return
      status = Number(line.slice(0, 3))
      res.cork(() => {
        res.writeStatus(line)
        let length: number | undefined
        for (const [name, value] of pairs) {
          if (name.toLowerCase() === 'content-length') length = Number(value)
          else res.writeHeader(name, value)
        }
        if (bodyless) {
          resume()
          endHead(res, length)
        }
      })
      if (bodyless) finish()
    },
    write: chunk => {
      let taken = true
      if (!exchange.done) {
        res.cork(() => {
          taken = res.write(chunk)
        })
      }
      return taken
    },
    onWritable: listener => {
      if (exchange.done) return
      res.onWritable(() => {
        listener()
        return true
      })
    },
    end: () => {
      if (exchange.done) return
      resume()
      res.cork(() => void res.end())
      finish()
    },
    cut: () => {
      if (!exchange.done) res.close()
    },
    refuse: (code, headers) => {
      ended = true
      resume()
      exchange.refuse(code, undefined, headers)
    },
  }
}
