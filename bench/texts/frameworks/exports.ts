// Turns and a form -> what the exporters send, as envelopes: every service sends its spans as they end, in batches of 512 or of 5 s.
import { EnvelopeWriter, FrameEncoding, FrameKind } from '#proto/envelope.ts'
import { uuidBytes } from '#proto/ids.ts'
import type { JsonObject } from '#proto/json.ts'
import { attributes } from '#proto/otlp/fixture.ts'
import type { Arrival } from '../arrive.ts'
import { SERVICES, type Turn, turnsOf } from '../turns.ts'
import type { Form, Made } from './form.ts'

/** What arrives together, and what it is made of. */
export interface Exports extends Arrival {
  readonly spans: number
  readonly requests: number
  /** Bytes of the requests, and of what they say about process and scope. */
  readonly sentBytes: number
  readonly aroundBytes: number
  /** Bytes of what nobody of the same service had said before. */
  readonly newBytes: number
}

const MiB = 1024 * 1024
const BATCH_SPANS = 512
const WINDOW_NS = 5_000_000_000n
/** Bytes that are stored by one insert. */
const STORED_TOGETHER = 24 * MiB
const ENVELOPE_BYTES = MiB / 4
const MOST_BYTES = 64 * MiB

interface Request {
  readonly service: number
  readonly sentAtMs: number
  readonly spans: readonly Made[]
}

/** Everything that some `spans` spans of a form, turns being whole, are sent as. */
export function* exportsOf(form: Form, spans: number, tools: number): Generator<Exports> {
  const gathered = new Gathered(form)
  for (const { requests, newBytes } of requestsOf(form, spans, tools)) {
    gathered.newBytes += newBytes
    for (const request of requests) gathered.add(request)
    if (gathered.size >= STORED_TOGETHER) yield gathered.take()
  }
  if (gathered.spans > 0) yield gathered.take()
}

/** Turn by turn, the requests that are complete by then. */
function* requestsOf(form: Form, spans: number, tools: number): Generator<{ requests: Request[]; newBytes: number }> {
  const pending = new Map<bigint, Made[][]>()
  const due = (before: bigint): Request[] => {
    const windows = [...pending.keys()]
      .filter(window => (window + 1n) * WINDOW_NS <= before)
      .sort((a, b) => Number(a - b))
    return windows.flatMap(window => {
      const made = pending.get(window) as Made[][]
      pending.delete(window)
      return made.flatMap((list, service) => batchesOf(list, service, window))
    })
  }
  const add = (turn: Turn): void => {
    for (const made of form.spans(turn)) {
      const window = made.endedAt / WINDOW_NS
      const services = pending.get(window) ?? Array.from({ length: SERVICES }, () => [])
      pending.set(window, services)
      services[turn.service]?.push(made)
    }
  }
  for (const turn of turnsOf(Math.ceil(spans / form.size), tools)) {
    const requests = due(turn.whole.from)
    add(turn)
    yield { requests, newBytes: turn.newBytes }
  }
  yield { requests: due(2n ** 63n), newBytes: 0 }
}

function batchesOf(made: Made[], service: number, window: bigint): Request[] {
  const sorted = made.sort((a, b) => Number(a.endedAt - b.endedAt))
  const sentAtMs = Number(((window + 1n) * WINDOW_NS) / 1_000_000n) + 20
  const count = Math.ceil(sorted.length / BATCH_SPANS)
  return Array.from({ length: count }, (_, i) => ({
    ...{ service, sentAtMs, spans: sorted.slice(i * BATCH_SPANS, (i + 1) * BATCH_SPANS) },
  }))
}

/** Spans of one scope stand together. */
function scopesOf(spans: readonly Made[]): JsonObject[] {
  const scopes = [...new Set(spans.map(({ scope }) => scope))]
  return scopes.map(scope => ({ scope, spans: spans.filter(each => each.scope === scope).map(({ span }) => span) }))
}

class Gathered {
  readonly #form: Form
  readonly #writer = new EnvelopeWriter(MOST_BYTES)
  #parts: Uint8Array[] = []
  #ends: number[] = []
  #requests = 0
  #sentBytes = 0
  #aroundBytes = 0
  size = 0
  spans = 0
  newBytes = 0

  constructor(form: Form) {
    this.#form = form
  }

  add({ service, sentAtMs, spans }: Request): void {
    const resource = { attributes: attributes(this.#form.resource(service)) }
    const scopeSpans = scopesOf(spans)
    const body = Buffer.from(JSON.stringify({ resourceSpans: [{ resource, scopeSpans }] }))
    const alone = scopeSpans.map(({ scope }) => ({ scope, spans: [] }))
    this.#aroundBytes += JSON.stringify({ resourceSpans: [{ resource, scopeSpans: alone }] }).length
    this.#sentBytes += body.length
    this.#requests++
    this.spans += spans.length
    this.#writer.append(FrameKind.otlp, FrameEncoding.json, organizationOf(service), sentAtMs, null, body)
    if (this.#writer.length >= ENVELOPE_BYTES) this.#close()
  }

  #close(): void {
    if (this.#writer.count === 0) return
    const part = Uint8Array.from(this.#writer.finish())
    this.#writer.reset()
    this.#parts.push(part)
    this.size += part.length
    this.#ends.push(this.size)
  }

  take(): Exports {
    this.#close()
    const taken = {
      ...{ bytes: new Uint8Array(Buffer.concat(this.#parts)), ends: Float64Array.from(this.#ends) },
      ...{ spans: this.spans, requests: this.#requests, newBytes: this.newBytes },
      ...{ sentBytes: this.#sentBytes, aroundBytes: this.#aroundBytes },
    }
    this.#parts = []
    this.#ends = []
    this.#requests = this.#sentBytes = this.#aroundBytes = this.size = this.spans = this.newBytes = 0
    return taken
  }
}

const organizationOf = (service: number): Uint8Array =>
  uuidBytes(`${(service + 1).toString(16).padStart(2, '0')}222222-2222-4222-8222-222222222222`)
