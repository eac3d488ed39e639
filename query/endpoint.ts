// What an endpoint is, and how every one runs: who asks (401) -> for which organization (403) -> is the request well formed (400)
// -> the work -> an answer of the declared shape. No socket in sight: the server hands in plain values.
import type { KV } from '@nats-io/kv'
import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import type { Control } from '#control/members.ts'
import type { Organization, Role } from '#control/records.ts'
import type { Frame } from '#proto/envelope.ts'
import type { ErrorCode } from '#proto/errors.ts'
import { isParleyError, ParleyError } from '#proto/errors.ts'
import type { PriceList } from '#proto/prices.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { Outgoing } from '#runtime/outgoing.ts'
import type { StoredRanges } from '#streams/blocks.ts'
import type { Journal } from '#streams/journal.ts'
import type { PayloadPosition } from '#streams/payloads.ts'
import { accessOf } from './access.ts'
import { admit, readParams } from './admit.ts'
import type { Audit } from './audit.ts'
import { actorOf } from './audit.ts'
import { actionOf, isChange, targetOf } from './audited.ts'
import type { Authenticator, Headers, Principal, UserPrincipal } from './auth.ts'
import { KEEP_NOTHING, type KeptDays } from './days/kept.ts'
import type { Prefetch, Prefetched } from './prefetch.ts'
import type { OpenReader, Reader } from './reader.ts'
import { createNewest, type NewestOf } from './reads/newest.ts'
import { Piped, Reply } from './reply.ts'
import type { SignIn, Visitor } from './sign-in/service.ts'
import type { Checker } from './validate.ts'
import { createChecker } from './validate.ts'

/** Payloads by where they stand. */
export type Payloads = (position: PayloadPosition) => Promise<Frame | null>

/** What the work of every endpoint is given. */
export interface BareCall {
  /** The control plane: its bucket, and the live copy of it. */
  readonly control: Control
  /** Values of the path's `{names}`; an `{id}` is a uuid in lower case. */
  readonly params: Readonly<Record<string, string>>
  readonly signIn: SignIn
  /** The instant that rolling windows end at: one for the whole request. */
  readonly nowMs: number
  readonly log: Log
  /** Aborted when the client goes away or the node stops; reads are cancelled by themselves. */
  readonly signal: AbortSignal
}

/** What the work of an endpoint for everybody is given. */
export interface OpenCall extends BareCall {
  readonly visitor: Visitor
}

/** What the work of an endpoint of a person is given: no organization is chosen yet. */
export interface PersonCall extends BareCall {
  readonly principal: UserPrincipal
}

/** What the work of an endpoint of an organization is given. */
export interface Call extends BareCall {
  readonly organization: Organization
  readonly principal: Principal
  readonly visitor: Visitor
  /** What the credential may do in the organization. */
  readonly role: Role
  readonly reader: Reader
  /** Whole days that are kept in memory. */
  readonly kept: KeptDays
  /** What pages of raw logs have read of organizations' newest events. */
  readonly newest: NewestOf
  /** The control plane's bucket, for records that the dashboard keeps. */
  readonly records: KV
  /** By organization: what receivers refused of it. */
  readonly rejects: KV
  /** What the parts tell each other about work: erasures stand there. */
  readonly cursors: KV
  /** What has just been stored. */
  readonly stored: StoredRanges
  /** The price list of this installation. */
  readonly prices: PriceList
  /** A payload as it was sent; null when it is no longer held. */
  readonly payloads: Payloads
  /** What the streams say of payloads. */
  readonly journal: Journal
  /** Calls to addresses that senders wrote. */
  readonly outgoing: Outgoing
}

/** Response of an endpoint that answers with a stream of text: chunks are taken as fast as the client reads them. */
export const Chunks = Type.Unsafe<AsyncIterable<string>>({ type: 'string' })

