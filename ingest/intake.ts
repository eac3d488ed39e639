// A whole body -> its answer: the surface judges it, the session is made sure of, the stream takes it, and only its acknowledgement
// brings the 200. Between the socket (server.ts) and the stream (publish.ts); knows neither.
import type { Body, Compression } from '#ingest/body.ts'
import type { Meter } from '#ingest/meter.ts'
import type { PublishOutcome, Waiter } from '#ingest/payload.ts'
import type { Publisher } from '#ingest/publish.ts'
import type { Sessions } from '#ingest/sessions.ts'
import type { Accepted, Empty, Organization, Refused, RequestContext, Surface } from '#ingest/verdict.ts'
import { answerBody, Blank, lasting } from '#ingest/verdict.ts'
import type { FrameEncoding } from '#proto/envelope.ts'
import { FrameEncoding as Encoding } from '#proto/envelope.ts'
import type { ErrorCode } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'

/** The answering side of a request. Exactly one of the two is called, once; both may be called after the sender went away. */
export interface Answering {
  /**
   * `receiptHead` and `frame` say where in the streams the payload is: partition and sequence of its message, place in the envelope.
   * `NO_FRAME`: the head is the whole receipt. `body` is valid during the call.
   */
  succeed(body: string | Uint8Array, receiptHead: string, frame: number): void
  refuse(code: ErrorCode, detail?: string): void
}

/** How a request wants to be treated. */
export interface Treatment {
  readonly surface: Surface
  /** True for senders that try again by themselves: told at once while nothing can be stored. Others are held. */
  readonly retries: boolean
}

/** The receipt of a request of which nothing had to be stored. */
const NO_RECEIPT = 'none'
export const NO_FRAME = -1

export interface Intake {
  /** Judges and stores a body, and releases it. Returns at once; the answer comes through `answering`. */
  take(body: Body, context: RequestContext, treatment: Treatment, answering: Answering): void
}

export interface IntakeOptions {
  readonly publisher: Publisher
  readonly sessions: Sessions
  readonly compression: Compression
  readonly unknownSession: 'reject' | 'create'
  /** True while a disk of the engines is nearly full: nothing is taken before an engine sees it full. */
  readonly diskFull: () => boolean
  readonly meter: Meter
  readonly log: Log
}

/** A judged request on its way to the stream. */
interface Request {
  readonly context: RequestContext
  readonly retries: boolean
  readonly to: Answering
}

/** The way from bodies to answers. */
export function createIntake(options: IntakeOptions): Intake {
  const { publisher, sessions, compression, meter, log, diskFull } = options

  const offer = (accepted: Accepted, request: Request, bytes: Uint8Array, gzip: boolean): void => {
    const { context, retries, to } = request
    const { organization, receivedAtMs } = context
    const encoding = encodingOf(accepted.content, gzip)
    const payload = { organization, accepted, encoding, receivedAtMs, retries, bytes }
    const refusal = publisher.offer(payload, new Stored(accepted, organization, sessions, to))
    if (refusal !== null) to.refuse(refusal)
  }

  const failed = (what: string, to: Answering) => (error: unknown) => {
    log.error({ err: error }, what)
    to.refuse('INTERNAL')
  }

  /** The way of a payload that fits a message only when compressed, if at all. */
  const squeeze = (body: Body, accepted: Accepted, request: Request): void => {
    // Of a compressed payload nothing can be repeated.
    const answer = answerBody(accepted, body.bytes).slice()
    const kept = { ...lasting(accepted), answer }
    if (!body.keep()) {
      body.release()
      return request.to.refuse('ING_FULL')
    }
    compression
      .deflate(body.bytes)
      .then(bytes => {
        if (publisher.fits(bytes.length)) return offer(kept, request, bytes, true)
        request.to.refuse('ING_PAYLOAD_TOO_LARGE', `${body.bytes.length} bytes, ${bytes.length} compressed`)
      })
      .catch(failed('a payload could not be compressed', request.to))
      .finally(() => body.release())
  }

  const store = (body: Body, accepted: Accepted, request: Request): void => {
    if (!publisher.fits(body.bytes.length)) return squeeze(body, accepted, request)
    offer(accepted, request, body.bytes, false)
    body.release()
  }

  const awaitSession = (body: Body, accepted: Accepted, request: Request): void => {
    const { context, to } = request
    const { requires } = accepted
    if (requires === null || !body.keep()) {
      body.release()
      return to.refuse('ING_FULL')
    }
    sessions
      .find(context.organization.bytes, requires)
      .then(finding => {
        meter.sessionFound(finding)
        if (finding !== 'unknown') return store(body, accepted, request)
        body.release()
        to.refuse('ING_SESSION_UNKNOWN')
      })
      .catch((error: unknown) => {
        body.release()
        failed('a held event could not be decided', to)(error)
      })
  }

  return {
    take: (body, context, treatment, to) => {
      if (treatment.retries && !publisher.isUp()) {
        body.release()
        return to.refuse('ING_UNAVAILABLE')
      }
      const verdict = treatment.surface(body.bytes, context)
      if (verdict.ok !== true) {
        body.release()
        return answerUnstored(verdict, meter, to)
      }
      if (diskFull()) {
        body.release()
        return to.refuse('ING_FULL', 'the disk is nearly full')
      }
      const request = { context, retries: treatment.retries, to }
      if (!mustFind(verdict, context, options)) return store(body, verdict, request)
      awaitSession(body, lasting(verdict), request)
    },
  }
}

/** Answers what leaves nothing to store. */
function answerUnstored(verdict: Empty | Refused, meter: Meter, to: Answering): void {
  if (verdict.ok === false) return to.refuse(verdict.code, verdict.detail)
  if (verdict.ignored !== undefined) meter.ignored(verdict.ignored)
  to.succeed(verdict.answer, NO_RECEIPT, NO_FRAME)
}

/** True when the session that an event requires is not known here yet, and matters. */
function mustFind({ requires }: Accepted, context: RequestContext, options: IntakeOptions): boolean {
  if (requires === null || options.unknownSession === 'create') return false
  return !options.sessions.has(context.organization.bytes, requires)
}

/** A payload in an envelope: answers when the stream has. Keeps no more than that takes: thousands wait at a time. */
class Stored implements Waiter {
  readonly #answer: Accepted['answer']
  readonly #echoAt: number
  readonly #creates: Uint8Array | null
  readonly #organization: Organization
  readonly #sessions: Sessions
  readonly #to: Answering

  constructor(accepted: Accepted, organization: Organization, sessions: Sessions, to: Answering) {
    const { answer, echoAt, creates } = accepted
    this.#answer = answer
    this.#echoAt = echoAt
    this.#creates = creates
    this.#organization = organization
    this.#sessions = sessions
    this.#to = to
  }

  settled(outcome: PublishOutcome, frame: number, envelope: Uint8Array, at: number): void {
    if (!outcome.stored) return this.#to.refuse(outcome.code)
    // Before the answer: the sender may use the session the moment it hears of it.
    if (this.#creates !== null) this.#sessions.learn(this.#organization.bytes, this.#creates)
    const answer = this.#answer
    const body = answer instanceof Blank ? answer.fill(envelope, at + this.#echoAt) : answer
    this.#to.succeed(body, outcome.receiptHead, frame)
  }
}

function encodingOf(content: 'json' | 'protobuf', gzip: boolean): FrameEncoding {
  if (content === 'json') return gzip ? Encoding.jsonGzip : Encoding.json
  return gzip ? Encoding.protobufGzip : Encoding.protobuf
}
