// What is sent: from a seed come conversations, exports, calls, large bodies and poison, each with the numbers that its ids carry.
// The same seed makes the same ones in the same order; only times are those of the run.
import { gzipSync } from 'node:zlib'
import type { JsonObject } from '#proto/json.ts'
import { jsonBytes, protobufBytes, request, span } from '#proto/otlp/fixture.ts'
import { type Random, randomOf } from '#runtime/seeded.ts'
import { call, POISON } from '#test/kill-points/load.ts'
import type { Post } from './http.ts'
import { digitsOf, IdKind, spanIdOf, traceIdOf, uuidOf } from './ids.ts'
import type { Oracle, Space } from './oracle.ts'

const KiB = 1024
const DAY_MS = 86_400_000
const USERS = 997
const LARGE_BYTES = 1_500 * KiB
const WORDS =
  'order refund invoice table warehouse Rechnung tomorrow 請再寄 "quoted" \\o/ card ends in 4242 noon parcel'.split(' ')

/** One request, and whose fate its answer decides. */
export interface Sending {
  readonly post: Post
  readonly things: readonly { readonly space: Space; readonly n: number }[]
  /** Sent again under the same ids it counts once. False for events whose id the receiver makes. */
  readonly repeatable: boolean
}

/** What one client does. */
export type Job =
  | {
      readonly kind: 'conversation'
      readonly session: Sending
      /** The conversation SDK captures a session several times and sends at once; the MCP SDK sends one after the other. */
      readonly captures: number
      readonly atOnce: boolean
      /** Retried as the contract says (three attempts); most SDKs send once. */
      readonly retried: boolean
      readonly events: readonly Sending[]
    }
  | { readonly kind: 'export'; readonly parts: readonly Sending[] }
  | { readonly kind: 'call'; readonly report: Sending; readonly redelivered: Sending | null }
  | { readonly kind: 'bad'; readonly post: Post }
  | { readonly kind: 'poison'; readonly organization: string; readonly body: string }

/** Whose traffic it is. */
export interface TrafficOptions {
  readonly seed: number
  readonly tag: number
  /** A conversation, an export and a call are of one of them, which follow each other. */
  readonly organizations: readonly string[]
  readonly oracle: Oracle
}

/** Makes jobs for ever. */
export class Traffic {
  readonly #options: TrafficOptions
  readonly #random: Random
  #traces = 0
  #exports = 0
  /** Jobs of which no thing is counted. */
  #useless = 0
  /** Events handed out so far. */
  made = 0

  constructor(options: TrafficOptions) {
    this.#options = options
    this.#random = randomOf(options.seed)
  }

  next(): Job {
    const choice = this.#random(100)
    if (choice < 40) return this.#conversation()
    if (choice < 68) return this.#export()
    if (choice < 96) return this.#call()
    const organization = this.#ownerOf(this.#useless++).id
    return choice < 98 ? this.#bad(organization) : { kind: 'poison', organization, body: POISON }
  }

