// Calls to addresses that strangers have written: one fence for all of them. A URL comes in, a bounded stream goes out. Only http and
// https, and only hosts whose addresses are public: asked at the connection itself, which goes to the very address that was looked at,
// and again behind every redirect, so that a name that changes its mind in between leads nowhere.
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { pipeline, type Readable, Transform } from 'node:stream'
import { ParleyError } from '#proto/errors.ts'
import type { Metrics } from '#runtime/metrics.ts'

/** A call. */
export interface OutgoingCall {
  readonly headers?: Readonly<Record<string, string>>
  /** Ends the call and its stream. */
  readonly signal: AbortSignal
  /** Whose call it is: each has a share of those that run at once. */
  readonly of: string
  /** Bytes of an answer's body; it is cut behind them. */
  readonly maxBytes: number
}

/** What was answered. The body has to be read or destroyed. */
export interface OutgoingAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
  /** Where it came from in the end. */
  readonly url: URL
}

/** What calls. */
export interface Outgoing {
  /**
   * Follows redirects. @throws ParleyError OUT_FENCED for an address that may not be called, OUT_FAILED when there is no answer, OUT_RATE
   * when too many calls of one run.
   */
  get(url: string, call: OutgoingCall): Promise<OutgoingAnswer>
}

/** What it is built from. */
export interface OutgoingOptions {
  /** Hosts that may be called although their addresses are private: storage of one's own. */
  readonly privateHosts: readonly string[]
  readonly metrics: Metrics
  readonly limits?: Partial<typeof LIMITS>
}

const LIMITS = {
  /** Until the head of an answer is there, names and redirects included. */
  headMs: 10_000,
  /** Between two pieces of it; whoever reads slowly counts too. */
  idleMs: 60_000,
  redirects: 3,
  atOnce: 256,
  atOnceOfOne: 16,
}

/** IPv4 that is not the public internet, by IANA's registry of special purposes. */
const SPECIAL_V4 = `0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
  192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`
/** The part of IPv6 that is given out, and what in it stands for something else: tunnels that hold an IPv4 among them. */
const GIVEN_OUT_V6 = '2000::/3'
const SPECIAL_V6 = '2001::/23 2001:db8::/32 2002::/16 3fff::/20'

const listOf = (ranges: string, family: 'ipv4' | 'ipv6'): BlockList => {
  const list = new BlockList()
  for (const range of ranges.split(/\s+/)) {
    const [net = '', bits] = range.split('/')
    list.addSubnet(net, Number(bits), family)
  }
  return list
}
const specialV4 = listOf(SPECIAL_V4, 'ipv4')
const specialV6 = listOf(SPECIAL_V6, 'ipv6')
const givenOutV6 = listOf(GIVEN_OUT_V6, 'ipv6')

/** True for an address of the public internet. IPv4 within IPv6 (`::ffff:127.0.0.1`) is not one: names are asked for real addresses. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !specialV4.check(address, 'ipv4')
  return isIP(address) === 6 && givenOutV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6')
}

const fenced = (detail: string): ParleyError => new ParleyError('OUT_FENCED', detail)
const failed = (cause: unknown): ParleyError =>
  cause instanceof ParleyError ? cause : new ParleyError('OUT_FAILED', undefined, { cause })

/** Builds it. */
export function createOutgoing({ privateHosts, metrics, limits }: OutgoingOptions): Outgoing {
  const { headMs, idleMs, redirects, atOnce, atOnceOfOne } = { ...LIMITS, ...limits }
  const open = new Set(privateHosts.map(host => host.toLowerCase()))
  const total = metrics.counter('outgoing_calls_total', 'calls to addresses that somebody else wrote, by outcome', [
    'outcome',
  ])
  const running = new Map<string, number>()
  let all = 0

  const once = (url: URL, call: OutgoingCall, signal: AbortSignal): Promise<IncomingMessage> => {
    requireCallable(url, open)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, {
      headers: { 'user-agent': 'parley', 'accept-encoding': 'identity', ...call.headers },
      signal,
      // A connection of its own: none is taken over that was looked at for somebody else.
      agent: false,
      ...(isOpen(url, open) ? {} : { lookup: lookupPublic }),
    })
    request.once('response', resolve).once('error', error => reject(failed(error)))
    request.end()
    return promise
  }

  const answered = async (start: string, call: OutgoingCall): Promise<OutgoingAnswer> => {
    const head = new AbortController()
    const timer = setTimeout(() => head.abort(new Error(`no answer within ${headMs} ms`)), headMs)
    const signal = AbortSignal.any([call.signal, head.signal])
    try {
      let url = parsed(start)
      for (let left = redirects; ; left--) {
        const response = await once(url, call, signal)
        const { location } = response.headers
        const status = response.statusCode ?? 0
        if (status < 300 || status > 399 || status === 304 || location === undefined) {
          return { status, headers: response.headers, body: bounded(response, call.maxBytes, idleMs), url }
        }
        response.destroy()
        if (left === 0) throw failed(new Error(`more than ${redirects} redirects`))
        url = parsed(location, url)
      }
    } finally {
      clearTimeout(timer)
    }
  }

  const leave = (of: string): void => {
    all--
    const left = (running.get(of) ?? 1) - 1
    if (left === 0) running.delete(of)
    else running.set(of, left)
  }

  return {
    get: async (url, call) => {
      const mine = running.get(call.of) ?? 0
      if (mine >= atOnceOfOne || all >= atOnce) {
        total.inc({ outcome: 'refused' })
        throw new ParleyError('OUT_RATE')
      }
      all++
      running.set(call.of, mine + 1)
      try {
        const answer = await answered(url, call)
        answer.body.once('close', () => leave(call.of))
        total.inc({ outcome: 'answered' })
        return answer
      } catch (error) {
        leave(call.of)
        total.inc({ outcome: error instanceof ParleyError && error.code === 'OUT_FENCED' ? 'fenced' : 'failed' })
        throw failed(error)
      }
    },
  }
}

function parsed(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw fenced('it is no address')
  return new URL(text, base)
}

/** Without brackets and the dot at the end of a full name. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

const isOpen = (url: URL, open: ReadonlySet<string>): boolean => open.has(hostOf(url)) || open.has(url.host)

function requireCallable(url: URL, open: ReadonlySet<string>): void {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw fenced('only http and https are called')
  if (url.username !== '' || url.password !== '') throw fenced('an address must not hold a password')
  const host = hostOf(url)
  // Numbers are not looked up: the URL's own spelling of them is the plain one.
  if (isIP(host) !== 0 && !isPublicAddress(host) && !isOpen(url, open)) throw fenced('the address is not public')
}

/** Names to addresses, at the connection: those that are not public are as if they were not there. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, [])
    const seen = addresses.filter(({ address }) => isPublicAddress(address))
    const [first] = seen as [LookupAddress?]
    if (first === undefined) return callback(fenced('the host has no public address'), [])
    return options.all ? callback(null, seen) : callback(null, first.address, first.family)
  })
}

/** The body up to so many bytes; silence ends it. */
function bounded(response: IncomingMessage, maxBytes: number, idleMs: number): Readable {
  let bytes = 0
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > maxBytes) done(failed(new Error(`more than ${maxBytes} bytes`)))
      else done(null, chunk)
    },
  })
  response.setTimeout(idleMs, () => response.destroy(new Error(`nothing for ${idleMs} ms`)))
  // Either end closes the other; whoever reads hears why.
  pipeline(response, body, () => undefined)
  return body
}
