// Shapes of GET /dashboard/api/organization/rejected-requests, and of what receivers keep for it.
import type { Static } from 'typebox'
import Type from 'typebox'
import { Count, DateTime } from '#proto/dashboard/shared.ts'

/** Rejected requests that are kept of an organization. */
export const REJECTS_MAX = 20

export const RejectedRequest = Type.Object({
  at: DateTime,
  /** `capture-session`, `capture-event`, `voice` or `traces`. */
  endpoint: Type.String(),
  status: Type.Integer(),
  /** Of docs/errors.md. */
  code: Type.String(),
  /** The sentence that was answered, with the field at fault. */
  error: Type.String(),
  /** Bytes of the body, as far as they had come. */
  body_bytes: Count,
})
export type RejectedRequest = Static<typeof RejectedRequest>

/** Newest first. */
export const RejectedRequests = Type.Object({ requests: Type.Array(RejectedRequest) })
