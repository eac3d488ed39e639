// HTTP of the query node: the only file that knows Fastify. Routes -> runs, errors -> {error}, and an end without cut answers.
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import fastify from 'fastify'
import type { ErrorCode } from '#proto/errors.ts'
import { errors, isParleyError, ParleyError } from '#proto/errors.ts'
import { corsHeaders } from '#runtime/cors.ts'
import { cannotListen } from '#runtime/listening.ts'
import type { Log } from '#runtime/log.ts'
import type { Endpoint, Run } from './endpoint.ts'
import { homePage } from './home.ts'
import { openApi } from './openapi.ts'
import { Piped, Reply } from './reply.ts'

/** What the server is built from. */
export interface ServerOptions {
  readonly routes: readonly Endpoint[]
  readonly bind: (endpoint: Endpoint) => Run
  /** Reasons why the node cannot work right now; empty = ready. */
  readonly notReady: () => Promise<readonly string[]>
  readonly maxBodyBytes: number
  /** Origins whose pages may call the dashboard API; none where left out. */
  readonly corsOrigins?: readonly string[]
  readonly log: Log
}

/** A listening server. */
export interface Server {
  readonly port: number
  /** Takes no new requests, lets running ones finish for a while, then cancels them. */
  close(): Promise<void>
}

/** How long running requests may go on after the stop was asked for. */
const DRAIN_MS = 4_000
/** How long a request may take to come, of which its head: a sender that is slower is told so, and its connection ends. */
const REQUEST_MS = 30_000
const HEAD_MS = 10_000
const SLOW_POLL_MS = 2_000
/** When to come back, where the limit does not say. */
const RETRY_AFTER_S = 10
/** Ids of end users are what senders make of them. */
const PARAM_MAX_CHARS = 2_048
const METHODS: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** Ids from a proxy in front are kept when they are harmless in a log. */
const REQUEST_ID = /^[\w.:-]{1,100}$/

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
} as const

/**
 * Starts listening.
 * @throws ParleyError RUN_PORT_IN_USE, or CFG_INVALID when the host is none of this machine.
 */
export async function startServer(options: ServerOptions, host: string, port: number): Promise<Server> {
  // One controller a request, listed here: a signal that lived as long as the process would hold on to every request.
  const running: Running = { requests: new Set(), onEnd: () => {} }
  const app = build(options, running)
  try {
    await app.listen({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    throw cannotListen(code, { host, port, hostVariable: 'PARLEY_QUERY_HOST', portVariable: 'PARLEY_QUERY_PORT' })
  }
  return {
    port: (app.server.address() as AddressInfo).port,
    close: async () => {
      // A stream may go on for hours; whoever reads it comes back and says where it stood.
      for (const request of running.requests) if (request.streams) request.controller.abort()
      const drained = setTimeout(() => {
        for (const request of running.requests) request.controller.abort()
      }, DRAIN_MS)
      // An answer that began before the stop has promised to keep its connection: it is idle from then on, and nobody else would end it.
      running.onEnd = () => void setImmediate(() => app.server.closeIdleConnections())
      await app.close()
      clearTimeout(drained)
    },
  }
}

/** Requests that are being answered, and who wants to know when one of them was. */
interface Running {
  readonly requests: Set<{ readonly controller: AbortController; readonly streams: boolean }>
  onEnd: () => void
}

function build(options: ServerOptions, running: Running): FastifyInstance {
  const app = fastify({
    requestTimeout: REQUEST_MS,
    http: { headersTimeout: HEAD_MS, connectionsCheckingInterval: SLOW_POLL_MS },
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: PARAM_MAX_CHARS },
    requestIdHeader: false,
    genReqId: request => {
      const given = request.headers['x-request-id']
      return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
    },
    frameworkErrors: (error, request, reply) => void answerError(options.log, error, request, reply),
    clientErrorHandler: (error, socket) => {
      const code = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'REQ_TIMEOUT' : 'REQ_HEAD_INVALID'
      if (socket.writable) socket.end(rawError(code))
    },
  })
  // The runner reads and parses: after the credential was checked, and whatever the content type says.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id })
  })
  allowOrigins(app, new Set(options.corsOrigins))
  app.setErrorHandler((error: FastifyError, request, reply) => answerError(options.log, error, request, reply))
  app.setNotFoundHandler((request, reply) =>
    answerError(options.log, new ParleyError('REQ_ROUTE_UNKNOWN'), request, reply),
  )
  // An expectation that nobody knows may be ignored (RFC 9110, 10.1.1); answered by Node it would be an answer without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  addRoutes(app, options, running)
  return app
}

