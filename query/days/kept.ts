// Whole days of organizations, kept in the memory of the query node as far as a setting lets them: who was asked for last stays.
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { OpenReader, Reader } from '../reader.ts'
import { createLooks } from './looks.ts'
import type { Kind, OrganizationDays, Refresh } from './organization.ts'
import {
  forgetWhatIsTooMuch,
  inTurn,
  makeSlot,
  orTooMuch,
  type Slot,
  stillSkipped,
  together,
  withParts,
} from './slot.ts'
import type { How } from './told.ts'

const MiB = 1024 * 1024
/** Statements of a load between which questions have their turn. */
const STATEMENTS_EACH = 2

/** Days of organizations. */
export interface KeptDays {
  /**
   * Works with the days of an organization, one question after the other: what `work` sees does not change under it. Null when what `kinds`
   * say is not there yet, when it is too large to be kept, or when `work` says so by answering null. What the question is about to need
   * `beside` them is brought up to date along with them, where it is there; and so is what others need who wait for their turn.
   */
  with<T>(
    of: { readonly organization: string; readonly reader: Reader },
    kinds: readonly [Kind, ...Kind[]],
    work: (days: OrganizationDays, asked: Refresh) => Promise<T | null>,
    beside?: readonly Kind[],
  ): Promise<T | null>
  /** What memory holds of an organization now: it may be out of date, or half read. Whoever guesses by it must prove his guess. */
  glance(organization: string): OrganizationDays | null
  /** The next question of an organization goes by what the store says then: something has just been changed, or was read past memory. */
  endLoans(organization: string): void
  /** Reads nothing more. */
  close(): void
}

/** What keeping needs. */
export interface KeptDaysOptions {
  /** Memory for all organizations; 0 keeps nothing. */
  readonly maxMb: number
  /** How long the first question of an organization waits for its days, before it is answered without them. */
  readonly waitMs: number
  /** Where events arrive densely, questions may go by what was told so long ago; 0: each one asks. */
  readonly freshMs: number
  readonly openReader: OpenReader
  readonly metrics: Metrics
  readonly log: Log
  /** Milliseconds since 1970; says which days are open. */
  readonly clock?: () => number
  /** Milliseconds that only ever grow. */
  readonly sinceMs?: () => number
}

/** Keeps days of organizations: all of one, which are read beside the first question of it. */
export function createKeptDays(options: KeptDaysOptions): KeptDays {
  const { maxMb, waitMs, freshMs, openReader, metrics, log, sinceMs = () => performance.now() } = options
  const times = { clock: options.clock ?? Date.now, sinceMs }
  const kept = metrics.gauge('query_kept_days_bytes', 'memory of whole days that are kept')
  const asked = metrics.counter('query_kept_days_total', 'questions to kept days by outcome', ['outcome'])
  const maxBytes = maxMb * MiB
  // In the order in which they were asked for.
  const slots = new Map<string, Slot>()
  const closed = new AbortController()
  const looks = createLooks({ freshMs, maxBytes, sinceMs, openReader: of => openReader(of, closed.signal), metrics })
  kept.set(0)

  const shrink = (): void => kept.set(shrunk(slots, maxBytes))
  const giveUp = (slot: Slot, organization: string, kinds: readonly Kind[]): void => {
    log.info({ organization, kinds, maxMb }, 'whole days of an organization do not fit into memory')
    forgetWhatIsTooMuch(slot, kinds, { maxBytes, times })
  }
  const load = async (slot: Slot, organization: string, kind: Kind): Promise<void> => {
    const startedAt = performance.now()
    const reader = openReader(organization, closed.signal)
    for (;;) {
      const found = await inTurn(slot, () =>
        slot.days.refresh(reader, { kinds: [kind], maxBytes, statements: STATEMENTS_EACH }).catch(orTooMuch),
      )
      if (found === 'more') continue
      if (found !== 'done') return giveUp(slot, organization, [kind])
      for (const one of withParts(kind)) slot.ready.add(one)
      shrink()
      const ms = Math.round(performance.now() - startedAt)
      return log.info({ organization, kind, ms, bytes: slot.days.bytes() }, 'whole days of an organization are kept')
    }
  }
  /** Begins to read what is not there, or goes on with it. */
  const loading = (slot: Slot, organization: string, kind: Kind): Promise<void> => {
    const begun =
      slot.loading.get(kind) ??
      load(slot, organization, kind)
        // The reader has told of it; the next question tries again.
        .catch(() => undefined)
        .finally(() => slot.loading.delete(kind))
    slot.loading.set(kind, begun)
    return begun
  }
  return {
    async with({ organization, reader }, kinds, work, beside = []) {
      if (maxMb === 0) return null
      const slot = slots.get(organization) ?? makeSlot(times)
      slots.delete(organization)
      slots.set(organization, slot)
      if (stillSkipped(slot, kinds)) {
        asked.inc({ outcome: 'too large' })
        return null
      }
      const missing = (): Kind[] => kinds.filter(kind => !slot.ready.has(kind) || !slot.days.holds(kind))
      if (missing().length > 0) {
        const all = Promise.all(missing().map(kind => loading(slot, organization, kind)))
        await Promise.race([all, delay(waitMs, undefined, { ref: false })])
      }
      if (missing().length > 0) {
        asked.inc({ outcome: 'too early' })
        // Whoever asks next must not be told less than this answer.
        slot.days.endLoans()
        return null
      }
      const asking = together(slot, { kinds, beside, freshMs, nowMs: sinceMs() })
      const heard = (how: How, ageMs: number): void => looks.hear({ slot, organization }, how, ageMs)
      await looks.catchUp(slot, kinds, reader)
      const answer = await inTurn(slot, () =>
        work(slot.days, { ...asking(), maxBytes, lentMs: freshMs, hear: heard }).catch(orTooMuch),
      )
      // What was asked for last came on top of the others.
      if (answer === null) giveUp(slot, organization, kinds)
      asked.inc({ outcome: answer === null ? 'too large' : 'answered' })
      shrink()
      return answer
    },
    glance(organization) {
      const slot = slots.get(organization)
      return slot?.ready.has('figures') ? slot.days : null
    },
    endLoans: organization => slots.get(organization)?.days.endLoans(),
    close: () => closed.abort(),
  }
}

/** Lets go of those that were not asked for the longest time. @returns what is left. */
function shrunk(slots: Map<string, Slot>, maxBytes: number): number {
  let bytes = [...slots.values()].reduce((sum, { days }) => sum + days.bytes(), 0)
  for (const [organization, slot] of slots) {
    if (bytes <= maxBytes) break
    bytes -= slot.days.bytes()
    slots.delete(organization)
  }
  return bytes
}

/** Keeps nothing: every answer is read. */
export const KEEP_NOTHING: KeptDays = {
  ...{ with: async () => null, glance: () => null },
  ...{ endLoans: () => undefined, close: () => undefined },
}
