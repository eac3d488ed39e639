// Whole days of organizations, kept in the memory of the query node as far as a setting lets them: who was asked for last stays.
import { setTimeout as delay } from 'node:timers/promises'
import { isParleyError } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { OpenReader } from '../reader.ts'
import { createOrganizationDays, type OrganizationDays } from './organization.ts'

const MiB = 1024 * 1024
/** An organization that was too large is tried again after so many questions: it may have lost days. */
const TRIED_AGAIN = 100

/** Days of organizations. */
export interface KeptDays {
  /**
   * Works with the days of an organization, one question after the other: what `work` sees does not change under it. Null when they are
   * not there yet, when the organization is too large to be kept, or when `work` says so by answering null.
   */
  with<T>(
    organization: string,
    work: (days: OrganizationDays, maxBytes: number) => Promise<T | null>,
  ): Promise<T | null>
  /** Reads nothing more. */
  close(): void
}

interface Slot {
  days: OrganizationDays
  busy: Promise<unknown>
  state: 'new' | 'loading' | 'ready'
  /** Questions until it is tried again. */
  skipped: number
}

/** What keeping needs. */
export interface KeptDaysOptions {
  /** Memory for all organizations; 0 keeps nothing. */
  readonly maxMb: number
  /** How long the first question of an organization waits for its days, before it is answered without them. */
  readonly waitMs: number
  readonly openReader: OpenReader
  readonly metrics: Metrics
  readonly log: Log
}

/** Keeps days of organizations: all of one, which are read beside the first question of it. */
export function createKeptDays({ maxMb, waitMs, openReader, metrics, log }: KeptDaysOptions): KeptDays {
  const kept = metrics.gauge('query_kept_days_bytes', 'memory of whole days that are kept')
  const asked = metrics.counter('query_kept_days_total', 'questions to kept days by outcome', ['outcome'])
  const maxBytes = maxMb * MiB
  // In the order in which they were asked for.
  const slots = new Map<string, Slot>()
  const closed = new AbortController()
  kept.set(0)

  const make = (): Slot => ({ days: createOrganizationDays(), busy: Promise.resolve(), state: 'new', skipped: 0 })
  /** Lets go of those that were not asked for the longest time. */
  const shrink = (): void => {
    let bytes = [...slots.values()].reduce((sum, { days }) => sum + days.bytes(), 0)
    for (const [organization, slot] of slots) {
      if (bytes <= maxBytes) break
      bytes -= slot.days.bytes()
      slots.delete(organization)
    }
    kept.set(bytes)
  }
  const giveUp = (slot: Slot, organization: string): void => {
    // What has been kept for long may only have gathered what is gone since: then it is read anew at once.
    slot.skipped = slot.state === 'ready' ? 0 : TRIED_AGAIN
    slot.days = createOrganizationDays()
    slot.state = 'new'
    log.info({ organization, maxMb }, 'whole days of an organization do not fit into memory')
  }
  const load = (slot: Slot, organization: string): void => {
    slot.state = 'loading'
    const startedAt = performance.now()
    slot.busy = slot.days
      .refresh(openReader(organization, closed.signal), maxBytes)
      .catch(orTooMuch)
      .then(fits => {
        if (!fits) return giveUp(slot, organization)
        slot.state = 'ready'
        shrink()
        const ms = Math.round(performance.now() - startedAt)
        log.info({ organization, ms, bytes: slot.days.bytes() }, 'whole days of an organization are kept')
      })
      // The reader has told of it; the next question tries again.
      .catch(() => {
        slot.state = 'new'
      })
  }

  return {
    async with(organization, work) {
      if (maxMb === 0) return null
      const slot = slots.get(organization) ?? make()
      slots.delete(organization)
      slots.set(organization, slot)
      if (slot.skipped > 0) {
        slot.skipped--
        asked.inc({ outcome: 'too large' })
        return null
      }
      if (slot.state === 'new') load(slot, organization)
      if (slot.state === 'loading') await Promise.race([slot.busy, delay(waitMs, undefined, { ref: false })])
      if (slot.state !== 'ready') {
        asked.inc({ outcome: 'too early' })
        return null
      }
      const run = slot.busy.then(() => work(slot.days, maxBytes)).catch(orTooMuch)
      slot.busy = run.catch(() => undefined)
      const answer = await run
      if (answer === null) giveUp(slot, organization)
      asked.inc({ outcome: answer === null ? 'too large' : 'answered' })
      shrink()
      return answer
    },
    close: () => closed.abort(),
  }
}

/** Days that one statement may not read are too large to be kept; whoever asked still gets his answer from aggregates. */
function orTooMuch(error: unknown): null {
  if (isParleyError(error) && error.code === 'QRY_LIMIT') return null
  throw error
}

/** Keeps nothing: every answer is read. */
export const KEEP_NOTHING: KeptDays = { with: async () => null, close: () => undefined }