  /** Whose the conversation, export or call of that number is. */
  #ownerOf(n: number): { readonly owner: number; readonly id: string } {
    const { organizations } = this.#options
    const owner = n % organizations.length
    return { owner, id: organizations[owner] as string }
  }

  /** A month ago now and then, so that blocks are cut. */
  #at(): number {
    return Date.now() - (this.#random(20) === 0 ? 40 * DAY_MS : 0) - this.#random(60_000)
  }

  #text(bytes: number): string {
    const words: string[] = []
    for (let length = 0; length < bytes; ) {
      const word = WORDS[this.#random(WORDS.length)] as string
      words.push(word)
      length += word.length + 1
    }
    return words.join(' ')
  }

  #sdk(organization: string, path: string, body: object): Post {
    const headers = { 'content-type': 'application/json', 'x-org-id': organization }
    return { path: `/api/v1/${path}`, headers, body: Buffer.from(JSON.stringify(body)) }
  }

  #conversation(): Job {
    const random = this.#random
    const { oracle, tag } = this.#options
    const { owner, id } = this.#ownerOf(oracle.sessions.size)
    const n = oracle.sessions.add(undefined, owner)
    const session_id = uuidOf(tag, IdKind.session, n)
    const atOnce = random(2) === 0
    const capture = { session_id, user_data: { user_id: `user-${n % USERS}`, plan: random(2) === 0 ? 'free' : 'team' } }
    const large = random(150) === 0
    const at = this.#at()
    const events = Array.from({ length: large ? 1 : 2 + random(16) }, (_, i): Sending => {
      // The MCP SDK sends neither an id nor a time.
      const own = atOnce || random(4) > 0
      const space = own ? oracle.events : oracle.minted
      const thing = { space, n: space.add(n, owner) }
      const tool = random(3) === 0
      const body = {
        ...(own ? { event_id: uuidOf(tag, IdKind.event, thing.n), timestamp: at + i * 1_000 } : {}),
        session_id,
        primitive_name: tool ? `tool-${random(20)}` : `agent-${random(8)}`,
        ...(own && !tool ? { primitive_type: '' } : { primitive_type: 'tool', success: random(10) > 0 }),
        latency: random(5_000),
        args: this.#text(large ? LARGE_BYTES : 40 + random(400)),
        result: this.#text(random(600)),
        metadata: { n: digitsOf(thing.n), region: `region-${random(5)}` },
      }
      return { post: this.#sdk(id, 'capture-event', body), things: [thing], repeatable: own }
    })
    this.made += events.length
    const session = {
      post: this.#sdk(id, 'capture-session', capture),
      things: [{ space: oracle.sessions, n }],
      repeatable: true,
    }
    return {
      kind: 'conversation',
      session,
      captures: atOnce ? 1 + random(3) : 1,
      atOnce,
      retried: random(2) === 0,
      events,
    }
  }

  /** One to four traces; every fourth comes in two exports, the one with the root last. */
  #export(): Job {
    const random = this.#random
    const { oracle } = this.#options
    const encoding = random(2) === 0 ? 'json' : 'protobuf'
    const space = encoding === 'json' ? oracle.spansJson : oracle.spansProtobuf
    const parts: [Part, Part] = [
      { spans: [], things: [] },
      { spans: [], things: [] },
    ]
    const { owner, id } = this.#ownerOf(this.#exports++)
    const traces = 1 + random(4)
    for (let i = 0; i < traces; i++) {
      const trace = this.#traces++
      const at = BigInt(this.#at()) * 1_000_000n
      const spans = 2 + random(14)
      const split = random(4) === 0
      const root = spanIdOf(encoding, space.size)
      for (let s = 0; s < spans; s++) {
        const n = space.add(trace, owner)
        const part = parts[split && s > 0 ? 0 : 1]
        part.things.push({ space, n })
        part.spans.push(
          this.#span({ encoding, trace, n, root: s === 0 ? null : root, start: at + BigInt(s) * 1_000_000n }),
        )
      }
      this.made += spans
    }
    const gzip = random(3) === 0
    return {
      kind: 'export',
      parts: parts
        .filter(part => part.things.length > 0)
        .map(part => this.#exportOf(part, { organization: id, encoding, gzip })),
    }
  }

  #span({ encoding, trace, n, root, start }: SpanOptions): JsonObject {
    const random = this.#random
    const { tag } = this.#options
    const tool = random(3) === 0
    const values = {
      'gen_ai.operation.name': root === null ? 'invoke_agent' : tool ? 'execute_tool' : 'chat',
      ...(tool && root !== null
        ? { 'gen_ai.tool.name': `tool-${random(20)}` }
        : { 'gen_ai.request.model': `model-${random(4)}` }),
      'gen_ai.usage.input_tokens': random(4_000),
      ...(root === null ? { 'session.id': `trace-${trace}`, 'user.id': `user-${trace % USERS}` } : {}),
      'input.value': this.#text(random(300)),
    }
    return span(
      1,
      1,
      {
        traceId: traceIdOf(tag, trace),
        spanId: spanIdOf(encoding, n),
        ...(root === null ? {} : { parentSpanId: root }),
        name: tool ? 'execute_tool' : 'chat',
        startTimeUnixNano: String(start),
        endTimeUnixNano: String(start + BigInt(random(3_000)) * 1_000_000n),
        ...(random(12) === 0 ? { status: { code: 2, message: `boom ${random(9)}` } } : {}),
      },
      values,
    )
  }

  #exportOf({ spans, things }: Part, { organization, encoding, gzip }: ExportOptions): Sending {
    const plain = (encoding === 'json' ? jsonBytes : protobufBytes)(request(spans))
    const headers = {
      'content-type': encoding === 'json' ? 'application/json' : 'application/x-protobuf',
      'x-service-org-id': organization,
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
    }
    return {
      post: { path: '/v1/traces', headers, body: gzip ? gzipSync(plain) : plain, chunked: true },
      things,
      repeatable: true,
    }
  }

  #call(): Job {
    const { oracle, tag } = this.#options
    const { owner, id } = this.#ownerOf(oracle.calls.size)
    const n = oracle.calls.add(undefined, owner)
    this.made += oracle.calls.rows
    const at = this.#at()
    const sending = (turn: number): Sending => {
      const report = call(uuidOf(tag, IdKind.call, n), at)
      report.message.call.customer.number = `+1555${String(n % USERS).padStart(7, '0')}`
      // Addresses are signed anew for each delivery.
      const artifact = { ...report.message.artifact, recordingUrl: `https://calls.example/${n}?signature=${turn}` }
      const headers = { 'content-type': 'application/json', 'x-org-id': id }
      const body = Buffer.from(JSON.stringify({ message: { ...report.message, artifact } }))
      const things = [{ space: oracle.calls, n }]
      return { post: { path: '/api/voice/v1/webhooks/voice-platform', headers, body }, things, repeatable: true }
    }
    return { kind: 'call', report: sending(0), redelivered: this.#random(10) === 0 ? sending(1) : null }
  }

  /** Requests that must be refused and leave nothing. */
  #bad(organization: string): Job {
    const headers = { 'content-type': 'application/json', 'x-org-id': organization }
    const bodies = [POISON, '{"session_id":"no uuid","primitive_name":"x"}', '[]', '{"event_id":1}', 'null']
    const body = Buffer.from(bodies[this.#random(bodies.length)] as string)
    return { kind: 'bad', post: { path: '/api/v1/capture-event', headers, body } }
  }
}

interface Part {
  readonly spans: JsonObject[]
  readonly things: { readonly space: Space; readonly n: number }[]
}

interface ExportOptions {
  readonly organization: string
  readonly encoding: 'json' | 'protobuf'
  readonly gzip: boolean
}

interface SpanOptions {
  readonly encoding: 'json' | 'protobuf'
  readonly trace: number
  readonly n: number
  /** The root's span id; null for the root itself. */
  readonly root: string | null
  readonly start: bigint
}
