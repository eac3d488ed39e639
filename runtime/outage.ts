// Says once that something stopped working and once that it works again, however often it is tried in between.
import type { Log } from '#runtime/log.ts'

/** One thing that can be out. */
export class Outage {
  readonly #log: Log
  readonly #what: string
  #since: number | undefined
  #tries = 0

  constructor(log: Log, what: string) {
    this.#log = log
    this.#what = what
  }

  /** True between a failure and the next success. */
  get now(): boolean {
    return this.#since !== undefined
  }

  /** Records a failed try; logs the first one. */
  failed(error: unknown): void {
    this.#tries++
    if (this.#since !== undefined) return
    this.#since = performance.now()
    this.#log.warn({ err: error }, `${this.#what} fails; trying again until it works`)
  }

  /** Records a success; logs it when it ends an outage. */
  over(): void {
    if (this.#since === undefined) return
    const seconds = Math.round((performance.now() - this.#since) / 100) / 10
    this.#log.info({ seconds, tries: this.#tries }, `${this.#what} works again`)
    this.#since = undefined
    this.#tries = 0
  }
}