/** One endpoint. Its file holds path, shapes, SQL and rows. */
export interface Endpoint<Request extends TSchema = TSchema, Response extends TSchema = TSchema> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** May hold `{names}`. */
  readonly path: string
  /**
   * `any`: bearer token or API key. `address`: the path's `{ticket}` alone, and the request is the one that it was issued for;
   * `signed`: the same of its `{token}`, again and again for a while. `none`: everybody. Which role it takes stands in access.ts.
   */
  readonly auth: 'bearer' | 'any' | 'address' | 'signed' | 'none'
  /** The organization that it is about: the chosen one unless said otherwise, that of the path's `{id}`, or none. */
  readonly organization?: 'chosen' | 'path' | 'none'
  /** The query's `org_id` names the chosen organization as well as `x-org-id` does. */
  readonly named?: true
  /** An id that is of no organization is 404 (the contract's section 7); elsewhere it is 403, like one without access. */
  readonly tellsUnknown?: true
  /** One sentence of documentation. */
  readonly about: string
  /** Shape of the JSON body, of a GET's query string; none = it is not read. */
  readonly request?: Request
  readonly response: Response
  /** 200 unless said otherwise; 204 has no body. */
  readonly status?: 200 | 201 | 204 | 302
  /** Pages ask for it again and again: what its last two answers both read is begun with the next request. */
  readonly polled?: true
  /** JSON unless said otherwise; everything else is a stream, whose `response` is `Chunks`. */
  readonly produces?: 'text/csv' | 'text/event-stream' | 'audio/*'
  /** Codes that it answers beside those of every endpoint. */
  readonly errors?: readonly ErrorCode[]
  work(call: Call, request: Static<Request>): Promise<Static<Response> | Reply | Piped>
}

/** Keeps the types of an endpoint's shapes inside its file. */
export function endpoint<const Request extends TSchema, const Response extends TSchema>(
  definition: Endpoint<Request, Response>,
): Endpoint {
  return definition as unknown as Endpoint
}

/** The same of an endpoint that is about no organization. */
export function personEndpoint<const Request extends TSchema, const Response extends TSchema>(
  definition: Omit<Endpoint<Request, Response>, 'work' | 'auth' | 'organization'> & {
    work(call: PersonCall, request: Static<Request>): Promise<Static<Response>>
  },
): Endpoint {
  return { ...definition, auth: 'bearer', organization: 'none' } as unknown as Endpoint
}

/** The same of an endpoint for everybody, whose answers have headers of their own. */
export function openEndpoint<const Request extends TSchema, const Response extends TSchema>(
  definition: Omit<Endpoint<Request, Response>, 'work' | 'auth' | 'organization'> & {
    work(call: OpenCall, request: Static<Request>): Promise<Reply>
  },
): Endpoint {
  return { ...definition, auth: 'none', organization: 'none' } as unknown as Endpoint
}

/** A request without its transport. */
export interface PlainRequest {
  readonly id: string
  readonly headers: Headers
  /** Where it came from, as far as is known. */
  readonly address: string
  /** Reads the body; empty when there was none. Asked once, after the credential was checked. */
  readonly body: () => Promise<Uint8Array>
  readonly query: unknown
  readonly params: Readonly<Record<string, string>>
  /** Aborted when the client goes away or the node stops. */
  readonly signal: AbortSignal
}

/** What runs an endpoint: resolves with the answer's value, rejects with a ParleyError. */
export type Run = (request: PlainRequest) => Promise<unknown>

/** What running needs. */
export interface RunnerOptions {
  readonly authenticator: Authenticator
  readonly openReader: OpenReader
  /** Left out where every answer shall be read. */
  readonly kept?: KeptDays
  /** Left out where every read shall wait until it is asked for. */
  readonly prefetch?: Prefetch
  readonly control: Control
  readonly signIn: SignIn
  /** Left out in tests that are not about it. */
  readonly audit?: Audit
  readonly rejects: KV
  readonly cursors: KV
  readonly stored: StoredRanges
  readonly prices: PriceList
  readonly payloads: Payloads
  readonly journal: Journal
  readonly outgoing: Outgoing
  readonly metrics: Metrics
  readonly log: Log
  /** Compare every answer with its schema, and every error with the codes that are declared. */
  readonly checkResponses: boolean
  readonly clock?: () => number
}

