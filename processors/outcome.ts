// What a parser makes of one frame. Parsers are pure: no clock, no random ids, no I/O; the same frame gives the same rows for ever.
import type { Pricing } from '#pricing/quote.ts'
import type { ErrorCode } from '#proto/errors.ts'
import type { IdentityKind } from '#proto/ids.ts'
import type { EventRow, LinkRow, Origin, SessionRow, TextRow } from '#proto/rows.ts'
import type { BlockEncoder } from './encoder.ts'
import type { Home } from './loose.ts'
import type { OrganizationRules } from './parsers/otlp/rules.ts'

/** What a parser knows besides the payload. */
export interface FrameContext {
  readonly organization: string
  readonly receivedAtMs: number
  /** The event id that the receiver minted, or NIL_UUID. */
  readonly mintedId: string
  /** The organization's retention class. */
  readonly retention: number
  /** The organization's prices; without them no cost is computed. */
  readonly pricing?: Pricing
  /** The organization's own rules for attributes of spans; absent = none. */
  readonly rules?: OrganizationRules
}

/** Rows that stand or fall together: one SDK event, one span, one whole voice call, one session capture. */
export interface Unit {
  /** What makes it the same thing when it is sent again; null = nothing does, so it is never taken for a repeat. */
  readonly identity: { readonly kind: IdentityKind; readonly id: string } | null
  readonly sessions: readonly SessionRow[]
  readonly texts: readonly TextRow[]
  readonly links?: readonly LinkRow[]
  readonly events: readonly EventRow[]
}

/** Rows, or the verdict that the payload can never become any. */
export type ParseOutcome =
  | { readonly units: readonly Unit[] }
  | { readonly dead: Extract<ErrorCode, `DEAD_${string}`>; readonly reason: string }

/** Units of one frame that are written without rows; one event each. */
export interface PackedUnits {
  readonly count: number
  /** Events that have no conversation of their own yet. */
  readonly loose: number
  /** Events with tokens and without a price, by reason. */
  readonly unpriced: Readonly<Record<string, number>>
  /** Units that were read the way of objects after all, by reason. */
  readonly objects: Readonly<Record<string, number>>
  /** Writes the conversation of a unit that names no session; false for one that does. */
  putStandIn(unit: number, into: Uint8Array, at: number): boolean
  /** True when what a unit reveals is captured with it. */
  isCaptured(unit: number): boolean
  /** What a unit reveals of its trace; at most one unit for each trace does. */
  linkOf(unit: number): LinkRow | undefined
  /** The hour in which the event of a unit stands (loose.ts). */
  hourOf(unit: number): number
  /** Writes the fingerprint of a unit. */
  print(unit: number, into: Uint8Array, at: number): void
  /** Adds the rows of a unit. `origin` is that of its frame; its index is written to. `home`: where its event belongs. */
  write(unit: number, encoder: BlockEncoder, origin: Origin, home?: Home): void
}

/** A parser that writes no rows; null = the frame is left to the parser that does. Bodies must not change until they are written. */
export type FramePacker = (body: Uint8Array, content: 'json' | 'protobuf', context: FrameContext) => PackedUnits | null

/** A parser of one frame kind. `body` is already decompressed; `content` tells JSON from protobuf. */
export type FrameParser = (body: Uint8Array, content: 'json' | 'protobuf', context: FrameContext) => ParseOutcome
