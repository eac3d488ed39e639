// Holding still, from the owner's side: while a backup asks for it no range is begun, nothing that is stored is changed, and the backup
// hears of it once all that was under way has ended. Who asks has to go on asking: an owner never waits for one that is gone.
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import type { HoldAnswer, HoldWish } from '#proto/hold.ts'
import { HOLD_MISSED_MAX, HOLD_REPEAT_MS, HOLD_SUBJECT } from '#proto/hold.ts'
import type { Log } from '#runtime/log.ts'
import type { Share } from './gate.ts'

/** What holding still needs of a partition. */
export interface HoldOptions {
  readonly nc: NatsConnection
  readonly partition: number
  /** No other owner has this name. */
  readonly name: string
  readonly signal: AbortSignal
  readonly log: Log
  /** Whoever takes rows back, or moves them, has it. */
  readonly reversing: Share
  /** Resolves when every lane rests and no chore is under way. @throws Stopped. */
  readonly calm: (signal: AbortSignal) => Promise<void>
  /** Lets lanes look whether they are to rest. */
  readonly wake: () => void
}

/** Listens for one partition. */
export class Hold {
  readonly #options: HoldOptions
  readonly #wishes: Subscription
  readonly #look: NodeJS.Timeout
  /** Looks since a wish was heard: looks and not time, so that a process that was not run misses none. */
  #missed = Number.POSITIVE_INFINITY
  #times = 0
  /** Held, and by what it ends. */
  #ended: AbortController | undefined
  #isStill = false
  /** The last wish that is not answered. */
  #asked: { readonly message: Msg; readonly round: number } | undefined

  constructor(options: HoldOptions) {
    this.#options = options
    this.#wishes = options.nc.subscribe(HOLD_SUBJECT, {
      callback: (error, message) => {
        const wish = error ? undefined : wishOf(message)
        if (wish) this.#hear(wish, message)
      },
    })
    this.#look = setInterval(() => {
      this.#missed++
      if (!this.keeps) this.#ended?.abort()
    }, HOLD_REPEAT_MS)
    this.#look.unref()
  }

  /** True while no range is to be begun and no chore to be done. */
  get holds(): boolean {
    return this.#ended !== undefined
  }

  /** True while nothing may be purged. */
  get keeps(): boolean {
    return this.#missed < HOLD_MISSED_MAX
  }

  /** Listens no more, and lets everything go on. */
  close(): void {
    clearInterval(this.#look)
    this.#ended?.abort()
    if (!this.#options.nc.isClosed()) this.#wishes.unsubscribe()
  }

  #hear(wish: HoldWish, message: Msg): void {
    this.#missed = wish.is === 'over' ? Number.POSITIVE_INFINITY : 0
    if (wish.is !== 'still') {
      this.#ended?.abort()
      return
    }
    this.#asked = { message, round: wish.round }
    if (this.#isStill) this.#answer()
    else if (!this.#ended) void this.#holdStill()
  }

  async #holdStill(): Promise<void> {
    const { signal, log, calm, wake, reversing } = this.#options
    const ended = new AbortController()
    const over = AbortSignal.any([ended.signal, signal])
    if (over.aborted) return
    this.#ended = ended
    this.#times++
    const startedAt = performance.now()
    const finished = new Promise(resolve => over.addEventListener('abort', resolve, { once: true }))
    wake()
    try {
      await calm(over)
      const release = await reversing.take(1, { urgent: true, entitled: false, signal: over })
      const stillAt = performance.now()
      this.#isStill = true
      this.#answer()
      await finished
      release()
      const ms = Math.round(performance.now() - stillAt)
      log.info({ ms, waitedMs: Math.round(stillAt - startedAt) }, 'held still for a backup')
    } catch {
      // Told to go on, or to stop, before all had come to rest.
    } finally {
      this.#isStill = false
      this.#asked = undefined
      this.#ended = undefined
      wake()
    }
  }

  #answer(): void {
    if (!this.#asked) return
    const { message, round } = this.#asked
    const { partition, name } = this.#options
    const answer: HoldAnswer = { partition, round, since: `${name}/${this.#times}` }
    message.respond(JSON.stringify(answer))
    this.#asked = undefined
  }
}

/** What throws while a message is taken ends the whole connection: what cannot be read is nobody's wish. */
function wishOf(message: Msg): HoldWish | undefined {
  try {
    return message.json<HoldWish>()
  } catch {
    return undefined
  }
}