/** Makes the runner of endpoints; schemas are compiled once, when an endpoint is bound. */
export function createRunner(options: RunnerOptions): (endpoint: Endpoint) => Run {
  const clock = options.clock ?? Date.now
  const requests = options.metrics.counter('query_requests_total', 'requests by endpoint and status', [
    'endpoint',
    'status',
  ])
  const seconds = options.metrics.histogram(
    'query_request_seconds',
    'time from request to answer',
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    ['endpoint'],
  )
  const newest = createNewest()
  return endpoint => {
    const name = endpoint.path
    const request = endpoint.request && createChecker(endpoint.request)
    const response =
      options.checkResponses && endpoint.produces === undefined ? createChecker(endpoint.response) : undefined
    const declared = options.checkResponses ? new Set(codesOf(endpoint)) : undefined
    const access = accessOf(endpoint)
    const action = actionOf(endpoint)
    const prefetch = endpoint.polled && options.prefetch
    const readsOf = (organization: string, value: unknown, signal: AbortSignal): Prefetched => {
      const reader = options.openReader(organization, signal)
      return prefetch
        ? prefetch.begin(JSON.stringify([organization, name, value]), reader)
        : { reader, answered: () => undefined }
    }
    const run = async (plain: PlainRequest): Promise<unknown> => {
      const { principal, entered, asked } = await admit(options, access, plain, clock())
      const params = readParams(plain.params)
      const value = request?.read(await asked(endpoint.method))
      const { control, signIn, rejects, cursors, stored, prices, payloads, journal, outgoing } = options
      const log = options.log.child({ request: plain.id, organization: entered?.organization.id })
      const visitor = { headers: plain.headers, address: plain.address }
      const bare = { control, signIn, principal, visitor, params, nowMs: clock(), log, signal: plain.signal }
      const reads = entered && readsOf(entered.organization.id, value, plain.signal)
      const answer = await endpoint.work(
        // The shapes of endpoints without an organization know of none: see personEndpoint and openEndpoint.
        (entered === null
          ? bare
          : {
              ...bare,
              ...entered,
              reader: reads?.reader,
              kept: options.kept ?? KEEP_NOTHING,
              newest,
              ...{ records: control.records, rejects, cursors, stored, prices, payloads, journal, outgoing },
            }) as Call,
        value,
      )
      reads?.answered()
      if (action !== null && entered !== null && principal !== null) {
        // Whoever has changed something sees what became of it.
        if (isChange(action)) options.kept?.endLoans(entered.organization.id)
        await options.audit?.note({
          ...{ organization: entered.organization.id, actor: actorOf(principal), action },
          ...{ target: targetOf(params, value, answer), address: plain.address, request: plain.id },
        })
      }
      if (response) requireShape(response, answer instanceof Reply ? answer.body : answer, name)
      return answer
    }
    return async plain => {
      const end = seconds.startTimer({ endpoint: name })
      try {
        const answer = await run(plain)
        const status = answer instanceof Reply || answer instanceof Piped ? answer.status : (endpoint.status ?? 200)
        requests.inc({ endpoint: name, status: String(status) })
        return answer
      } catch (error) {
        if (declared && isParleyError(error) && !declared.has(error.code)) {
          throw new ParleyError('BUG', `${name} answers ${error.code}, which it does not declare`, { cause: error })
        }
        requests.inc({ endpoint: name, status: statusOf(error) })
        throw error
      } finally {
        end()
      }
    }
  }
}

/** Codes that every endpoint may answer. */
const COMMON: readonly ErrorCode[] = [
  'AUTH_CREDENTIAL_MISSING',
  'AUTH_CREDENTIAL_INVALID',
  'AUTH_ORG_INVALID',
  'AUTH_ORG_INACTIVE',
  'AUTH_FORBIDDEN',
  'AUTH_ROLE',
  'AUTH_ORG_AMBIGUOUS',
  // The credential's organization is gone.
  'QRY_NOT_FOUND',
  'QRY_CANCELLED',
  'STREAM_CONFLICT',
  'INTERNAL',
  'BUG',
]
const OF_BODIES: readonly ErrorCode[] = [
  'REQ_BODY_TOO_LARGE',
  'REQ_BODY_INVALID',
  'REQ_JSON_INVALID',
  'REQ_TYPE_UNSUPPORTED',
]
const OF_STORE: readonly ErrorCode[] = ['QRY_STORE_FAILED', 'QRY_LIMIT', 'QRY_RATE']

/** Every code that an endpoint may answer. */
export function codesOf(endpoint: Endpoint): readonly ErrorCode[] {
  const invalid: readonly ErrorCode[] = endpoint.path.includes('{') ? ['REQ_BODY_INVALID'] : []
  const more = endpoint.errors ?? []
  return [...new Set([...COMMON, ...OF_STORE, ...(endpoint.request ? OF_BODIES : invalid), ...more])]
}

function statusOf(error: unknown): string {
  if (!isParleyError(error)) return '500'
  return error.code === 'QRY_CANCELLED' ? 'cancelled' : String(error.status)
}

function requireShape(response: Checker<unknown>, answer: unknown, name: string): void {
  const fault = response.fault(answer)
  if (fault) throw new ParleyError('BUG', `the answer of ${name}: ${fault.field} ${fault.expected}`)
}
