// An erasure: what one end user, or a whole organization, left in the store is deleted, and kept from coming back. Asked for by a record
// in the cursors bucket, which keeps one revision only; the analysis process does it and tells there how far it is.
import { createHash } from 'node:crypto'

/** What is erased. */
export type ErasureKind = 'user' | 'organization'

/** `sweeping`: everything that was there is gone; payloads that streams still hold are waited for, and what comes is erased. */
export type ErasureState = 'requested' | 'erasing' | 'sweeping' | 'done'

/** The record. */
export interface ErasureRecord {
  readonly id: string
  readonly organization: string
  readonly kind: ErasureKind
  /** The user's hash, or the organization's id. */
  readonly subject: string
  /** The user's id: needed to look into payloads, and forgotten once the erasure is done. */
  readonly user?: string
  readonly state: ErasureState
  /** ISO 8601. */
  readonly requested_at: string
  readonly requested_by: string
  /** Last position of each partition's stream when the work began: payloads up to there may still bring something. */
  readonly through: Readonly<Record<string, number>>
  /** What is being done, in words; '' when nothing is. */
  readonly step: string
  /** Rows that were deleted, by table; dead letters, and entries of lists of the dashboard, under names of their own. */
  readonly erased: Readonly<Record<string, number>>
  /** Where was looked, by the same names; `payloads` are those of the streams. Absent until nothing was found. */
  readonly looked_at?: readonly string[]
  /** A deletion that was begun: what of it is gone is not in `erased` yet. */
  readonly deleting?: { readonly table: string; readonly rows: number }
  /** When everything that was there was gone. */
  readonly erased_at?: string
  /** When nothing could come back any more: the certificate. */
  readonly certified_at?: string
}

export const ERASURES = 'erasure.'
/** One record a subject: who asks twice meets the same erasure. */
export const erasureKeyOf = (organization: string, subject: string): string => `${ERASURES}${organization}.${subject}`

/** What stands for a user where its id must not. The same text is spelled by `USER_HASH_SQL`. */
export function userHash(organization: string, user: string): string {
  return createHash('sha256').update(`${organization}:${user}`).digest('hex')
}

/** `userHash` of the columns organization and user_id. */
export const USER_HASH_SQL = "lower(hex(SHA256(concat(toString(organization), ':', user_id))))"
