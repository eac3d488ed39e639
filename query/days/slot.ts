// What is kept of one organization and who has his turn with it: what is there, what is on its way, what is asked for.
import { isParleyError } from '#proto/errors.ts'
import { isOfEvents } from './columns.ts'
import { createOrganizationDays, type Kind, type OrganizationDays, type Refresh } from './organization.ts'
import { isValues } from './refresh.ts'

/** An organization that was too large is tried again after so many questions: it may have lost days. */
const TRIED_AGAIN = 100
/**
 * What was asked for within so many times of what may be lent is brought up to date with the rest: it will be asked for again. Keys of
 * events, which take statements of their own, less long.
 */
const LATELY = { ofEvents: 1, others: 15 } as const

/** One organization. */
export interface Slot {
  days: OrganizationDays
  /** What is under way, and whatever is to come after it. */
  busy: Promise<unknown>
  readonly ready: Set<Kind>
  readonly loading: Map<Kind, Promise<void>>
  /** What questions need that have not had their turn. */
  readonly waiting: Set<readonly Kind[]>
  /** When kinds were asked for last. */
  readonly lately: Map<Kind, number>
  /** What brings memory up to date beside questions. */
  looking?: Look | undefined
  /** Questions until it is tried again. */
  readonly skipped: Map<Kind, number>
}

/** A look at the store beside questions. */
export interface Look {
  /** When it began. */
  readonly atMs: number
  /** What it brings up to date. */
  readonly kinds: readonly Kind[]
  /** Somebody came meanwhile who would have begun one. */
  isAskedAgain: boolean
  /** Somebody waits for it: it steps back no longer. Resolves when memory has what it found, or it has failed. */
  hurry(): Promise<void>
}

/** What time it is: `sinceMs` only ever grows, `clock` is the time of the day. */
export interface Times {
  clock(): number
  sinceMs(): number
}

/** Nothing of it is there. */
export const makeSlot = (times: Times): Slot => ({
  ...{ days: createOrganizationDays(times), busy: Promise.resolve() },
  ...{ ready: new Set(), loading: new Map(), skipped: new Map() },
  ...{ waiting: new Set(), lately: new Map() },
})

/** Drops what `kinds` brought: what came on top of the figures first, and all of it when that is not enough. */
export function forgetWhatIsTooMuch(
  slot: Slot,
  kinds: readonly Kind[],
  { maxBytes, times }: { maxBytes: number; times: Times },
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
  slot.days = createOrganizationDays(times)
}

/** Whether any of `kinds` is left alone for now, because it was too large; this question counts as one of the wait. */
export function stillSkipped(slot: Slot, kinds: readonly Kind[]): boolean {
  const skipped = kinds.filter(kind => (slot.skipped.get(kind) ?? 0) > 0)
  for (const kind of skipped) slot.skipped.set(kind, (slot.skipped.get(kind) as number) - 1)
  return skipped.length > 0
}

/** What is asked for, when, and how long it may be lent. */
interface Asking {
  readonly kinds: readonly Kind[]
  readonly beside: readonly Kind[]
  readonly freshMs: number
  readonly nowMs: number
}

/** What a question that comes now has to ask for when it has its turn: what others wait for is read along with it. */
export function together(slot: Slot, { kinds, beside, freshMs, nowMs }: Asking): () => Omit<Refresh, 'maxBytes'> {
  const needed = [...kinds, ...beside]
  for (const kind of needed.flatMap(withParts)) slot.lately.set(kind, nowMs)
  slot.waiting.add(needed)
  const since = slot.days.now()
  return () => {
    const others = [...slot.waiting].flat().filter(kind => isKept(slot, kind))
    slot.waiting.delete(needed)
    // Where it is lent: else what is asked for in turn would be asked for each time.
    const isLent = freshMs > 0 && slot.days.isDense()
    const lately = isLent ? keptLately(slot, freshMs, nowMs).filter(kind => !isOfEvents(kind)) : []
    return { kinds: [...kinds, ...beside.filter(kind => isKept(slot, kind))], along: [...others, ...lately], since }
  }
}

/** A kind, and those that come with it. */
export const withParts = (kind: Kind): Kind[] => ['figures', ...(isValues(kind) ? (['prices'] as const) : []), kind]

/** Whether a kind is there. */
export const isKept = (slot: Slot, kind: Kind): boolean => slot.ready.has(kind) && slot.days.holds(kind)

/** What is there of what was asked for lately. */
export function keptLately(slot: Slot, freshMs: number, nowMs: number): Kind[] {
  for (const [kind, atMs] of slot.lately) {
    if (nowMs - atMs > freshMs * LATELY[isOfEvents(kind) ? 'ofEvents' : 'others']) slot.lately.delete(kind)
  }
  return [...slot.lately.keys()].filter(kind => isKept(slot, kind))
}

/** After what is under way. */
export function inTurn<T>(slot: Slot, work: () => Promise<T>): Promise<T> {
  const run = slot.busy.then(work)
  slot.busy = run.catch(() => undefined)
  return run
}

/** Days that one statement may not read are too large to be kept; whoever asked still gets his answer from aggregates. */
export function orTooMuch(error: unknown): null {
  if (isParleyError(error) && error.code === 'QRY_LIMIT') return null
  throw error
}
