// Shapes of the ledger and of receipts.
import type { Static } from 'typebox'
import Type from 'typebox'
import { Count, DateTime, IsoTime, Nullable } from '#proto/dashboard/shared.ts'

export const LedgerRequest = Type.Object({
  /** From the hour of this instant on; else a day back. */
  from: Type.Optional(IsoTime),
  /** Up to the end of this instant's hour; else now. */
  to: Type.Optional(IsoTime),
})
export type LedgerRequest = Static<typeof LedgerRequest>

/** `received` = `stored` + `repeats` + `dead` + `lag`, in payloads: one request is one payload. */
export const LedgerCounts = Type.Object({
  received: Count,
  stored: Count,
  /** Nothing in them was new. */
  repeats: Count,
  dead: Count,
  /** On their way. */
  lag: Count,
  /** Spans, events, calls and captures in what was stored or a repeat; `repeated_items` are among them. */
  items: Count,
  repeated_items: Count,
  /** Refused requests by code of docs/errors.md; at least so many, they belong to no sum. */
  rejected: Type.Record(Type.String(), Count),
  /** Payloads that a replay has read again. */
  read_again: Count,
})
export type LedgerCounts = Static<typeof LedgerCounts>

export const LedgerRow = Type.Object({
  hour: DateTime,
  surface: Type.Enum(['sdk', 'voice', 'otlp']),
  ...LedgerCounts.properties,
})
export type LedgerRow = Static<typeof LedgerRow>

export const LedgerResponse = Type.Object({
  from: DateTime,
  to: DateTime,
  /** True when every payload of the time is counted exactly once. */
  exact: Type.Boolean(),
  /** Why not. */
  reasons: Type.Array(Type.String()),
  totals: LedgerCounts,
  /** Hours in which something came, in order. */
  hours: Type.Array(LedgerRow),
})
export type LedgerResponse = Static<typeof LedgerResponse>

/** Seconds that a receipt may be waited for. */
export const RECEIPT_WAIT_MAX_S = 30

export const ReceiptRequest = Type.Object({
  /** For how long the answer waits while the payload is on its way. */
  wait: Type.Optional(
    Type.String({
      pattern: '^(?:[0-9]|[12][0-9]|30)s$',
      expected: `seconds such as 5s, at most ${RECEIPT_WAIT_MAX_S}s`,
    }),
  ),
})
export type ReceiptRequest = Static<typeof ReceiptRequest>

export const ReceiptResponse = Type.Object({
  receipt: Type.String(),
  /** `gone`: finished, and nothing of it is in the store (any more): it was erased, or kept no longer. */
  state: Type.Enum(['waiting', 'stored', 'replaced', 'repeat', 'dead', 'gone']),
  received_at: Nullable(DateTime),
  /** When its range was finished; null while it is not, and when the record of it is gone. */
  stored_at: Nullable(DateTime),
  rows: Type.Object({ events: Count, texts: Count, sessions: Count }),
  /** Events whose time was too far from their arrival and was moved; what was sent is their `parley.sent_timestamp`. */
  moved_times: Count,
  /** Of a dead letter; docs/errors.md. */
  code: Nullable(Type.String()),
  reason: Nullable(Type.String()),
})
export type ReceiptResponse = Static<typeof ReceiptResponse>
