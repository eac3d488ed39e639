// What a surface makes of a request: a payload that may be stored, and how to answer once it is, or a refusal. A surface is a plain
// function over bytes; it knows no socket, no stream and no clock.
import type { FrameKind } from '#proto/envelope.ts'
import type { ErrorCode } from '#proto/errors.ts'
import type { IdPolicy } from '#proto/sdk/fields.ts'

/** An organization that may ingest. */
export interface Organization {
  /** Lower-case uuid. */
  readonly id: string
  /** The same, 16 bytes. */
  readonly bytes: Uint8Array
  /** It demands an API key beside its id. */
  readonly needsKey?: boolean
}

/** What a surface knows besides the bytes. */
export interface RequestContext {
  readonly organization: Organization
  readonly content: 'json' | 'protobuf'
  readonly receivedAtMs: number
  readonly ids: IdPolicy
}

/**
 * A payload to store. All ids are 16 bytes; `identity` and `requires` may be views that are valid until the next request is judged:
 * see `lasting`.
 */
export interface Accepted {
  readonly ok: true
  readonly kind: FrameKind
  readonly content: 'json' | 'protobuf'
  /** What chooses the partition: conversation, call or first trace. */
  readonly identity: Uint8Array
  /** The conversation that must exist already; null when none must. */
  readonly requires: Uint8Array | null
  /** The conversation that exists from the moment this is durable; null when it makes none. */
  readonly creates: Uint8Array | null
  /** The event id made here, when the client sent none. */
  readonly mintedId: Uint8Array | null
  /** Body of the 200, sent once the payload is durable. */
  readonly answer: string | Uint8Array | Blank
  /** Where in the payload the id stands that a blank answer repeats; means nothing with any other. */
  readonly echoAt: number
}

/** Characters of an id that a blank repeats: a uuid that was sent without escapes. */
const GAP_BYTES = 36

/** A body with a gap for an id. Filled where it is written, from the payload itself, so that no text is made of the id and none kept. */
export class Blank {
  readonly #bytes: Uint8Array
  readonly #gapAt: number

  /** The ASCII before the id and behind it. */
  constructor(before: string, behind: string) {
    this.#bytes = new Uint8Array(new ArrayBuffer(before.length + GAP_BYTES + behind.length))
    this.#bytes.set(Buffer.from(before, 'latin1'))
    this.#bytes.set(Buffer.from(behind, 'latin1'), before.length + GAP_BYTES)
    this.#gapAt = before.length
  }

  /** The body with the id at `at` of `bytes`; valid until it is filled again. */
  fill(bytes: Uint8Array, at: number): Uint8Array {
    const filled = this.#bytes
    const to = this.#gapAt
    // Byte by byte: a call that copies costs more than these few.
    for (let i = 0; i < GAP_BYTES; i++) filled[to + i] = bytes[at + i] as number
    return filled
  }
}

/** The body of the answer to a payload that lies at `at` of `bytes`; of a blank it is valid until the next one is filled. */
export function answerBody(
  accepted: Pick<Accepted, 'answer' | 'echoAt'>,
  bytes: Uint8Array,
  at = 0,
): string | Uint8Array {
  const { answer } = accepted
  return answer instanceof Blank ? answer.fill(bytes, at + accepted.echoAt) : answer
}

/** The same with ids of its own, to be kept beyond the call that judged it. */
export function lasting(accepted: Accepted): Accepted {
  const { identity, requires } = accepted
  return { ...accepted, identity: identity.slice(), requires: requires === null ? null : requires.slice() }
}

/** A valid request that leaves nothing to store: answered at once. */
export interface Empty {
  readonly ok: 'empty'
  /** The kind of a message that is taken and forgotten: one of few, it labels a counter. */
  readonly ignored?: string
  readonly answer: string | Uint8Array
}

/** A refusal. `detail` names the field; it goes to the sender, never to a log. */
export interface Refused {
  readonly ok: false
  readonly code: ErrorCode
  readonly detail?: string | undefined
}

export type Verdict = Accepted | Empty | Refused

/** A surface. `bytes` are valid during the call only: what is kept must be copied. */
export type Surface = (bytes: Uint8Array, context: RequestContext) => Verdict
