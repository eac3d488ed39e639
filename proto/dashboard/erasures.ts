// Shapes of /dashboard/api/users/{user_id}/erasure and /dashboard/api/erasures.
import type { Static } from 'typebox'
import Type from 'typebox'
import { DateTime, Nullable, Uuid } from '#proto/dashboard/shared.ts'

/** How far an erasure is; what it was about is said by a hash. */
export const Erasure = Type.Object({
  id: Uuid,
  kind: Type.Union([Type.Literal('user'), Type.Literal('organization')]),
  /** SHA-256 of `<organization>:<user>` in hex, or the organization's id. */
  subject: Type.String(),
  state: Type.Union([
    Type.Literal('requested'),
    Type.Literal('erasing'),
    Type.Literal('sweeping'),
    Type.Literal('done'),
  ]),
  requested_at: DateTime,
  requested_by: Type.String(),
  /** What is being done or waited for; null when nothing is. */
  step: Nullable(Type.String()),
  /** Rows deleted so far, by table; dead letters and entries of lists too. */
  erased: Type.Record(Type.String(), Type.Integer()),
  /** Where was looked last, by the same names, until nothing was found; null before that. */
  looked_at: Nullable(Type.Array(Type.String())),
  /** Everything that was there is gone. */
  erased_at: Nullable(DateTime),
  /** Nothing that was sent before can come back. */
  certified_at: Nullable(DateTime),
})
export type Erasure = Static<typeof Erasure>

export const ErasureList = Type.Object({ erasures: Type.Array(Erasure) })
