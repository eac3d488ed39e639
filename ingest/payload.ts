// What is handed from a judged request to the stream and back: the payload, who waits for it, and what became of it.
import type { Accepted, Organization } from '#ingest/verdict.ts'
import type { FrameEncoding } from '#proto/envelope.ts'
import type { ErrorCode } from '#proto/errors.ts'

/** Why nothing can be stored now: no room, and surely nothing was stored; or the stream does not answer, and it is not known. */
export type Refusal = Extract<ErrorCode, 'ING_FULL' | 'ING_UNAVAILABLE'>

/** Where a payload is (its receipt but for the place in the envelope: `<partition>-<sequence>-`), or why it is nowhere. */
export type PublishOutcome =
  | { readonly stored: true; readonly receiptHead: string }
  | { readonly stored: false; readonly code: Refusal }

/**
 * Told once what became of its payload. `frame` is the payload's place in the envelope; its bytes stand at `at` of `envelope`, which is
 * valid during the call.
 */
export interface Waiter {
  settled(outcome: PublishOutcome, frame: number, envelope: Uint8Array, at: number): void
}

/** A payload on its way into an envelope. */
export interface Payload {
  readonly organization: Organization
  readonly accepted: Accepted
  readonly encoding: FrameEncoding
  readonly receivedAtMs: number
  /** True when its sender tries again by itself: told at once while nothing can be stored. Others are held. */
  readonly retries: boolean
  /** Copied before `offer` returns. */
  readonly bytes: Uint8Array
}

/** What operators see. */
export interface PublishMeter {
  acked(envelope: { frames: number; bytes: number; seconds: number; duplicate: boolean }): void
  resent(): void
  failed(envelope: { frames: number; code: ErrorCode }): void
}
