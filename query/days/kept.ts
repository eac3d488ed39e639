// Whole days of organizations, kept in the memory of the query node as far as a setting lets them: who was asked for last stays.
import { setTimeout as delay } from 'node:timers/promises'
import { isParleyError } from '#proto/errors.ts'
import type { Log } from '#runtime/log.ts'
import type { Metrics } from '#runtime/metrics.ts'
import type { OpenReader } from '../reader.ts'
import { createOrganizationDays, type Kind, type OrganizationDays, type Refresh } from './organization.ts'

const MiB = 1024 * 1024
/** An organization that was too large is tried again after so many questions: it may have lost days. */
const TRIED_AGAIN = 100
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
    organization: string,
    kinds: readonly [Kind, ...Kind[]],
    work: (days: OrganizationDays, asked: Refresh) => Promise<T | null>,
    beside?: readonly Kind[],
  ): Promise<T | null>
  /** What memory holds of an organization now: it may be out of date, or half read. Whoever guesses by it must prove his guess. */
  glance(organization: string): OrganizationDays | null
  /** Reads nothing more. */
  close(): void
}

interface Slot {
  days: OrganizationDays
  /** What is under way, and whatever is to come after it. */
  busy: Promise<unknown>
  readonly ready: Set<Kind>
  readonly loading: Map<Kind, Promise<void>>
  /** What questions need that have not had their turn. */
  readonly waiting: Set<readonly Kind[]>
  /** Questions until it is tried again. */
  readonly skipped: Map<Kind, number>
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
  /** Milliseconds since 1970; says which days are open. */
  readonly clock?: () => number
}

/** Keeps days of organizations: all of one, which are read beside the first question of it. */
export function createKeptDays(options: KeptDaysOptions): KeptDays {
  const { maxMb, waitMs, openReader, metrics, log, clock = Date.now } = options
  const kept = metrics.gauge('query_kept_days_bytes', 'memory of whole days that are kept')
  const asked = metrics.counter('query_kept_days_total', 'questions to kept days by outcome', ['outcome'])
  const maxBytes = maxMb * MiB
  // In the order in which they were asked for.
  const slots = new Map<string, Slot>()
  const closed = new AbortController()
  kept.set(0)

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
  const giveUp = (slot: Slot, organization: string, kinds: readonly Kind[]): void => {
    log.info({ organization, kinds, maxMb }, 'whole days of an organization do not fit into memory')
    forgetWhatIsTooMuch(slot, kinds, { maxBytes, clock })
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
      slot.ready.add('figures').add(kind)
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
    async with(organization, kinds, work, beside = []) {
      if (maxMb === 0) return null
      const slot = slots.get(organization) ?? makeSlot(clock)
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
        return null
      }
      const asking = together(slot, kinds, beside)
      const answer = await inTurn(slot, () => work(slot.days, { ...asking(), maxBytes }).catch(orTooMuch))
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
    close: () => closed.abort(),
  }
}

const makeSlot = (clock: () => number): Slot => ({
  ...{ days: createOrganizationDays({ clock }), busy: Promise.resolve() },
  ...{ ready: new Set(), loading: new Map(), skipped: new Map(), waiting: new Set() },
})

/** Drops what `kinds` brought: what came on top of the figures first, and all of it when that is not enough. */
function forgetWhatIsTooMuch(
  slot: Slot,
  kinds: readonly Kind[],
  { maxBytes, clock }: { maxBytes: number; clock: () => number },
): void {
  const skip = (of: Kind): void => {
    // What has been kept for long may only have gathered what is gone since: then it is read anew at once.
    slot.skipped.set(of, slot.ready.delete(of) ? 0 : TRIED_AGAIN)
  }
  // What was needed first may fit without what came on top of it.
  const [first, ...others] = kinds
  const onTop = others.length > 0 ? others : first === 'figures' ? [...slot.ready] : kinds
  const more = onTop.filter(one => one !== 'figures')
  for (const one of more) {
    slot.days.forget(one)
    skip(one)
  }
  if (more.length > 0 && slot.days.bytes() <= maxBytes) return
  skip('figures')
  for (const one of slot.ready) skip(one)
  slot.days = createOrganizationDays({ clock })
}

/** Whether any of `kinds` is left alone for now, because it was too large; this question counts as one of the wait. */
function stillSkipped(slot: Slot, kinds: readonly Kind[]): boolean {
  const skipped = kinds.filter(kind => (slot.skipped.get(kind) ?? 0) > 0)
  for (const kind of skipped) slot.skipped.set(kind, (slot.skipped.get(kind) as number) - 1)
  return skipped.length > 0
}

/** What a question that comes now has to ask for when it has its turn: what others wait for is read along with it. */
function together(slot: Slot, kinds: readonly Kind[], beside: readonly Kind[]): () => Omit<Refresh, 'maxBytes'> {
  const needed = [...kinds, ...beside]
  slot.waiting.add(needed)
  const since = slot.days.now()
  return () => {
    const others = [...slot.waiting].flat().filter(kind => slot.ready.has(kind) && slot.days.holds(kind))
    slot.waiting.delete(needed)
    return { kinds: [...new Set([...kinds, ...others])], since }
  }
}

/** After what is under way. */
function inTurn<T>(slot: Slot, work: () => Promise<T>): Promise<T> {
  const run = slot.busy.then(work)
  slot.busy = run.catch(() => undefined)
  return run
}

/** Days that one statement may not read are too large to be kept; whoever asked still gets his answer from aggregates. */
function orTooMuch(error: unknown): null {
  if (isParleyError(error) && error.code === 'QRY_LIMIT') return null
  throw error
}

/** Keeps nothing: every answer is read. */
export const KEEP_NOTHING: KeptDays = { with: async () => null, glance: () => null, close: () => undefined }
