// A request for the query node -> the query node and its answer back. Its body is collected before a connection is taken, its framing is
// written anew by the HTTP client, and the answer is streamed with backpressure. Knows no socket: the server hands it a Downstream.
import { Pool } from 'undici'
import type { Collecting, Room } from '#ingest/collecting.ts'
import { createCollecting } from '#ingest/collecting.ts'
import type { BodyTaker } from '#ingest/exchange.ts'
import type { Asked, HeaderPairs } from '#ingest/head.ts'
import { ALLOWED, readHead } from '#ingest/head.ts'
import type { ShareLimits, Shares } from '#ingest/shares.ts'
import { createShares } from '#ingest/shares.ts'
import type { ErrorCode } from '#proto/errors.ts'
import { corsHeaders } from '#runtime/cors.ts'
import type { Log } from '#runtime/log.ts'

/** Of a body that comes without a credential: to sign in takes a few hundred bytes. */
const OPEN_BODY_BYTES = 16 * 1024
/** Where a body without a credential means something. */
const OPEN_PATHS = '/auth/'
/** Of answers: those with a body are sent in chunks whatever their length, and the server writes its own date. */
const OF_THE_HOP: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-connection', 'te', 'trailer', 'transfer-encoding'],
  ...['upgrade', 'date'],
])
/** What the HTTP client says of a request that it will not write. */
const UNSENDABLE: ReadonlySet<string> = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])

/** A client's request and the way back to it. */
export interface Downstream extends Asked {
  /** Body chunks; each is valid during the call only. The last comes exactly once unless the client goes away. */
  onBody(taker: BodyTaker): void
  onAborted(listener: () => void): void
  /** Status line and headers; `bodyless` ends the answer with them. */
  head(status: string, headers: HeaderPairs, bodyless: boolean): void
  /** False when the client is slow: wait for `onWritable`. */
  write(chunk: Uint8Array): boolean
  onWritable(listener: () => void): void
  end(): void
  /** Ends the connection without ending the answer: the client sees that it is cut. */
  cut(): void
  /** An answer of the receiver's own; `closes` ends the connection with it. */
  refuse(code: ErrorCode, more: { detail?: string; headers: HeaderPairs; closes: boolean }): void
}

export interface Forward {
  forward(downstream: Downstream): void
  /** What is under way, for metrics. */
  readonly open: () => number
  readonly collected: () => number
  close(): void
}

/** Where to, for whom, and how much at a time. */
export interface ForwardOptions {
  readonly queryUrl: string
  /** Of request bodies. */
  readonly maxBodyBytes: number
  readonly limits: ShareLimits
  /** Of all bodies that are held for the query node. */
  readonly maxBytes: number
  /** Whose an API key is; undefined = nobody's. */
  readonly organizationOfKey: (key: string) => string | undefined
  /** Pages of these may read what the receiver itself answers, as they may read the query node's answers. */
  readonly corsOrigins: readonly string[]
  readonly log: Log
}

/** What a request needs on its way. */
interface Way {
  readonly pool: Pool
  readonly shares: Shares
  readonly collecting: Collecting
  readonly origins: ReadonlySet<string>
  readonly options: ForwardOptions
}

/** Forwards to the query node. */
export function createForward(options: ForwardOptions): Forward {
  const { limits, maxBytes } = options
  const way: Way = {
    // A connection carries one request at a time, so that an answer can only belong to it. No timeouts: the query node limits its own
    // questions, and a stream of events goes on for hours.
    pool: new Pool(new URL(options.queryUrl).origin, {
      ...{ connections: limits.all, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 },
    }),
    shares: createShares(limits),
    collecting: createCollecting(maxBytes),
    origins: new Set(options.corsOrigins),
    options,
  }
  return {
    forward: down => {
      const head = readHead(down)
      if (!head.ok) {
        const { code, detail, doubtful } = head
        const headers: HeaderPairs = code === 'REQ_METHOD_UNKNOWN' ? [['Allow', ALLOWED]] : []
        return down.refuse(code, { detail, headers, closes: doubtful })
      }
      const credential = credentialOf(down.headers)
      const passage = new Passage(way, down, head.headers, shareOf(credential, down.remoteAddress, options))
      // What nobody has vouched for goes on without its body: the query node refuses it by its head.
      const isOpen = down.target.startsWith(OPEN_PATHS)
      if (head.length === null || head.length === 0 || (credential === null && !isOpen)) return passage.send(null)
      const most = credential === null ? OPEN_BODY_BYTES : options.maxBodyBytes
      if (head.length > most) return passage.refuse('REQ_BODY_TOO_LARGE', `at most ${most} bytes`)
      passage.collect(most)
    },
    open: way.shares.open,
    collected: way.collecting.used,
    close: () => void way.pool.destroy().catch(() => {}),
  }
}

/** A credential as it was sent; null = none that could be one. */
interface Credential {
  readonly kind: 'key' | 'token'
  readonly text: string
}

function credentialOf(headers: HeaderPairs): Credential | null {
  let key = ''
  for (const [name, value] of headers) {
    // A token goes before a key, as the query node has it.
    if (name === 'authorization' && value !== '') return { kind: 'token', text: value }
    if (name === 'x-api-key') key = value
  }
  return key === '' ? null : { kind: 'key', text: key }
}

