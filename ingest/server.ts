// The sockets: the only file that knows uWebSockets.js. Finds the route, names the organization, collects the body and has it judged;
// exchange.ts answers.

import type { HttpRequest, HttpResponse, us_listen_socket } from 'uWebSockets.js'
import uWS from 'uWebSockets.js'
import type { Authenticate, CheckWriteKey } from '#ingest/auth.ts'
import type { Body, Collector, Compression, Packing } from '#ingest/body.ts'
import { borrowBody, createCollector, encodingOf, MAX_RATIO } from '#ingest/body.ts'
import type { Budget } from '#ingest/budget.ts'
import { ForwardedRequest } from '#ingest/downstream.ts'
import { drain } from '#ingest/drain.ts'
import type { BodyTaker, Traffic } from '#ingest/exchange.ts'
import { Exchange } from '#ingest/exchange.ts'
import type { Forward } from '#ingest/forward.ts'
import type { Intake } from '#ingest/intake.ts'
import type { EndpointMeter, Meter } from '#ingest/meter.ts'
import type { Rates } from '#ingest/rates.ts'
import type { Rejects } from '#ingest/rejects.ts'
import type { Format, Reply } from '#ingest/reply.ts'
import { errorReply, exportReply, jsonReply, textReply } from '#ingest/reply.ts'
import type { ForgottenRoute, IngestRoute } from '#ingest/routes.ts'
import { bareExportOf, routeOf, routes } from '#ingest/routes.ts'
import { createTurnClock } from '#ingest/turn-clock.ts'
import type { Organization, RequestContext } from '#ingest/verdict.ts'
import { ParleyError } from '#proto/errors.ts'
import type { IdPolicy } from '#proto/sdk/fields.ts'

/** Label of everything that is not the receiver's own. */
const FORWARDED = 'other'

export interface ServerOptions {
  readonly authenticate: Authenticate
  readonly checkWriteKey: CheckWriteKey
  readonly budget: Budget
  readonly compression: Compression
  readonly intake: Intake
  /** Takes the paths that are not the receiver's; null = they are not found. */
  readonly forward: Forward | null
  /** null = no limits. */
  readonly rates: Rates | null
  readonly notReady: () => readonly string[]
  readonly ids: IdPolicy
  readonly maxBodyBytes: number
  readonly meter: Meter
  readonly rejects: Pick<Rejects, 'note'>
}

export interface Server {
  /** Listens; returns the port. Other processes may listen on the same one. */
  listen(host: string, port: number): number
  /**
   * Stops listening and waits for the answers under way, at most `timeoutMs`; each closes its connection. Forwarded answers get a
   * second of it: a stream of events would never end by itself.
   */
  drain(timeoutMs: number): Promise<void>
  /** Closes every connection. */
  close(): void
}

/** A server that does not listen yet. */
export function createServer(options: ServerOptions): Server {
  const app = uWS.App()
  const sockets: us_listen_socket[] = []
  const traffic: Traffic = { own: 0, forwarded: 0, begun: 0, draining: false, latest: null, rejects: options.rejects }
  const state: ServerState = { options, traffic, clock: createTurnClock() }
  for (const [path, route] of routes) {
    // The usual spelling of the paths that matter is found by the server itself.
    if (route.kind !== 'ingest') continue
    const tally = options.meter.endpoint(route.name)
    app.post(
      path,
      guarded(state, (res, req) => ingest(state, res, req, route, tally)),
    )
  }
  app.any(
    '/*',
    guarded(state, (res, req) => handle(state, res, req)),
  )
  return {
    listen: (host, port) => {
      let bound = 0
      // The callback comes before `listen` returns.
      app.listen(host, port, socket => {
        if (socket === false) return
        sockets.push(socket)
        bound = uWS.us_socket_local_port(socket)
      })
      if (bound === 0)
        throw new ParleyError(
          'RUN_PORT_IN_USE',
          `${host}:${port} cannot be listened on; see PARLEY_HOST, PARLEY_PORT and PARLEY_OTLP_PORT`,
        )
      return bound
    },
    drain: timeoutMs => {
      for (const socket of sockets.splice(0)) uWS.us_listen_socket_close(socket)
      return drain(traffic, timeoutMs)
    },
    close: () => void app.close(),
  }
}

interface ServerState {
  readonly options: ServerOptions
  readonly traffic: Traffic
  /** Milliseconds of the day's time. */
  readonly clock: () => number
}

type Handler = (res: HttpResponse, req: HttpRequest) => void

