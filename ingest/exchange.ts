// One request and its one answer, written in one cork. A response that was answered or aborted is never touched again.

import type { Answering } from '#ingest/intake.ts'
import type { EndpointMeter } from '#ingest/meter.ts'
import type { RateRefusal } from '#ingest/rates.ts'
import type { Rejects } from '#ingest/rejects.ts'
import type { Format, Reply } from '#ingest/reply.ts'
import { errorReply, rateReply, statusLine } from '#ingest/reply.ts'
import { SuccessHead } from '#ingest/success-head.ts'
import type { ErrorCode } from '#proto/errors.ts'

/** What is used of a server's response object. */
export interface ResponseHandle {
  onAborted(listener: () => void): unknown
  /** Calls back before it returns; what is written meanwhile leaves in one piece. */
  cork(write: () => void): unknown
  writeStatus(line: string | Uint8Array): unknown
  writeHeader(name: string, value: string): unknown
  end(body?: string | Uint8Array, closes?: boolean): unknown
  endWithoutBody(length?: 0, closes?: boolean): unknown
  onData(listener: (chunk: ArrayBuffer, last: boolean) => void): unknown
}

/** Who takes a request's body: chunks are valid during the call only, and the last comes exactly once unless the sender goes away. */
export interface BodyTaker {
  push(chunk: ArrayBuffer, last: boolean): void
}

/**
 * Ends an answer without the body whose length it says. The length goes out as a header: given to the server (20.51), the answer is
 * never over for it, and it closes the connection when the next request comes. Closing takes a length, so that one says 0.
 */
export function endHead(res: ResponseHandle, length: number | undefined, closes = false): void {
  if (closes) return void res.endWithoutBody(0, true)
  if (length !== undefined) res.writeHeader('Content-Length', String(length))
  res.endWithoutBody()
}

/** What is open at a server. */
export interface Traffic {
  /** Requests that are not answered yet, by whom they are counted: the receiver's own, and those that the query node answers. */
  own: number
  forwarded: number
  /** Requests that have come so far, of both. */
  begun: number
  /** True once the server stops: each answer closes its connection. */
  draining: boolean
  /** The exchange that was made last: whoever catches what a handler throws finds here what is to be answered. */
  latest: Exchange | null
  readonly rejects: Pick<Rejects, 'note'>
}

const SUCCESS_HEADS: Readonly<Record<Format, SuccessHead>> = {
  rest: new SuccessHead('rest'),
  'otlp-json': new SuccessHead('otlp-json'),
  'otlp-protobuf': new SuccessHead('otlp-protobuf'),
}
const NO_BYTES = new Uint8Array(0)

/** The answer that is being written: `cork` calls back before it returns, so one is enough and no answer needs a closure. */
const success: { res: ResponseHandle | null; head: Uint8Array; body: string | Uint8Array; closes: boolean } = {
  res: null,
  head: NO_BYTES,
  body: NO_BYTES,
  closes: false,
}

function writeSuccess(): void {
  const { res, head, body, closes } = success
  success.res = null
  res?.writeStatus(head)
  res?.end(body, closes)
}

/** One request and its one answer. `kind` says where it is counted. */
export class Exchange implements Answering {
  readonly format: Format
  /** True once answered or aborted: the response must not be touched any more. */
  done = false
  /** Who is told of a refusal; '' until it is known. */
  organization = ''
  /** Body bytes so far. */
  bodyBytes = 0
  /** The answer to a HEAD request. */
  bodyless = false
  /** Close the connection after the answer. */
  closes = false
  /** Called once, when the request is answered or aborted. */
  onEnd: (() => void) | null = null
  readonly #traffic: Traffic
  readonly #kind: 'own' | 'forwarded'
  readonly #res: ResponseHandle
  readonly #tally: EndpointMeter

  constructor(traffic: Traffic, kind: 'own' | 'forwarded', res: ResponseHandle, tally: EndpointMeter, format: Format) {
    this.#traffic = traffic
    this.#kind = kind
    this.#res = res
    this.#tally = tally
    this.format = format
    if (kind === 'own') traffic.own++
    else traffic.forwarded++
    traffic.begun++
    traffic.latest = this
    res.onAborted(() => this.attempt(() => this.finish(0)))
  }

  /** True for the exchange of this response. */
  isOf(res: ResponseHandle): boolean {
    return this.#res === res
  }

  /** Hands the body on as it comes; what is thrown meanwhile is answered. */
  onBody(taker: BodyTaker): void {
    this.#res.onData((chunk, last) => {
      try {
        taker.push(chunk, last)
      } catch (error) {
        this.fail(error)
      }
    })
  }

  /** Runs what the socket asks for; what it throws is answered. */
  attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
  }

  /** Answers what nobody foresaw: it is a fault of ours, is counted, and ends no process. */
  fail(error: unknown): void {
    this.#tally.failed(error)
    try {
      this.refuse('INTERNAL')
    } catch (again) {
      // The answer itself cannot be written: the connection's end will be heard, or was.
      this.#tally.failed(again)
    }
  }

  /** The answer that is given a million times: status and headers by one call into the server, in one write to the socket. */
  succeed(body: string | Uint8Array, receiptHead: string, frame: number): void {
    if (this.done) return
    success.res = this.#res
    success.head = SUCCESS_HEADS[this.format].of(receiptHead, frame)
    success.body = body
    success.closes = this.closes || this.#traffic.draining
    this.#res.cork(writeSuccess)
    this.finish(200)
  }

  refuse(code: ErrorCode, detail?: string, headers: Reply['headers'] = []): void {
    if (this.done) return
    this.#refused(code, detail)
    const reply = errorReply(this.format, code, detail)
    this.send(headers.length === 0 ? reply : { ...reply, headers: [...reply.headers, ...headers] })
  }

  refuseEarly(refusal: RateRefusal): void {
    this.#refused('ING_RATE')
    this.send(rateReply(this.format, refusal))
  }

  #refused(code: ErrorCode, detail?: string): void {
    const { organization, bodyBytes } = this
    this.#tally.refused(code)
    if (organization === '') return
    this.#traffic.rejects.note(organization, { endpoint: this.#tally.name, code, detail, bodyBytes })
  }

  send(reply: Reply): void {
    if (this.done) return
    const res = this.#res
    const closes = this.closes || this.#traffic.draining
    res.cork(() => {
      if (reply.status !== 200) res.writeStatus(statusLine(reply.status))
      res.writeHeader('content-type', reply.contentType)
      for (const [name, value] of reply.headers) res.writeHeader(name, value)
      if (this.bodyless) endHead(res, Buffer.byteLength(reply.body), closes)
      else res.end(reply.body, closes)
    })
    this.finish(reply.status)
  }

  /** Marks the request as answered with `status`, 0 = aborted. */
  finish(status: number): void {
    if (this.done) return
    this.done = true
    // Not by name: a look-up by one of two names is a search.
    if (this.#kind === 'own') this.#traffic.own--
    else this.#traffic.forwarded--
    this.#tally.answered(status, this.bodyBytes)
    this.onEnd?.()
  }
}
