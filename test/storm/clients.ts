// The senders: jobs of the traffic go out over real connections at a set rate, are retried as real SDKs and exporters do it, and are sent
// again now and then; what was answered goes to the oracle.
import { setTimeout as delay } from 'node:timers/promises'
import { type Random, randomOf } from '#runtime/seeded.ts'
import type { Answer, Client } from './http.ts'
import { Fate, type Oracle } from './oracle.ts'
import type { Job, Sending, Traffic } from './traffic.ts'

/** Requests under way at most: beyond, the next ones wait, as with any client that has a queue. */
const OPEN_MAX = 400
/** Sent before, for being sent again: a bounded number of them. */
const REMEMBERED = 200
const EXPORTER = { sends: 5, firstMs: 1_000, factor: 1.5, inMs: 10_000 }
const SDK = { sends: 3, pauseMs: 1_000 }
const VOICE = { sends: 3, pauseMs: 2_000 }
const RETRIED_BY_EXPORTERS = new Set([0, 429, 502, 503, 504])

/** Ways into the system: straight, and through the proxy that stands for the network of clients. */
export interface Ways {
  readonly rest: readonly [near: Client, far: Client]
  readonly otlp: readonly [near: Client, far: Client]
  /** Puts a payload that no receiver would let through into the stream. @throws when it is not acknowledged. */
  poison(organization: string, body: string): Promise<void>
}

/** What requests came to while one fault was on. */
export interface Tally {
  requests: number
  /** 2xx. */
  accepted: number
  /** No answer, and answers that say no. Requests that were no use to anybody don't count here. */
  unanswered: number
  refused: number
  /** How often each answer came that was not 2xx, and each reason why none did. */
  readonly failures: Map<string, number>
}

export interface ClientsOptions {
  readonly seed: number
  readonly rate: number
  readonly oracle: Oracle
  readonly traffic: Traffic
  readonly ways: Ways
  /** The fault that is on; 0 = none. */
  readonly fault: () => number
  readonly onAnswer: (sentAt: number, accepted: boolean) => void
}

/** Sends jobs; `run` one step at a time, so that whoever drives it can hold it. */
export class Clients {
  readonly #options: ClientsOptions
  readonly #random: Random
  readonly #remembered: Sending[] = []
  readonly #jobs = new Set<Promise<void>>()
  readonly tallies: Tally[] = []
  /** How often each status came, and each reason why none did. */
  readonly answers = new Map<string, number>()
  #open = 0
  #due = performance.now()

  constructor(options: ClientsOptions) {
    this.#options = options
    this.#random = randomOf(options.seed ^ 0x5bd1e995)
  }

