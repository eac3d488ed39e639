// Which partitions this process works on. Every process shows itself in the leases bucket; each holds at most its share, gives
// back what is above it and takes what is free. Nobody is in charge.

import { type KV, KvWatchInclude } from '@nats-io/kv'
import { LEASE_TTL_MS, leaseKeyOf, memberKeyOf } from '#proto/streams.ts'
import type { Log } from '#runtime/log.ts'
import { Outage } from '#runtime/outage.ts'
import { Lost, Stopped } from './cursor.ts'
import type { Holder, Lease } from './lease.ts'
import { isGone, RELEASE_MS, RENEW_MS, takeLease } from './lease.ts'
import type { ProcessorMetrics } from './metrics.ts'
import type { Owner } from './owner.ts'
import { sleep, within } from './pause.ts'
import { Halted } from './prepare.ts'

/** How often a process looks around. With the time a lease lives it makes the longest takeover after a kill. */
const ROUND_MS = 750
/**
 * Who holds everything only waits for others to come, and hears them when they show themselves; it looks around this often in case
 * one was not heard. Listing the bucket every two seconds was most of what an idle processor and its NATS server cost.
 */
const CALM_ROUND_MS = 15_000
/** A partition that ended on an error rests this long before this process tries it again. */
const RETRY_MS = 2_000
/** One that waits for a newer build is left to others for longer. */
const HALTED_MS = 15_000
/** How long a goodbye may take when nobody answers. */
const GOODBYE_MS = 500
/** How long a release may drain. */
const RELEASE_GRACE_MS = 20_000

/** The share of a process. */
export interface Members {
  /** Partitions held now. */
  held(): readonly number[]
  /** What keeps partitions from being worked on by this process. */
  reasons(): readonly string[]
  /** Drains and gives back everything within about `graceMs`. */
  stop(graceMs: number): Promise<void>
}

/** What `joinMembers` needs. */
export interface MembersOptions {
  readonly leases: KV
  readonly partitions: number
  readonly holder: Holder
  readonly start: (partition: number, lease: Lease) => Owner
  readonly log: Log
  readonly metrics: ProcessorMetrics
}

/** Joins, and keeps taking and giving back until stopped. */
export function joinMembers(options: MembersOptions): Members {
  const member = new Member(options)
  const running = member.run()
  return {
    held: () => member.held(),
    reasons: () => member.reasons(),
    stop: graceMs => member.stop(running, graceMs),
  }
}

interface Held {
  readonly owner: Owner
  readonly lease: Lease
  readonly ended: Promise<void>
  releasing: boolean
}

class Member {
  readonly #options: MembersOptions
  readonly #key: string
  readonly #held = new Map<number, Held>()
  readonly #troubles = new Map<number, { readonly reason: string; readonly untilMs: number }>()
  /** Who stands behind a member key: it never changes. */
  readonly #known = new Map<string, Holder>()
  readonly #outage: Outage
  readonly #end = new AbortController()
  #shownAt = Number.NEGATIVE_INFINITY
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Ends the pause between two rounds. */
  #wake = new AbortController()

  constructor(options: MembersOptions) {
    this.#options = options
    this.#key = memberKeyOf(options.holder.member)
    this.#outage = new Outage(options.log, 'renewing leases')
  }