/**
 * Whose share a request takes from beside its address's: that of a token, or of the organization of a key. Of an address that shows neither
 * all requests share one, so that they leave room for those of its neighbours behind the same proxy.
 */
function shareOf(credential: Credential | null, address: string, { organizationOfKey }: ForwardOptions): string {
  if (credential?.kind === 'token') return `token ${credential.text}`
  const organization = credential === null ? undefined : organizationOfKey(credential.text)
  return organization === undefined ? `nobody ${address}` : `organization ${organization}`
}

/** One request on its way: collected, sent, answered. Is itself what the HTTP client tells of the answer. */
class Passage {
  readonly #way: Way
  readonly #down: Downstream
  readonly #headers: string[]
  readonly #share: string
  #room: Room | null = null
  /** The share is taken. */
  #entered = false
  /** The client has its answer, or went away. */
  #over = false
  #answering = false
  #abort: (() => void) | null = null

  constructor(way: Way, down: Downstream, headers: string[], share: string) {
    this.#way = way
    this.#down = down
    this.#headers = headers
    this.#share = share
    down.onAborted(() => {
      this.#over = true
      // What has not been sent has nobody else to end it.
      if (this.#entered) this.#abort?.()
      else this.#leave()
    })
  }

  /** An answer of the receiver's own. */
  refuse(code: ErrorCode, detail?: string): void {
    if (this.#over) return
    this.#over = true
    const { target, headers } = this.#down
    const origin = headers.find(([name]) => name === 'origin')?.[1]
    const cors = corsHeaders(this.#way.origins, target, origin)
    this.#down.refuse(code, { ...(detail === undefined ? {} : { detail }), headers: cors, closes: false })
  }

  /** Collects the body, at most `most` bytes of it, then sends all. */
  collect(most: number): void {
    const chunks: Buffer[] = []
    const giveWay = (): void => {
      chunks.length = 0
      this.#leave()
      this.refuse('REQ_CROWDED')
    }
    const room = this.#way.collecting.begin(this.#down.remoteAddress, giveWay)
    if (room === null) return this.refuse('REQ_CROWDED')
    this.#room = room
    let length = 0
    this.#down.onBody({
      push: (chunk, last) => {
        if (this.#over) return
        length += chunk.byteLength
        if (length > most) {
          chunks.length = 0
          this.#leave()
          return this.refuse('REQ_BODY_TOO_LARGE', `at most ${most} bytes`)
        }
        if (!room.take(chunk.byteLength)) return giveWay()
        // The chunk dies with this call: copy.
        if (chunk.byteLength > 0) chunks.push(Buffer.from(chunk.slice(0)))
        if (last) this.send(Buffer.concat(chunks))
      },
    })
  }

  /** Sends the request with all of its body. */
  send(body: Buffer | null): void {
    const { pool, shares } = this.#way
    const { method, target, remoteAddress } = this.#down
    this.#room?.whole()
    const refusal = shares.enter(remoteAddress, this.#share)
    if (refusal !== null) {
      this.#leave()
      return this.refuse(refusal)
    }
    this.#entered = true
    pool.dispatch({ method: method as 'GET', path: target, headers: this.#headers, body }, this)
  }

  onConnect(abort: () => void): void {
    this.#abort = abort
    if (this.#over) abort()
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void, statusText: string): boolean {
    if (status < 200 || this.#over) return true
    const { method } = this.#down
    const bodyless = method === 'HEAD' || status === 204 || status === 304
    const headers = answerHeaders(raw, bodyless)
    this.#answering = true
    this.#over = bodyless
    this.#down.head(`${status} ${statusText}`, headers, bodyless)
    if (!bodyless) this.#down.onWritable(resume)
    return true
  }

  onData(chunk: Buffer): boolean {
    return this.#over || this.#down.write(chunk)
  }

  onComplete(): void {
    this.#leave()
    if (this.#over) return
    this.#over = true
    this.#down.end()
  }

  onError(error: Error & { code?: string }): void {
    this.#leave()
    if (this.#over) return
    // The query node went away in the middle: the client must not take half an answer for a whole one.
    if (this.#answering) {
      this.#over = true
      return this.#down.cut()
    }
    if (UNSENDABLE.has(error.code ?? '')) return this.refuse('REQ_HEAD_INVALID')
    this.#way.options.log.warn({ err: error }, 'the query node does not answer')
    this.refuse('QRY_UNREACHABLE')
  }

  /** Gives back what the request held. */
  #leave(): void {
    this.#room?.free()
    this.#room = null
    if (!this.#entered) return
    this.#entered = false
    this.#way.shares.leave(this.#down.remoteAddress, this.#share)
  }
}

function answerHeaders(raw: readonly Buffer[], keepLength: boolean): [string, string][] {
  const headers: [string, string][] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = String(raw[i])
    const lower = name.toLowerCase()
    if (OF_THE_HOP.has(lower) || (lower === 'content-length' && !keepLength)) continue
    headers.push([name, String(raw[i + 1])])
  }
  return headers
}