  /** Starts the next job when the rate and the open requests allow it. */
  async step(): Promise<void> {
    const { traffic, rate } = this.#options
    while (this.#open >= OPEN_MAX) await delay(10)
    const wait = this.#due - performance.now()
    if (wait > 0) await delay(wait)
    const before = traffic.made
    const job = this.#start(traffic.next())
    this.#jobs.add(job)
    void job.finally(() => this.#jobs.delete(job))
    // What could not be sent in time is not caught up with in one burst.
    this.#due = Math.max(this.#due, performance.now() - 1_000) + (Math.max(1, traffic.made - before) / rate) * 1_000
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all(this.#jobs)
  }

  get open(): number {
    return this.#open
  }

  #start(job: Job): Promise<void> {
    const far = this.#random(3) === 0 ? 1 : 0
    const again = this.#random(10) === 0 ? this.#remembered[this.#random(REMEMBERED)] : undefined
    const work = this.#work(job, far)
    return again === undefined ? work : Promise.all([work, this.#once(again, 1 - far)]).then(() => {})
  }

  async #work(job: Job, far: number): Promise<void> {
    switch (job.kind) {
      case 'conversation': {
        const captures = Array.from({ length: job.captures }, () => this.#asSdk(job.session, job.retried, far))
        if (job.atOnce) {
          await Promise.all([...captures, ...job.events.map(event => this.#asSdk(event, job.retried, far))])
          return
        }
        // Without its session the MCP SDK drops what needed it.
        if (!(await Promise.all(captures)).some(ok => ok)) return
        for (const event of job.events) await this.#asSdk(event, job.retried, far)
        return
      }
      case 'export':
        await Promise.all(job.parts.map(part => this.#asExporter(part, far)))
        return
      case 'call':
        await this.#asVoice(job.report, far)
        if (job.redelivered) await this.#once(job.redelivered, far)
        return
      case 'bad':
        return this.#bad(job, far)
      case 'poison':
        // Nobody waits for its fate but the count of dead letters.
        await this.#options.ways.poison(job.organization, job.body).then(
          () => this.#options.oracle.poison++,
          () => {},
        )
    }
  }

  async #asSdk(sending: Sending, retried: boolean, far: number): Promise<boolean> {
    for (let sends = 1; ; sends++) {
      const { status } = await this.#once(sending, far)
      if (status >= 200 && status < 300) return true
      const final = status >= 400 && status < 500
      // A second send of an event without an id would be a second event.
      if (final || !retried || !sending.repeatable || sends >= SDK.sends) return false
      await delay(SDK.pauseMs)
    }
  }

  async #asExporter(sending: Sending, far: number): Promise<void> {
    const began = performance.now()
    let pauseMs = EXPORTER.firstMs
    for (let sends = 1; ; sends++) {
      const { status, retryAfterS } = await this.#once(sending, far)
      if (!RETRIED_BY_EXPORTERS.has(status) || sends >= EXPORTER.sends) return
      const waitMs = retryAfterS > 0 ? retryAfterS * 1_000 : pauseMs * (0.8 + this.#random(400) / 1_000)
      if (performance.now() - began + waitMs > EXPORTER.inMs) return
      await delay(waitMs)
      pauseMs *= EXPORTER.factor
    }
  }

  async #asVoice(sending: Sending, far: number): Promise<void> {
    for (let sends = 1; sends <= VOICE.sends; sends++) {
      const { status } = await this.#once(sending, far)
      if (status > 0 && status < 500) return
      await delay(VOICE.pauseMs)
    }
  }

  /** One request and what its answer says of what it carried. */
  async #once(sending: Sending, far: number): Promise<Answer> {
    const { oracle } = this.#options
    const fault = this.#options.fault()
    const sentAt = performance.now()
    const answer = await this.#send(sending.post, far)
    const accepted = answer.status >= 200 && answer.status < 300
    // What failed after another fault had begun is put down to that one.
    const tally = this.#tallyOf(accepted ? fault : this.#options.fault() || fault)
    tally.requests++
    if (accepted) tally.accepted++
    else if (answer.status === 0) tally.unanswered++
    else tally.refused++
    if (!accepted) {
      const refusal = answer.status === 404 ? this.#refusalOf(sending) : saidBy(answer)
      tally.failures.set(refusal, (tally.failures.get(refusal) ?? 0) + 1)
    }
    const fate = fateOf(answer.status)
    for (const { space, n } of sending.things) {
      const known = space.fate(n)
      if (known !== Fate.unsent) space.repeats++
      if (fate === Fate.acknowledged && known !== Fate.acknowledged && space !== oracle.sessions) {
        oracle.acknowledged += space.rows
      }
      if (answer.status === 404 && oracle.sessions.fate(space.group(n)) === Fate.acknowledged) oracle.denied++
      space.note(n, fate, fault)
    }
    if (sending.repeatable && sending.post.body.byteLength < 100_000) {
      this.#remembered[this.#random(REMEMBERED)] = sending
    }
    this.#options.onAnswer(sentAt, accepted)
    return answer
  }

  #tallyOf(fault: number): Tally {
    return (this.tallies[fault] ??= {
      ...{ requests: 0, accepted: 0, unanswered: 0, refused: 0 },
      failures: new Map(),
    })
  }

  /** Why a session was not known: what its sender went on with was not acknowledged, or the system has forgotten it. */
  #refusalOf({ things: [first] }: Sending): string {
    const { sessions } = this.#options.oracle
    if (first === undefined || first.space === sessions) return '404'
    const acknowledged = sessions.fate(first.space.group(first.n)) === Fate.acknowledged
    return acknowledged ? '404 for an acknowledged session' : LOST_SESSION
  }

  async #bad(job: Extract<Job, { kind: 'bad' }>, far: number): Promise<void> {
    const { status } = await this.#send(job.post, far)
    this.#options.oracle.bad++
    if (status >= 200 && status < 300) this.#options.oracle.badTaken++
  }

  async #send(post: Sending['post'], far: number): Promise<Answer> {
    const { rest, otlp } = this.#options.ways
    this.#open++
    const answer = await ((post.path === '/v1/traces' ? otlp : rest)[far] as Client)(post)
    this.#open--
    const said = saidBy(answer)
    this.answers.set(said, (this.answers.get(said) ?? 0) + 1)
    return answer
  }
}

/** The refusal that a capture's own failure has as its consequence. */
export const LOST_SESSION = '404 for a session that was not acknowledged'

const saidBy = (answer: Answer): string => answer.why || String(answer.status)

/** A 5xx says that the sender may try again, not that nothing was stored: an envelope may have been taken without an answer. */
function fateOf(status: number): Fate {
  if (status >= 200 && status < 300) return Fate.acknowledged
  return status === 0 || status >= 500 ? Fate.unknown : Fate.refused
}