/** A handler of requests that ends no process, whatever comes in: what it throws is counted and answered. */
function guarded({ options, traffic }: ServerState, handler: Handler): Handler {
  return (res, req) => {
    try {
      handler(res, req)
    } catch (error) {
      // Thrown before there was an exchange, the server would end the process for an answer that nobody gives.
      const exchange = traffic.latest?.isOf(res)
        ? traffic.latest
        : new Exchange(traffic, 'own', res, options.meter.endpoint(FORWARDED), 'rest')
      exchange.fail(error)
    }
  }
}

/** Everything but a POST to a path that takes payloads in its usual spelling. */
function handle(state: ServerState, res: HttpResponse, req: HttpRequest): void {
  const path = req.getUrl()
  const route = routeOf(path) ?? bareExportOf(path, () => isExport(req))
  if (route === undefined) return handleOther(state, res, req)
  // As it came: the other way to ask makes lower case of it for all who ask later.
  const method = req.getCaseSensitiveMethod()
  const tally = state.options.meter.endpoint(route.name)
  if (route.kind === 'ingest' && method === 'POST') return ingest(state, res, req, route, tally)
  const format = route.protocol === 'rest' ? 'rest' : formatOf(otlpContentOf(req.getHeader('content-type')))
  const exchange = new Exchange(state.traffic, 'own', res, tally, format)
  exchange.bodyless = method === 'HEAD'
  switch (route.kind) {
    case 'forgotten':
      if (method === 'POST') return forget(state, exchange, req, route)
      return exchange.send(errorReply(format, 'REQ_METHOD_UNKNOWN', undefined, 'POST'))
    case 'ingest':
      return exchange.send(errorReply(format, 'REQ_METHOD_UNKNOWN', undefined, 'POST'))
    case 'signal':
      return exchange.refuse('ING_OTLP_SIGNAL')
    default:
      if (method !== 'GET' && method !== 'HEAD') {
        return exchange.send(errorReply('rest', 'REQ_METHOD_UNKNOWN', undefined, 'GET, HEAD'))
      }
      if (route.kind === 'health') return exchange.send(textReply('ok'))
      return exchange.send(readiness(state.options.notReady()))
  }
}

/** True for what only exporters send: it names the organization as they do, or is protobuf. */
function isExport(req: HttpRequest): boolean {
  if (req.getCaseSensitiveMethod() !== 'POST') return false
  return req.getHeader('x-service-org-id') !== '' || otlpContentOf(req.getHeader('content-type')) === 'protobuf'
}

function handleOther(state: ServerState, res: HttpResponse, req: HttpRequest): void {
  const { forward, meter } = state.options
  const exchange = new Exchange(state.traffic, 'forwarded', res, meter.endpoint(FORWARDED), 'rest')
  exchange.bodyless = req.getCaseSensitiveMethod() === 'HEAD'
  if (forward === null) return exchange.refuse('REQ_ROUTE_UNKNOWN')
  forward.forward(new ForwardedRequest(exchange, res, req))
}

function readiness(reasons: readonly string[]): Reply {
  return jsonReply(reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons })
}

type OtlpContent = 'json' | 'protobuf'

/** The encoding in which OTLP callers read answers: that of their request. */
function formatOf(content: OtlpContent | null): Format {
  return content === 'protobuf' ? 'otlp-protobuf' : 'otlp-json'
}

/** What an OTLP body is, by its content type; null = a type that is not taken. No type at all means JSON. */
function otlpContentOf(header: string): OtlpContent | null {
  const type = header.split(';', 1)[0]?.trim().toLowerCase()
  if (type === 'application/x-protobuf' || type === 'application/protobuf') return 'protobuf'
  return type === '' || type === 'application/json' ? 'json' : null
}

/** Checks what the headers tell, in the order 401, 429, content type, content encoding; then takes the body. */
function ingest(
  state: ServerState,
  res: HttpResponse,
  req: HttpRequest,
  route: IngestRoute,
  tally: EndpointMeter,
): void {
  const isRest = route.protocol === 'rest'
  const content = isRest ? 'json' : otlpContentOf(req.getHeader('content-type'))
  const exchange = new Exchange(state.traffic, 'own', res, tally, isRest ? 'rest' : formatOf(content))
  const organization = admit(state.options, exchange, req, route)
  if (organization === null) return
  if (content === null) return exchange.refuse('REQ_TYPE_UNSUPPORTED', OTLP_TYPES)
  const encoding = encodingOf(req.getHeader('content-encoding'))
  if (encoding === null) return exchange.refuse('REQ_ENCODING_UNSUPPORTED', 'use gzip, deflate or none')
  exchange.onBody(new Upload(state, exchange, route, organization, content, encoding === 'identity' ? null : encoding))
}

const OTLP_TYPES = 'use application/json or application/x-protobuf'