  held(): number[] {
    return [...this.#held.keys()]
  }

  reasons(): string[] {
    const troubles = [...this.#troubles].filter(([partition]) => !this.#held.has(partition))
    return [
      ...(performance.now() - this.#shownAt > LEASE_TTL_MS ? ['leases cannot be renewed: no answer from NATS'] : []),
      ...troubles.map(([, trouble]) => trouble.reason),
      ...[...this.#held.values()].flatMap(({ owner }) => owner.trouble() ?? []),
    ]
  }

  async run(): Promise<void> {
    void this.#listen()
    while (!this.#end.signal.aborted) {
      this.#wake = new AbortController()
      try {
        await this.#show()
        if (!this.#isCalm() || performance.now() - this.#lookedAt >= CALM_ROUND_MS) await this.#round()
        this.#outage.over()
      } catch (error) {
        this.#lookedAt = Number.NEGATIVE_INFINITY
        this.#outage.failed(error)
      }
      await sleep(this.#isCalm() ? RENEW_MS : ROUND_MS, AbortSignal.any([this.#end.signal, this.#wake.signal]))
    }
  }

  #isCalm(): boolean {
    return this.#held.size >= this.#options.partitions
  }

  /** Whoever shows itself for the first time is seen by a round at once. */
  async #listen(): Promise<void> {
    const { leases, log } = this.#options
    try {
      const watch = await leases.watch({ key: memberKeyOf('*'), include: KvWatchInclude.UpdatesOnly })
      this.#end.signal.addEventListener('abort', () => watch.stop())
      if (this.#end.signal.aborted) watch.stop()
      for await (const { key } of watch) {
        if (key === this.#key || this.#known.has(key)) continue
        this.#lookedAt = Number.NEGATIVE_INFINITY
        this.#wake.abort()
      }
    } catch (error) {
      log.debug({ err: error }, 'members are not heard, only looked for')
    }
  }

  async stop(running: Promise<void>, graceMs: number): Promise<void> {
    this.#end.abort()
    const entries = [...this.#held.values()]
    // Side by side: a round that waits for NATS must not eat the time that ranges in flight need. No round takes any more.
    await Promise.all([within(graceMs, running), ...entries.map(entry => entry.owner.stop(graceMs))])
    await within(RELEASE_MS + GOODBYE_MS, Promise.all(entries.map(entry => entry.ended)))
    await within(GOODBYE_MS, this.#options.leases.delete(this.#key))
  }

  async #round(): Promise<void> {
    const { leases, partitions } = this.#options
    // Before the bucket is read: whoever is heard from now on needs another round.
    this.#lookedAt = performance.now()
    const alive = new Set([this.#key])
    const taken = new Set<string>()
    for await (const name of await leases.keys()) {
      if (!name.startsWith('member.')) taken.add(name)
      else if (await this.#isAlive(name)) alive.add(name)
    }
    const share = Math.ceil(partitions / alive.size)
    const keeping = [...this.#held].filter(([, entry]) => !entry.releasing)
    for (const [partition, entry] of keeping.slice(share)) this.#giveBack(partition, entry)
    // Free ones first; then those whose holder may be gone without having said so.
    const wanted = Array.from({ length: partitions }, (_, partition) => partition)
      .filter(partition => !this.#held.has(partition) && !this.#rests(partition))
      .sort((a, b) => Number(taken.has(leaseKeyOf(a))) - Number(taken.has(leaseKeyOf(b))))
    for (const partition of wanted) {
      if (this.#held.size >= share || this.#end.signal.aborted) break
      await this.#take(partition)
    }
  }

  async #show(): Promise<void> {
    const at = performance.now()
    if (at - this.#shownAt < RENEW_MS) return
    await this.#options.leases.put(this.#key, JSON.stringify(this.#options.holder))
    this.#shownAt = at
  }

  /** A member's key outlives it for a while: one that is known to be gone must not keep its share. */
  async #isAlive(name: string): Promise<boolean> {
    let holder = this.#known.get(name)
    if (!holder) {
      const entry = await this.#options.leases.get(name)
      if (entry?.operation !== 'PUT') return false
      holder = entry.json<Holder>()
      this.#known.set(name, holder)
    }
    return !isGone(holder, this.#options.holder)
  }

  #rests(partition: number): boolean {
    return (this.#troubles.get(partition)?.untilMs ?? 0) > performance.now()
  }

  async #take(partition: number): Promise<void> {
    const { leases, holder, metrics } = this.#options
    const lease = await takeLease({ kv: leases, key: leaseKeyOf(partition), holder, outage: this.#outage })
    if (!lease) return
    if (this.#end.signal.aborted) return lease.release()
    metrics.leases.inc({ move: 'taken' })
    const owner = this.#options.start(partition, lease)
    const ended = owner.ended.then(async error => {
      // Given back while it was still being taken over: its end was asked for.
      const asked = this.#held.get(partition)?.releasing === true && error instanceof Stopped
      if (error !== undefined && !asked && !this.#end.signal.aborted) this.#note(partition, error, lease)
      // Others may have it the moment it is given back, so it is given back last.
      await lease.release()
      this.#held.delete(partition)
    })
    this.#held.set(partition, { owner, lease, ended, releasing: false })
    this.#troubles.delete(partition)
  }

  #note(partition: number, error: unknown, lease: Lease): void {
    const { log, metrics } = this.#options
    const lost = error instanceof Lost || lease.lost.aborted
    const halted = error instanceof Halted
    metrics.leases.inc({ move: lost ? 'lost' : 'ended' })
    if (lost) log.warn({ partition }, 'partition lost to another process')
    else log.error({ err: error, partition }, halted ? 'partition halted' : 'partition ended on an error')
    const reason = `partition ${partition}: ${error instanceof Error ? error.message : 'ended'}`
    // A partition that another process has is nobody's trouble.
    if (!lost) this.#troubles.set(partition, { reason, untilMs: performance.now() + (halted ? HALTED_MS : RETRY_MS) })
  }

  #giveBack(partition: number, entry: Held): void {
    entry.releasing = true
    this.#options.metrics.leases.inc({ move: 'released' })
    this.#options.log.info({ partition }, 'partition given back: another process has room for it')
    void entry.owner.stop(RELEASE_GRACE_MS)
  }
}
