// What a parser makes of one frame. Parsers are pure: no clock, no random ids, no I/O; the same frame gives the same rows for ever.
import type { Pricing } from '#pricing/quote.ts'
import type { ErrorCode } from '#proto/errors.ts'
import type { IdentityKind } from '#proto/ids.ts'
import type { EventRow, LinkRow, SessionRow, TextRow } from '#proto/rows.ts'
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

/** A parser of one frame kind. `body` is already decompressed; `content` tells JSON from protobuf. */
export type FrameParser = (body: Uint8Array, content: 'json' | 'protobuf', context: FrameContext) => ParseOutcome