/** The organization of a sender that may send now; null = it was refused. */
function admit(
  { authenticate, checkWriteKey, rates }: ServerOptions,
  exchange: Exchange,
  req: HttpRequest,
  route: IngestRoute | ForgottenRoute,
): Organization | null {
  const organization = authenticate(req.getHeader(route.organizationHeader))
  if (typeof organization === 'string') {
    exchange.refuse(route.authCodes[organization])
    return null
  }
  exchange.organization = organization.id
  if (organization.needsKey === true) {
    const refusal = checkWriteKey(organization.id, req.getHeader('x-api-key'), req.getHeader('authorization'))
    if (refusal !== null) {
      exchange.refuse(refusal)
      return null
    }
  }
  const early = rates?.request(organization.id) ?? null
  if (early === null) return organization
  exchange.refuseEarly(early)
  return null
}

/** Accepts an export of a signal that is not kept: its sender is who it says, its body is read and dropped. */
function forget({ options }: ServerState, exchange: Exchange, req: HttpRequest, route: ForgottenRoute): void {
  const organization = admit(options, exchange, req, route)
  if (organization === null) return
  const content = otlpContentOf(req.getHeader('content-type'))
  if (content === null) return exchange.refuse('REQ_TYPE_UNSUPPORTED', OTLP_TYPES)
  exchange.onBody({
    push: (chunk, last) => {
      if (exchange.done) return
      exchange.bodyBytes += chunk.byteLength
      if (exchange.bodyBytes > options.maxBodyBytes) {
        exchange.closes = true
        return exchange.refuse('REQ_BODY_TOO_LARGE', limitOf(options))
      }
      if (!last) return
      options.rates?.body(organization.id, exchange.bodyBytes)
      options.meter.ignored(route.name)
      exchange.send(exportReply(exchange.format, content))
    },
  })
}

/**
 * The body of a request: judged in the socket's own buffer when it came in one piece, else collected. Is itself what a surface knows of
 * the request: an object less to make.
 */
class Upload implements RequestContext, BodyTaker {
  readonly organization: Organization
  readonly content: OtlpContent
  receivedAtMs = 0
  readonly ids: IdPolicy
  readonly #state: ServerState
  readonly #exchange: Exchange
  readonly #route: IngestRoute
  readonly #packing: Packing | null
  #collector: Collector | null = null

  constructor(
    state: ServerState,
    exchange: Exchange,
    route: IngestRoute,
    organization: Organization,
    content: OtlpContent,
    packing: Packing | null,
  ) {
    this.#state = state
    this.ids = state.options.ids
    this.#exchange = exchange
    this.#route = route
    this.organization = organization
    this.content = content
    this.#packing = packing
  }

  push(chunk: ArrayBuffer, last: boolean): void {
    const exchange = this.#exchange
    if (exchange.done) return
    const { budget, maxBodyBytes } = this.#state.options
    exchange.bodyBytes += chunk.byteLength
    if (this.#collector === null) {
      if (last && chunk.byteLength <= maxBodyBytes) return this.#whole(borrowBody(budget, chunk))
      const collector = createCollector(budget, maxBodyBytes)
      this.#collector = collector
      exchange.onEnd = collector.drop
    }
    const collected = this.#collector.push(chunk)
    if (collected === 'cut') exchange.closes = true
    if (!last && collected !== 'cut') return
    const refusal = this.#collector.refusal()
    if (refusal === null) return this.#whole(this.#collector.finish())
    exchange.refuse(refusal, refusal === 'REQ_BODY_TOO_LARGE' ? limitOf(this.#state.options) : undefined)
  }

  #whole(body: Body): void {
    this.#state.options.rates?.body(this.organization.id, this.#exchange.bodyBytes)
    if (this.#packing === null) this.#judge(body)
    else this.#inflate(body, this.#packing)
  }

  #inflate(body: Body, packing: Packing): void {
    const exchange = this.#exchange
    const { compression } = this.#state.options
    if (!body.keep()) return exchange.refuse('ING_FULL')
    compression
      .inflate(body, packing)
      .then(inflated => {
        if (inflated.ok) return this.#judge(inflated.body)
        const detail = `${limitOf(this.#state.options)}, ${MAX_RATIO}:1 at most`
        exchange.refuse(inflated.code, inflated.code === 'REQ_BODY_TOO_LARGE' ? detail : undefined)
      })
      .catch((error: unknown) => exchange.fail(error))
  }

  #judge(body: Body): void {
    const exchange = this.#exchange
    const { intake } = this.#state.options
    if (exchange.done) return body.release()
    this.receivedAtMs = this.#state.clock()
    try {
      intake.take(body, this, this.#route, exchange)
    } catch (error) {
      // Bad bodies are refused by value: whatever is thrown is a fault of ours.
      body.release()
      exchange.fail(error)
    }
  }
}

function limitOf({ maxBodyBytes }: ServerOptions): string {
  return `at most ${maxBodyBytes} bytes after decompression`
}
