// Leases: keys of a bucket whose values expire. Who holds a partition's key may work on it; who doesn't renew in time loses it.
// A lease is a promise about liveness only. What keeps two owners from harming each other is the cursor's compare-and-set.

import { readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { KV, KvEntry } from '@nats-io/kv'
import { LEASE_TTL_MS } from '#proto/streams.ts'
import type { Outage } from '#runtime/outage.ts'
import { Lost } from './cursor.ts'
import { Backoff, within } from './pause.ts'

/** A lease is renewed this often, … */
export const RENEW_MS = LEASE_TTL_MS / 4
/** … and nothing is inserted under one that is older than this. */
export const GUARD_MS = LEASE_TTL_MS / 3

/** How long giving one back may take: without an answer it runs out by itself. */
export const RELEASE_MS = 1_000

/** Who holds a lease, as others read it. */
export interface Holder {
  readonly member: string
  /** Names the set of processes among which `pid` is unique; '' when that cannot be known. */
  readonly host: string
  readonly pid: number
}

/** This process as a holder. */
export function thisHolder(member: string): Holder {
  let host = ''
  try {
    // Containers may share a host name but not a namespace of process ids.
    host = `${hostname()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    // No /proc: leases of dead neighbours run out by themselves.
  }
  return { member, host, pid: process.pid }
}

/** True when the holder ran among the same processes as this one and is gone: nobody has to wait for its lease to run out. */
export function isGone(holder: Holder, self: Holder): boolean {
  if (holder.host === '' || holder.host !== self.host || holder.pid === self.pid) return false
  try {
    process.kill(holder.pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** A held lease. */
export interface Lease {
  /** Aborted once the lease is known to be somebody else's. */
  readonly lost: AbortSignal
  /** Resolves when the lease was renewed less than GUARD_MS ago, renewing it if need be. @throws Lost; returns on abort. */
  fresh(signal: AbortSignal): Promise<void>
  /** Gives it back. Never throws: an unanswered release runs out by itself. */
  release(): Promise<void>
}

/** What `takeLease` needs. */
export interface LeaseOptions {
  readonly kv: KV
  readonly key: string
  readonly holder: Holder
  readonly outage: Outage
  /** Milliseconds of a clock that never goes back. */
  readonly clock?: () => number
}

/** Takes a free lease, or one whose holder is gone; null when it is held. @throws when the server doesn't answer. */
export async function takeLease(options: LeaseOptions): Promise<Lease | null> {
  const { kv, key, holder } = options
  const clock = options.clock ?? (() => performance.now())
  const at = clock()
  const text = JSON.stringify(holder)
  const entry = await kv.get(key)
  let revision: number
  try {
    if (!entry || entry.operation !== 'PUT') revision = await kv.create(key, text)
    else if (isGone(entry.json<Holder>(), holder)) revision = await kv.update(key, text, entry.revision)
    else return null
  } catch {
    return null
  }
  return new HeldLease(options, clock, text, revision, at)
}

class HeldLease implements Lease {
  readonly #options: LeaseOptions
  readonly #clock: () => number
  readonly #text: string
  readonly #ended = new AbortController()
  readonly #timer: NodeJS.Timeout
  #revision: number
  /** When the last successful renewal was sent: its answer may have taken long. */
  #renewedAt: number
  #renewing: Promise<void> | undefined
  #released = false

  constructor(options: LeaseOptions, clock: () => number, text: string, revision: number, at: number) {
    this.#options = options
    this.#clock = clock
    this.#text = text
    this.#revision = revision
    this.#renewedAt = at
    this.#timer = setInterval(() => void this.#renew().catch(() => {}), RENEW_MS)
    this.#timer.unref()
  }

  get lost(): AbortSignal {
    return this.#ended.signal
  }

  async fresh(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff()
    while (this.#clock() - this.#renewedAt >= GUARD_MS) {
      if (this.lost.aborted) throw new Lost('the lease is gone')
      if (signal.aborted) return
      try {
        await this.#renew()
      } catch {
        await backoff.pause(signal)
      }
    }
    if (this.lost.aborted) throw new Lost('the lease is gone')
  }

  async release(): Promise<void> {
    this.#released = true
    clearInterval(this.#timer)
    await within(RELEASE_MS, this.#giveBack())
  }

  async #giveBack(): Promise<void> {
    await this.#renewing?.catch(() => {})
    if (this.lost.aborted) return
    await this.#options.kv.delete(this.#options.key, { previousSeq: this.#revision })
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewOnce().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #renewOnce(): Promise<void> {
    if (this.#released || this.lost.aborted) return
    const { kv, key, outage } = this.#options
    const at = this.#clock()
    try {
      this.#revision = await kv.update(key, this.#text, this.#revision)
    } catch (error) {
      let entry: KvEntry | null
      try {
        entry = await kv.get(key)
      } catch {
        outage.failed(error)
        throw error
      }
      if (entry?.operation === 'PUT' && entry.string() !== this.#text) {
        clearInterval(this.#timer)
        this.#ended.abort()
        return
      }
      // The answer was lost, or the lease ran out with nobody there. If somebody was there in between, the cursor knows.
      if (entry?.operation === 'PUT') this.#revision = entry.revision
      else this.#revision = await kv.create(key, this.#text)
      if (entry?.operation === 'PUT') this.#revision = await kv.update(key, this.#text, this.#revision)
    }
    this.#renewedAt = at
    outage.over()
  }
}
