// How long an organization keeps what it sent: days for events and for their texts -> the class that its rows are stored under, and the
// instants before which rows go. Rows of a class share their partitions, so who keeps everything is never rewritten for those who don't.

/** Days; null = for ever. Texts go no later than their events. */
export interface Keep {
  readonly events_days: number | null
  readonly texts_days: number | null
}

export const KEEP_EVERYTHING: Keep = { events_days: null, texts_days: null }

const DAY_MS = 86_400_000
/** Longest shortest time of the classes 1 and 2; class 3 is longer, class 0 has no end. */
const CLASS_DAYS = [45, 200] as const

/** The class of rows that are stored from now on: rows of similar lives share partitions. */
export function retentionClass({ events_days, texts_days }: Keep): number {
  const shortest = Math.min(events_days ?? Number.POSITIVE_INFINITY, texts_days ?? Number.POSITIVE_INFINITY)
  if (shortest === Number.POSITIVE_INFINITY) return 0
  const at = CLASS_DAYS.findIndex(days => shortest <= days)
  return at === -1 ? CLASS_DAYS.length + 1 : at + 1
}

/** Rows before these instants (Unix ms, midnights of UTC) go; null: none. */
export function cutoffsOf(
  keep: Keep,
  nowMs: number,
): { readonly events: number | null; readonly texts: number | null } {
  const before = (days: number | null): number | null =>
    days === null ? null : Math.floor(nowMs / DAY_MS) * DAY_MS - days * DAY_MS
  return { events: before(keep.events_days), texts: before(keep.texts_days ?? keep.events_days) }
}
