// Lets faults happen one after the other while traffic flows, and measures how long each keeps the system from answering and storing.
import { setTimeout as delay } from 'node:timers/promises'
import { type Random } from '#runtime/seeded.ts'
import type { FaultKind } from './faults.ts'
import { whole } from './faults.ts'
import type { Target } from './target.ts'
import { patiently } from './wait.ts'

const POLL_MS = 20
/** Before a fault that is about failing requests: what still comes of earlier ones has come. */
const CALM_MS = 3_000
/** One fault in so many comes before the one before it has healed. */
const OVERLAP = 4

/** What is known of one fault that has happened. */
export interface Happened {
  readonly kind: FaultKind
  /** From its end to the first answer to a request that was sent after it. */
  answeredMs: number | null
  /** From its end until everything is stored that had arrived by then. */
  storedMs: number | null
}

export interface ChaosOptions {
  readonly target: Target
  readonly schedule: readonly FaultKind[]
  readonly random: Random
  /** True when the next fault may begin: traffic has come that far. */
  readonly due: () => boolean
  /** Called when a fault is over; it may still heal. */
  readonly onOver: () => void
}

/** Runs a schedule once. */
export class Chaos {
  readonly happened: Happened[] = []
  readonly #options: ChaosOptions
  readonly #kinds: FaultKind[] = []
  readonly #waiting: { since: number; of: Happened }[] = []
  #current = 0
  #happening: FaultKind | undefined

  constructor(options: ChaosOptions) {
    this.#options = options
    this.#kinds.push(...new Set(options.schedule))
  }

  /** Number of the kind that is on, from 1; 0 = none. */
  get current(): number {
    return this.#current
  }

  /** What is just being done; what still heals isn't. */
  get happening(): FaultKind | undefined {
    return this.#happening
  }

  /** Kinds by number minus one. */
  get kinds(): readonly FaultKind[] {
    return this.#kinds
  }

  /** To be told of every answer. */
  answered(sentAt: number, accepted: boolean): void {
    if (!accepted || this.#waiting.length === 0) return
    for (const { since, of } of this.#waiting) {
      if (sentAt >= since) of.answeredMs ??= performance.now() - since
    }
    const open = this.#waiting.filter(({ of }) => of.answeredMs === null)
    this.#waiting.splice(0, this.#waiting.length, ...open)
  }

  async run(): Promise<void> {
    const { schedule, random, target, due, onOver } = this.#options
    let healing: Promise<void> = Promise.resolve()
    const healings: Promise<void>[] = []
    for (const kind of schedule) {
      const overlaps = random(OVERLAP) === 0 && kind.calm !== true
      if (!overlaps) await healing
      if (kind.calm) await delay(CALM_MS)
      while (!due()) await delay(POLL_MS)
      const number = this.#kinds.indexOf(kind) + 1
      this.#current = number
      const happened: Happened = { kind, answeredMs: null, storedMs: null }
      this.happened.push(happened)
      this.#happening = kind
      await kind.happen(random)
      this.#happening = undefined
      onOver()
      healing = this.#heal(happened, target).then(() => {
        if (this.#current === number) this.#current = 0
      })
      healing.catch(() => {})
      healings.push(healing)
    }
    await Promise.all(healings)
  }

  async #heal(happened: Happened, target: Target): Promise<void> {
    const since = performance.now()
    this.#waiting.push({ since, of: happened })
    let mark: readonly number[] = []
    await patiently('NATS after a fault', async () => {
      mark = await target.positions()
      return true
    })
    await patiently(`what had arrived by the end of "${happened.kind.name}" is stored`, () => target.stored(mark))
    happened.storedMs = performance.now() - since
    await whole(target)
  }
}