/** Lets pages of other origins read answers of the dashboard API. */
function allowOrigins(app: FastifyInstance, origins: ReadonlySet<string>): void {
  if (origins.size === 0) return
  app.addHook('onRequest', async (request, reply) => {
    const headers = Object.fromEntries(corsHeaders(origins, request.url, request.headers.origin))
    reply.headers(headers)
    if (headers['access-control-allow-origin'] === undefined) return
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return
    return reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'GET, POST, PUT, DELETE',
        'access-control-allow-headers': 'authorization, content-type, last-event-id, x-api-key, x-org-id',
        'access-control-max-age': '600',
      })
      .send()
  })
}

function addRoutes(app: FastifyInstance, options: ServerOptions, running: Running): void {
  const methodsOf = new Map<string, HTTPMethods[]>()
  const withHead = new Set<string>()
  const add = (
    method: HTTPMethods,
    url: string,
    handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
    exposeHeadRoute = true,
  ): void => {
    methodsOf.set(url, [...(methodsOf.get(url) ?? []), method])
    if (method === 'GET' && exposeHeadRoute) withHead.add(url)
    app.route({ method, url, handler, exposeHeadRoute })
  }
  for (const endpoint of options.routes) {
    const run = options.bind(endpoint)
    const url = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1')
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const signal = track(reply, running, endpoint.produces !== undefined)
      const { id, headers, query } = request
      const body = () => readBody(request, options.maxBodyBytes)
      const params = request.params as Record<string, string>
      const answer = await run({ id, headers, address: addressOf(request), body, query, params, signal })
      if (answer instanceof Reply) return sendReply(reply, answer)
      if (answer instanceof Piped) return sendPiped(reply, answer)
      reply.code(endpoint.status ?? 200).header('cache-control', 'no-store')
      if (endpoint.status === 204) return reply.send()
      if (endpoint.produces !== undefined) {
        return sendChunks(reply, answer as AsyncIterable<string>, endpoint.produces)
      }
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer))
    }
    // Whoever looks before the download must not use up its address.
    add(endpoint.method, url, handler, endpoint.auth !== 'address')
  }
  const document = JSON.stringify(openApi(options.routes))
  add('GET', '/openapi.json', async (_request, reply) => reply.type('application/json; charset=utf-8').send(document))
  add('GET', '/', async (_request, reply) => reply.type('text/html; charset=utf-8').send(homePage))
  add('GET', '/healthz', async (_request, reply) => reply.type('text/plain; charset=utf-8').send('ok'))
  add('GET', '/readyz', async (_request, reply) => {
    const reasons = await options.notReady()
    return reply.code(reasons.length === 0 ? 200 : 503).send({ ready: reasons.length === 0, reasons })
  })
  for (const [url, known] of methodsOf) {
    const allow = known.join(', ')
    const others = METHODS.filter(method => !known.includes(method) && !(method === 'HEAD' && withHead.has(url)))
    app.route({
      method: others,
      url,
      handler: async (_request, reply) => {
        reply.header('allow', allow)
        throw new ParleyError('REQ_METHOD_UNKNOWN', `use ${allow}`)
      },
    })
  }
}

/**
 * The body of a request, read now.
 * @throws ParleyError REQ_BODY_TOO_LARGE, or QRY_CANCELLED where its sender went away.
 */
async function readBody({ body, headers }: FastifyRequest, maxBytes: number): Promise<Uint8Array> {
  if (!(body instanceof Readable)) return new Uint8Array(0)
  const detail = `at most ${maxBytes} bytes`
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw new ParleyError('REQ_BODY_TOO_LARGE', detail)
  const chunks: Buffer[] = []
  let length = 0
  try {
    // Ended by hand, the body would take the connection with it, and with that the answer.
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maxBytes) break
      chunks.push(chunk)
    }
  } catch (cause) {
    throw new ParleyError('QRY_CANCELLED', undefined, { cause })
  }
  if (length > maxBytes) {
    body.resume()
    throw new ParleyError('REQ_BODY_TOO_LARGE', detail)
  }
  return Buffer.concat(chunks)
}

