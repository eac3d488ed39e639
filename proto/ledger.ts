// The ledger's words: what the record of a finished range says of each organization, hour and surface, and where the counts of refusals
// and the state of the fold are kept.
import { FrameKind } from '#proto/envelope.ts'

/** What senders send to. */
export const SURFACES = ['sdk', 'voice', 'otlp'] as const
export type Surface = (typeof SURFACES)[number]

/** The surface of a kind of frame; undefined for a kind that this build doesn't know. */
export function surfaceOfKind(kind: number | undefined): Surface | undefined {
  if (kind === FrameKind.session || kind === FrameKind.event) return 'sdk'
  if (kind === FrameKind.voice) return 'voice'
  return kind === FrameKind.otlp ? 'otlp' : undefined
}

/**
 * What became of the payloads of one organization, hour of receipt and surface in a range. A payload is dead, a repeat as a whole, or
 * else stored. `items`: the spans, events, calls and captures of those that are not dead, `repeatedItems` among them.
 */
export interface TallyEntry {
  readonly organization: string
  /** Hours since 1970. */
  readonly hour: number
  readonly surface: Surface
  readonly payloads: number
  readonly dead: number
  readonly repeats: number
  readonly items: number
  readonly repeatedItems: number
}

/** The same as it stands in a record, which is kept by the hundred thousand: without names. */
export type PackedTally = readonly (readonly [
  organization: string,
  hour: number,
  surface: number,
  payloads: number,
  dead: number,
  repeats: number,
  items: number,
  repeatedItems: number,
])[]

/** Entries that a record holds at most: it has to fit a message of any server. */
export const TALLY_MAX_ENTRIES = 4_000

/** As a record holds it. */
export const packTally = (tally: readonly TallyEntry[]): PackedTally =>
  tally.map(one => [
    one.organization,
    one.hour,
    SURFACES.indexOf(one.surface),
    one.payloads,
    one.dead,
    one.repeats,
    one.items,
    one.repeatedItems,
  ])

/** As it was packed. */
export const unpackTally = (packed: PackedTally): TallyEntry[] =>
  packed.map(([organization, hour, surface, payloads, dead, repeats, items, repeatedItems]) => ({
    ...{ organization, hour, surface: SURFACES[surface] ?? 'sdk' },
    ...{ payloads, dead, repeats, items, repeatedItems },
  }))

/** Key of the cursors bucket: how far records stand in the ledger. */
export const LEDGER_KEY = 'ledger'

/** What stands under that key. */
export interface LedgerState {
  /** Position in BLOCKS up to which records are in the ledger's table. */
  readonly position: number
  /** By partition: every payload up to here is in the table. */
  readonly through: Readonly<Record<string, number>>
  /** Unix ms: the ledger knows all that was received from here on; what was received before may be missing in part. */
  readonly sinceMs: number
}

/** Key of the rejects bucket: refusals of an organization by `hour.surface.code`. */
export const rejectCountsKeyOf = (organization: string): string => `${organization}.counts`
export type RejectCounts = Readonly<Record<string, number>>
/** Entries that are kept of an organization; those of the oldest hours leave first. */
export const REJECT_COUNTS_MAX = 1_000