/** Receivers append the address that they see: the last one is not the client's own invention. */
function addressOf(request: FastifyRequest): string {
  const forwarded = request.headers['x-forwarded-for']
  return (forwarded === undefined ? undefined : String(forwarded).split(',').at(-1)?.trim()) || request.ip
}

function sendReply(reply: FastifyReply, { status, headers, body }: Reply): FastifyReply {
  reply.code(status).header('cache-control', 'no-store')
  for (const [name, value] of Object.entries(headers)) reply.header(name, value)
  if (body === null) return reply.send()
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(body))
}

/** Whoever goes away ends the stream, and one that breaks off cuts the connection. */
function sendPiped(reply: FastifyReply, { status, headers, stream }: Piped): FastifyReply {
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', ...headers })
    .send(stream)
}

/**
 * Answers with a stream. Its first chunk is awaited, so that what fails at once is an error answer; what fails later cuts the
 * connection, since a whole answer must not be told from a torn one by its length.
 */
async function sendChunks(reply: FastifyReply, chunks: AsyncIterable<string>, type: string): Promise<FastifyReply> {
  const iterator = chunks[Symbol.asyncIterator]()
  const first = await iterator.next()
  async function* all(): AsyncGenerator<string> {
    try {
      for (let next = first; next.done !== true; next = await iterator.next()) yield next.value
    } finally {
      await iterator.return?.()
    }
  }
  if (type === 'text/csv') reply.header('content-disposition', 'attachment; filename="export.csv"')
  // One chunk ahead is enough: a chunk may be megabytes.
  return reply.type(`${type}; charset=utf-8`).send(Readable.from(all(), { objectMode: true, highWaterMark: 1 }))
}

/** Lists a request until it is answered; its signal aborts when the connection closes before that, when its stream is over, or when the node stops. */
function track(reply: FastifyReply, running: Running, streams: boolean): AbortSignal {
  const controller = new AbortController()
  const request = { controller, streams }
  running.requests.add(request)
  reply.raw.once('close', () => {
    running.requests.delete(request)
    // The answer to a HEAD is finished while its stream goes on, which nobody reads.
    if (streams || !reply.raw.writableFinished) controller.abort()
    running.onEnd()
  })
  return controller.signal
}

/** The one shape of every error answer. What the table does not know is logged and told as an internal error. */
function answerError(log: Log, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = isParleyError(error) ? error : fromFramework(error)
  // Nobody is left to read it.
  if (known.code === 'QRY_CANCELLED') return reply.code(499).send()
  // No query: a code of an identity provider stands there. Nor an address that is signed.
  const path = request.url.split('?', 1)[0]?.replace(/\/eyJ[\w.-]+$/, '/…')
  if (known.status >= 500) {
    // An engine or a provider that is away is nothing lost; what nobody foresaw may be.
    const level = known.code === 'INTERNAL' || known.code === 'BUG' ? 'error' : 'warn'
    log[level]({ err: error, request: request.id, path }, 'a request failed')
  }
  if (known.status === 429) {
    reply.header('retry-after', String(known.afterS ?? RETRY_AFTER_S))
  }
  if (known.status === 401) reply.header('www-authenticate', 'Bearer')
  // The detail of a 5xx is for the log.
  const text = known.status >= 500 ? errors[known.code].text : known.message
  return reply
    .code(known.status || 500)
    .headers({ ...SECURITY_HEADERS, 'x-request-id': request.id, 'cache-control': 'no-store' })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(errorBody(known, text, request.id)))
}

/** `error` is the contract's; the others are for programs: the code of docs/errors.md, the field at fault, the id in the log. */
function errorBody(error: ParleyError, text: string, request_id: string): object {
  return { error: text, code: error.code, ...(error.field === undefined ? {} : { field: error.field }), request_id }
}

function fromFramework(error: unknown): ParleyError {
  const { code, statusCode } = error as FastifyError
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new ParleyError('REQ_TYPE_UNSUPPORTED')
  if (code === 'FST_ERR_BAD_URL') return new ParleyError('REQ_ROUTE_UNKNOWN')
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new ParleyError('REQ_BODY_INVALID', undefined, { cause: error })
  }
  return new ParleyError('INTERNAL', undefined, { cause: error })
}

/** An answer to bytes that are no HTTP request; there is no reply object then. */
function rawError(code: ErrorCode): string {
  const body = JSON.stringify({ error: errors[code].text, code })
  return [
    `HTTP/1.1 ${errors[code].status} ${STATUS_CODES[errors[code].status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
